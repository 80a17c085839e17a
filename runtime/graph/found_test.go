package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// Faults that random graphs and hostile readers found: one small graph each.

// failing is a node that fails while broken says so.
func failing(name string, broken *atomic.Bool) func(context.Context, work) (update, error) {
	return func(context.Context, work) (update, error) {
		if broken.Load() {
			return update{}, errBroken
		}
		return logged(name), nil
	}
}

func TestAStopThatWasAnsweredHoldsAReplayAllTheSame(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	b := newWork()
	b.Node("a", say("a"))
	b.Node("b", failing("b", &broken))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	th, _ := newThread(t, b, graph.InterruptBefore("b"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	if _, err := th.Resume(t.Context()); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want b to fail", err)
	}
	edited, err := th.UpdateState(t.Context(), logged("edit"))
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(false)
	done(t, graph.Done)(th.Resume(t.Context()))

	res := done(t, graph.Paused)(th.At(edited).Resume(t.Context()))
	same(t, "due at the replay", res.Next, []graph.ID{"b"})
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "edit", "b"})
	if _, err := th.At(edited).UpdateState(t.Context(), logged("fork")); err != nil {
		t.Fatal(err)
	}
	res = done(t, graph.Paused)(th.Resume(t.Context()))
	same(t, "due at the fork", res.Next, []graph.ID{"b"})
	snaps := collect(t, th.History(t.Context(), checkpoint.Query{}))
	same(t, "checkpoints", len(snaps), 8)
}

func TestAQuestionOfWhoLostARaceHoldsNothing(t *testing.T) {
	var bBroken, routeBroken atomic.Bool
	bBroken.Store(true)
	routeBroken.Store(true)
	b := newWork()
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		_, err := refund.Ask(ctx, doc{Name: "shoes"})
		return logged("a"), err
	}, refund)
	b.Node("b", failing("b", &bBroken))
	b.Node("after", say("after"))
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.JoinAny([]graph.ID{"a", "b"}, "after")
	b.Route("after", func(context.Context, work) (graph.Next, error) { return graph.To(graph.End), nil }, graph.End)
	b.Route("b", func(context.Context, work) (graph.Next, error) {
		if routeBroken.Load() {
			return graph.Next{}, errBroken
		}
		return graph.To(graph.End), nil
	}, graph.End)
	th, _ := newThread(t, b, graph.Concurrency(1))
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want b to fail", err)
	}
	bBroken.Store(false)
	if _, err := th.Resume(t.Context()); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want the route of b to fail", err)
	}
	routeBroken.Store(false)
	res := done(t, graph.Done)(th.Resume(t.Context())) // a lost to b, whose result is stored
	same(t, "log", res.State.Log, []string{"b", "after"})
}

// tripping fails the n-th write, and is well again. The opening is the first; with below only the
// records of subgraphs count. strays counts what was stored of tasks that no stored record makes
// due.
type tripping struct {
	checkpoint.Saver
	n, at  int32
	below  bool
	mu     sync.Mutex
	known  map[checkpoint.ID]bool
	strays int
}

func (s *tripping) fails() bool { return atomic.AddInt32(&s.n, 1) == s.at }

func (s *tripping) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if (!s.below || a.Namespace != "") && s.fails() {
		return checkpoint.AppendResult{}, errBroken
	}
	s.mu.Lock()
	for i := range a.Records {
		s.known[a.Records[i].ID] = true
	}
	s.mu.Unlock()
	s.see(a.Writes)
	return s.Saver.Append(ctx, a)
}

func (s *tripping) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if !s.below && s.fails() {
		return checkpoint.PutResult{}, errBroken
	}
	s.see(w.Writes)
	return s.Saver.PutWrites(ctx, w)
}

func (s *tripping) see(writes []checkpoint.Write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range writes {
		if !s.known[writes[i].Base] && writes[i].Kind != checkpoint.Schema {
			s.strays++
		}
	}
}

// A run that could not store its last write tries the same write again.
func TestTheLastWriteIsTriedAgainAsItWas(t *testing.T) {
	b := newWork()
	b.Node("first", say("first"))
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		_, err := refund.Ask(ctx, doc{Name: "shoes"})
		return logged("ask"), err
	}, refund)
	b.Node("sibling", say("sibling"))
	b.Edge(graph.Start, "first")
	b.Edge("first", "ask")
	b.Edge("first", "sibling")
	b.Edge("ask", graph.End)
	b.Edge("sibling", graph.End)
	fails := map[graph.Durability]int32{graph.Sync: 3, graph.Async: 2, graph.OnExit: 2}
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		trip := &tripping{Saver: s, at: fails[d], known: map[checkpoint.ID]bool{}}
		g := compile(t, b, graph.Saver(trip), graph.Concurrency(1), d)
		if _, err := g.Thread("t").Invoke(t.Context(), input); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want the failure of the saver", err)
		}
		same(t, "writes of tasks that are not due", trip.strays, 0)
		snap, err := g.Thread("t").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d == graph.Async { // the commit that it builds on is lost
			same(t, "due", snap.Next, []graph.ID{"first"})
			return
		}
		same(t, "log", snap.State.Log, []string{"first"})
		same(t, "status", snap.Status, checkpoint.Waiting)
		same(t, "questions", len(snap.Questions), 1)
		same(t, "tasks", snap.Tasks, []graph.TaskState{{Node: "ask"}, {Node: "sibling", Finished: true}})
		same(t, "listed", len(waitingThreads(t, s)), 1)
	})
}

// An OnExit run dies after its subgraph has stored a checkpoint, and before the run itself has.
// The checkpoint belongs to a lost superstep. So a Sync run starts the subgraph again, under the
// same keys.
func TestASubgraphIsAheadOfARunThatWasLost(t *testing.T) {
	l := new(ledger)
	build := func() *graph.Builder[work, update] {
		inner := pairs(l, "a")
		inner.Node("ask", func(ctx context.Context, _ pair) (pairUpdate, error) {
			ok, err := refund.Ask(ctx, doc{Name: "shoes"})
			return pairUpdate{Bar: state.Append(fmt.Sprint(ok))}, err
		}, refund)
		inner.Edge("a", "ask")
		inner.Edge("ask", graph.End)
		return around(t, nil, compilePair(t, inner))
	}
	s := memory.New()
	dying := &crashing{Saver: s, left: 4} // after Load, the opening, and what the subgraph stores
	_, err := compile(t, build(), graph.Saver(dying), graph.OnExit).Thread("t").Invoke(t.Context(), input)
	if !errors.Is(err, errCrash) {
		t.Fatalf("got %v, want the crash", err)
	}
	th := compile(t, build(), graph.Saver(s)).Thread("t")
	res := done(t, graph.Waiting)(th.Resume(t.Context(), graph.TakeOver()))
	res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
	same(t, "log", res.State.Log, []string{"before", "sibling", "given 1 1 a+true", "after"})
	got := map[string]int{}
	for key, n := range l.copy() {
		got[l.names[key]] = n
	}
	same(t, "runs, by key", got, map[string]int{"a": 2})
}

func TestTheFirstWriteOfASubgraphIsTriedAgainWithItsRecord(t *testing.T) {
	inner := graph.New("inner", teststate.PairSchema)
	inner.Node("ask", func(ctx context.Context, _ pair) (pairUpdate, error) {
		_, err := refund.Ask(ctx, doc{Name: "shoes"})
		return pairUpdate{Bar: state.Append("asked")}, err
	}, refund)
	inner.Node("a", pairNode(nil, "a"))
	for _, id := range []graph.ID{"ask", "a"} {
		inner.Edge(graph.Start, id)
		inner.Edge(id, graph.End)
	}
	s := memory.New()
	trip := &tripping{Saver: s, at: 1, below: true, known: map[checkpoint.ID]bool{}}
	child := compilePair(t, inner, graph.Concurrency(1))
	th := compile(t, around(t, nil, child), graph.Saver(trip), graph.Concurrency(1)).Thread("t")
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want the failure of the saver", err)
	}
	same(t, "writes of tasks that are not due", trip.strays, 0)
	res := done(t, graph.Waiting)(th.Resume(t.Context()))
	res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
	same(t, "log", res.State.Log, []string{"before", "sibling", "given 1 1 asked+a", "after"})
}

// A subgraph over the same state that fails twice in one OnExit run keeps what it did before, for
// the next run.
func TestASubgraphThatIsTriedAgainOnExitKeepsItsChanges(t *testing.T) {
	var ran counter
	fails := 2
	inner := newWork()
	inner.Node("a", func(context.Context, work) (update, error) { ran.add("a"); return logged("a"), nil })
	inner.Node("bad", func(context.Context, work) (update, error) {
		if fails--; fails >= 0 {
			return update{}, errBroken
		}
		return logged("bad"), nil
	})
	inner.Edge(graph.Start, "a")
	inner.Edge("a", "bad")
	inner.Edge("bad", graph.End)
	b := newWork()
	b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
	b.Edge(graph.Start, "sub")
	b.Edge("sub", graph.End)
	th, _ := newThread(t, b)
	if _, err := th.Invoke(t.Context(), input, graph.OnExit); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want bad to fail", err)
	}
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "bad"})
	same(t, "runs", ran.counts(), map[string]int{"a": 1})
}

// A node that runs another thread may find that one held. That says nothing of its own thread.
func TestAConflictThatANodeMetIsAFailureOfTheNode(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	b := newWork()
	b.Node("sibling", say("sibling"))
	b.Node("calls", func(context.Context, work) (update, error) {
		if broken.Load() {
			return update{}, fmt.Errorf("the other thread: %w", &checkpoint.BusyError{Thread: "other", Holder: "somebody"})
		}
		return logged("calls"), nil
	})
	for _, id := range []graph.ID{"sibling", "calls"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		broken.Store(true)
		th, _ := newThread(t, b, d, graph.Concurrency(1))
		var node *graph.NodeError
		if _, err := th.Invoke(t.Context(), input); !errors.As(err, &node) || node.Node != "calls" {
			t.Fatalf("got %v, want calls to fail", err)
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "status", snap.Status, checkpoint.Failed)
		same(t, "sibling is finished", snap.Tasks[0].Finished, true)
		broken.Store(false)
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"sibling", "calls"})
	})
}

func TestARequestOfWhichTheRecordWasPrunedIsNotKnown(t *testing.T) {
	th, s := newThread(t, chain("a", "b", "c"))
	invoke := func(id string) result {
		t.Helper()
		return done(t, graph.Done)(th.Invoke(t.Context(), input, graph.RequestID(id)))
	}
	first := invoke("r1")
	if _, err := s.Prune(t.Context(), "t", checkpoint.Retention{Last: 1}); err != nil {
		t.Fatal(err)
	}
	same(t, "log", len(invoke("r2").State.Log), 2*len(first.State.Log))
	if _, err := th.UpdateState(t.Context(), update{}, graph.AsNode("a")); err != nil { // a line that goes back to what is pruned
		t.Fatal(err)
	}
	done(t, graph.Done)(th.Resume(t.Context()))
	if _, err := s.Prune(t.Context(), "t", checkpoint.Retention{Last: 1}); err != nil {
		t.Fatal(err)
	}
	invoke("r3")
}

func TestACallThatWaitsForAThreadDoesNotHoldADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := memory.New(), newGated()
		holder := background(func() (result, error) {
			return g.graph(t, "holder", graph.Saver(s)).Thread("t").Invoke(t.Context(), input)
		})
		<-g.running
		app := g.graph(t, "waits", graph.Saver(s))
		waits := background(func() (result, error) {
			return app.Thread("t").Resume(t.Context(), graph.Wait())
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := app.Drain(ctx); err != nil {
			t.Errorf("got %v, want the drain done", err)
		}
		close(g.open)
		<-holder
		if o := <-waits; !errors.Is(o.err, graph.ErrDraining) {
			t.Errorf("got %v, want ErrDraining", o.err)
		}
	})
}

func TestAnOwedRouteThatFailsIsAFailureOfTheThread(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	b := newWork()
	b.Node("a", say("a"))
	b.Edge(graph.Start, "a")
	b.Route("a", func(context.Context, work) (graph.Next, error) {
		if broken.Load() {
			return graph.Next{}, errBroken
		}
		return graph.To(graph.End), nil
	}, graph.End)
	th, _ := newThread(t, b, graph.InterruptAfter("a"), graph.BeforeRoute())
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	if _, err := th.Resume(t.Context()); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want the route to fail", err)
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", snap.Status, checkpoint.Failed)
	broken.Store(false)
	done(t, graph.Done)(th.Resume(t.Context()))
}

// An OnExit run that dies when a subgraph that remembers is at its end, and the run itself has
// stored nothing.
func TestWhereARememberingSubgraphSendsItsParentOutlivesACrash(t *testing.T) {
	for _, up := range []bool{true, false} {
		inner := pairs(nil, "a")
		inner.RoutingNode("on", func(context.Context, pair) (pairUpdate, graph.Next, error) {
			if up {
				return pairUpdate{}, graph.ToParent(graph.To("chosen")), nil
			}
			return pairUpdate{}, graph.To(graph.End), nil
		}, graph.Targets(graph.Parent, graph.End))
		inner.Edge("a", "on")
		b := newWork()
		graph.MapSubgraph(b, "sub", compilePair(t, inner), toPair, fromPair, graph.Stateful(), graph.Targets("chosen"))
		b.Node("chosen", say("chosen"))
		b.Edge(graph.Start, "sub")
		b.Edge("sub", graph.End)
		b.Edge("chosen", graph.End)
		s := memory.New()
		dying := &crashing{Saver: s, left: 4} // after Load, the opening, and what the subgraph stores
		if _, err := compile(t, b, graph.Saver(dying), graph.OnExit).Thread("t").Invoke(t.Context(), input); !errors.Is(err, errCrash) {
			t.Fatalf("got %v, want the crash", err)
		}
		res := done(t, graph.Done)(compile(t, b, graph.Saver(s)).Thread("t").Resume(t.Context(), graph.TakeOver()))
		same(t, "chosen", slices.Contains(res.State.Log, "chosen"), up)
	}
}

// The choice of a pending route is stored in a record that History does not show. A line that was
// left after that record continues there. At the checkpoint before it, the line is replayed, and
// the route called again.
func TestALineIsTakenUpAtTheCheckpointOfItsResult(t *testing.T) {
	asked := 0
	b := newWork()
	b.Node("a", say("a"))
	b.Node("b", say("b"))
	b.Edge(graph.Start, "a")
	b.Route("a", func(context.Context, work) (graph.Next, error) { asked++; return graph.To("b"), nil }, "b")
	b.Edge("b", graph.End)
	th, _ := newThread(t, b, graph.InterruptAfter("a"), graph.BeforeRoute(), graph.InterruptBefore("b"))
	owed := done(t, graph.Paused)(th.Invoke(t.Context(), input)).Checkpoint
	left := done(t, graph.Paused)(th.Resume(t.Context())).Checkpoint
	same(t, "route asked", asked, 1)
	done(t, graph.Paused)(th.Invoke(t.Context(), input, graph.DiscardPending()))

	res := done(t, graph.Paused)(th.At(left).Resume(t.Context()))
	same(t, "due", res.Next, []graph.ID{"b"})
	same(t, "route asked", asked, 1)
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "b"})
	done(t, graph.Paused)(th.At(owed).Resume(t.Context()))
	same(t, "route asked for the replay", asked, 2)
}

// An Async run finds out that it was taken over while it has something to ask.
func TestARunThatWasTakenOverAsksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		var other thread
		taken := false
		b := newWork()
		b.Node("first", func(context.Context, work) (update, error) {
			if !taken {
				taken = true
				if _, err := other.UpdateState(t.Context(), update{}, graph.TakeOver()); err != nil {
					return update{}, err
				}
			}
			return logged("first"), nil
		})
		b.Node("ask", func(ctx context.Context, _ work) (update, error) {
			synctest.Wait() // until the commit of first has been refused
			_, err := refund.Ask(ctx, doc{Name: "shoes"})
			return update{}, err
		}, refund)
		b.Edge(graph.Start, "first")
		b.Edge("first", "ask")
		b.Edge("ask", graph.End)
		g := compile(t, b, graph.Saver(s), graph.Async)
		other = g.Thread("t")
		res, err := g.Thread("t").Invoke(t.Context(), input)
		if !errors.Is(err, checkpoint.ErrConflict) || res.Status != graph.Failed {
			t.Errorf("got it %s, %v; want it to find out that it was taken over", res.Status, err)
		}
	})
}
