package graph_test

import (
	"context"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

type (
	app    = graph.Graph[work, update]
	thread = graph.Thread[work, update]
	result = graph.Result[work]
)

var errBroken = errors.New("it broke")

// say is a node that logs its name.
func say(name string) func(context.Context, work) (update, error) {
	return func(context.Context, work) (update, error) { return logged(name), nil }
}

func logged(lines ...string) update {
	var u update
	u.Log.Append(lines...)
	return u
}

// choose is a route that always chooses the same.
func choose(first graph.ID, more ...graph.ID) func(context.Context, work) (graph.Next, error) {
	return func(context.Context, work) (graph.Next, error) { return graph.To(first, more...), nil }
}

// chain builds Start -> ids... -> End of nodes that log their names.
func chain(ids ...graph.ID) *graph.Builder[work, update] {
	b := newWork()
	from := graph.Start
	for _, id := range ids {
		b.Node(id, say(string(id)))
		b.Edge(from, id)
		from = id
	}
	b.Edge(from, graph.End)
	return b
}

func compile(tb testing.TB, b *graph.Builder[work, update], opts ...graph.Option) *app {
	tb.Helper()
	g, err := b.Compile(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// done checks that a run ended without error, and how.
func done(tb testing.TB, want graph.Status) func(result, error) result {
	tb.Helper()
	return func(res result, err error) result {
		tb.Helper()
		if err != nil {
			tb.Fatalf("got error %v, want the run %s", err, want)
		}
		if res.Status != want {
			tb.Fatalf("got the run %s, due %v; want it %s", res.Status, res.Next, want)
		}
		return res
	}
}

func same(tb testing.TB, what string, got, want any) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var input = update{Count: state.Add(1)}

// eachDurability calls test for each durability, in subtests named Sync, Async and OnExit. The
// quick tests call it for one of them, which follows from the name of the test.
func eachDurability(t *testing.T, test func(t *testing.T, d graph.Durability)) {
	t.Helper()
	quick := int(crc32.ChecksumIEEE([]byte(t.Name())) % 3)
	for i, sub := range []struct {
		name string
		d    graph.Durability
	}{{"Sync", graph.Sync}, {"Async", graph.Async}, {"OnExit", graph.OnExit}} {
		if testing.Short() && i != quick {
			continue
		}
		t.Run(sub.name, func(t *testing.T) { test(t, sub.d) })
	}
}
