//go:build !linux

package testenv

import "testing"

// SmallDisk returns false on this system, because mounting differs between systems.
func SmallDisk(testing.TB) (dir string, ok bool) { return "", false }
