package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// tools is a graph that sends to task nodes of the given ids in turn. Those that ask wait for an
// answer. caught gets what was sent to nodes that are gone; nil for no catch-all.
func tools(caught func(context.Context, doc) (update, error), kept, asks []graph.ID) *graph.Builder[work, update] {
	b := newWork()
	var sends []func() graph.Next
	for _, id := range kept {
		run := func(_ context.Context, _ work, in doc) (update, error) {
			return logged(fmt.Sprint(id, " got ", in.Name)), nil
		}
		to := graph.TaskNode(b, id, run)
		sends = append(sends, func() graph.Next { return to.Send(doc{Name: "for " + string(id)}) })
		b.Edge(id, "end")
	}
	for _, id := range asks {
		run := func(ctx context.Context, _ work, in doc) (update, error) {
			ok, err := refund.Ask(ctx, in)
			return logged(fmt.Sprint(id, " got ", in.Name, " ", ok)), err
		}
		to := graph.TaskNode(b, id, run, refund)
		sends = append(sends, func() graph.Next { return to.Send(doc{Name: "for " + string(id)}) })
		b.Edge(id, "end")
	}
	if caught != nil {
		graph.TaskNode(b, "gone", func(ctx context.Context, _ work, in doc) (update, error) { return caught(ctx, in) }, graph.CatchAll())
		b.Edge("gone", "end")
	}
	b.Node("end", say("end"))
	b.Edge("end", graph.End)
	b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
		var next graph.Next
		for _, send := range sends {
			next.Add(send())
		}
		return next, nil
	}, append(append([]graph.ID{"end"}, kept...), asks...)...)
	return b
}

// TestSendsToNodesThatAreGoneReachTheCatchAll: each with its payload, in the order of the sends. A
// task that has finished keeps its result, and a question of a removed node does not count (rule
// 9.5).
func TestSendsToNodesThatAreGoneReachTheCatchAll(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		before := tools(nil, []graph.ID{"read", "write"}, []graph.ID{"pay", "ship", "keep"})
		th := compile(t, before, graph.Saver(s), d).Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), update{}))

		if _, err := compile(t, tools(nil, []graph.ID{"read"}, []graph.ID{"keep"}), graph.Saver(s), d).Thread("t").Resume(t.Context()); err == nil {
			t.Fatal("a graph without a catch-all resumed sends to nodes that are gone")
		}
		var keys []string
		after := tools(func(ctx context.Context, in doc) (update, error) {
			keys = append(keys, graph.CurrentTask(ctx).Key)
			return logged("caught " + in.Name), nil
		}, []graph.ID{"read"}, []graph.ID{"keep"})
		th = compile(t, after, graph.Saver(s), d, graph.Concurrency(1)).Thread("t")
		res := done(t, graph.Waiting)(th.Resume(t.Context()))
		same(t, "questions", len(res.Questions), 1)
		res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
		same(t, "log", res.State.Log, []string{
			"read got for read", "write got for write", "caught for pay", "caught for ship", "keep got for keep true", "end",
		})
		same(t, "tasks of the catch-all", len(keys), 2)
		if keys[0] == keys[1] {
			t.Error("two tasks of the catch-all have one key")
		}
	})
}

// TestTheCatchAllNeedsNoWayToIt, but one node has the option, which is a task node without a
// queue.
func TestTheCatchAllNeedsNoWayToIt(t *testing.T) {
	run := func(context.Context, work, doc) (update, error) { return update{}, nil }
	compile(t, tools(func(context.Context, doc) (update, error) { return update{}, nil }, []graph.ID{"read"}, nil))
	for want, change := range map[string]func(b *graph.Builder[work, update]){
		`nodes "x" and "y" have the option CatchAll`: func(b *graph.Builder[work, update]) {
			graph.TaskNode(b, "x", run, graph.CatchAll())
			graph.TaskNode(b, "y", run, graph.CatchAll())
		},
		`node "x" has the option CatchAll, which is for task nodes without a queue`: func(b *graph.Builder[work, update]) {
			graph.TaskNode(b, "x", run, graph.CatchAll(), graph.Queue("q"))
		},
		`node "z" has the option CatchAll, which is for task nodes without a queue`: func(b *graph.Builder[work, update]) {
			b.Node("z", say("z"), graph.CatchAll())
		},
	} {
		b := tools(nil, []graph.ID{"read"}, nil)
		change(b)
		if _, err := b.Compile(graph.Saver(memory.New())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// upward builds a graph whose subgraph chooses a task node of it by ToParent. The choice is stored
// while another node waits for an answer: one of the subgraph, or of the graph itself. With
// catches the task node is gone, and the graph has a catch-all.
func upward(t *testing.T, within, catches bool) *graph.Builder[work, update] {
	t.Helper()
	b, child := newWork(), newWork()
	var id graph.ID = "pay"
	opts := []graph.NodeOption{}
	if catches {
		id, opts = "gone", append(opts, graph.CatchAll())
	}
	pay := graph.TaskNode(b, id, func(_ context.Context, _ work, in doc) (update, error) {
		return logged(fmt.Sprint(id, " got ", in.Name)), nil
	}, opts...)
	b.Edge(id, graph.End)
	child.RoutingNode("pick", func(context.Context, work) (update, graph.Next, error) {
		return logged("pick"), graph.ToParent(pay.Send(doc{Name: "money"})), nil
	}, graph.Targets(graph.Parent))
	child.Edge(graph.Start, "pick")
	asking := b
	if within {
		asking = child
	}
	asking.Node("ask", func(ctx context.Context, _ work) (update, error) {
		_, err := refund.Ask(ctx, doc{})
		return update{}, err
	}, refund)
	asking.Edge(graph.Start, "ask")
	asking.Edge("ask", graph.End)
	b.Subgraph("sub", compile(t, child, graph.SubgraphOnly()), graph.Targets(id))
	b.Edge(graph.Start, "sub")
	return b
}

// TestAChoiceForTheParentReachesTheCatchAll: the choice was stored when the task node was still
// there (rule 9.5).
func TestAChoiceForTheParentReachesTheCatchAll(t *testing.T) {
	for _, within := range []bool{false, true} {
		eachDurability(t, func(t *testing.T, d graph.Durability) {
			s := memory.New()
			before := compile(t, upward(t, within, false), graph.Saver(s), d)
			res := done(t, graph.Waiting)(before.Thread("t").Invoke(t.Context(), logged("in")))
			after := compile(t, upward(t, within, true), graph.Saver(s), d)
			res = done(t, graph.Done)(after.Thread("t").Resume(t.Context(), refund.Answer(res.Questions[0], true)))
			same(t, "log", res.State.Log, []string{"in", "pick", "gone got money"})
		})
	}
}
