//go:build !linux

package testenv

// TempInMemory leaves the temporary folders where they are: how a system keeps files in memory is its own.
func TempInMemory() {}
