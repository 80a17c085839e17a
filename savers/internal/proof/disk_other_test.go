//go:build !linux

package proof_test

import "testing"

// smallDisk returns nothing: how to mount one is each system's own.
func smallDisk(*testing.T) (dir string, mounted bool) { return "", false }
