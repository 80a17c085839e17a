//go:build !linux

package sqlite_test

import "testing"

// smallDisk has no small disk to give here.
func smallDisk(*testing.T) (dir string, ok bool) { return "", false }
