// Package temporal compares workers with workflows of Temporal, in a module of its own.
//
//	go -C bench/temporal test -run '^$' -bench . -benchtime 5x
package temporal
