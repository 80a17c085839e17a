// Package river compares workers with River, a job queue on PostgreSQL, in a module of its own.
//
//	go -C bench/river test -run '^$' -bench . -benchtime 5x
package river
