package bench

import (
	"runtime"
	"testing"
)

// TestMain measures beside a heap of 64 MB, as a server has one. Without it the heap is 4 MB, and a collection every few
// hundred operations would be most of what is measured, on either side.
func TestMain(m *testing.M) {
	ballast := make([]byte, 64<<20)
	m.Run()
	runtime.KeepAlive(ballast)
}
