// Package bench measures graphgen, each figure beside a baseline in the same run: make bench, or
//
//	go -C bench run ./report
//
// It is a module of its own, so that the libraries it compares with stay out of graphgen's go.mod. docs/performance.md
// has figures and says what they mean.
package bench
