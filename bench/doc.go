// Package bench measures graphgen, and compares each figure with a baseline of the same run: make
// bench, or
//
//	go -C bench run ./report
//
// It is a separate module, so that the other libraries stay out of graphgen's go.mod.
// docs/measurements.md has figures and says what they mean.
package bench
