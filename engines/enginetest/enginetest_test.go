package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// recorder is a testing.TB that records failures instead of failing.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Cleanup(f func())  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Helper()           {}

// failuresOf runs one case of the suite and returns its failures.
func failuresOf(t *testing.T, name string, place enginetest.Place) []string {
	t.Helper()
	i := slices.IndexFunc(enginetest.Cases(), func(c enginetest.Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the suite has no case %q", name)
	}
	return record(t, func(tb testing.TB) {
		tb.Helper()
		enginetest.Cases()[i].Test(tb, place)
	})
}

// record runs a test and returns its failures.
func record(t *testing.T, test func(tb testing.TB)) []string {
	t.Helper()
	r := &recorder{TB: t}
	var done sync.WaitGroup
	done.Go(func() {
		defer func() {
			for _, f := range slices.Backward(r.cleanups) {
				f()
			}
		}()
		test(r)
	})
	done.Wait()
	return r.failures
}

// broken is an engine that breaks one rule. Functions that are not nil replace the methods.
type broken struct {
	worker.Hub
	wake   func(b *broken, ctx context.Context, graph, thread string) error
	listen func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error

	mu   sync.Mutex
	n    int // calls, or whatever a rule counts
	kept []string
	cut  chan struct{} // closed by an interruption
	stop chan struct{} // closed at the end of the test
}

func (b *broken) Wake(ctx context.Context, graph, thread string) error {
	if b.wake != nil {
		return b.wake(b, ctx, graph, thread)
	}
	return b.Hub.Wake(ctx, graph, thread)
}

func (b *broken) Listen(ctx context.Context, graphs []string, hint func(graph, thread string)) error {
	if b.listen != nil {
		return b.listen(b, ctx, graphs, hint)
	}
	return b.Hub.Listen(ctx, graphs, hint)
}

// next counts calls.
func (b *broken) next() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	return b.n
}

// interrupt closes cut, and replaces it.
func (b *broken) interrupt(testing.TB) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.cut)
	b.cut = make(chan struct{})
}

// begun reports whether it is the empty hint with which a listener begins.
func begun(graph string) bool { return graph == "" }

// TestBrokenEnginesFail has for each case of the suite an engine that fails it.
func TestBrokenEnginesFail(t *testing.T) {
	type listening = func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error
	deaf := func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error {
		return b.Hub.Listen(ctx, graphs, func(graph, thread string) {
			if begun(graph) {
				hint(graph, thread)
			}
		})
	}
	// deafAfter hears nothing after an interruption. It returns no error, and begins without an
	// empty hint.
	deafAfter := func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error {
		b.mu.Lock()
		cut := b.cut
		b.mu.Unlock()
		return b.Hub.Listen(ctx, graphs, func(graph, thread string) {
			select {
			case <-cut:
			default:
				hint(graph, thread)
			}
		})
	}
	for _, c := range []struct {
		name, breaks string
		wake         func(b *broken, ctx context.Context, graph, thread string) error
		listen       listening
	}{
		{"a listener begins with an empty hint", "no empty hint", nil, func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error {
			return b.Hub.Listen(ctx, graphs, func(graph, thread string) {
				if !begun(graph) {
					hint(graph, thread)
				}
			})
		}},
		{"a hint reaches each listener of its graph", "the second listener hears nothing", nil, func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error {
			if b.next() == 2 {
				return deaf(b, ctx, graphs, hint)
			}
			return b.Hub.Listen(ctx, graphs, hint)
		}},
		{"a hint reaches no listener of another graph", "all listeners hear all graphs", nil, func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error {
			return b.Hub.Listen(ctx, append(graphs, "orders", "mails"), hint)
		}},
		{"a listener hears several graphs", "one graph alone", nil, func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error {
			return b.Hub.Listen(ctx, graphs[:1], hint)
		}},
		{"names of graphs and threads are any bytes", "names in lower case", func(b *broken, ctx context.Context, graph, thread string) error {
			return b.Hub.Wake(ctx, strings.ToLower(graph), thread)
		}, nil},
		{"names of graphs and threads are any bytes", "an error for a long thread", func(b *broken, ctx context.Context, graph, thread string) error {
			if len(thread) > 8000 {
				return errors.New("too long")
			}
			return b.Hub.Wake(ctx, graph, thread)
		}, nil},
		{"a wake without a listener succeeds", "an error without a listener", func(b *broken, ctx context.Context, graph, thread string) error {
			return errors.New("nobody listens")
		}, nil},
		{"a wake ends with its context", "a wait without a context", func(b *broken, ctx context.Context, graph, thread string) error {
			if ctx.Err() != nil {
				<-b.stop
			}
			return b.Hub.Wake(ctx, graph, thread)
		}, nil},
		{"a listener ends with its context", "nil at the end", nil, func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error {
			_ = b.Hub.Listen(ctx, graphs, hint)
			return nil
		}},
		{"a listener ends with its context", "hints after the end", nil, func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error {
			go func() { _ = b.Hub.Listen(context.WithoutCancel(ctx), graphs, hint) }()
			<-ctx.Done()
			return ctx.Err()
		}},
		{"a listener ends with its context", "a listener for ever", nil, func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error {
			err := b.Hub.Listen(ctx, graphs, hint)
			<-b.stop
			return err
		}},
		{"listeners come and go while hints are sent", "an error of concurrent calls", func(b *broken, ctx context.Context, graph, thread string) error {
			if b.next()%50 == 0 {
				return errors.New("busy")
			}
			return b.Hub.Wake(ctx, graph, thread)
		}, nil},
		{"listeners come and go while hints are sent", "all are deaf after one has left", nil, func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error {
			defer b.next()
			return b.Hub.Listen(ctx, graphs, func(graph, thread string) {
				b.mu.Lock()
				defer b.mu.Unlock()
				if b.n == 0 {
					hint(graph, thread)
				}
			})
		}},
		{"hints that nobody hears take no memory", "all hints are kept", func(b *broken, ctx context.Context, graph, thread string) error {
			b.mu.Lock()
			b.kept = append(b.kept, strings.Clone(thread))
			b.mu.Unlock()
			return b.Hub.Wake(ctx, graph, thread)
		}, nil},
		{"hints that nobody hears take no memory", "goroutines stay", nil, func(b *broken, ctx context.Context, graphs []string, hint func(graph, thread string)) error {
			go func() { <-b.stop }()
			return b.Hub.Listen(ctx, graphs, hint)
		}},
		{"an interrupted listener hears again", "deaf after an interruption", nil, deafAfter},
		{"a worker runs what is announced", "deaf", nil, deaf},
		{"a worker looks after an interruption", "deaf after an interruption", nil, deafAfter},
		{"hints may be repeated, late and out of order", "deaf", nil, deaf},
	} {
		t.Run(c.name+"/"+c.breaks, func(t *testing.T) {
			b := &broken{wake: c.wake, listen: c.listen, cut: make(chan struct{}), stop: make(chan struct{})}
			t.Cleanup(func() { close(b.stop) })
			failures := failuresOf(t, c.name, enginetest.Place{
				Open: func(testing.TB) worker.Engine { return b }, Interrupt: b.interrupt, Patience: 100 * time.Millisecond,
			})
			if len(failures) == 0 {
				t.Error("the case passes, want a failure")
			}
		})
	}
}
