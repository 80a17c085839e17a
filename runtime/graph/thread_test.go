package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// newThread compiles b on a memory saver of its own.
func newThread(tb testing.TB, b *graph.Builder[work, update], opts ...graph.Option) (thread, *memory.Saver) {
	tb.Helper()
	s := memory.New()
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the saver: %v", err)
		}
	})
	return compile(tb, b, append([]graph.Option{graph.Saver(s)}, opts...)...).Thread("t"), s
}

func collect[S any](tb testing.TB, seq func(func(graph.Snapshot[S], error) bool)) []graph.Snapshot[S] {
	tb.Helper()
	var all []graph.Snapshot[S]
	for snap, err := range seq {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, snap)
	}
	return all
}

// pairGraph is the two-node example: node_a sets foo to a and adds a to bar, and node_b does the
// same with b.
func pairGraph(t *testing.T, s checkpoint.Saver) *graph.Graph[teststate.Pair, teststate.PairUpdate] {
	t.Helper()
	b := graph.New("pair", teststate.PairSchema)
	for id, v := range map[graph.ID]string{"node_a": "a", "node_b": "b"} {
		b.Node(id, func(context.Context, teststate.Pair) (teststate.PairUpdate, error) {
			return teststate.PairUpdate{Foo: state.Set(v), Bar: state.Append(v)}, nil
		})
	}
	b.Edge(graph.Start, "node_a")
	b.Edge("node_a", "node_b")
	b.Edge("node_b", graph.End)
	g, err := b.Compile(graph.Saver(s))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTheTwoNodeExampleLeavesFourCheckpoints(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		if d == graph.OnExit {
			return // it has no checkpoints between
		}
		s := memory.New()
		th := pairGraph(t, s).Thread("1")
		res, err := th.Invoke(t.Context(), teststate.PairUpdate{Foo: state.Set("")}, d)
		if err != nil || res.Status != graph.Done {
			t.Fatalf("got %v, %v", res.Status, err)
		}
		type line struct {
			Step   int
			Source checkpoint.Source
			Foo    string
			Bar    string
			Next   []graph.ID
		}
		var got []line
		snaps := collect(t, th.History(t.Context(), checkpoint.Query{}))
		for _, p := range snaps {
			got = append(got, line{p.Step, p.Source, p.State.Foo, strings.Join(p.State.Bar, " "), p.Next})
		}
		same(t, "history, newest first", got, []line{
			{3, checkpoint.Loop, "b", "a b", nil},
			{2, checkpoint.Loop, "a", "a", []graph.ID{"node_b"}},
			{1, checkpoint.Input, "", "", []graph.ID{"node_a"}},
			{0, checkpoint.Input, "", "", []graph.ID{graph.Start}},
		})
		for i, p := range snaps {
			at, err := th.At(p.Checkpoint).State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "state by id", at.State, p.State)
			same(t, "due by id", at.Next, p.Next)
			if i+1 < len(snaps) {
				same(t, "parent", p.Parent, snaps[i+1].Checkpoint)
			}
		}
		head, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "state at the head", head.Checkpoint, res.Checkpoint)
		same(t, "status at the head", head.Status, checkpoint.Done)
	})
}

func TestUpdateStateGoesThroughTheReducers(t *testing.T) {
	s := memory.New()
	th := pairGraph(t, s).Thread("1")
	in := teststate.PairUpdate{Foo: state.Set("1")}
	if _, err := th.Invoke(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	var middle checkpoint.ID
	for p, err := range th.History(t.Context(), checkpoint.Query{Next: "node_b"}) {
		if err != nil {
			t.Fatal(err)
		}
		middle = p.Checkpoint
	}
	edit := teststate.PairUpdate{Foo: state.Set("2"), Bar: state.Append("b")}
	id, err := th.At(middle).UpdateState(t.Context(), edit)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "checkpoint", snap.Checkpoint, id)
	same(t, "parent", snap.Parent, middle)
	same(t, "state", snap.State, teststate.Pair{Foo: "2", Bar: []string{"a", "b"}})
	same(t, "due", snap.Next, []graph.ID{"node_b"})

	if _, err := th.UpdateState(t.Context(), edit, graph.AsNode("node_a")); err != nil {
		t.Fatal(err)
	}
	snap, err = th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "edited as node_a", snap.State, teststate.Pair{Foo: "2", Bar: []string{"a", "b", "b"}})
	same(t, "due", snap.Next, []graph.ID{"node_b"})
	same(t, "source", snap.Source, checkpoint.Fork)
	same(t, "ran", snap.Ran, []graph.ID{"node_a"})
	res, err := th.Resume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "resumed", res.State, teststate.Pair{Foo: "b", Bar: []string{"a", "b", "b", "b"}})
}

func TestASecondInputContinuesFromTheLastState(t *testing.T) {
	th, _ := newThread(t, chain("a"))
	done(t, graph.Done)(th.Invoke(t.Context(), logged("one")))
	res := done(t, graph.Done)(th.Invoke(t.Context(), logged("two")))
	same(t, "log", res.State.Log, []string{"one", "a", "two", "a"})
	steps := []int{}
	for _, p := range collect(t, th.History(t.Context(), checkpoint.Query{})) {
		steps = append(steps, p.Step)
	}
	same(t, "steps of the history", steps, []int{5, 4, 3, 2, 1, 0})
}

func TestHistoryIsFilteredAndPaged(t *testing.T) {
	th, _ := newThread(t, chain("a", "b", "c"), graph.InterruptBefore("c"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	done(t, graph.Done)(th.Resume(t.Context()))
	logs := func(q checkpoint.Query) []string {
		var got []string
		for _, p := range collect(t, th.History(t.Context(), q)) {
			got = append(got, strings.Join(p.State.Log, ""))
		}
		return got
	}
	all := collect(t, th.History(t.Context(), checkpoint.Query{}))
	same(t, "all", logs(checkpoint.Query{}), []string{"abc", "ab", "a", "", ""})
	same(t, "with resumes", logs(checkpoint.Query{Sources: []checkpoint.Source{checkpoint.Resume, checkpoint.Loop}}), []string{"abc", "ab", "ab", "a"})
	same(t, "limit", logs(checkpoint.Query{Limit: 2}), []string{"abc", "ab"})
	same(t, "before", logs(checkpoint.Query{Before: all[1].Checkpoint}), []string{"a", "", ""})
	same(t, "step", logs(checkpoint.Query{Step: 2, HasStep: true}), []string{"a"})
	same(t, "node", logs(checkpoint.Query{Next: "b"}), []string{"a"})
	n := 0
	for _, err := range th.History(t.Context(), checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		break
	}
	same(t, "left after one", n, 1)
}

func TestStatesOfAHistoryAreApart(t *testing.T) {
	b := newWork()
	b.Node("a", func(_ context.Context, s work) (update, error) {
		var u update
		u.Facts.Put("n", fmt.Sprint(s.Count))
		u.Count.Add(1)
		u.Log.Append(fmt.Sprint(s.Count))
		return u, nil
	})
	b.Edge(graph.Start, "a")
	b.Route("a", func(_ context.Context, s work) (graph.Next, error) {
		if s.Count > 4 {
			return graph.To(graph.End), nil
		}
		return graph.To("a"), nil
	}, "a", graph.End)
	th, _ := newThread(t, b)
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	var got []string
	for _, p := range collect(t, th.History(t.Context(), checkpoint.Query{Sources: []checkpoint.Source{checkpoint.Loop}})) {
		got = append(got, fmt.Sprint(p.State.Facts["n"], p.State.Log))
	}
	same(t, "history", got, []string{"4[1 2 3 4]", "3[1 2 3]", "2[1 2]", "1[1]"})
}

func TestInterruptBefore(t *testing.T) {
	b := chain("a", "b")
	b.Node("sibling", say("sibling"))
	b.Edge("a", "sibling")
	b.Edge("sibling", graph.End)
	th, s := newThread(t, b, graph.InterruptBefore("b"))
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	same(t, "due", res.Next, []graph.ID{"b", "sibling"})
	same(t, "log", res.State.Log, []string{"a"})
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil || th.Status != checkpoint.Paused || th.Holder != "" {
			t.Errorf("thread: got %+v, %v; want it paused, held by nobody", th, err)
		}
	}
	edit := logged("edited")
	if _, err := th.UpdateState(t.Context(), edit); err != nil {
		t.Fatal(err)
	}
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "edited", "b", "sibling"})
}

func TestInterruptAtTheFirstNode(t *testing.T) {
	th, _ := newThread(t, chain("a"), graph.InterruptBefore("a"))
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	same(t, "due", res.Next, []graph.ID{"a"})
	same(t, "steps", res.Steps, 0)
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a"})
}

func TestInterruptBeforeInALoopStopsEachTimeAround(t *testing.T) {
	b := newWork()
	b.Node("a", say("a"))
	b.Edge(graph.Start, "a")
	b.Route("a", func(_ context.Context, s work) (graph.Next, error) {
		if len(s.Log) == 3 {
			return graph.To(graph.End), nil
		}
		return graph.To("a"), nil
	}, "a", graph.End)
	th, _ := newThread(t, b, graph.InterruptBefore("a"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	done(t, graph.Paused)(th.Resume(t.Context()))
	done(t, graph.Paused)(th.Resume(t.Context()))
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "a", "a"})
}

// routed has a route out of a on Status, which is "x" unless edited.
func routed(asked *atomic.Int32) *graph.Builder[work, update] {
	b := newWork()
	b.Node("a", func(context.Context, work) (update, error) {
		u := logged("a")
		u.Status.Set("x")
		return u, nil
	})
	b.Node("x", say("x"))
	b.Node("y", say("y"))
	b.Node("sibling", say("sibling"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "sibling")
	b.Route("a", func(_ context.Context, s work) (graph.Next, error) {
		asked.Add(1)
		return graph.To(graph.ID(s.Status)), nil
	}, "x", "y", graph.End)
	for _, id := range []graph.ID{"x", "y", "sibling"} {
		b.Edge(id, graph.End)
	}
	return b
}

func TestInterruptAfterKeepsTheRouteItHadDecided(t *testing.T) {
	var asked atomic.Int32
	th, _ := newThread(t, routed(&asked), graph.InterruptAfter("a"))
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	same(t, "due", res.Next, []graph.ID{"x", "sibling"})
	var edit update
	edit.Status.Set("y")
	if _, err := th.UpdateState(t.Context(), edit); err != nil {
		t.Fatal(err)
	}
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "x", "sibling"})
	same(t, "times asked", asked.Load(), int32(1))
}

func TestBeforeRouteDecidesAfterTheEdit(t *testing.T) {
	var asked atomic.Int32
	th, s := newThread(t, routed(&asked), graph.InterruptAfter("a"), graph.BeforeRoute())
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	same(t, "due", res.Next, []graph.ID{"sibling"})
	same(t, "times asked", asked.Load(), int32(0))
	var edit update
	edit.Status.Set("y")
	if _, err := th.UpdateState(t.Context(), edit); err != nil {
		t.Fatal(err)
	}
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "y", "sibling"})
	same(t, "times asked", asked.Load(), int32(1))

	// The choice of the route was stored before the chosen node ran.
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	head := chain.Last
	decision, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t", At: head.Commits})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "decided", decision.Next(), []string{"y", "sibling"})
}

func TestBeforeRouteThatEndsTheRun(t *testing.T) {
	b := newWork()
	b.Node("a", say("a"))
	b.Edge(graph.Start, "a")
	b.Route("a", choose(graph.End), graph.End)
	th, _ := newThread(t, b, graph.InterruptAfter("a"), graph.BeforeRoute())
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	same(t, "what may follow", res.Next, []graph.ID{graph.End})
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, graph.ErrUnfinished) {
		t.Errorf("input while a route is owed: got %v, want ErrUnfinished", err)
	}
	done(t, graph.Done)(th.Resume(t.Context()))
	done(t, graph.Done)(th.Resume(t.Context()))
}

func TestOneStopServesAfterAndBefore(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptAfter("a"), graph.InterruptBefore("b"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	done(t, graph.Done)(th.Resume(t.Context()))
}

func TestInputOnAnUnfinishedThread(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("b"))
	done(t, graph.Paused)(th.Invoke(t.Context(), logged("one"), graph.RequestID("r1")))
	_, err := th.Invoke(t.Context(), logged("two"))
	if !errors.Is(err, graph.ErrUnfinished) || !strings.Contains(err.Error(), "b") {
		t.Errorf("got %v, want ErrUnfinished naming b", err)
	}
	_, err = th.Invoke(t.Context(), logged("two"), graph.RequestID("r2"))
	if !errors.Is(err, graph.ErrUnfinished) {
		t.Errorf("another request: got %v, want ErrUnfinished", err)
	}
	res := done(t, graph.Done)(th.Invoke(t.Context(), logged("one"), graph.RequestID("r1")))
	same(t, "the same request", res.State.Log, []string{"one", "a", "b"})
	res = done(t, graph.Done)(th.Invoke(t.Context(), logged("one"), graph.RequestID("r1")))
	same(t, "the same request once more", res.State.Log, []string{"one", "a", "b"})

	done(t, graph.Paused)(th.Invoke(t.Context(), logged("three")))
	res = done(t, graph.Paused)(th.Invoke(t.Context(), logged("four"), graph.DiscardPending()))
	same(t, "abandoned", res.State.Log, []string{"one", "a", "b", "three", "a", "four", "a"})
}

func TestANewInputEmptiesJoins(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"pick", "a", "b", "joined"} {
		b.Node(id, say(string(id)))
	}
	b.Edge(graph.Start, "pick")
	b.Route("pick", func(_ context.Context, s work) (graph.Next, error) { return graph.To(graph.ID(s.Status)), nil }, "a", "b")
	b.Join([]graph.ID{"a", "b"}, "joined")
	b.Edge("joined", graph.End)
	th, _ := newThread(t, b)
	for _, id := range []string{"a", "b"} {
		var in update
		in.Status.Set(id)
		res := done(t, graph.Done)(th.Invoke(t.Context(), in))
		same(t, "unjoined", res.Unjoined, []graph.ID{"joined"})
		if slices.Contains(res.State.Log, "joined") {
			t.Errorf("the join fired on halves of two runs: %v", res.State.Log)
		}
	}
}

func TestAJoinIsKeptOverARestart(t *testing.T) {
	th, _ := newThread(t, forkJoin(), graph.InterruptBefore("long2"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"short", "long1", "long2", "joined"})
}

// flaky is a graph of three parallel nodes. The node bad fails as long as broken is set. ran
// counts the nodes.
func flaky(broken *atomic.Bool, ran *counter) *graph.Builder[work, update] {
	b := newWork()
	for _, id := range []graph.ID{"a", "bad", "c"} {
		b.Node(id, func(ctx context.Context, _ work) (update, error) {
			ran.add(string(id))
			if id == "bad" && broken.Load() {
				return update{}, errBroken
			}
			return logged(string(id)), nil
		})
		b.Edge(graph.Start, id)
		b.Edge(id, "end")
	}
	b.Node("end", say("end"))
	b.Edge("end", graph.End)
	return b
}

type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what]++
}

func (c *counter) counts() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func TestResumeRunsOnlyWhatIsNotStored(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		var broken atomic.Bool
		var ran counter
		broken.Store(true)
		th, _ := newThread(t, flaky(&broken, &ran), d, graph.Concurrency(1))
		res, err := th.Invoke(t.Context(), input)
		if !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want errBroken", err)
		}
		same(t, "status", res.Status, graph.Failed)
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "thread", snap.Status, checkpoint.Failed)
		same(t, "tasks", timeless(t, snap.Tasks), []graph.TaskState{{Node: "a", Finished: true}, {Node: "bad", Failure: "it broke", Attempt: 1}, {Node: "c"}})

		broken.Store(false)
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a", "bad", "c", "end"})
		same(t, "runs", ran.counts(), map[string]int{"a": 1, "bad": 2, "c": 1})
	})
}

func TestRerunDropsStoredResults(t *testing.T) {
	var mended atomic.Bool
	var ran counter
	b := newWork()
	for _, id := range []graph.ID{"a", "b"} {
		b.Node(id, func(context.Context, work) (update, error) {
			ran.add(string(id))
			var u update
			if id == "a" || !mended.Load() {
				u.Status.Set(string(id))
			}
			return u, nil
		})
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	th, _ := newThread(t, b)
	var conflict *graph.ConflictError
	res, err := th.Invoke(t.Context(), logged("in"))
	if !errors.As(err, &conflict) {
		t.Fatalf("got %v, want a *ConflictError", err)
	}
	same(t, "state with the error", res.State.Log, []string{"in"})
	mended.Store(true)
	if _, err := th.Resume(t.Context()); !errors.As(err, &conflict) {
		t.Fatalf("resumed on the stored results: got %v, want the *ConflictError again", err)
	}
	same(t, "runs", ran.counts(), map[string]int{"a": 1, "b": 1})
	if _, err := th.Resume(t.Context(), graph.Rerun("elsewhere")); err == nil || !strings.Contains(err.Error(), `"elsewhere" is not due`) {
		t.Errorf("rerun of a node that is not due: got %v", err)
	}
	res = done(t, graph.Done)(th.Resume(t.Context(), graph.Rerun("b")))
	same(t, "status", res.State.Status, "a")
	same(t, "runs", ran.counts(), map[string]int{"a": 1, "b": 2})
}

func TestAFailedRouteIsAskedAgainAndNoNodeRunsAgain(t *testing.T) {
	var broken atomic.Bool
	var ran counter
	broken.Store(true)
	b := newWork()
	b.Node("a", func(context.Context, work) (update, error) { ran.add("a"); return logged("a"), nil })
	b.Edge(graph.Start, "a")
	b.Route("a", func(context.Context, work) (graph.Next, error) {
		if broken.Load() {
			return graph.Next{}, errBroken
		}
		return graph.To(graph.End), nil
	}, graph.End)
	th, _ := newThread(t, b)
	res, err := th.Invoke(t.Context(), logged("in"))
	if !errors.Is(err, errBroken) {
		t.Fatalf("got %v", err)
	}
	same(t, "state with the error", res.State.Log, []string{"in"})
	broken.Store(false)
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"in", "a"})
	same(t, "runs", ran.counts(), map[string]int{"a": 1})
}

func TestAnEntryRouteThatFailsKeepsTheInput(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	b := newWork()
	b.Node("a", say("a"))
	b.Edge("a", graph.End)
	b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
		if broken.Load() {
			return graph.Next{}, errBroken
		}
		return graph.To("a"), nil
	}, "a")
	th, _ := newThread(t, b)
	_, err := th.Invoke(t.Context(), logged("in"))
	if !errors.Is(err, errBroken) {
		t.Fatalf("got %v", err)
	}
	broken.Store(false)
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"in", "a"})
	same(t, "checkpoints", len(collect(t, th.History(t.Context(), checkpoint.Query{}))), 3)
}

func TestACancelledRunKeepsWhatFinished(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		var ran counter
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := newWork()
		b.Node("first", say("first"))
		b.Edge(graph.Start, "first")
		for _, id := range []graph.ID{"quick", "slow"} {
			b.Node(id, func(ctx context.Context, _ work) (update, error) {
				ran.add(string(id))
				if id == "slow" && ran.counts()["slow"] == 1 {
					cancel()
					<-ctx.Done()
					return update{}, ctx.Err()
				}
				return logged(string(id)), nil
			})
			b.Edge("first", id)
			b.Edge(id, graph.End)
		}
		th, _ := newThread(t, b, d, graph.Concurrency(1))
		res, err := th.Invoke(ctx, input)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want context.Canceled", err)
		}
		same(t, "status", res.Status, graph.Ready)
		same(t, "log", res.State.Log, []string{"first"})
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "thread", snap.Status, checkpoint.Ready)
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"first", "quick", "slow"})
		same(t, "runs", ran.counts(), map[string]int{"quick": 1, "slow": 2})
	})
}

func TestMaxStepsCanBeResumed(t *testing.T) {
	th, _ := newThread(t, chain("a", "b", "c"))
	_, err := th.Invoke(t.Context(), input, graph.MaxSteps(2))
	var e *graph.MaxStepsError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *MaxStepsError", err)
	}
	res := done(t, graph.Done)(th.Resume(t.Context(), graph.MaxSteps(1)))
	same(t, "log", res.State.Log, []string{"a", "b", "c"})
}

func TestIfHead(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("b"))
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	moved, err := th.UpdateState(t.Context(), logged("edit"), graph.IfHead(res.Checkpoint))
	if err != nil {
		t.Fatal(err)
	}
	old := graph.IfHead(res.Checkpoint)
	if _, err := th.Invoke(t.Context(), input, old, graph.DiscardPending()); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("Invoke: got %v, want ErrConflict", err)
	}
	if _, err := th.Resume(t.Context(), old); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("Resume: got %v, want ErrConflict", err)
	}
	if _, err := th.UpdateState(t.Context(), logged("x"), old); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("UpdateState: got %v, want ErrConflict", err)
	}
	if _, err := th.Release(t.Context(), old); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("Release: got %v, want ErrConflict", err)
	}
	done(t, graph.Done)(th.Resume(t.Context(), graph.IfHead(moved)))
}

func TestIfHeadOfAnInvoke(t *testing.T) {
	th, _ := newThread(t, chain("a"))
	res := done(t, graph.Done)(th.Invoke(t.Context(), input))
	first := done(t, graph.Done)(th.Invoke(t.Context(), input, graph.IfHead(res.Checkpoint)))
	if _, err := th.Invoke(t.Context(), input, graph.IfHead(res.Checkpoint)); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("Invoke on a head in memory: got %v, want ErrConflict", err)
	}
	done(t, graph.Done)(th.Invoke(t.Context(), input, graph.IfHead(first.Checkpoint)))
}

func TestRelease(t *testing.T) {
	th, s := newThread(t, chain("a"))
	done(t, graph.Done)(th.Invoke(t.Context(), logged("one")))
	v, err := th.Release(t.Context())
	if err != nil || v.Number != 1 {
		t.Fatalf("got %+v, %v; want version 1", v, err)
	}
	if _, err := th.State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("state after release: got %v, want ErrNotFound", err)
	}
	if _, err := th.Resume(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("resume after release: got %v, want ErrNotFound", err)
	}
	res := done(t, graph.Done)(th.Invoke(t.Context(), logged("two")))
	same(t, "log", res.State.Log, []string{"two", "a"})
	versions, err := s.Versions(t.Context(), "t")
	if err != nil || len(versions) != 2 {
		t.Errorf("got %d versions, %v; want 2", len(versions), err)
	}
}

func TestReleaseOnDone(t *testing.T) {
	th, s := newThread(t, chain("a", "b"), graph.ReleaseOnDone(), graph.InterruptBefore("b"))
	done(t, graph.Paused)(th.Invoke(t.Context(), logged("one")))
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"one", "a", "b"})
	res = done(t, graph.Paused)(th.Invoke(t.Context(), logged("two")))
	same(t, "log", res.State.Log, []string{"two", "a"})
	versions, err := s.Versions(t.Context(), "t")
	if err != nil || len(versions) != 2 {
		t.Errorf("got %d versions, %v; want 2", len(versions), err)
	}
}

func TestReplayRunsWhatCameAfterAgain(t *testing.T) {
	var ran counter
	b := newWork()
	from := graph.Start
	keys := map[string]bool{}
	for _, id := range []graph.ID{"a", "b", "c"} {
		b.Node(id, func(ctx context.Context, _ work) (update, error) {
			ran.add(string(id))
			keys[graph.CurrentTask(ctx).Key] = true
			return logged(string(id)), nil
		})
		b.Edge(from, id)
		from = id
	}
	b.Edge(from, graph.End)
	th, _ := newThread(t, b)
	first := done(t, graph.Done)(th.Invoke(t.Context(), input))
	var at checkpoint.ID
	for _, p := range collect(t, th.History(t.Context(), checkpoint.Query{Next: "b"})) {
		at = p.Checkpoint
	}
	res := done(t, graph.Done)(th.At(at).Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "b", "c"})
	same(t, "runs", ran.counts(), map[string]int{"a": 1, "b": 2, "c": 2})
	same(t, "keys", len(keys), 5)
	old, err := th.At(first.Checkpoint).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the first line", old.State, first.State)
	if _, err := th.At(at).Invoke(t.Context(), input); err == nil {
		t.Error("input at an old checkpoint: got no error")
	}
}

func TestReplayOfTheEmptyCheckpointTakesTheInputAgain(t *testing.T) {
	for _, conditional := range []bool{false, true} {
		b := newWork()
		b.Node("a", say("a"))
		b.Edge("a", graph.End)
		if conditional {
			b.Route(graph.Start, choose("a"), "a")
		} else {
			b.Edge(graph.Start, "a")
		}
		th, _ := newThread(t, b)
		done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
		all := collect(t, th.History(t.Context(), checkpoint.Query{}))
		_, err := th.At(all[len(all)-1].Checkpoint).Resume(t.Context())
		if err == nil || !strings.Contains(err.Error(), "input") {
			t.Errorf("conditional %t: got %v, want an error that speaks of the input", conditional, err)
		}
	}
}

func TestAReplayStopsWhereARunDoes(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("b"))
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	at := res.Checkpoint
	done(t, graph.Done)(th.Resume(t.Context()))
	res = done(t, graph.Paused)(th.At(at).Resume(t.Context()))
	same(t, "due", res.Next, []graph.ID{"b"})
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "b"})
}

func TestAnEditAsANodeStopsBeforeWhatFollows(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("b"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	if _, err := th.UpdateState(t.Context(), logged("as a"), graph.AsNode("a")); err != nil {
		t.Fatal(err)
	}
	done(t, graph.Paused)(th.Resume(t.Context()))
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "as a", "b"})
}

func TestAStateThatTheCodeCannotReadSaysWhatToDo(t *testing.T) {
	s := memory.New()
	older := graph.New("pair", teststate.PairSchema)
	older.Node("a", func(context.Context, teststate.Pair) (teststate.PairUpdate, error) {
		return teststate.PairUpdate{Foo: state.Set("text")}, nil
	})
	older.Edge(graph.Start, "a")
	older.Edge("a", graph.End)
	app, err := older.Compile(graph.Saver(s))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Thread("t").Invoke(t.Context(), teststate.PairUpdate{}); err != nil {
		t.Fatal(err)
	}
	newer := graph.New("pair", teststate.NewerPairSchema)
	newer.Node("a", func(context.Context, teststate.NewerPair) (teststate.NewerPairUpdate, error) {
		return teststate.NewerPairUpdate{}, nil
	})
	newer.Edge(graph.Start, "a")
	newer.Edge("a", graph.End)
	changed, err := newer.Compile(graph.Saver(s))
	if err != nil {
		t.Fatal(err)
	}
	th := changed.Thread("t")
	_, invoked := th.Invoke(t.Context(), teststate.NewerPairUpdate{})
	_, read := th.State(t.Context())
	var listed error
	for _, err := range th.History(t.Context(), checkpoint.Query{}) {
		listed = err
	}
	_, edited := th.UpdateState(t.Context(), teststate.NewerPairUpdate{}, graph.AsNode("a"))
	for call, err := range map[string]error{"Invoke": invoked, "State": read, "History": listed, "UpdateState": edited} {
		if !errors.Is(err, graph.ErrGraphChanged) || !strings.Contains(err.Error(), "Foo") || !strings.Contains(err.Error(), "Migrate") {
			t.Errorf("%s: got %v, want an ErrGraphChanged that names Foo and Migrate", call, err)
		}
	}
	if _, err := app.Thread("t").State(t.Context()); err != nil {
		t.Errorf("the older code: %v", err)
	}
}

func TestAMemberOfAUnionThatIsGone(t *testing.T) {
	s := memory.New()
	older := graph.New("pair", teststate.WiderPairSchema)
	older.Node("a", func(context.Context, teststate.WiderPair) (teststate.WiderPairUpdate, error) {
		return teststate.WiderPairUpdate{Parts: state.Append[teststate.Part](&teststate.Doc{Name: "d"}, &teststate.Note{Text: "n"})}, nil
	})
	older.Edge(graph.Start, "a")
	older.Edge("a", graph.End)
	app, err := older.Compile(graph.Saver(s))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Thread("t").Invoke(t.Context(), teststate.WiderPairUpdate{}); err != nil {
		t.Fatal(err)
	}
	newer := graph.New("pair", teststate.NewerPairSchema)
	newer.Node("a", func(context.Context, teststate.NewerPair) (teststate.NewerPairUpdate, error) {
		return teststate.NewerPairUpdate{}, nil
	})
	newer.Edge(graph.Start, "a")
	newer.Edge("a", graph.End)
	for name, opts := range map[string][]graph.Option{"as it is": nil, "dropping what is unknown": {graph.DropUnknownFields()}} {
		changed, err := newer.Compile(append(opts, graph.Saver(s))...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = changed.Thread("t").State(t.Context())
		if !errors.Is(err, graph.ErrGraphChanged) || !strings.Contains(err.Error(), `"Note"`) || !strings.Contains(err.Error(), "keep a member") {
			t.Errorf("%s: got %v, want an ErrGraphChanged that names Note and what to do", name, err)
		}
	}
}

func TestAGraphThatChanged(t *testing.T) {
	th, s := newThread(t, chain("a", "b"), graph.InterruptBefore("b"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	other := compile(t, chain("a", "c"), graph.Saver(s)).Thread("t")
	_, err := other.Resume(t.Context())
	if !errors.Is(err, graph.ErrGraphChanged) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("got %v, want ErrGraphChanged naming b", err)
	}
	if _, err := other.UpdateState(t.Context(), logged("as a"), graph.AsNode("a")); err != nil {
		t.Fatalf("sending it elsewhere: %v", err)
	}
	res := done(t, graph.Done)(other.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "as a", "c"})
}

func TestCallsThatNeedASaver(t *testing.T) {
	th := compile(t, chain("a")).Thread("t")
	_, err1 := th.Invoke(t.Context(), input)
	_, err2 := th.Resume(t.Context())
	_, err3 := th.UpdateState(t.Context(), input)
	_, err4 := th.State(t.Context())
	_, err5 := th.Release(t.Context())
	var err6 error
	for _, err := range th.History(t.Context(), checkpoint.Query{}) {
		err6 = err
	}
	for i, err := range []error{err1, err2, err3, err4, err5, err6} {
		if !errors.Is(err, graph.ErrNoSaver) {
			t.Errorf("call %d: got %v, want ErrNoSaver", i, err)
		}
	}
}

func TestThreadsThatDoNotExist(t *testing.T) {
	th, _ := newThread(t, chain("a"))
	if _, err := th.Resume(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("Resume: got %v, want ErrNotFound", err)
	}
	if _, err := th.State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("State: got %v, want ErrNotFound", err)
	}
	if got := collect(t, th.History(t.Context(), checkpoint.Query{})); len(got) != 0 {
		t.Errorf("History: got %d, want none", len(got))
	}
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	if _, err := th.At(id).State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("State at an unknown id: got %v, want ErrNotFound", err)
	}
}

func TestOnExitStoresTheEndOnly(t *testing.T) {
	th, _ := newThread(t, chain("a", "b", "c"), graph.OnExit)
	res := done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
	got := collect(t, th.History(t.Context(), checkpoint.Query{}))
	same(t, "checkpoints", len(got), 3)
	same(t, "state", got[0].State, res.State)
	same(t, "log", got[0].State.Log, []string{"in", "a", "b", "c"})
	same(t, "step", got[0].Step, 4)
	same(t, "id", res.Checkpoint, got[0].Checkpoint)
}

func TestANodeThatEndsItsGoroutineLeavesItsThreadResumable(t *testing.T) {
	var exit atomic.Bool
	exit.Store(true)
	b := newWork()
	b.Node("a", func(context.Context, work) (update, error) {
		if exit.Load() {
			runtime.Goexit()
		}
		return logged("a"), nil
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	th, _ := newThread(t, b)
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, graph.ErrGoexit) {
		t.Errorf("got %v, want ErrGoexit", err)
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", snap.Status, checkpoint.Failed)
	same(t, "tasks", timeless(t, snap.Tasks), []graph.TaskState{{Node: "a", Failure: graph.ErrGoexit.Error(), Attempt: 1}})
	exit.Store(false)
	done(t, graph.Done)(th.Resume(t.Context()))
}

// renamable fails at its second node, which has a name of its own in each of two versions of the
// graph.
func renamable(suffix graph.ID, broken bool, ran *counter, keys map[string]bool) *graph.Builder[work, update] {
	b := newWork()
	node := func(old graph.ID, fails bool) graph.ID {
		opts := []graph.NodeOption{}
		if suffix != "" {
			opts = append(opts, graph.FormerIDs("older "+old, old))
		}
		return b.Node(old+suffix, func(ctx context.Context, _ work) (update, error) {
			ran.add(string(old))
			keys[graph.CurrentTask(ctx).Key] = true
			if fails {
				return update{}, errBroken
			}
			return logged(string(old)), nil
		}, opts...)
	}
	a, bad, end := node("a", false), node("bad", broken), node("end", false)
	slow := b.Node("slow", say("slow"))
	slower := b.Node("slower", say("slower"))
	for _, id := range []graph.ID{a, bad, slow} {
		b.Edge(graph.Start, id)
	}
	b.Edge(slow, slower)
	b.Join([]graph.ID{a, bad, slower}, end)
	b.Edge(end, graph.End)
	return b
}

func TestANodeThatGotAnotherName(t *testing.T) {
	var ran counter
	keys := map[string]bool{}
	th, s := newThread(t, renamable("", true, &ran, keys), graph.Concurrency(1))
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want errBroken", err)
	}
	b := renamable(" now", false, &ran, keys)
	renamed := compile(t, b, graph.Saver(s), graph.InterruptBefore("slower")).Thread("t")
	done(t, graph.Paused)(renamed.Resume(t.Context()))
	res := done(t, graph.Done)(renamed.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "bad", "slow", "slower", "end"})
	same(t, "runs", ran.counts(), map[string]int{"a": 1, "bad": 2, "end": 1})
	same(t, "keys of a, bad and end", len(keys), 3)
}

func TestFormerNamesThatAreTaken(t *testing.T) {
	b := newWork()
	b.Node("a", idle, graph.FormerIDs("b", "old"))
	b.Node("b", idle, graph.FormerIDs("old"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	same(t, "faults", faults(t, b), []string{
		`node "a" was "b", which is a node of the graph`,
		`node "b" was "old", and so was another node`,
	})
}

func TestDurabilitiesPrintAsTheirNames(t *testing.T) {
	var got []string
	for _, d := range []graph.Durability{0, graph.Sync, graph.Async, graph.OnExit} {
		got = append(got, d.String())
	}
	same(t, "names", got, []string{"no durability", "sync", "async", "on exit"})
}

// TestAnEditOfAForkLeavesItsStop: no run has reached the stop on the new line, however often it
// was edited.
func TestAnEditOfAForkLeavesItsStop(t *testing.T) {
	for _, edits := range []int{1, 2, 3} {
		th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("b"))
		res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
		done(t, graph.Done)(th.Resume(t.Context()))
		at := th.At(res.Checkpoint)
		for range edits {
			if _, err := at.UpdateState(t.Context(), logged("edit")); err != nil {
				t.Fatal(err)
			}
			at = th
		}
		done(t, graph.Paused)(th.Resume(t.Context()))
		if _, err := th.UpdateState(t.Context(), logged("edit")); err != nil {
			t.Fatal(err)
		}
		done(t, graph.Done)(th.Resume(t.Context())) // the stop was seen, and an edit does not make it again
	}
}

func TestAReleasedVersionStaysReadable(t *testing.T) {
	inner := compile(t, chain("in"), graph.SubgraphOnly())
	b := newWork()
	b.Edge(graph.Start, b.Subgraph("sub", inner))
	b.Node("b", say("b"))
	b.Edge("sub", "b")
	b.Edge("b", graph.End)
	th, s := newThread(t, b, graph.InterruptAfter("sub"))
	var released []checkpoint.Version
	for _, in := range []string{"one", "two"} {
		done(t, graph.Paused)(th.Invoke(t.Context(), logged(in)))
		done(t, graph.Done)(th.Resume(t.Context()))
		v, err := th.Release(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		released = append(released, v)
	}
	for _, open := range []bool{false, true} {
		if open {
			done(t, graph.Paused)(th.Invoke(t.Context(), logged("three")))
		}
		for i, in := range []string{"one", "two"} {
			at := th.At(released[i].Head)
			snap, err := at.State(t.Context())
			if err != nil {
				t.Fatalf("state of version %d: %v", i+1, err)
			}
			same(t, "log", snap.State.Log, []string{in, "in", "b"})
			same(t, "status", snap.Status, checkpoint.Done)
			all := collect(t, at.History(t.Context(), checkpoint.Query{}))
			same(t, "checkpoints before the head", len(all), 3)
			same(t, "log before the head", all[0].State.Log, []string{in, "in"})
			page := collect(t, th.History(t.Context(), checkpoint.Query{Before: all[0].Checkpoint, Limit: 1}))
			same(t, "the next page", page, all[1:2])
			call := graph.Inside(th, page[0].Calls[0], inner)
			inside, err := call.State(t.Context())
			if err != nil {
				t.Fatalf("inside version %d: %v", i+1, err)
			}
			same(t, "log inside", inside.State.Log, []string{in, "in"})

			before, err := s.Versions(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := at.Resume(t.Context()); !errors.Is(err, graph.ErrReleased) {
				t.Errorf("Resume: got %v, want ErrReleased", err)
			}
			if _, err := at.UpdateState(t.Context(), logged("x")); !errors.Is(err, graph.ErrReleased) {
				t.Errorf("UpdateState: got %v, want ErrReleased", err)
			}
			after, err := s.Versions(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			same(t, "versions", after, before)
		}
		unknown, err := checkpoint.NewID()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := th.At(unknown).State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("state at no checkpoint: got %v, want ErrNotFound", err)
		}
		if _, err := th.At(unknown).Resume(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("Resume at no checkpoint: got %v, want ErrNotFound", err)
		}
	}
}
