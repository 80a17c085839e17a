package graph_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// ranGraph is (a and b) -> join c -> two sends to each -> the subgraph sub -> a race that quick
// wins.
func ranGraph(tb testing.TB) *graph.Builder[work, update] {
	tb.Helper()
	b := newWork()
	for _, id := range []graph.ID{"a", "b", "c", "quick", "after"} {
		b.Node(id, say(string(id)))
	}
	b.Node("slow", func(ctx context.Context, _ work) (update, error) {
		<-ctx.Done()
		return update{}, ctx.Err()
	})
	each := graph.TaskNode(b, "each", func(context.Context, work, doc) (update, error) { return logged("each"), nil })
	b.Subgraph("sub", compile(tb, chain("x", "y"), graph.SubgraphOnly()))
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.Join([]graph.ID{"b", "a"}, "c")
	b.Route("c", func(context.Context, work) (graph.Next, error) {
		var next graph.Next
		next.Add(each.Send(doc{}))
		next.Add(each.Send(doc{}))
		return next, nil
	}, "each")
	b.Edge("each", "sub")
	b.Edge("sub", "quick")
	b.Edge("sub", "slow")
	b.JoinAny([]graph.ID{"quick", "slow"}, "after")
	b.Edge("after", graph.End)
	return b
}

// ranOf lists the nodes that ran, by checkpoint, oldest first. It checks that each snapshot names
// the thread.
func ranOf(t *testing.T, th thread, q checkpoint.Query) (all []string) {
	t.Helper()
	for _, snap := range collect(t, th.History(t.Context(), q)) {
		same(t, "thread", snap.Thread, "t")
		all = append(all, fmt.Sprint(snap.Source, snap.Ran))
	}
	slices.Reverse(all)
	return all
}

// TestASnapshotNamesTheThreadAndTheNodesThatRan: rule 1.8.
func TestASnapshotNamesTheThreadAndTheNodesThatRan(t *testing.T) {
	th := compile(t, ranGraph(t), graph.Saver(memory.New())).Thread("t")
	res := done(t, graph.Done)(th.Invoke(t.Context(), input))
	run := []string{"input []", "input []", "loop [a b]", "loop [c]", "loop [each]", "loop [sub]", "loop [quick]", "loop [after]"}
	same(t, "ran", ranOf(t, th, checkpoint.Query{}), run)
	same(t, "ran, of headers", ranOf(t, th, checkpoint.Query{Headers: true}), run)
	same(t, "search by a node that ran", ranOf(t, th, checkpoint.Query{Ran: "b"}), []string{"loop [a b]"})
	same(t, "search by a node that is due", ranOf(t, th, checkpoint.Query{Next: "b"}), []string{"input []"})
	same(t, "search by both", ranOf(t, th, checkpoint.Query{Ran: "c", Next: "each"}), []string{"loop [c]"})
	snap, err := th.At(res.Checkpoint).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "ran, of State", snap.Ran, []graph.ID{"after"})
	same(t, "thread, of State", snap.Thread, "t")
	for _, call := range collect(t, th.History(t.Context(), checkpoint.Query{Next: "sub"}))[0].Calls {
		same(t, "ran in the call", ranOf(t, graph.Inside(th, call, compile(t, chain("x", "y"))), checkpoint.Query{}),
			[]string{"input []", "loop [x]", "loop [y]"})
	}
	updated(t)(th.UpdateState(t.Context(), update{}))
	updated(t)(th.UpdateState(t.Context(), update{}, graph.AsNode(graph.Start)))
	updated(t)(th.UpdateStates(t.Context(), []nodeUpdate{{Node: "each"}, {Node: "b"}, {Node: "each"}}, graph.DiscardPending()))
	updated(t)(th.UpdateState(t.Context(), update{}, graph.Goto(graph.To("after"))))
	same(t, "ran, of edits", ranOf(t, th, checkpoint.Query{})[len(run):], []string{"update []", "fork [Start]", "fork [b each]", "fork []"})
}

// TestAReleasedSnapshotNamesItsVersion reads a thread before and after its release.
func TestAReleasedSnapshotNamesItsVersion(t *testing.T) {
	th, _ := newThread(t, chain("a"))
	for version := range 2 {
		res := done(t, graph.Done)(th.Invoke(t.Context(), input))
		for _, want := range []int{0, version + 1} {
			snap, err := th.At(res.Checkpoint).State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "version", snap.Version, want)
			if want == 0 {
				if _, err := th.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
