//go:build !linux

package testenv

// TempInMemory does nothing on this system, because file systems in memory differ between systems.
func TempInMemory() {}
