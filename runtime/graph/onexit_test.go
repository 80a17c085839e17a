package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// rootless refuses the writes of the thread itself after its opening, while broken: those of its
// subgraphs are stored.
type rootless struct {
	checkpoint.Saver
	broken atomic.Bool
}

func (s *rootless) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if s.broken.Load() && a.Open == nil && a.Namespace == "" {
		return checkpoint.AppendResult{}, errBroken
	}
	return s.Saver.Append(ctx, a)
}

func (s *rootless) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if s.broken.Load() && len(w.Writes) > 0 && w.Writes[0].Namespace == "" {
		return checkpoint.PutResult{}, errBroken
	}
	return s.Saver.PutWrites(ctx, w)
}

// lostParent is a -> sub: each run of a logs another line, and the subgraph stops before its last
// node.
func lostParent(t *testing.T, d graph.Durability, mapped bool) (thread, *rootless) {
	t.Helper()
	inner := newWork()
	inner.Node("see", func(_ context.Context, s work) (update, error) {
		return logged("child saw " + strings.Join(s.Log, "+")), nil
	})
	inner.Node("last", say("last"))
	inner.Edge(graph.Start, "see")
	inner.Edge("see", "last")
	inner.Edge("last", graph.End)
	child := compile(t, inner, graph.SubgraphOnly(), graph.InterruptBefore("last"))

	var runs atomic.Int32
	b := newWork()
	b.Node("a", func(context.Context, work) (update, error) { return logged(fmt.Sprint("a", runs.Add(1))), nil })
	if mapped {
		graph.MapSubgraph(b, "sub", child,
			func(_ context.Context, s work) (update, error) { return logged(s.Log...), nil },
			func(_ context.Context, s, c work) (update, error) { return logged(c.Log[len(s.Log):]...), nil })
	} else {
		b.Subgraph("sub", child)
	}
	b.Edge(graph.Start, "a")
	b.Edge("a", "sub")
	b.Edge("sub", graph.End)
	s := &rootless{Saver: memory.New()}
	return compile(t, b, graph.Saver(s), d).Thread("t"), s
}

func TestASubgraphStartsAgainWhenItsParentStepIsLost(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for kind, mapped := range map[string]bool{"mapped": true, "same state": false} {
			t.Run(kind, func(t *testing.T) {
				th, s := lostParent(t, d, mapped)
				s.broken.Store(true)
				if _, err := th.Invoke(t.Context(), update{}); !errors.Is(err, errBroken) {
					t.Fatalf("root writes fail: got %v, want %v", err, errBroken)
				}
				s.broken.Store(false)
				var res result
				for range 4 {
					var err error
					if res, err = th.Resume(t.Context(), graph.TakeOver()); err != nil {
						t.Fatal(err)
					}
					if res.Status == graph.Done {
						break
					}
				}
				if len(res.State.Log) != 3 || res.State.Log[1] != "child saw "+res.State.Log[0] {
					t.Errorf("log: got %q, want the child to have seen what the stored parent logged", res.State.Log)
				}
			})
		}
	})
}

func TestAFailedLastWriteGivesTheThreadUp(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, s := lostParent(t, d, true)
		s.broken.Store(true)
		if _, err := th.Invoke(t.Context(), update{}); !errors.Is(err, errBroken) {
			t.Fatalf("root writes fail: got %v, want %v", err, errBroken)
		}
		s.broken.Store(false)
		if _, err := th.Resume(t.Context()); err != nil {
			t.Errorf("resumed at once: got %v, want the lease given up", err)
		}
	})
}

// visits notes the keys under which each node ran, by the path of the graphs that it is in.
type visits struct {
	mu   sync.Mutex
	keys map[string]map[string]bool
}

func (v *visits) node(name string) func(context.Context, work) (update, error) {
	return func(ctx context.Context, _ work) (update, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.keys == nil {
			v.keys = make(map[string]map[string]bool)
		}
		if v.keys[name] == nil {
			v.keys[name] = make(map[string]bool)
		}
		v.keys[name][graph.CurrentTask(ctx).Key] = true
		return logged(name), nil
	}
}

// entered is a graph whose entry is a route and whose subgraphs, one inside the other, stop.
func (v *visits) entered(t *testing.T, s checkpoint.Saver, d graph.Durability, mapped bool) thread {
	t.Helper()
	sub := func(b *graph.Builder[work, update], id graph.ID, child *app) {
		if !mapped {
			b.Subgraph(id, child)
			return
		}
		graph.MapSubgraph(b, id, child,
			func(context.Context, work) (update, error) { return update{}, nil },
			func(_ context.Context, _, c work) (update, error) { return logged(c.Log...), nil })
	}
	deep := newWork()
	deep.Node("d1", v.node("d1"))
	deep.Node("d2", v.node("d2"))
	deep.Edge(graph.Start, "d1")
	deep.Edge("d1", "d2")
	deep.Edge("d2", graph.End)
	mid := newWork()
	mid.Node("m1", v.node("m1"))
	sub(mid, "deep", compile(t, deep, graph.SubgraphOnly(), graph.InterruptBefore("d2")))
	mid.Node("m2", v.node("m2"))
	mid.Edge(graph.Start, "m1")
	mid.Edge("m1", "deep")
	mid.Edge("deep", "m2")
	mid.Edge("m2", graph.End)
	b := newWork()
	sub(b, "sub", compile(t, mid, graph.SubgraphOnly(), graph.InterruptBefore("m2")))
	b.Node("after", v.node("after"))
	b.Route(graph.Start, choose("sub"), "sub")
	b.Edge("sub", "after")
	b.Edge("after", graph.End)
	return compile(t, b, graph.Saver(s), d).Thread("t")
}

func TestTaskKeysInSubgraphsSurviveEveryCrash(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for kind, mapped := range map[string]bool{"mapped": true, "same state": false} {
			t.Run(kind, func(t *testing.T) {
				for _, after := range []bool{false, true} {
					for point := 1; ; point++ {
						if crashed := keysAfterACrash(t, d, mapped, point, after); !crashed {
							break
						}
					}
				}
			})
		}
	})
}

// keysAfterACrash runs the graph, dies at a saver call, resumes to the end, and checks that each
// node ran under one key. It reports whether there was such a call.
func keysAfterACrash(t *testing.T, d graph.Durability, mapped bool, point int, after bool) (crashed bool) {
	t.Helper()
	v := new(visits)
	s := memory.New()
	c := &crashing{Saver: s, left: point, after: after}
	th := v.entered(t, c, d, mapped)
	res, err := th.Invoke(t.Context(), input)
	for err == nil && res.Status != graph.Done {
		res, err = th.Resume(t.Context())
	}
	if crashed = err != nil; crashed && !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	th = v.entered(t, s, d, mapped)
	for range 8 {
		if err == nil && res.Status == graph.Done {
			break
		}
		if res, err = th.Resume(t.Context(), graph.TakeOver()); errors.Is(err, checkpoint.ErrNotFound) {
			res, err = th.Invoke(t.Context(), input)
		}
		if err != nil {
			t.Fatalf("crash at call %d: %v", point, err)
		}
	}
	same(t, fmt.Sprintf("crash at call %d (made: %t): log", point, after), strings.Join(res.State.Log, " "), "m1 d1 d2 m2 after")
	for node, keys := range v.keys {
		if len(keys) != 1 {
			t.Errorf("crash at call %d (made: %t): node %s ran under %d keys, want 1", point, after, node, len(keys))
		}
	}
	return crashed
}
