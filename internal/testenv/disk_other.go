//go:build !linux

package testenv

import "testing"

// SmallDisk has no small disk to give here: how to mount one is each system's own.
func SmallDisk(testing.TB) (dir string, ok bool) { return "", false }
