// Package dbos compares runs with workflows of DBOS on PostgreSQL, in a module of its own.
//
//	go -C bench/dbos test -run '^$' -bench . -benchtime 20x
package dbos
