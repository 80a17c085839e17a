package shared

import (
	"runtime"
	"testing"
)

// TestCallsForgetACallThatDoesNotReturn ends a goroutine during its call.
func TestCallsForgetACallThatDoesNotReturn(t *testing.T) {
	var s Calls[int, int]
	for name, end := range map[string]func(){"panic": func() { panic("no") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() { _ = recover() }()
				_, _ = s.Do("t", func(*int) {}, func(int) (int, error) { end(); return 0, nil })
			}()
			<-ended
			if len(s.threads) > 0 {
				t.Errorf("got %d threads, want none", len(s.threads))
			}
		})
	}
}
