package graph

import (
	"runtime"
	"testing"
)

// TestSharedCallsForgetACallThatDoesNotReturn ends a goroutine during its call.
func TestSharedCallsForgetACallThatDoesNotReturn(t *testing.T) {
	var s sharedCalls[int, int]
	for name, end := range map[string]func(){"panic": func() { panic("no") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() { _ = recover() }()
				_, _ = s.do("t", func(*int) {}, func(int) (int, error) { end(); return 0, nil })
			}()
			<-ended
			if len(s.threads) > 0 {
				t.Errorf("got %d threads, want none", len(s.threads))
			}
		})
	}
}
