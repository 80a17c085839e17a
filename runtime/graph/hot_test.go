package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// listing lists the calls of a saver that a run makes, as "load", "open", "append" and "put".
type listing struct {
	checkpoint.Saver
	mu    sync.Mutex
	calls []string
}

func (l *listing) note(call string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call)
}

// since returns the calls since it was last called.
func (l *listing) since() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := strings.Join(l.calls, " ")
	l.calls = nil
	return calls
}

func (l *listing) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	l.note("load")
	return l.Saver.Load(ctx, p)
}

func (l *listing) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Open != nil {
		l.note("open")
	} else {
		l.note("append")
	}
	return l.Saver.Append(ctx, a)
}

func (l *listing) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	l.note("put")
	return l.Saver.PutWrites(ctx, w)
}

// TestAHotInvokeReadsNothing counts what a second input costs: the opening, and the commits of the
// run.
func TestAHotInvokeReadsNothing(t *testing.T) {
	const open, commit = "open", " append"
	routed := newWork()
	routed.Node("a", say("a"))
	routed.Route(graph.Start, choose("a"), "a")
	routed.Edge("a", graph.End)
	for name, c := range map[string]struct {
		graph *graph.Builder[work, update]
		opts  []graph.Option
		want  map[graph.Durability]string
	}{
		"chain": {chain("a", "b", "c"), nil, map[graph.Durability]string{
			graph.Sync: open + strings.Repeat(commit, 3), graph.Async: open + strings.Repeat(commit, 3), graph.OnExit: "open append"}},
		"shared state": {chain("a"), []graph.Option{graph.SharedState()}, map[graph.Durability]string{
			graph.Sync: "open append", graph.Async: "open append", graph.OnExit: "open append"}},
		"entry route": {routed, nil, map[graph.Durability]string{
			graph.Sync: open + strings.Repeat(commit, 2), graph.Async: open + strings.Repeat(commit, 2), graph.OnExit: "open append"}},
		"off": {chain("a"), []graph.Option{graph.HotThreads(0)}, map[graph.Durability]string{
			graph.Sync: "load open append", graph.Async: "load open append", graph.OnExit: "load open append"}},
		"released": {chain("a"), []graph.Option{graph.ReleaseOnDone()}, map[graph.Durability]string{
			graph.Sync: "load open append", graph.Async: "load open append", graph.OnExit: "load open append"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				synctest.Test(t, func(t *testing.T) {
					s := &listing{Saver: resting{memory.New()}}
					th := compile(t, c.graph, append(c.opts, graph.Saver(s), d)...).Thread("t")
					done(t, graph.Done)(th.Invoke(t.Context(), input))
					for turn := range 3 {
						s.since()
						done(t, graph.Done)(th.Invoke(t.Context(), input))
						same(t, fmt.Sprintf("calls of turn %d", turn+2), s.since(), c.want[d])
					}
				})
			})
		})
	}
}

// TestAHeadThatMovedIsReadAgain lets a process use a thread whose head another one has moved
// meanwhile.
func TestAHeadThatMovedIsReadAgain(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		move func(t *testing.T, s checkpoint.Saver, other thread)
		want string // the log after one, and then two
	}{
		"by input": {func(t *testing.T, _ checkpoint.Saver, other thread) {
			t.Helper()
			done(t, graph.Done)(other.Invoke(ctx, logged("other")))
		}, "one a other a two a"},
		"by an edit": {func(t *testing.T, _ checkpoint.Saver, other thread) {
			t.Helper()
			if _, err := other.UpdateState(ctx, logged("edit")); err != nil {
				t.Fatal(err)
			}
		}, "one a edit two a"},
		"by a fork": {func(t *testing.T, _ checkpoint.Saver, other thread) {
			t.Helper()
			snaps := collect(t, other.History(ctx, checkpoint.Query{}))
			done(t, graph.Done)(other.At(snaps[1].Checkpoint).Resume(ctx))
			if _, err := other.At(snaps[0].Checkpoint).UpdateState(ctx, logged("fork")); err != nil {
				t.Fatal(err)
			}
		}, "one a fork two a"},
		"by a release": {func(t *testing.T, _ checkpoint.Saver, other thread) {
			t.Helper()
			if _, err := other.Release(ctx); err != nil {
				t.Fatal(err)
			}
		}, "two a"},
		"by a delete": {func(t *testing.T, s checkpoint.Saver, _ thread) {
			t.Helper()
			if err := s.Delete(ctx, "t"); err != nil {
				t.Fatal(err)
			}
		}, "two a"},
		"by a delete and a new thread": {func(t *testing.T, s checkpoint.Saver, other thread) {
			t.Helper()
			if err := s.Delete(ctx, "t"); err != nil {
				t.Fatal(err)
			}
			done(t, graph.Done)(other.Invoke(ctx, logged("new")))
		}, "new a two a"},
		"by an import of the same": {func(t *testing.T, s checkpoint.Saver, _ thread) {
			t.Helper()
			var items []checkpoint.ExportItem
			for item, err := range s.Export(ctx, "t", 0) {
				if err != nil {
					t.Fatal(err)
				}
				items = append(items, item)
			}
			if err := s.Delete(ctx, "t"); err != nil {
				t.Fatal(err)
			}
			if err := s.Import(ctx, "t", func(yield func(checkpoint.ExportItem, error) bool) {
				for _, item := range items {
					if !yield(item, nil) {
						return
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
		}, "one a two a"},
		"not at all, but pruned": {func(t *testing.T, s checkpoint.Saver, _ thread) {
			t.Helper()
			if _, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 1}); err != nil {
				t.Fatal(err)
			}
		}, "one a two a"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, opts := range [][]graph.Option{nil, {graph.SharedState()}} {
				th, s := newThread(t, chain("a"), opts...)
				other := compile(t, chain("a"), graph.Saver(s)).Thread("t")
				done(t, graph.Done)(th.Invoke(ctx, logged("one")))
				c.move(t, s, other)
				res := done(t, graph.Done)(th.Invoke(ctx, logged("two")))
				same(t, "log", strings.Join(res.State.Log, " "), c.want)
				snap, err := other.State(ctx)
				if err != nil {
					t.Fatal(err)
				}
				same(t, "stored log", strings.Join(snap.State.Log, " "), c.want)
			}
		})
	}
}

// TestAHeadThatMovedGivesTheAnswersOfStorage: the thread is not what the process remembers, and
// its calls fail as they do without a memory.
func TestAHeadThatMovedGivesTheAnswersOfStorage(t *testing.T) {
	var failing atomic.Bool
	b := newWork()
	b.Node("a", func(context.Context, work) (update, error) {
		if failing.Load() {
			return update{}, errBroken
		}
		return logged("a"), nil
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	th, s := newThread(t, b)
	other := compile(t, b, graph.Saver(s)).Thread("t")
	done(t, graph.Done)(th.Invoke(t.Context(), logged("one")))
	failing.Store(true)
	if _, err := other.Invoke(t.Context(), logged("other")); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if _, err := th.Invoke(t.Context(), logged("two")); !errors.Is(err, graph.ErrUnfinished) {
		t.Errorf("input for an unfinished thread: got %v, want ErrUnfinished", err)
	}
	failing.Store(false)
	done(t, graph.Done)(other.Resume(t.Context()))
	res := done(t, graph.Done)(th.Invoke(t.Context(), logged("two")))
	same(t, "log", res.State.Log, []string{"one", "a", "other", "a", "two", "a"})
}

// TestAHeadOfAThreadThatIsHeld waits for the run of another process, or says who holds the thread.
func TestAHeadOfAThreadThatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		b := newWork()
		b.Node("a", func(context.Context, work) (update, error) {
			if slow.Load() {
				time.Sleep(time.Second)
			}
			return logged("a"), nil
		})
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		th, s := newThread(t, b)
		other := compile(t, b, graph.Saver(s), graph.Holder("other")).Thread("t")
		done(t, graph.Done)(th.Invoke(t.Context(), logged("one")))
		slow.Store(true)
		var wg sync.WaitGroup
		wg.Go(func() { done(t, graph.Done)(other.Invoke(t.Context(), logged("other"), graph.RequestID("r"))) })
		time.Sleep(time.Millisecond)
		var busy *checkpoint.BusyError
		if _, err := th.Invoke(t.Context(), logged("two")); !errors.As(err, &busy) || busy.Holder != "other" {
			t.Errorf("got %v, want a BusyError of other", err)
		}
		wg.Wait()
		slow.Store(false)
		done(t, graph.Done)(th.Invoke(t.Context(), logged("three")))
		slow.Store(true)
		wg.Go(func() { done(t, graph.Done)(other.Invoke(t.Context(), logged("other"))) })
		time.Sleep(time.Millisecond)
		slow.Store(false)
		res := done(t, graph.Done)(th.Invoke(t.Context(), logged("four"), graph.Wait()))
		same(t, "log", strings.Join(res.State.Log, " "), "one a other a three a other a four a")
	})
}

// TestAHotInputIsMergedOnce loses the answer of each call of a hot run, or the call itself, and
// sends the input again.
func TestAHotInputIsMergedOnce(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, shared := range []bool{false, true} {
			for at := range 4 {
				for _, after := range []bool{false, true} {
					what := fmt.Sprintf("shared %t, crash at call %d, made %t", shared, at, after)
					opts := []graph.Option{d}
					if shared {
						opts = append(opts, graph.SharedState())
					}
					s := &crashing{Saver: memory.New(), left: -1, after: after}
					th := compile(t, chain("a", "b"), append(opts, graph.Saver(s))...).Thread("t")
					done(t, graph.Done)(th.Invoke(t.Context(), logged("one")))
					s.mu.Lock()
					s.left = at + 1
					s.mu.Unlock()
					_, err := th.Invoke(t.Context(), logged("two"), graph.RequestID("r"))
					if err != nil && !errors.Is(err, errCrash) {
						t.Fatalf("%s: got %v, want the crash", what, err)
					}
					s.mu.Lock()
					s.left = -1
					s.mu.Unlock()
					res := done(t, graph.Done)(th.Invoke(t.Context(), logged("two"), graph.RequestID("r"), graph.TakeOver()))
					same(t, what, strings.Join(res.State.Log, " "), "one a b two a b")
					res = done(t, graph.Done)(th.Invoke(t.Context(), logged("three")))
					same(t, what+", and the next", strings.Join(res.State.Log, " "), "one a b two a b three a b")
				}
			}
		}
	})
}

// TestARequestIsRepeatedOnAHotThread sends requests again, here and in another process.
func TestARequestIsRepeatedOnAHotThread(t *testing.T) {
	s := &listing{Saver: memory.New()}
	th := compile(t, chain("a"), graph.Saver(s)).Thread("t")
	other := compile(t, chain("a"), graph.Saver(s)).Thread("t")
	first := done(t, graph.Done)(th.Invoke(t.Context(), logged("one"), graph.RequestID("1")))
	for _, th := range []thread{th, other, th} {
		res := done(t, graph.Done)(th.Invoke(t.Context(), logged("one"), graph.RequestID("1")))
		same(t, "checkpoint", res.Checkpoint, first.Checkpoint)
	}
	if _, err := th.Invoke(t.Context(), logged("another"), graph.RequestID("1")); !errors.Is(err, graph.ErrRequestReused) {
		t.Errorf("another input under the id: got %v, want ErrRequestReused", err)
	}
	s.since()
	done(t, graph.Done)(th.Invoke(t.Context(), logged("two"), graph.RequestID("2")))
	same(t, "calls of another request", s.since(), "open append")
	second := done(t, graph.Done)(other.Invoke(t.Context(), logged("three"), graph.RequestID("3")))
	res := done(t, graph.Done)(th.Invoke(t.Context(), logged("three"), graph.RequestID("3")))
	same(t, "checkpoint of a request made elsewhere", res.Checkpoint, second.Checkpoint)
	same(t, "log", res.State.Log, []string{"one", "a", "two", "a", "three", "a"})
}

// TestAHeadIsKeptByInputThatFinishes: what any other run leaves is read from storage.
func TestAHeadIsKeptByInputThatFinishes(t *testing.T) {
	ctx := t.Context()
	for name, run := range map[string]func(t *testing.T, th thread, fail func(bool)){
		"a node that fails": func(t *testing.T, th thread, fail func(bool)) {
			t.Helper()
			fail(true)
			if _, err := th.Invoke(ctx, logged("two")); !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			fail(false)
			done(t, graph.Done)(th.Resume(ctx))
		},
		"a context that ended": func(t *testing.T, th thread, _ func(bool)) {
			t.Helper()
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := th.Invoke(ended, logged("two")); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if _, err := th.UpdateState(ctx, logged("edit")); err != nil {
				t.Fatal(err)
			}
		},
		"a replay": func(t *testing.T, th thread, _ func(bool)) {
			t.Helper()
			snaps := collect(t, th.History(ctx, checkpoint.Query{}))
			done(t, graph.Done)(th.At(snaps[1].Checkpoint).Resume(ctx))
		},
		"an edit": func(t *testing.T, th thread, _ func(bool)) {
			t.Helper()
			if _, err := th.UpdateState(ctx, logged("edit")); err != nil {
				t.Fatal(err)
			}
		},
		"a release": func(t *testing.T, th thread, _ func(bool)) {
			t.Helper()
			if _, err := th.Release(ctx); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var failing atomic.Bool
			b := newWork()
			b.Node("a", func(context.Context, work) (update, error) {
				if failing.Load() {
					return update{}, errBroken
				}
				return logged("a"), nil
			})
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			s := &listing{Saver: memory.New()}
			th := compile(t, b, graph.Saver(s)).Thread("t")
			done(t, graph.Done)(th.Invoke(ctx, logged("one")))
			run(t, th, failing.Store)
			s.since()
			done(t, graph.Done)(th.Invoke(ctx, logged("three")))
			same(t, "calls of the next input", s.since(), "load open append")
			done(t, graph.Done)(th.Invoke(ctx, logged("four")))
			same(t, "calls of the one after", s.since(), "open append")
		})
	}
}

// TestHotThreadsAreBounded: those used least recently are forgotten first, and a large one is not
// kept.
func TestHotThreadsAreBounded(t *testing.T) {
	s := &listing{Saver: memory.New()}
	app := compile(t, chain("a"), graph.Saver(s), graph.HotThreads(20<<10))
	turn := func(id string, text string) string {
		t.Helper()
		s.since()
		done(t, graph.Done)(app.Thread(id).Invoke(t.Context(), logged(text)))
		return s.since()
	}
	const hot, cold = "open append", "load open append"
	for i := range 30 {
		turn(fmt.Sprint(i), "x")
	}
	same(t, "the newest", turn("29", "x"), hot)
	same(t, "the oldest", turn("0", "x"), cold)
	same(t, "the oldest, a turn later", turn("0", "x"), hot)
	turn("big", strings.Repeat("x", 1<<10))
	same(t, "one that is larger than an eighth", turn("big", "x"), cold)
	same(t, "another meanwhile", turn("29", "x"), hot)
	turn("growing", "x")
	same(t, "one that grows", turn("growing", strings.Repeat("x", 1<<10)), hot)
	same(t, "one that has grown", turn("growing", "x"), cold)
}

func TestHotThreadsThatContradict(t *testing.T) {
	for want, opts := range map[string][]graph.Option{
		"HotThreads is -1":               {graph.HotThreads(-1)},
		"SharedState without HotThreads": {graph.HotThreads(0), graph.SharedState()},
		"HotThreads is set twice":        {graph.HotThreads(1), graph.HotThreads(2)},
	} {
		_, err := chain("a").Compile(append(opts, graph.Saver(memory.New()))...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestWhatASubgraphRemembersOnAHotThread is read from storage by its own record.
func TestWhatASubgraphRemembersOnAHotThread(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		graph.MapSubgraph(b, "sub", compile(t, chain("x"), graph.SubgraphOnly()),
			func(context.Context, work) (update, error) { return logged("in"), nil },
			func(_ context.Context, _, c work) (update, error) { return logged(fmt.Sprint(len(c.Log))), nil },
			graph.Stateful())
		b.Edge(graph.Start, "sub")
		b.Edge("sub", graph.End)
		th, _ := newThread(t, b, d)
		for range 3 {
			done(t, graph.Done)(th.Invoke(t.Context(), logged("turn")))
		}
		res := done(t, graph.Done)(th.Invoke(t.Context(), logged("turn")))
		same(t, "log", strings.Join(res.State.Log, " "), "turn 2 turn 4 turn 6 turn 8")
	})
}

// TestAFailureOnAStaleHeadIsNotTheCallers merges the input into what the process remembers, which
// fails, and into what is stored, which does not.
func TestAFailureOnAStaleHeadIsNotTheCallers(t *testing.T) {
	b := graph.New("g", teststate.WorkSchema)
	b.Node("a", func(_ context.Context, s work) (update, error) { return update{}, nil })
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	th, s := newThread(t, b)
	other := compile(t, b, graph.Saver(s)).Thread("t")
	most := update{}
	most.Count.Add(int(^uint(0) >> 1))
	less := update{}
	less.Count.Add(-10)
	done(t, graph.Done)(th.Invoke(t.Context(), most))
	var over *graph.OverflowError
	if _, err := th.Invoke(t.Context(), input); !errors.As(err, &over) {
		t.Errorf("got %v, want an OverflowError", err)
	}
	done(t, graph.Done)(th.Invoke(t.Context(), update{})) // hot again
	done(t, graph.Done)(other.Invoke(t.Context(), less))
	res := done(t, graph.Done)(th.Invoke(t.Context(), input))
	same(t, "count", res.State.Count, int(^uint(0)>>1)-9)
}
