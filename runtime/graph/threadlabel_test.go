package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// user returns the label "user" as a node sees it, or "none".
func user(ctx context.Context) string {
	value, err := graph.ThreadLabel(ctx, "user")
	if errors.Is(err, graph.ErrNoLabel) && value == "" {
		return "none"
	}
	if err != nil {
		return err.Error()
	}
	return value
}

// whose is a node that logs its name and the user of its thread.
func whose(name string) func(context.Context, work) (update, error) {
	return func(ctx context.Context, _ work) (update, error) { return logged(name + " of " + user(ctx)), nil }
}

// whoseChain is a graph of nodes a and b that log the user.
func whoseChain() *graph.Builder[work, update] {
	b := newWork()
	b.Node("a", whose("a"))
	b.Node("b", whose("b"))
	b.Chain(graph.Start, "a", "b", graph.End)
	return b
}

// last returns the newest n lines of a log.
func last(res result, n int) string {
	return strings.Join(res.State.Log[max(0, len(res.State.Log)-n):], ", ")
}

func TestNodesSeeTheLabelsOfTheirThread(t *testing.T) {
	for name, opts := range map[string][]graph.Option{
		"hot": nil, "shared": {graph.SharedState()}, "cold": {graph.HotThreads(0)},
	} {
		t.Run(name, func(t *testing.T) {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				th, _ := newThread(t, whoseChain(), append(opts, d)...)
				for _, turn := range []struct {
					opts []graph.InvokeOption
					want string
				}{
					{nil, "a of none, b of none"},
					{[]graph.InvokeOption{graph.Label("user", "ada"), graph.Label("shop", "x")}, "a of ada, b of ada"},
					{nil, "a of ada, b of ada"},
					{[]graph.InvokeOption{graph.Label("shop", "y")}, "a of ada, b of ada"},
					{[]graph.InvokeOption{graph.Label("user", "bob")}, "a of bob, b of bob"},
					{nil, "a of bob, b of bob"},
					{[]graph.InvokeOption{graph.Label("user", "")}, "a of none, b of none"},
					{nil, "a of none, b of none"},
				} {
					res := done(t, graph.Done)(th.Invoke(t.Context(), input, turn.opts...))
					same(t, "log", last(res, 2), turn.want)
				}
			})
		})
	}
}

// TestAHotThreadSeesLabelsThatAnotherProcessChanged changes the labels between two turns of a
// process that keeps the thread in memory.
func TestAHotThreadSeesLabelsThatAnotherProcessChanged(t *testing.T) {
	saver := memory.New()
	one := compile(t, whoseChain(), graph.Saver(saver)).Thread("t")
	two := compile(t, whoseChain(), graph.Saver(saver)).Thread("t")
	done(t, graph.Done)(one.Invoke(t.Context(), input, graph.Label("user", "ada")))
	done(t, graph.Done)(two.Invoke(t.Context(), input, graph.Label("user", "bob")))
	same(t, "after another process", last(done(t, graph.Done)(one.Invoke(t.Context(), input)), 2), "a of bob, b of bob")
	if _, err := one.UpdateState(t.Context(), logged("edit"), graph.Label("user", "eve")); err != nil {
		t.Fatal(err)
	}
	same(t, "after an edit", last(done(t, graph.Done)(one.Invoke(t.Context(), input)), 2), "a of eve, b of eve")
	same(t, "after an edit elsewhere", last(done(t, graph.Done)(two.Invoke(t.Context(), input)), 2), "a of eve, b of eve")
}

func TestAResumeInANewProcessSeesTheLabels(t *testing.T) {
	dir := t.TempDir()
	process := func(run func(th thread) (result, error), want graph.Status) result {
		t.Helper()
		saver, err := file.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer saver.Close()
		return done(t, want)(run(compile(t, whoseChain(), graph.Saver(saver), graph.InterruptBefore("b")).Thread("t")))
	}
	process(func(th thread) (result, error) {
		return th.Invoke(t.Context(), input, graph.Label("user", "ada"))
	}, graph.Paused)
	res := process(func(th thread) (result, error) { return th.Resume(t.Context()) }, graph.Done)
	same(t, "log", last(res, 2), "a of ada, b of ada")
	first := res.Checkpoint
	process(func(th thread) (result, error) {
		return th.Invoke(t.Context(), input, graph.Label("user", "bob"))
	}, graph.Paused)
	res = process(func(th thread) (result, error) {
		snap, err := th.At(first).State(t.Context())
		if err != nil {
			return result{}, err
		}
		done(t, graph.Paused)(th.At(snap.Parent).Resume(t.Context())) // the stop holds a replay too
		return th.Resume(t.Context())
	}, graph.Done)
	same(t, "a replay has the labels that the thread has now", last(res, 1), "b of bob")
}

// TestTheLabelsOfAThreadOutliveARelease releases a thread. The next run has read nothing of it,
// and yet sees the labels.
func TestTheLabelsOfAThreadOutliveARelease(t *testing.T) {
	th, _ := newThread(t, whoseChain())
	release := func() {
		t.Helper()
		if _, err := th.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	done(t, graph.Done)(th.Invoke(t.Context(), input, graph.Label("user", "ada")))
	release()
	same(t, "the next version", last(done(t, graph.Done)(th.Invoke(t.Context(), input, graph.Label("shop", "x"))), 2), "a of ada, b of ada")
	same(t, "a hot run", last(done(t, graph.Done)(th.Invoke(t.Context(), input)), 2), "a of ada, b of ada")
	release()
	same(t, "with another label", last(done(t, graph.Done)(th.Invoke(t.Context(), input, graph.Label("user", "bob"))), 2), "a of bob, b of bob")
	release()
	same(t, "without it", last(done(t, graph.Done)(th.Invoke(t.Context(), input, graph.Label("user", ""))), 2), "a of none, b of none")
}

// TestALabelThatCannotBeReadFailsTheNode lets the read of the labels fail, in the first run of a
// version.
func TestALabelThatCannotBeReadFailsTheNode(t *testing.T) {
	down := errors.New("the server is down")
	b := newWork()
	saver := &unreadable{Saver: memory.New()}
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		saver.err = down
		defer func() { saver.err = nil }()
		_, err := graph.ThreadLabel(ctx, "user")
		return update{}, err
	})
	b.Chain(graph.Start, "a", graph.End)
	_, err := compile(t, b, graph.Saver(saver)).Thread("t").Invoke(t.Context(), input)
	var failed *graph.SaverError
	if !errors.Is(err, down) || !errors.As(err, &failed) || errors.Is(err, graph.ErrNoLabel) {
		t.Errorf("got %v, want a *SaverError with the error of the saver", err)
	}
}

// unreadable is a saver whose Load fails with err.
type unreadable struct {
	checkpoint.Saver
	err error
}

func (s *unreadable) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	if s.err != nil {
		return checkpoint.Chain{}, s.err
	}
	return s.Saver.Load(ctx, p)
}

// TestSubgraphsSendsAndRoutesSeeTheLabels looks at the label in each kind of function that gets a
// context.
func TestSubgraphsSendsAndRoutesSeeTheLabels(t *testing.T) {
	seen := make(chan string, 100)
	see := func(ctx context.Context, where string) { seen <- where + " of " + user(ctx) }
	innermost := newWork()
	innermost.Node("a", func(ctx context.Context, _ work) (update, error) { see(ctx, "two deep"); return update{}, nil })
	innermost.Chain(graph.Start, "a", graph.End)
	inner := graph.New("inner", teststate.PairSchema)
	graph.MapSubgraph(inner, "deeper", compile(t, innermost, graph.SubgraphOnly()),
		func(ctx context.Context, _ pair) (update, error) { see(ctx, "in"); return update{}, nil },
		func(ctx context.Context, _ pair, _ work) (pairUpdate, error) {
			see(ctx, "out")
			return pairUpdate{}, nil
		})
	inner.Node("a", func(ctx context.Context, _ pair) (pairUpdate, error) { see(ctx, "one deep"); return pairUpdate{}, nil })
	inner.Chain(graph.Start, "deeper", "a", graph.End)

	b, read := readers(compilePair(t, inner))
	send := graph.TaskNode(b, "task", func(ctx context.Context, _ work, d doc) (update, error) {
		see(ctx, "send")
		_, err := graph.Do(ctx, "call", func(ctx context.Context) (doc, error) { see(ctx, "call"); return d, nil })
		later := context.WithoutCancel(ctx)
		t.Cleanup(func() { same(t, "after the run", user(later), "ada") })
		return update{}, err
	})
	b.Route(read.ID, func(ctx context.Context, _ work) (graph.Next, error) {
		see(ctx, "route")
		return send.Send(doc{Name: "x"}), nil
	}, send.ID)
	b.Edge(send.ID, graph.End)
	th, _ := newThread(t, b)
	done(t, graph.Done)(th.Invoke(t.Context(), logged("x"), graph.Label("user", "ada")))
	close(seen)
	where := make(map[string]int)
	for text := range seen {
		where[text]++
	}
	same(t, "seen", where, map[string]int{
		"two deep of ada": 1, "in of ada": 1, "out of ada": 1, "one deep of ada": 1, "send of ada": 1, "call of ada": 1, "route of ada": 1,
	})
}

// TestALabelDoesNotReachAnotherRun starts runs in a node. Another thread has labels of its own,
// and a run without a thread has none.
func TestALabelDoesNotReachAnotherRun(t *testing.T) {
	app := compile(t, whoseChain(), graph.Saver(memory.New()))
	b := newWork()
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		bob := done(t, graph.Done)(app.Thread("bob's").Invoke(ctx, input, graph.Label("user", "bob")))
		none := done(t, graph.Done)(app.Thread("nobody's").Invoke(ctx, input))
		without := done(t, graph.Done)(app.Run(ctx, input))
		return logged(last(bob, 1), last(none, 1), last(without, 1), "a of "+user(ctx)), nil
	})
	b.Chain(graph.Start, "a", graph.End)
	th, _ := newThread(t, b)
	res := done(t, graph.Done)(th.Invoke(t.Context(), input, graph.Label("user", "ada")))
	same(t, "log", last(res, 4), "b of bob, b of none, b of none, a of ada")
	same(t, "outside of a run", user(t.Context()), "none")
}

// TestANodeOfOneUserCannotReadTheItemsOfAnother gives each user an item under the same key, and
// lets the nodes of each read everything that they can reach.
func TestANodeOfOneUserCannotReadTheItemsOfAnother(t *testing.T) {
	backend := memory.NewStore()
	mine := store.Scoped(backend, func(ctx context.Context) (store.Namespace, error) {
		user, err := graph.ThreadLabel(ctx, "user")
		return store.Namespace{"users", user}, err
	})
	b := newWork()
	b.Node("put", func(ctx context.Context, _ work) (update, error) {
		_, err := mine.Do(ctx, []store.Op{{Kind: store.OpPut, Namespace: store.Namespace{"facts"}, Key: "k", Value: []byte(user(ctx))}})
		return update{}, err
	})
	b.Node("read", func(ctx context.Context, _ work) (update, error) {
		var u update
		records, err := mine.Find(ctx, store.Query{Limit: 100})
		for _, r := range records {
			u.Log.Append(fmt.Sprintf("%s %s %s", r.Namespace, r.Key, r.Value))
		}
		return u, err
	})
	b.Chain(graph.Start, "put", "read", graph.End)
	app := compile(t, b, graph.Saver(memory.New()))
	users := []string{
		"ada", "bob", "/", "..", "../ada", "%", "_", "a", "a/b", "ada\x00", "\x00\x01", "ada\x00\x01bob", "\xff", " ", "root", "users",
		strings.Repeat("x", checkpoint.MaxLabelValue), strings.Repeat("\x00", checkpoint.MaxLabelValue),
	}
	for i, user := range users {
		done(t, graph.Done)(app.Thread(fmt.Sprint(i)).Invoke(t.Context(), update{}, graph.Label("user", user)))
	}
	for i, user := range users {
		res := done(t, graph.Done)(app.Thread(fmt.Sprint(i)).Invoke(t.Context(), update{}))
		same(t, fmt.Sprintf("%.20q reads", user), last(res, 2), fmt.Sprintf("facts k %[1]s, facts k %[1]s", user))
	}
	var failed *graph.NodeError
	for what, opt := range map[string]graph.InvokeOption{"no label": nil, "an empty label": graph.Label("user", ""), "another": graph.Label("User", "ada")} {
		_, err := app.Thread(what).Invoke(t.Context(), update{}, opt)
		if !errors.Is(err, graph.ErrNoLabel) || !errors.As(err, &failed) || !strings.Contains(err.Error(), `label "user"`) {
			t.Errorf("%s: got %v, want a *NodeError with ErrNoLabel that names the label", what, err)
		}
	}
	records, err := backend.Find(t.Context(), store.Query{Limit: 100})
	if err != nil || len(records) != len(users) {
		t.Errorf("got %d items of all users, %v; want %d", len(records), err, len(users))
	}
}

func TestARunWithoutLabelsAllocatesNothingForThem(t *testing.T) {
	ctx := graphtest.WithLabels(t.Context(), map[string]string{"user": "ada"})
	if n := testing.AllocsPerRun(100, func() { _ = task.WithLabels(t.Context(), nil) }); n != 0 {
		t.Errorf("a run without labels allocates %v times, want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = graph.ThreadLabel(ctx, "user") }); n != 0 {
		t.Errorf("ThreadLabel allocates %v times, want 0", n)
	}
}

func TestATestGivesANodeLabels(t *testing.T) {
	labels := map[string]string{"user": "ada"}
	ctx := graphtest.Context(graphtest.WithLabels(t.Context(), labels), graph.Task{Node: "a"})
	labels["user"] = "changed after the call"
	u, err := whose("a")(ctx, work{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "update", u.String(), logged("a of ada").String())
}
