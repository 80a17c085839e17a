package exec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

var errNode, errPanic = errors.New("the node failed"), errors.New("the node panicked")

// host runs the function of each node, and notes what is stored meanwhile.
type host struct {
	step  *exec.Superstep
	nodes []func(ctx context.Context) error

	mu     sync.Mutex
	stored [][]int
	full   error // what storing fails with
}

func (h *host) Call(ctx context.Context, i int) error { return h.nodes[h.step.Tasks[i].Node](ctx) }

func (h *host) Key(*task.Task) string { return "key" }

func (h *host) Cached(context.Context, int) (bool, error) { return false, nil }

func (h *host) Cache(context.Context, int) error { return nil }

func (h *host) Calls(*task.Task, bool) *task.Calls { return new(task.Calls) }

func (h *host) Asks(*task.Task) *task.Asks { return new(task.Asks) }

func (h *host) Progress(*task.Task, string) {}

func (h *host) LastProgress(*task.Task) (string, bool) { return "", false }

func (h *host) Park(int, time.Duration) bool { return false }

func (h *host) Wakes(int) time.Time { return time.Time{} }

func (h *host) Wake([]int) ([]int, error) { return nil, nil }

func (h *host) May(*exec.Task, error) (retry, fallBack bool) { return true, true }

func (h *host) Panicked(v any) error { return v.(error) }

func (h *host) HandsOut(int) bool { return false }

func (h *host) Counts(err error) bool { return errors.Is(err, errPanic) }

func (h *host) StoreEnded(tasks []int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stored = append(h.stored, slices.Clone(tasks))
	return h.full
}

// superstep returns one with a task for each function.
func superstep(nodes []exec.Node, races int, calls ...func(context.Context) error) (*exec.Superstep, *host) {
	h := &host{nodes: calls}
	s := exec.New(h, nodes, races, task.Task{})
	h.step = &s
	var due []plan.Task
	for i := range calls {
		due = append(due, plan.Task{Node: i})
	}
	s.Fill(due)
	s.Left()
	return &s, h
}

func progress(s *exec.Superstep) (all []exec.Progress) {
	for i := range s.Tasks {
		all = append(all, s.Tasks[i].Progress)
	}
	return all
}

func want(t *testing.T, s *exec.Superstep, want ...exec.Progress) {
	t.Helper()
	if got := progress(s); !slices.Equal(got, want) {
		t.Errorf("progress: got %v, want %v", got, want)
	}
}

// run runs a superstep.
func run(t *testing.T, s *exec.Superstep, o exec.Options) error {
	t.Helper()
	s.Options = o
	return s.Run(t.Context(), 1)
}

func whole() float64 { return 1 }

var several = exec.Options{Workers: 8, Eager: true}

// after returns a node that takes some time, or ends with its context.
func after(d time.Duration, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		if !exec.Rest(ctx, d) {
			return ctx.Err()
		}
		return err
	}
}

func TestAFailureCancelsItsSiblings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := superstep(make([]exec.Node, 3), 0, after(time.Second, nil), after(2*time.Second, errNode), after(time.Hour, nil))
		start := time.Now()
		if err := run(t, s, several); err != nil {
			t.Fatal(err)
		}
		want(t, s, exec.Succeeded, exec.Failed, exec.Waiting)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("took %s, want 2s", took)
		}
		if len(h.stored) == 0 || !slices.Equal(h.stored[0], []int{0}) {
			t.Errorf("stored %v, want the first task as soon as it ended", h.stored)
		}
	})
}

func TestTheFirstStoredResultWinsARace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := []exec.Node{{Race: 1}, {Race: 1}, {Race: 1}, {}}
		s, _ := superstep(nodes, 1, after(time.Hour, nil), after(time.Second, nil), after(time.Minute, errNode), after(time.Minute, nil))
		if err := run(t, s, several); err != nil {
			t.Fatal(err)
		}
		want(t, s, exec.Beaten, exec.Succeeded, exec.Beaten, exec.Succeeded)
	})
}

func TestOfTwoThatEndTogetherTheFirstInTaskOrderWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := superstep([]exec.Node{{Race: 1}, {Race: 1}}, 1, after(time.Second, nil), after(time.Second, nil))
		if err := run(t, s, exec.Options{Workers: 1, Eager: true}); err != nil {
			t.Fatal(err)
		}
		want(t, s, exec.Succeeded, exec.Beaten)
	})
}

func TestAFailureInARaceCancelsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := superstep([]exec.Node{{Race: 1}, {Race: 1}}, 1, after(time.Second, errNode), after(time.Minute, nil))
		if err := run(t, s, several); err != nil {
			t.Fatal(err)
		}
		want(t, s, exec.Beaten, exec.Succeeded)
	})
}

func TestWhatCannotBeStoredCancelsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := superstep(make([]exec.Node, 2), 0, after(time.Second, nil), after(time.Hour, nil))
		h.full = errors.New("disk full")
		if err := run(t, s, several); !errors.Is(err, h.full) {
			t.Errorf("got %v, want %v", err, h.full)
		}
		want(t, s, exec.Succeeded, exec.Waiting)
	})
}

func TestAConsumerThatLeavesIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := superstep(make([]exec.Node, 2), 0, after(time.Second, nil), after(time.Hour, nil))
		h.full = exec.ErrLeft
		if err := run(t, s, several); err != nil {
			t.Errorf("got %v, want no error", err)
		}
		want(t, s, exec.Succeeded, exec.Waiting)
	})
}

func TestRetriesPauseLongerEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int32
		node := exec.Node{Retry: []exec.Retry{{Attempts: 4, Base: time.Second, Max: 3 * time.Second, Jitter: whole}}}
		s, _ := superstep([]exec.Node{node}, 0, func(context.Context) error { attempts.Add(1); return errNode })
		start := time.Now()
		if err := run(t, s, several); err != nil {
			t.Fatal(err)
		}
		want(t, s, exec.Failed)
		if took := time.Since(start); attempts.Load() != 4 || took != (1+2+3)*time.Second {
			t.Errorf("%d attempts in %s, want 4 in 6s", attempts.Load(), took)
		}
	})
}

func TestGoexitFailsItsTaskAlone(t *testing.T) {
	s, _ := superstep([]exec.Node{{Race: 1}, {Race: 1}, {}}, 1,
		func(context.Context) error { runtime.Goexit(); return nil },
		func(context.Context) error { return nil },
		func(context.Context) error { return nil })
	if err := run(t, s, exec.Options{Workers: 1, Eager: true}); err != nil {
		t.Fatal(err)
	}
	want(t, s, exec.Beaten, exec.Succeeded, exec.Succeeded)
}

// TestAsManyTasksRunAtOnceAsThereMayBeWorkers: each task takes a second.
func TestAsManyTasksRunAtOnceAsThereMayBeWorkers(t *testing.T) {
	for _, tt := range []struct {
		tasks, workers int
		want           time.Duration
	}{{10, 3, 4 * time.Second}, {64, 64, time.Second}, {2, 64, time.Second}, {100, 1, 100 * time.Second}} {
		t.Run(fmt.Sprintf("%d tasks, %d workers", tt.tasks, tt.workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running, most atomic.Int32
				calls := slices.Repeat([]func(context.Context) error{func(context.Context) error {
					n := running.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						continue
					}
					time.Sleep(time.Second)
					running.Add(-1)
					return nil
				}}, tt.tasks)
				s, _ := superstep(make([]exec.Node, tt.tasks), 0, calls...)
				start := time.Now()
				if err := run(t, s, exec.Options{Workers: tt.workers}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != tt.want || int(most.Load()) != min(tt.tasks, tt.workers) {
					t.Errorf("took %s, with %d tasks at once; want %s, %d", took, most.Load(), tt.want, min(tt.tasks, tt.workers))
				}
			})
		})
	}
}

// TestTasksThatReturnAtOnceNeedFewWorkers counts bytes: a worker has over 200, and the context of
// a task 16.
func TestTasksThatReturnAtOnceNeedFewWorkers(t *testing.T) {
	const tasks, rounds = 1000, 10
	s, _ := superstep(make([]exec.Node, tasks), 0, slices.Repeat([]func(context.Context) error{
		func(context.Context) error { return nil },
	}, tasks)...)
	due := slices.Clone(s.Tasks)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		copy(s.Tasks, due)
		if err := run(t, s, exec.Options{Workers: tasks}); err != nil {
			t.Error(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got, most := (after.TotalAlloc-before.TotalAlloc)/rounds, uint64(tasks*100); got > most {
		t.Errorf("%d tasks that return at once take %d bytes with as many workers allowed, want at most %d", tasks, got, most)
	}
}

type large struct{ _ [1 << 16]byte }

func (*large) AppendWire(b []byte) ([]byte, error) { return b, nil }

// TestFillReleasesWhatWasSent: a run that fanned out once does not keep what it sent until it
// ends.
func TestFillReleasesWhatWasSent(t *testing.T) {
	h := &host{}
	s := exec.New(h, make([]exec.Node, 1), 0, task.Task{})
	var sent []weak.Pointer[large]
	func() {
		var due []plan.Task
		for range 8 {
			p := new(large)
			sent = append(sent, weak.Make(p))
			due = append(due, plan.Task{Sent: p})
		}
		s.Fill(due)
		s.Over()
	}()
	s.Fill([]plan.Task{{}})
	runtime.GC()
	for i, p := range sent {
		if p.Value() != nil {
			t.Errorf("payload %d is still reachable", i)
		}
	}
	runtime.KeepAlive(&s)
}

func TestAFailureThatContinuesCancelsNoSibling(t *testing.T) { // rule 11.11
	synctest.Test(t, func(t *testing.T) {
		s, _ := superstep([]exec.Node{{Continues: true}, {}}, 0, after(time.Second, errNode), after(time.Hour, nil))
		if err := run(t, s, several); err != nil {
			t.Fatal(err)
		}
		want(t, s, exec.Failed, exec.Succeeded)
	})
}

func TestAFallbackIsTheAttemptAfterTheLast(t *testing.T) { // rule 11.9
	calls := 0
	var s *exec.Superstep
	s, _ = superstep([]exec.Node{{Retry: []exec.Retry{{Attempts: 2, Base: 1}}, Fallback: true}}, 0, func(context.Context) error {
		if calls++; s.Tasks[0].Failure == nil {
			return errNode
		}
		return nil
	})
	if err := run(t, s, exec.Options{Workers: 1}); err != nil {
		t.Fatal(err)
	}
	want(t, s, exec.Succeeded)
	if got := s.Tasks[0]; got.Attempt != 3 || calls != 3 || !errors.Is(got.Failure, errNode) {
		t.Errorf("got attempt %d after %d calls, because of %v; want 3, 3 and the node's error", got.Attempt, calls, got.Failure)
	}
}

func TestNoRestEndsWellUnderACancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if exec.Rest(ctx, 0) {
			t.Fatal("got true, want false: the context has ended")
		}
	}
}
