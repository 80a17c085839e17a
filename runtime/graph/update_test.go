package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

type nodeUpdate = graph.NodeUpdate[update]

// failsWith checks that an update is refused, and why.
func failsWith(tb testing.TB, want string) func(checkpoint.ID, error) {
	tb.Helper()
	return func(_ checkpoint.ID, err error) {
		tb.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			tb.Errorf("got %v, want an error that contains %q", err, want)
		}
	}
}

// updated checks that an update is stored.
func updated(tb testing.TB) func(checkpoint.ID, error) checkpoint.ID {
	tb.Helper()
	return func(id checkpoint.ID, err error) checkpoint.ID {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return id
	}
}

// TestAThreadBegunByAnUpdate: the state is stored, nothing is due, and the next input merges into
// it (rule 16.11).
func TestAThreadBegunByAnUpdate(t *testing.T) {
	th, s := newThread(t, chain("a"), graph.ReleaseOnDone())
	id := updated(t)(th.UpdateState(t.Context(), update{Count: state.Add(5), Log: state.Append("imported")}))
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", snap.Status, checkpoint.Done)
	same(t, "head", snap.Checkpoint, id)
	same(t, "next", snap.Next, []graph.ID(nil))
	same(t, "step", snap.Step, 0)
	same(t, "state", snap.State, work{Count: 5, Log: []string{"imported"}})
	same(t, "resumed", done(t, graph.Done)(th.Resume(t.Context())).Steps, 0)
	updated(t)(th.UpdateState(t.Context(), logged("again")))
	res := done(t, graph.Done)(th.Invoke(t.Context(), input, graph.RequestID("one")))
	same(t, "state after an input", res.State, work{Count: 6, Log: []string{"imported", "again", "a"}})
	versions, err := s.Versions(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "versions", len(versions), 1)
	same(t, "released by the run", versions[0].Released.IsZero(), false)
}

// TestAThreadBegunInTheMiddle: by an update as a node, or with a Goto (rules 16.12 and 16.14).
func TestAThreadBegunInTheMiddle(t *testing.T) {
	for name, c := range map[string]struct {
		opts []graph.UpdateOption
		next []graph.ID
		log  []string
	}{
		"as Start": {[]graph.UpdateOption{graph.AsNode(graph.Start)}, []graph.ID{"a"}, []string{"u", "a", "b", "c"}},
		"as a":     {[]graph.UpdateOption{graph.AsNode("a")}, []graph.ID{"b"}, []string{"u", "b", "c"}},
		"goto c":   {[]graph.UpdateOption{graph.Goto(graph.To("c"))}, []graph.ID{"c"}, []string{"u", "c"}},
		"the end":  {[]graph.UpdateOption{graph.AsNode("c")}, nil, []string{"u"}},
	} {
		t.Run(name, func(t *testing.T) {
			th, _ := newThread(t, chain("a", "b", "c"))
			updated(t)(th.UpdateState(t.Context(), logged("u"), c.opts...))
			snap, err := th.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "next", snap.Next, c.next)
			same(t, "step", snap.Step, 0)
			if c.next != nil {
				_, err = th.Invoke(t.Context(), input, graph.RequestID("one"))
				if !errors.Is(err, graph.ErrUnfinished) {
					t.Errorf("an input: got %v, want ErrUnfinished", err)
				}
			}
			same(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State.Log, c.log)
		})
	}
}

func TestAnUpdateIsAsOneNode(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("a"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	failsWith(t, `AsNode names "a" and "b"`)(th.UpdateState(t.Context(), input, graph.AsNode("a"), graph.AsNode("b")))
	failsWith(t, `leave AsNode out`)(th.UpdateStates(t.Context(), []graph.NodeUpdate[update]{{Node: "a"}}, graph.AsNode("a")))
	failsWith(t, `DiscardPending without AsNode`)(th.UpdateState(t.Context(), input, graph.DiscardPending()))
	failsWith(t, `DiscardPending with Goto`)(th.UpdateState(t.Context(), input,
		graph.AsNode("a"), graph.Goto(graph.To("b")), graph.DiscardPending()))
	failsWith(t, `no node ""`)(th.UpdateState(t.Context(), input, graph.AsNode("")))
}

// fork3 builds Start -> a, b -> join c, with a route after a that is counted.
func fork3(asked *int) *graph.Builder[work, update] {
	b := newWork()
	for _, id := range []graph.ID{"a", "b", "c", "d"} {
		b.Node(id, say(string(id)))
	}
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.Join([]graph.ID{"a", "b"}, "c")
	b.Route("a", func(context.Context, work) (graph.Next, error) {
		*asked++
		return graph.To("d"), nil
	}, "d")
	b.Edge("c", graph.End)
	b.Edge("d", graph.End)
	return b
}

// TestUpdatesOfSeveralNodesAreOneSuperstep: in the order of declaration, with joins and routes, as
// one record (rule 16.13).
func TestUpdatesOfSeveralNodesAreOneSuperstep(t *testing.T) {
	asked := 0
	th, s := newThread(t, fork3(&asked), graph.InterruptBefore("a"))
	first := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	id := updated(t)(th.UpdateStates(t.Context(), []nodeUpdate{
		{Node: "b", Update: logged("as b")}, {Node: "a", Update: logged("as a")},
	}))
	same(t, "routes called", asked, 1)
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "next", snap.Next, []graph.ID{"c", "d"})
	same(t, "log", snap.State.Log, []string{"as a", "as b"})
	same(t, "step", snap.Step, 2)
	same(t, "parent", snap.Parent, first.Checkpoint)
	n := 0
	for rec, err := range s.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			same(t, "newest record", rec.ID, id)
		}
	}
	same(t, "records", n, 3)
	same(t, "log at the end", done(t, graph.Done)(th.Resume(t.Context())).State.Log, []string{"as a", "as b", "c", "d"})
}

func TestUpdatesOfSeveralNodesKeepTheRulesOfASuperstep(t *testing.T) {
	asked := 0
	th, _ := newThread(t, fork3(&asked), graph.InterruptBefore("a"))
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	set := func(s string) update { return update{Status: state.Set(s)} }
	_, err := th.UpdateStates(t.Context(), []nodeUpdate{{Node: "a", Update: set("x")}, {Node: "b", Update: set("y")}})
	var conflict *graph.ConflictError
	if !errors.As(err, &conflict) || conflict.Nodes != [2]graph.ID{"a", "b"} {
		t.Errorf("two nodes set one field: got %v, want a ConflictError of a and b", err)
	}
	_, err = th.UpdateStates(t.Context(), []nodeUpdate{{Node: "a"}})
	if !errors.Is(err, graph.ErrUnfinished) {
		t.Errorf("one of two due nodes: got %v, want ErrUnfinished", err)
	}
	failsWith(t, "two updates as node \"a\"")(th.UpdateStates(t.Context(), []nodeUpdate{{Node: "a"}, {Node: "b"}, {Node: "a"}}))
	failsWith(t, `no node "x"`)(th.UpdateStates(t.Context(), []nodeUpdate{{Node: "a"}, {Node: "x"}}))
	failsWith(t, "there is no update")(th.UpdateStates(t.Context(), nil))
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "head after refused updates", snap.Checkpoint, res.Checkpoint)
}

func TestUpdatesOfOneRaceAreRefused(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"a", "b", "c"} {
		b.Node(id, say(string(id)))
	}
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.JoinAny([]graph.ID{"a", "b"}, "c")
	b.Edge("c", graph.End)
	th, _ := newThread(t, b)
	failsWith(t, `nodes "a" and "b", which lead to one any-of join`)(th.UpdateStates(t.Context(), []nodeUpdate{{Node: "a"}, {Node: "b"}}))
}

// TestGotoReplacesWhatIsDue: sends and nodes, instead of what was due (rule 16.14).
func TestGotoReplacesWhatIsDue(t *testing.T) {
	var l library
	b := newLibrary(&l)
	th, _ := newThread(t, b, graph.InterruptBefore("list"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	next := l.fetch.Send(doc{Name: "x", Pages: []int{1}})
	next.Add(l.fetch.Send(doc{Name: "y"}))
	updated(t)(th.UpdateState(t.Context(), logged("edit"), graph.Goto(next)))
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "due", snap.Tasks, []graph.TaskState{{Node: "fetch"}, {Node: "fetch", Index: 1}})
	same(t, "step", snap.Step, 1)
	same(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State.Log, []string{"edit", "x[1]", "y[]", "report"})
	updated(t)(th.UpdateState(t.Context(), logged("more"), graph.AsNode("list"), graph.Goto(graph.To("report"))))
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log[4:], []string{"more", "report"})
	updated(t)(th.At(snap.Checkpoint).UpdateState(t.Context(), logged("over"), graph.Goto(graph.To(graph.End))))
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"edit", "over"})
}

// TestGotoIsTheChoiceOfARoutingNode: an update as one needs it (rule 16.7).
func TestGotoIsTheChoiceOfARoutingNode(t *testing.T) {
	b := chain("z")
	b.RoutingNode("router", func(context.Context, work) (update, graph.Next, error) {
		return update{}, graph.To(graph.End), nil
	}, graph.Targets(graph.End))
	b.Edge(graph.Start, "router")
	th, _ := newThread(t, b)
	failsWith(t, "add graph.Goto")(th.UpdateState(t.Context(), logged("edit"), graph.AsNode("router")))
	updated(t)(th.UpdateState(t.Context(), logged("edit"), graph.AsNode("router"), graph.Goto(graph.To("z"))))
	same(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State.Log, []string{"edit", "z"})
}

// TestGotoIsCheckedAgainstTheGraph: before anything is read or stored.
func TestGotoIsCheckedAgainstTheGraph(t *testing.T) {
	var l library
	th, _ := newThread(t, newLibrary(&l))
	other := graph.TaskNode(newWork(), "fetch", func(context.Context, work, wire.String) (update, error) { return update{}, nil })
	unknown := graph.TaskNode(newWork(), "report", func(context.Context, work, wire.String) (update, error) { return update{}, nil })
	for want, next := range map[string]graph.Next{
		"no node \"x\"":                                          graph.To("report", "x"),
		"no node graph.Start":                                    graph.To(graph.Start),
		"no node graph.Parent":                                   graph.ToParent(graph.To("report")),
		"nothing is sent to task node \"fetch\"":                 graph.To("fetch"),
		"node \"fetch\": the node does not take a wire.String":   other.Send("x"),
		"a payload is sent to \"report\", which is no task node": unknown.Send("x"),
		"Goto chooses nothing":                                   {},
	} {
		failsWith(t, want)(th.UpdateState(t.Context(), input, graph.Goto(next)))
	}
	failsWith(t, "Goto is given twice")(th.UpdateState(t.Context(), input, graph.Goto(graph.To("list")), graph.Goto(graph.To("list"))))
	if _, err := th.State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("after refused updates: got %v, want ErrNotFound", err)
	}
}
