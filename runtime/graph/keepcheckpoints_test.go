package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// spinning is a loop of one node, until it has run n times.
func spinning(n int, l *ledger) *graph.Builder[work, update] {
	b := newWork()
	b.Node("again", func(ctx context.Context, _ work) (update, error) {
		l.note(ctx)
		u := logged("x")
		u.Count.Add(1)
		return u, nil
	})
	b.Edge(graph.Start, "again")
	b.Route("again", func(_ context.Context, s work) (graph.Next, error) {
		if len(s.Log) < n {
			return graph.To("again"), nil
		}
		return graph.To(graph.End), nil
	}, "again", graph.End)
	return b
}

// measured counts the checkpoints of a thread after each write, and the calls of Prune.
type measured struct {
	checkpoint.Saver
	mu     sync.Mutex
	most   map[string]int // by namespace
	prunes int
	refuse error // of Prune
}

func (m *measured) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	done, err := m.Saver.Append(ctx, a)
	n := 0
	for _, err := range m.Saver.History(ctx, checkpoint.Ref{Thread: a.Thread, Namespace: a.Namespace}, checkpoint.Query{}) {
		if err != nil {
			return done, err
		}
		n++
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.most == nil {
		m.most = make(map[string]int)
	}
	m.most[a.Namespace] = max(m.most[a.Namespace], n)
	return done, err
}

func (m *measured) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	m.mu.Lock()
	m.prunes++
	m.mu.Unlock()
	if m.refuse != nil {
		return checkpoint.PruneResult{}, m.refuse
	}
	return m.Saver.Prune(ctx, thread, keep)
}

// historyOf returns the steps of the stored checkpoints, newest first.
func historyOf(t *testing.T, th thread) (steps []int) {
	t.Helper()
	for snap, err := range th.History(t.Context(), checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, snap.Step)
	}
	return steps
}

// Rule 14.8.
func TestALongRunKeepsItsNewestCheckpoints(t *testing.T) {
	const supersteps = 400
	for _, c := range []struct {
		keep, most, prunes int
	}{
		{1, 17, 25},
		{50, 100, 8},
		{1000, supersteps + 2, 0},
	} {
		for _, d := range []graph.Durability{graph.Sync, graph.Async} {
			s := &measured{Saver: memory.New()}
			th := compile(t, spinning(supersteps, new(ledger)), graph.Saver(s), graph.KeepCheckpoints(c.keep), d).Thread("t")
			res := done(t, graph.Done)(th.Invoke(t.Context(), input))
			what := fmt.Sprintf("%s, keep %d: ", d, c.keep)
			same(t, what+"lines", len(res.State.Log), supersteps)
			if s.prunes > c.prunes || d == graph.Sync && s.prunes != c.prunes {
				t.Errorf("%sgot %d prunes, want %d", what, s.prunes, c.prunes)
			}
			// Async stores up to 128 checkpoints by one call.
			if most := s.most[""]; d == graph.Sync && most > c.most || most > c.most+128 {
				t.Errorf("%sgot %d checkpoints at a time, want at most %d", what, most, c.most)
			}
			if snap, err := th.State(t.Context()); err != nil || len(snap.State.Log) != supersteps {
				t.Errorf("%sgot %d lines in the stored state, %v; want %d", what, len(snap.State.Log), err, supersteps)
			}
		}
	}
}

// A conversation has few supersteps in each run. The runs together keep the bound.
func TestManyRunsKeepTheNewestCheckpoints(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := &measured{Saver: memory.New()}
		th := compile(t, chain("a", "b"), graph.Saver(s), graph.KeepCheckpoints(20), d).Thread("t")
		for range 60 {
			done(t, graph.Done)(th.Invoke(t.Context(), input))
		}
		if most := s.most[""]; most > 45 || s.prunes < 5 {
			t.Errorf("got %d checkpoints at a time and %d prunes, want at most 45, by some", most, s.prunes)
		}
		first := historyOf(t, th)[0]
		done(t, graph.Done)(th.Invoke(t.Context(), input))
		if now := historyOf(t, th); now[0] <= first {
			t.Errorf("got step %d after another run, want more than %d", now[0], first)
		}
	})
}

// A loop in a subgraph has its checkpoints in a log of its own.
func TestALongSubgraphCallKeepsItsNewestCheckpoints(t *testing.T) {
	const supersteps = 200
	child := compile(t, spinning(supersteps, new(ledger)), graph.SubgraphOnly())
	b := newWork()
	b.Subgraph("inner", child)
	b.Edge(graph.Start, "inner")
	b.Edge("inner", graph.End)
	s := &measured{Saver: memory.New()}
	th := compile(t, b, graph.Saver(s), graph.KeepCheckpoints(20)).Thread("t")
	res := done(t, graph.Done)(th.Invoke(t.Context(), input))
	same(t, "lines", len(res.State.Log), supersteps)
	same(t, "logs", len(s.most), 2)
	for namespace, most := range s.most {
		if most > 41 {
			t.Errorf("namespace %q: got %d checkpoints at a time, want at most 41", namespace, most)
		}
	}
}

// A process dies at any call, also between a commit and the Prune that follows. The thread
// continues as it would have, and no acknowledged task runs again.
func TestEveryCrashPointOfARunThatPrunes(t *testing.T) {
	const supersteps = 40
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		for left := 1; ; left++ {
			reached := false
			for _, after := range []bool{false, true} {
				what := fmt.Sprintf("crash at call %d, after it was made: %t", left, after)
				inner, l := memory.New(), new(ledger)
				open := func(s checkpoint.Saver) thread {
					return compile(t, spinning(supersteps, l), graph.Saver(s), graph.KeepCheckpoints(2), graph.Strict(), d).Thread("t")
				}
				_, err := open(&crashing{Saver: inner, left: left, after: after}).Invoke(t.Context(), input)
				reached = reached || err != nil
				kept := acknowledged(t, inner, l)
				again := open(inner)
				res, err := again.Resume(t.Context(), graph.TakeOver())
				if errors.Is(err, checkpoint.ErrNotFound) {
					res, err = again.Invoke(t.Context(), input)
				}
				same(t, what+": lines", len(done(t, graph.Done)(res, err).State.Log), supersteps)
				for key, n := range kept {
					if now := l.copy()[key]; now != n {
						t.Errorf("%s: a task whose result was stored ran %d times more", what, now-n)
					}
				}
				// Async stores many checkpoints by one call, so a crash can leave more.
				if n := len(historyOf(t, again)); d != graph.Async && n > 2*16+4 {
					t.Errorf("%s: got %d checkpoints at the end", what, n)
				}
			}
			if !reached {
				break
			}
		}
	})
}

// Nothing that a run needs is removed: what a subgraph remembers, a join that is partly filled, an
// open question, the state of a fork.
func TestAThreadThatIsPrunedRunsAsAnyOther(t *testing.T) {
	for name, b := range map[string]*graph.Builder[work, update]{
		"remembering": diary(t, nil),
		"nested":      around(t, nil, compilePair(t, pairs(nil, "a", "b"))),
		"joining":     journey(new(ledger)),
	} {
		eachDurability(t, func(t *testing.T, d graph.Durability) {
			want, _ := newThread(t, b, d)
			s := &measured{Saver: memory.New()}
			got := compile(t, b, graph.Saver(s), graph.KeepCheckpoints(1), d, graph.HotThreads(0)).Thread("t")
			for i := range 24 {
				for _, th := range []thread{want, got} {
					done(t, graph.Done)(th.Invoke(t.Context(), input))
					if i%5 == 4 { // a fork of the head
						var at []checkpoint.ID
						for _, snap := range collect(t, th.History(t.Context(), checkpoint.Query{Limit: 1})) {
							at = append(at, snap.Checkpoint)
						}
						if _, err := th.At(at[0]).UpdateState(t.Context(), logged("fork"), graph.AsNode(graph.Start)); err != nil {
							t.Fatal(err)
						}
						done(t, graph.Done)(th.Resume(t.Context()))
					}
				}
			}
			snaps := make([]graph.Snapshot[work], 2)
			for i, th := range []thread{want, got} {
				var err error
				if snaps[i], err = th.State(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			same(t, name+": state", snaps[1].State, snaps[0].State)
			if s.prunes == 0 {
				t.Errorf("%s: nothing was pruned", name)
			}
		})
	}
}

// pruneEvents keeps the events of failed prunes.
type pruneEvents struct {
	mu   sync.Mutex
	errs []error
}

func (p *pruneEvents) Observe(_ context.Context, e graph.RunEvent) {
	if e.Kind == graph.EventPruneFailed {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errs = append(p.errs, fmt.Errorf("%s %s %d: %w", e.Graph, e.Thread, e.Step, e.Err))
	}
}

func TestAPruneThatFailsDoesNotEndTheRun(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async} {
		s, seen := &measured{Saver: memory.New(), refuse: errBroken}, new(pruneEvents)
		th := compile(t, spinning(100, new(ledger)), graph.Saver(s), graph.KeepCheckpoints(20), graph.Observe(seen), d).Thread("t")
		done(t, graph.Done)(th.Invoke(t.Context(), input))
		if s.prunes == 0 || len(seen.errs) != s.prunes {
			t.Errorf("%s: got %d events of %d prunes", d, len(seen.errs), s.prunes)
		}
		if !slices.ContainsFunc(seen.errs, func(err error) bool {
			var saver *graph.SaverError
			return errors.Is(err, errBroken) && errors.As(err, &saver)
		}) {
			t.Errorf("%s: got %v, want a *SaverError", d, seen.errs)
		}
	}
}

func TestKeepCheckpointsNeedsANumber(t *testing.T) {
	want := []string{"KeepCheckpoints is 0; want at least 1, or leave the option out to keep all"}
	same(t, "faults", faults(t, chain("a"), graph.KeepCheckpoints(0)), want)
}
