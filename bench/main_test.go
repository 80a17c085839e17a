package bench

import (
	"runtime"
	"testing"
)

// TestMain measures with a heap of 64 MB, as a server has one. Without it, the heap is 4 MB. A
// collection every few hundred operations would then dominate the figures on either side.
func TestMain(m *testing.M) {
	ballast := make([]byte, 64<<20)
	m.Run()
	runtime.KeepAlive(ballast)
}
