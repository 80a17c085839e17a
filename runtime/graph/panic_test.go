package graph_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate/fuse"
	"github.com/graphgen-go/graphgen/savers/memory"
)

type (
	fragile       = teststate.Fragile
	fragileUpdate = teststate.FragileUpdate
	mine          = teststate.Mine
	fragileGraph  = graph.Builder[fragile, fragileUpdate]
)

var permit = graph.NewQuestion[mine, mine]("permit")

// fused is an update that breaks when it is encoded or decoded.
func fused(when string) fragileUpdate {
	var u fragileUpdate
	u.Fuse.Set(fuse.New(when))
	return u
}

func burn(when string) func(context.Context, fragile) (fragileUpdate, error) {
	return func(context.Context, fragile) (fragileUpdate, error) { return fused(when), nil }
}

func quiet(context.Context, fragile) (fragileUpdate, error) { return fragileUpdate{}, nil }

// observer is a function that observes.
type observer func(graph.RunEvent)

func (f observer) Observe(_ context.Context, o graph.RunEvent) { f(o) }

// bangs are the places where the code of a user panics while a graph runs. Each adds something to
// a graph whose node is "n", and says how the error names the place.
var bangs = map[string]struct {
	build func(b *fragileGraph)
	opts  []graph.Option
	place string
}{
	"a node": {build: func(b *fragileGraph) {
		b.Node("n", func(context.Context, fragile) (fragileUpdate, error) { panic("bang") })
		b.Edge("n", graph.End)
	}, place: `node "n": panic: bang`},
	"a node that ends its goroutine's siblings": {build: func(b *fragileGraph) {
		b.Node("n", func(context.Context, fragile) (fragileUpdate, error) { panic("bang") })
		withSibling(b)
	}, place: `node "n": panic: bang`},
	"a route": {build: func(b *fragileGraph) {
		b.Node("n", quiet)
		b.Route("n", func(context.Context, fragile) (graph.Next, error) { panic("bang") }, graph.End)
	}, place: "route from n: panic: bang"},
	"a reducer": {build: func(b *fragileGraph) {
		b.Node("n", func(context.Context, fragile) (fragileUpdate, error) {
			var u fragileUpdate
			u.Stack.Reduce("boom")
			return u, nil
		})
		b.Edge("n", graph.End)
	}, place: `node "n": panic: the reducer broke`},
	"RetryPolicy": {build: func(b *fragileGraph) {
		b.Node("n", func(context.Context, fragile) (fragileUpdate, error) { return fragileUpdate{}, errBroken },
			graph.Retry(graph.RetryPolicy{Attempts: 2, If: func(error) bool { panic("bang") }}))
		b.Edge("n", graph.End)
	}, place: `node "n": it broke; its Retry: panic: bang`},
	"RetryPolicy with a sibling": {build: func(b *fragileGraph) {
		b.Node("n", func(context.Context, fragile) (fragileUpdate, error) { return fragileUpdate{}, errBroken },
			graph.Retry(graph.RetryPolicy{Attempts: 2, If: func(error) bool { panic("bang") }}))
		withSibling(b)
	}, place: `node "n": it broke; its Retry: panic: bang`},
	"what encodes the state": {build: func(b *fragileGraph) {
		b.Node("n", burn("encode"))
		b.Edge("n", graph.End)
	}, place: "encode"},
	"what encodes a result": {build: func(b *fragileGraph) {
		b.Node("n", burn("encode"))
		withSibling(b)
	}, place: "encode"},
	"what encodes a send": {build: func(b *fragileGraph) {
		b.Node("n", quiet)
		to := graph.TaskNode(b, "to", func(context.Context, fragile, mine) (fragileUpdate, error) { return fragileUpdate{}, nil })
		b.Route("n", func(context.Context, fragile) (graph.Next, error) {
			return to.Send(mine{Fuse: fuse.New("encode")}), nil
		}, "to")
		b.Edge("to", graph.End)
	}, place: `route from n: the input that it sends to "to" cannot be stored: panic: the encoder broke`},
	"what encodes a question": {build: func(b *fragileGraph) {
		b.Node("n", func(ctx context.Context, _ fragile) (fragileUpdate, error) {
			_, err := permit.Ask(ctx, mine{Fuse: fuse.New("encode")})
			return fragileUpdate{}, err
		}, permit)
		b.Edge("n", graph.End)
	}, place: `question "permit" cannot be stored: panic: the encoder broke`},
	"the input of a subgraph": {build: func(b *fragileGraph) {
		graph.MapSubgraph(b, "n", quietChild(), func(context.Context, fragile) (fragileUpdate, error) { panic("bang") }, fromFragile)
		b.Edge("n", graph.End)
	}, place: `node "n": panic: bang`},
	"the result of a subgraph": {build: func(b *fragileGraph) {
		graph.MapSubgraph(b, "n", quietChild(), toFragile, func(context.Context, fragile, fragile) (fragileUpdate, error) { panic("bang") })
		b.Edge("n", graph.End)
	}, place: `node "n": panic: bang`},
	"an interceptor of a step": intercepting(graph.Interceptor{
		Step: func(context.Context, graph.StepInfo, func(context.Context) (graph.Status, error)) error {
			panic("bang")
		},
	}, "an Interceptor: panic: bang"),
	"an interceptor of a task": intercepting(graph.Interceptor{
		Task: func(ctx context.Context, i graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
			_, err := next(ctx)
			if i.Node == "n" {
				panic("bang")
			}
			return err
		},
	}, `node "n": an Interceptor: panic: bang`),
	"an interceptor of a route": intercepting(graph.Interceptor{
		Route: func(context.Context, graph.RouteInfo, func(context.Context) ([]graph.ID, error)) error { panic("bang") },
	}, "route from n: an Interceptor: panic: bang"),
	"an observer of a run":      observing(graph.EventRunStarted),
	"an observer of the end":    observing(graph.EventRunEnded),
	"an observer of a task":     observing(graph.EventTaskStarted),
	"an observer of its end":    observing(graph.EventTaskEnded),
	"an observer of the commit": observing(graph.EventCheckpoint),
	"an observer of tasks":      observing(graph.EventTaskStarted, graph.EventTaskEnded),
}

func intercepting(in graph.Interceptor, place string) (bang struct {
	build func(b *fragileGraph)
	opts  []graph.Option
	place string
},
) {
	bang.build = func(b *fragileGraph) {
		b.Node("n", quiet)
		b.Route("n", func(context.Context, fragile) (graph.Next, error) { return graph.To(graph.End), nil }, graph.End)
		withSibling(b)
	}
	bang.opts, bang.place = []graph.Option{graph.Intercept(in)}, place
	return bang
}

func observing(kinds ...graph.EventKind) (bang struct {
	build func(b *fragileGraph)
	opts  []graph.Option
	place string
},
) {
	bang.build = func(b *fragileGraph) {
		b.Node("n", quiet)
		withSibling(b)
	}
	bang.opts = []graph.Option{graph.Observe(observer(func(o graph.RunEvent) {
		if slices.Contains(kinds, o.Kind) && o.Thread == "t" {
			panic("bang")
		}
	}))}
	bang.place = `observer graph_test.observer, at "` + kinds[0].String() + `": panic: bang`
	return bang
}

// withSibling adds a node that runs at the same time as n, and lets both end.
func withSibling(b *fragileGraph) {
	b.Node("sibling", quiet)
	b.Edge(graph.Start, "sibling")
	b.Edge("sibling", graph.End)
	b.Edge("n", graph.End)
}

func newFragile() *fragileGraph { return graph.New("fragile", teststate.FragileSchema) }

func quietChild() *graph.Graph[fragile, fragileUpdate] {
	b := newFragile()
	b.Node("in", quiet)
	b.Edge(graph.Start, "in")
	b.Edge("in", graph.End)
	g, err := b.Compile(graph.SubgraphOnly())
	if err != nil {
		panic(err)
	}
	return g
}

func toFragile(context.Context, fragile) (fragileUpdate, error) { return fragileUpdate{}, nil }

func fromFragile(context.Context, fragile, fragile) (fragileUpdate, error) {
	return fragileUpdate{}, nil
}

// panicked checks that err is of a panic at a place. Only the first panic of an observer is
// reported.
func panicked(t *testing.T, what string, err error, place string) {
	t.Helper()
	var p *graph.PanicError
	if !errors.As(err, &p) || !strings.Contains(err.Error(), place) {
		t.Errorf("%s: got error %v, want a *PanicError with %q", what, err, place)
	}
	if n := strings.Count(err.Error(), "observer graph_test.observer"); n > 1 {
		t.Errorf("%s: got error %v, which reports %d panics of an observer", what, err, n)
	}
}

func TestAPanicOfUserCodeIsAnErrorAndGivesTheThreadUp(t *testing.T) {
	within := map[string]func(t *testing.T, b *fragileGraph) *fragileGraph{
		"in the graph": func(_ *testing.T, b *fragileGraph) *fragileGraph { return b },
		"in a subgraph": func(t *testing.T, b *fragileGraph) *fragileGraph {
			t.Helper()
			child, err := b.Compile(graph.SubgraphOnly())
			if err != nil {
				t.Fatal(err)
			}
			outer := newFragile()
			outer.Subgraph("sub", child)
			outer.Edge(graph.Start, "sub")
			outer.Edge("sub", graph.End)
			return outer
		},
		"in a subgraph of its own state": func(t *testing.T, b *fragileGraph) *fragileGraph {
			t.Helper()
			child, err := b.Compile(graph.SubgraphOnly())
			if err != nil {
				t.Fatal(err)
			}
			outer := newFragile()
			graph.MapSubgraph(outer, "sub", child, toFragile, fromFragile)
			outer.Edge(graph.Start, "sub")
			outer.Edge("sub", graph.End)
			return outer
		},
	}
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for where, wrap := range within {
			for name, bang := range bangs {
				t.Run(where+"/"+name, func(t *testing.T) {
					b := newFragile()
					b.Edge(graph.Start, "n")
					bang.build(b)
					s := memory.New()
					g, err := wrap(t, b).Compile(append([]graph.Option{graph.Saver(s), d}, bang.opts...)...)
					if err != nil {
						t.Fatal(err)
					}
					th := g.Thread("t")
					_, err = th.Invoke(t.Context(), fragileUpdate{})
					panicked(t, "Invoke", err, bang.place)
					free(t, s)
					_, err = th.Resume(t.Context())
					if busy := (*checkpoint.BusyError)(nil); errors.As(err, &busy) {
						t.Errorf("Resume: got %v, want the thread given up", err)
					}
					for _, err := range th.Stream(t.Context(), fragileUpdate{}, graph.DiscardPending(), graph.Events(graph.EventAll)) {
						if err != nil {
							panicked(t, "Stream", err, bang.place)
						}
					}
					free(t, s)
					if _, err := th.State(t.Context()); err != nil {
						t.Errorf("State: got %v, want the last commit", err)
					}
				})
			}
		}
	})
}

// free checks that nobody holds thread t.
func free(t *testing.T, s checkpoint.Saver) {
	t.Helper()
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if chain.Thread.Holder != "" {
		t.Errorf("the thread is held by %q, want it given up", chain.Thread.Holder)
	}
}

func TestAPanicOfADecoderIsAnError(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		b := newFragile()
		b.Node("n", burn("later"))
		b.Node("m", quiet)
		b.Edge(graph.Start, "n")
		b.Edge("n", "m")
		b.Edge("m", graph.End)
		s := memory.New()
		g, err := b.Compile(graph.Saver(s), d, graph.InterruptAfter("n"))
		if err != nil {
			t.Fatal(err)
		}
		th := g.Thread("t")
		if _, err := th.Invoke(t.Context(), fragileUpdate{}); err != nil {
			t.Fatal(err)
		}
		mend := fuse.Break(t)
		const place = "its state: panic: the decoder broke"
		_, err = th.State(t.Context())
		panicked(t, "State", err, place)
		for _, err = range th.History(t.Context(), checkpoint.Query{}) {
			panicked(t, "History", err, "panic: the decoder broke")
			break
		}
		_, err = th.Resume(t.Context())
		panicked(t, "Resume", err, place)
		_, err = th.Invoke(t.Context(), fragileUpdate{}, graph.DiscardPending())
		panicked(t, "Invoke", err, place)
		_, err = th.UpdateState(t.Context(), fragileUpdate{})
		panicked(t, "UpdateState", err, place)
		free(t, s)
		mend()
		if _, err := g.Thread("other").Invoke(t.Context(), fragileUpdate{}); err != nil {
			t.Errorf("another thread: got %v, want it to run", err)
		}
	})
}

func TestAPanicOfADecoderOfWhatIsDueIsAnError(t *testing.T) {
	b := newFragile()
	to := graph.TaskNode(b, "to", func(context.Context, fragile, mine) (fragileUpdate, error) { return fragileUpdate{}, nil })
	b.Node("ask", func(ctx context.Context, _ fragile) (fragileUpdate, error) {
		_, err := permit.Ask(ctx, mine{Fuse: fuse.New("decode")})
		return fragileUpdate{}, err
	}, permit)
	b.Node("done", burn("later"))
	b.Route(graph.Start, func(_ context.Context, s fragile) (graph.Next, error) {
		switch {
		case len(s.Log) == 0:
			return graph.To("ask", "done"), nil
		default:
			return to.Send(mine{Fuse: fuse.New("later")}), nil
		}
	}, "to", "ask", "done")
	for _, id := range []graph.ID{"to", "ask", "done"} {
		b.Edge(id, graph.End)
	}
	s := memory.New()
	g, err := b.Compile(graph.Saver(s), graph.InterruptBefore("to"))
	if err != nil {
		t.Fatal(err)
	}
	th := g.Thread("t")
	res, err := th.Invoke(t.Context(), fragileUpdate{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = permit.Decode(res.Questions[0])
	panicked(t, "Decode", err, "the decoder broke")
	_, err = th.Resume(t.Context(), permit.Answer(res.Questions[0], mine{Fuse: fuse.New("encode")}))
	panicked(t, "an answer that cannot be encoded", err, "the answer cannot be stored: panic: the encoder broke")
	_, err = th.Resume(t.Context(), permit.Answer(res.Questions[0], mine{Fuse: fuse.New("decode")}))
	panicked(t, "an answer that cannot be decoded", err, "the answer is of another type: panic: the decoder broke")
	mend := fuse.Break(t)
	_, err = th.Resume(t.Context(), permit.Answer(res.Questions[0], mine{}))
	panicked(t, "a result that cannot be decoded", err, `the stored result of node "done": panic: the decoder broke`)
	free(t, s)
	var u fragileUpdate
	u.Log.Append("send")
	_, err = th.Invoke(t.Context(), u, graph.DiscardPending())
	panicked(t, "a result that an input keeps", err, `the stored result of node "done": panic: the decoder broke`)
	free(t, s)
	th = g.Thread("sends")
	_, err = th.Invoke(t.Context(), u)
	panicked(t, "a send that cannot be decoded when it is made", err, `the input that it sends to "to" cannot be stored: panic: the decoder broke`)
	free(t, s)
	mend()
	if _, err := th.Invoke(t.Context(), u, graph.DiscardPending()); err != nil {
		t.Fatal(err)
	}
	fuse.Break(t)
	_, err = th.Resume(t.Context())
	panicked(t, "a send that cannot be decoded", err, `what was sent to node "to": panic: the decoder broke`)
	free(t, s)
}

func TestAStateThatCannotBeEncodedLeavesTheCheckpointBefore(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		when := "encode"
		b := newFragile()
		b.Node("a", func(context.Context, fragile) (fragileUpdate, error) {
			var u fragileUpdate
			u.Log.Append("a")
			return u, nil
		})
		b.Node("b", func(context.Context, fragile) (fragileUpdate, error) {
			u := fused(when)
			u.Log.Append("b")
			return u, nil
		})
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("b", graph.End)
		g, err := b.Compile(graph.Saver(memory.New()), d)
		if err != nil {
			t.Fatal(err)
		}
		th := g.Thread("t")
		_, err = th.Invoke(t.Context(), fragileUpdate{})
		panicked(t, "Invoke", err, "panic: the encoder broke")
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "log", snap.State.Log, []string{"a"})
		same(t, "due", snap.Next, []graph.ID{"b"})
		same(t, "status", snap.Status, checkpoint.Failed)
		when = ""
		res, err := th.Resume(t.Context())
		if err != nil || res.Status != graph.Done {
			t.Fatalf("Resume once it is mended: got %v, %v, want it finished", res.Status, err)
		}
		same(t, "log", res.State.Log, []string{"a", "b"})
	})
}

// exits are the places, except nodes, where user code ends a goroutine of the run by Goexit.
var exits = map[string]struct {
	retry graph.RetryPolicy
	watch observer
	want  string
}{
	"RetryPolicy": {
		retry: graph.RetryPolicy{Attempts: 2, If: func(error) bool { runtime.Goexit(); return false }},
		watch: func(graph.RunEvent) {},
		want:  `node "n": it broke`,
	},
	"an observer of a task": {
		watch: func(o graph.RunEvent) {
			if o.Kind == graph.EventTaskStarted {
				runtime.Goexit()
			}
		},
		want: `observer graph_test.observer, at "task started": runtime.Goexit was called; return an error instead`,
	},
	"an observer of its end": {
		watch: func(o graph.RunEvent) {
			if o.Kind == graph.EventTaskEnded {
				runtime.Goexit()
			}
		},
		want: `observer graph_test.observer, at "task ended": runtime.Goexit was called; return an error instead`,
	},
}

func TestGoexitOfUserCodeInAFanOutIsAnError(t *testing.T) {
	for name, exit := range exits {
		t.Run(name, func(t *testing.T) {
			b := newFragile()
			b.Node("n", func(context.Context, fragile) (fragileUpdate, error) { return fragileUpdate{}, errBroken }, graph.Retry(exit.retry))
			b.Edge(graph.Start, "n")
			withSibling(b)
			s := memory.New()
			g, err := b.Compile(graph.Saver(s), graph.Observe(exit.watch))
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.Thread("t").Invoke(t.Context(), fragileUpdate{})
			if err == nil || !strings.Contains(err.Error(), exit.want) {
				t.Errorf("got error %v, want one with %q", err, exit.want)
			}
			free(t, s)
		})
	}
}
