package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

var errDeploy = errors.New("a new version is deployed")

// line of three nodes. b is the one in the middle.
func threeNodes(b func(context.Context, work) (update, error), opts ...graph.NodeOption) *graph.Builder[work, update] {
	g := newWork()
	g.Node("a", say("a"))
	g.Node("b", b, opts...)
	g.Node("c", say("c"))
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", "c")
	g.Edge("c", graph.End)
	return g
}

// thirdRouted is threeNodes with a route from b to c.
func thirdRouted(route func(context.Context, work) (graph.Next, error)) *graph.Builder[work, update] {
	b := newWork()
	b.Node("a", say("a"))
	b.Node("b", say("b"))
	b.Node("c", say("c"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("c", graph.End)
	b.Route("b", route, "c")
	return b
}

// endings are ways to end a run of three nodes while the second one runs. The key is the name of
// the thread. Each has the status of that thread, and the reason.
var endings = map[string]struct {
	want graph.Status
	why  string // a part of the reason, or the stop
	run  func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string)
}{
	"drained": {graph.Ready, "the graph or the thread is draining", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		var g *app
		g = compile(t, threeNodes(func(ctx context.Context, w work) (update, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_ = g.Drain(ctx) // it does not wait
			return say("b")(ctx, w)
		}), graph.Saver(s), d)
		done(t, graph.Ready)(g.Thread(id).Invoke(t.Context(), input))
	}},
	"cancelled at a commit": {graph.Ready, errDeploy.Error(), func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		g := compile(t, threeNodes(func(ctx context.Context, w work) (update, error) {
			cancel(errDeploy)
			return say("b")(ctx, w)
		}), graph.Saver(s), d)
		wantEnding(t, graph.Ready, errDeploy)(g.Thread(id).Invoke(ctx, input))
	}},
	"cancelled in a node": {graph.Ready, errDeploy.Error(), func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		g := compile(t, threeNodes(func(ctx context.Context, _ work) (update, error) {
			cancel(errDeploy)
			<-ctx.Done()
			return update{}, ctx.Err()
		}), graph.Saver(s), d)
		wantEnding(t, graph.Ready, errDeploy)(g.Thread(id).Invoke(ctx, input))
	}},
	"cancelled in a route": {graph.Ready, errDeploy.Error(), func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		b := thirdRouted(func(ctx context.Context, _ work) (graph.Next, error) {
			cancel(errDeploy)
			<-ctx.Done()
			return graph.Next{}, ctx.Err()
		})
		wantEnding(t, graph.Ready, context.Canceled)(compile(t, b, graph.Saver(s), d).Thread(id).Invoke(ctx, input))
	}},
	"left stream": {graph.Ready, "the consumer left the stream", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		for e, err := range compile(t, threeNodes(say("b")), graph.Saver(s), d).Thread(id).Stream(t.Context(), input) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Node == "b" {
				break
			}
		}
	}},
	"drained in a subgraph, with a question": {graph.Ready, "the graph or the thread is draining", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		var g *app
		asked := make(chan struct{})
		inner := graph.New("inner", teststate.WorkSchema)
		inner.Node("first", func(context.Context, work) (update, error) {
			<-asked
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = g.Drain(ctx)
			return update{}, nil
		})
		inner.Node("second", say("b"))
		inner.Edge(graph.Start, "first")
		inner.Edge("first", "second")
		inner.Edge("second", graph.End)
		b := newWork()
		b.Node("asks", func(ctx context.Context, _ work) (update, error) {
			_, err := amount.Ask(ctx, "how much?")
			close(asked)
			return update{}, err
		}, amount)
		b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()))
		for _, id := range []graph.ID{"asks", "sub"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		g = compile(t, b, graph.Saver(s), d)
		res := done(t, graph.Ready)(g.Thread(id).Invoke(t.Context(), input))
		same(t, "questions", len(res.Questions), 1)
	}},
	"fork": {graph.Ready, "", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		th := compile(t, threeNodes(say("b")), graph.Saver(s), d, graph.InterruptBefore("b")).Thread(id)
		done(t, graph.Paused)(th.Invoke(t.Context(), input))
		if _, err := th.UpdateState(t.Context(), update{}, graph.AsNode("a")); err != nil {
			t.Fatal(err)
		}
	}},
	"stop": {graph.Paused, "before b", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		g := compile(t, threeNodes(say("b")), graph.Saver(s), d, graph.InterruptBefore("b"))
		done(t, graph.Paused)(g.Thread(id).Invoke(t.Context(), input))
	}},
	"stop and cancelled": {graph.Paused, "after b", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		g := compile(t, threeNodes(func(ctx context.Context, w work) (update, error) {
			cancel(errDeploy)
			return say("b")(ctx, w)
		}), graph.Saver(s), d, graph.InterruptAfter("b"))
		done(t, graph.Paused)(g.Thread(id).Invoke(ctx, input))
	}},
	"question": {graph.Waiting, "", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		g := compile(t, threeNodes(func(ctx context.Context, _ work) (update, error) {
			_, err := amount.Ask(ctx, "how much?")
			return update{}, err
		}, amount), graph.Saver(s), d)
		done(t, graph.Waiting)(g.Thread(id).Invoke(t.Context(), input))
	}},
	"question in a left stream": {graph.Waiting, "", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		g := compile(t, threeNodes(func(ctx context.Context, _ work) (update, error) {
			_, err := amount.Ask(ctx, "how much?")
			return update{}, err
		}, amount), graph.Saver(s), d)
		for e, err := range g.Thread(id).Stream(t.Context(), input, graph.Events(graph.EventQuestion)) {
			if err != nil || e.Kind != graph.EventQuestion {
				t.Errorf("got %v, %v; want the question", e.Kind, err)
			}
			break
		}
	}},
	"failed node": {graph.Failed, errBroken.Error(), func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		g := compile(t, threeNodes(func(context.Context, work) (update, error) { return update{}, errBroken }), graph.Saver(s), d)
		wantEnding(t, graph.Failed, errBroken)(g.Thread(id).Invoke(t.Context(), input))
	}},
	"node with an error of its own in a cancelled run": {graph.Ready, "a new version is deployed", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		g := compile(t, threeNodes(func(context.Context, work) (update, error) {
			cancel(errDeploy)
			return update{}, errBroken
		}), graph.Saver(s), d)
		wantEnding(t, graph.Ready, context.Canceled)(g.Thread(id).Invoke(ctx, input))
	}},
	"route with an error of its own in a cancelled run": {graph.Ready, "a new version is deployed", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		b := thirdRouted(func(context.Context, work) (graph.Next, error) {
			cancel(errDeploy)
			return graph.Next{}, errBroken
		})
		wantEnding(t, graph.Ready, context.Canceled)(compile(t, b, graph.Saver(s), d).Thread(id).Invoke(ctx, input))
	}},
	"panic in a cancelled run": {graph.Failed, errBroken.Error(), func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		g := compile(t, threeNodes(func(context.Context, work) (update, error) {
			cancel(errDeploy)
			panic(errBroken)
		}), graph.Saver(s), d)
		wantEnding(t, graph.Failed, errBroken)(g.Thread(id).Invoke(ctx, input))
	}},
	"MaxSteps": {graph.Failed, "raise MaxSteps", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		res, err := compile(t, threeNodes(say("b")), graph.Saver(s), d, graph.MaxSteps(1)).Thread(id).Invoke(t.Context(), input)
		var steps *graph.MaxStepsError
		if !errors.As(err, &steps) || res.Status != graph.Failed {
			t.Errorf("got it %s, %v; want it failed with a *MaxStepsError", res.Status, err)
		}
	}},
	"failed observer": {graph.Failed, errBroken.Error(), func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		g := compile(t, threeNodes(say("b")), graph.Saver(s), d, graph.Observe(observer(func(o graph.RunEvent) {
			if o.Node == "a" {
				panic(errBroken)
			}
		})))
		wantEnding(t, graph.Failed, errBroken)(g.Thread(id).Invoke(t.Context(), input))
	}},
	"done": {graph.Done, "", func(t *testing.T, s checkpoint.Saver, d graph.Durability, id string) {
		t.Helper()
		done(t, graph.Done)(compile(t, threeNodes(say("b")), graph.Saver(s), d).Thread(id).Invoke(t.Context(), input))
	}},
}

// wantEnding checks the outcome of a run that ends with an error.
func wantEnding(t *testing.T, want graph.Status, cause error) func(result, error) {
	t.Helper()
	return func(res result, err error) {
		t.Helper()
		if res.Status != want || !errors.Is(err, cause) {
			t.Errorf("got it %s, %v; want it %s with %v", res.Status, err, want, cause)
		}
	}
}

func TestAStatusSaysWhatAThreadNeeds(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for id, e := range endings {
			t.Run(id, func(t *testing.T) {
				s := memory.New()
				e.run(t, s, d, id)
				c, err := s.Load(t.Context(), checkpoint.Ref{Thread: id})
				if err != nil {
					t.Fatal(err)
				}
				same(t, "status", c.Thread.Status, e.want)
				same(t, "holder", c.Thread.Holder, "")
				th := compile(t, threeNodes(say("b")), graph.Saver(s)).Thread(id) // another process
				snap, err := th.State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				why := snap.Reason
				if e.want == graph.Paused {
					same(t, "reason of a stop", snap.Reason, "")
					why = fmt.Sprint(snap.Stops)
				}
				if !strings.Contains(why, e.why) || e.why == "" && why != "" {
					t.Errorf("why it is %s: got %q, want it to contain %q", e.want, why, e.why)
				}
			})
		}
	})
}

// After a deployment a program resumes all Ready threads. That finishes those that need no person
// and changes no other.
func TestASweepOverReadyThreadsResumesWhatNobodyHasToDecide(t *testing.T) {
	s := memory.New()
	for id, e := range endings {
		e.run(t, s, graph.Sync, id)
	}
	head := func(id string) checkpoint.ID {
		c, err := s.Load(t.Context(), checkpoint.Ref{Thread: id})
		if err != nil {
			t.Fatal(err)
		}
		return c.Head
	}
	before := make(map[string]checkpoint.ID)
	for id := range endings {
		before[id] = head(id)
	}
	g := compile(t, threeNodes(say("b")), graph.Saver(s))
	var ready []string
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Status: graph.Ready}) {
		if err != nil {
			t.Fatal(err)
		}
		ready = append(ready, th.ID)
	}
	for _, id := range ready {
		if id == "drained in a subgraph, with a question" {
			continue // of another graph
		}
		res := done(t, graph.Done)(g.Thread(id).Resume(t.Context()))
		same(t, id, res.State.Log, []string{"a", "b", "c"})
		snap, err := g.Thread(id).State(t.Context())
		if err != nil || snap.Reason != "" {
			t.Errorf("%s: the reason after the resume: got %q, %v; want none", id, snap.Reason, err)
		}
	}
	for id, e := range endings {
		if e.want != graph.Ready && head(id) != before[id] {
			t.Errorf("thread %q, which is %s, was changed", id, e.want)
		}
	}
	same(t, "swept", len(ready), 9)
}

// After a deployment, a program resumes the threads whose runs were stopped by the shutdown.
// Threads that wait for a person stay as they are.
func ExampleReady() {
	saver := memory.New()
	ctx, shutdown := context.WithCancelCause(context.Background())
	b := graph.New("orders", teststate.WorkSchema)
	b.Node("reserve", func(context.Context, teststate.Work) (teststate.WorkUpdate, error) {
		shutdown(errors.New("a new version is deployed"))
		return logged("reserved"), nil
	})
	b.Node("pay", func(context.Context, teststate.Work) (teststate.WorkUpdate, error) { return logged("paid"), nil })
	b.Edge(graph.Start, "reserve")
	b.Edge("reserve", "pay")
	b.Edge("pay", graph.End)
	app, err := b.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Thread("order-7").Invoke(ctx, teststate.WorkUpdate{})
	fmt.Println(res.Status, res.Next, errors.Is(err, context.Canceled))

	// The new process.
	ctx = context.Background()
	for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Status: graph.Ready}) {
		if err != nil {
			log.Fatal(err)
		}
		res, err := app.Thread(t.ID).Resume(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.ID, res.Status, res.State.Log)
	}
	// Output:
	// ready [pay] true
	// order-7 done [reserved paid]
}
