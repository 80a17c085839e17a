package graph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// charging is a graph whose node charge takes two seconds and must not be cut. Its sibling takes
// three seconds if it is not cut, and the node after them runs never in a cancelled run.
func charging(ran *counter) *graph.Builder[work, update] {
	b := newWork()
	takes := func(id string, d time.Duration) func(context.Context, work) (update, error) {
		return func(ctx context.Context, _ work) (update, error) {
			ran.add(id)
			if !rest(ctx, d) {
				return update{}, context.Cause(ctx)
			}
			return logged(id), nil
		}
	}
	b.Node("charge", takes("charge", 2*time.Second), graph.Uncancellable())
	b.Node("sibling", takes("sibling", 3*time.Second))
	b.Node("after", takes("after", 0))
	b.Edge(graph.Start, "charge")
	b.Edge(graph.Start, "sibling")
	b.Join([]graph.ID{"charge", "sibling"}, "after")
	b.Edge("after", graph.End)
	return b
}

// rest waits for d, and reports whether ctx let it.
func rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func TestACancelTakesEffectAfterTheSuperstepOfAnUncancellableNode(t *testing.T) {
	inner := func(ran *counter) *graph.Builder[work, update] {
		b := newWork()
		sub := newWork()
		sub.Subgraph("inner", compile(t, charging(ran), graph.SubgraphOnly()))
		sub.Chain(graph.Start, "inner", graph.End)
		b.Subgraph("sub", compile(t, sub, graph.SubgraphOnly()), graph.Uncancellable())
		b.Node("last", func(context.Context, work) (update, error) { ran.add("last"); return update{}, nil })
		b.Chain(graph.Start, "sub", "last", graph.End)
		return b
	}
	for _, test := range []struct {
		name  string
		build func(*counter) *graph.Builder[work, update]
		want  map[string]int
	}{
		{"node", charging, map[string]int{"charge": 1, "sibling": 1}},
		{"subgraph", inner, map[string]int{"charge": 1, "sibling": 1, "after": 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				synctest.Test(t, func(t *testing.T) {
					s, ran := memory.New(), &counter{}
					b := test.build(ran)
					g, other := compile(t, b, graph.Saver(s), d), compile(t, b, graph.Saver(s), d)
					time.AfterFunc(time.Second, func() {
						if err := other.Thread("t").Cancel(t.Context(), "changed my mind"); err != nil {
							t.Error(err)
						}
					})
					res, err := g.Thread("t").Invoke(t.Context(), logged("in"))
					var cancelled *graph.CancelledError
					if !errors.As(err, &cancelled) || res.Status != graph.Cancelled {
						t.Fatalf("got %s, %v; want a CancelledError", res.Status, err)
					}
					same(t, "runs", ran.counts(), test.want)
					snap := snapshot(t, other.Thread("t"))
					same(t, "status", snap.Status, graph.Cancelled)
					if len(snap.State.Log) < 3 {
						t.Errorf("the state is %v, want the updates of charge and sibling", snap.State.Log)
					}
					done(t, graph.Done)(other.Thread("t").Resume(t.Context()))
					same(t, "runs of charge", ran.counts()["charge"], 1)
				})
			})
		})
	}
}

func TestTheContextOfAnUncancellableNodeOutlivesItsCall(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			ran := &counter{}
			g := compile(t, charging(ran), graph.Saver(memory.New()), d)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			res, err := g.Thread("t").Invoke(ctx, logged("in"))
			if !errors.Is(err, context.DeadlineExceeded) || res.Status != graph.Ready {
				t.Fatalf("got %s, %v; want Ready and the error of the context", res.Status, err)
			}
			same(t, "next", res.Next, []graph.ID{"after"})

			for _, err := range g.Thread("left").Stream(t.Context(), logged("in"), graph.Events(graph.EventTaskStarted)) {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			same(t, "next after a left stream", snapshot(t, g.Thread("left")).Next, []graph.ID{"after"})
			same(t, "runs", ran.counts(), map[string]int{"charge": 2, "sibling": 2})
		})
	})
}

func TestASiblingDoesNotCutAnUncancellableNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran, b, broken := &counter{}, newWork(), errors.New("broken")
		b.Node("charge", func(ctx context.Context, _ work) (update, error) {
			ran.add("charge")
			if !rest(ctx, 2*time.Second) {
				return update{}, context.Cause(ctx)
			}
			return logged("charge"), nil
		}, graph.Uncancellable())
		b.Node("fails", func(context.Context, work) (update, error) {
			if ran.add("fails"); ran.counts()["fails"] == 1 {
				return update{}, broken
			}
			return update{}, nil
		})
		for _, id := range []graph.ID{"charge", "fails"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		g := compile(t, b, graph.Saver(memory.New()))
		if _, err := g.Thread("t").Invoke(t.Context(), logged("in")); !errors.Is(err, broken) {
			t.Fatalf("got %v, want %v", err, broken)
		}
		done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
		same(t, "runs", ran.counts(), map[string]int{"charge": 1, "fails": 2})
	})
}

func TestALostRaceDoesNotCutAnUncancellableNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, charged := newWork(), false
		b.Node("charge", func(ctx context.Context, _ work) (update, error) {
			charged = rest(ctx, time.Second)
			return logged("charge"), nil
		}, graph.Uncancellable())
		b.Node("fast", func(context.Context, work) (update, error) { return logged("fast"), nil })
		b.Node("won", func(context.Context, work) (update, error) { return update{}, nil })
		b.Edge(graph.Start, "charge")
		b.Edge(graph.Start, "fast")
		b.JoinAny([]graph.ID{"charge", "fast"}, "won")
		b.Edge("won", graph.End)
		res := done(t, graph.Done)(compile(t, b, graph.Saver(memory.New())).Thread("t").Invoke(t.Context(), logged("in")))
		same(t, "charged", charged, true)
		same(t, "log", res.State.Log, []string{"in", "fast"})
	})
}

// TestALostThreadCutsAnUncancellableNode also cancels the call first: the loss counts all the
// same.
func TestALostThreadCutsAnUncancellableNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b, first := memory.New(), newWork(), make(chan error, 1)
		b.Node("charge", func(ctx context.Context, _ work) (update, error) {
			if len(first) > 0 {
				return update{}, nil
			}
			first <- nil
			<-ctx.Done()
			if err := <-first; err != nil { // the mark that the attempt has begun
				return update{}, err
			}
			first <- context.Cause(ctx)
			return update{}, ctx.Err()
		}, graph.Uncancellable())
		b.Chain(graph.Start, "charge", graph.End)
		g, other := compile(t, b, graph.Saver(s)), compile(t, b, graph.Saver(s))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		time.AfterFunc(2*time.Second, func() {
			done(t, graph.Done)(other.Thread("t").Resume(t.Context(), graph.TakeOver()))
		})
		var lost *graph.SaverError
		if _, err := g.Thread("t").Invoke(ctx, logged("in")); !errors.As(err, &lost) {
			t.Errorf("got %v, want the loss of the thread", err)
		}
		if cause := <-first; !errors.As(cause, &lost) {
			t.Errorf("the cause is %v, want the loss of the thread", cause)
		}
	})
}

func TestAnUncancellableNodeHasItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWork()
		b.Node("charge", func(ctx context.Context, _ work) (update, error) {
			<-ctx.Done()
			return update{}, ctx.Err()
		}, graph.Uncancellable(), graph.Timeout(time.Second))
		b.Chain(graph.Start, "charge", graph.End)
		if _, err := compile(t, b).Run(t.Context(), logged("in")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the Timeout", err)
		}
		q := newWork()
		q.Node("charge", func(context.Context, work) (update, error) { return update{}, nil }, graph.Uncancellable(), graph.Queue("gpu"))
		q.Chain(graph.Start, "charge", graph.End)
		same(t, "faults", faults(t, q, graph.Saver(memory.New())), []string{`node "charge" has a Queue and Uncancellable; leave one of them out`})
	})
}

func TestARouteAfterAnUncancellableNodeHasTheContextOfItsSuperstep(t *testing.T) {
	b, ended := newWork(), map[graph.ID]error{}
	route := func(from, to graph.ID) {
		b.Route(from, func(ctx context.Context, _ work) (graph.Next, error) {
			ended[from] = ctx.Err()
			return graph.To(to), nil
		}, to)
	}
	node := func(context.Context, work) (update, error) { return update{}, nil }
	b.Node("charge", node, graph.Uncancellable())
	b.Node("after", node)
	b.Edge(graph.Start, "charge")
	route("charge", "after")
	route("after", graph.End)
	done(t, graph.Done)(compile(t, b, graph.Saver(memory.New())).Thread("t").Invoke(t.Context(), logged("in")))
	same(t, "ends of the contexts", ended, map[graph.ID]error{"charge": nil, "after": nil})
}
