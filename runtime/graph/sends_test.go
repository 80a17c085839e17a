package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/shape"
)

type doc = teststate.Doc

// library sends one Doc for each name in the log to a task node, and joins what comes of it.
type library struct {
	fetch graph.Sender[doc]
	run   func(ctx context.Context, s work, d doc) (update, error)
}

func newLibrary(l *library) *graph.Builder[work, update] {
	b := newWork()
	if l.run == nil {
		l.run = func(_ context.Context, _ work, d doc) (update, error) {
			return logged(fmt.Sprint(d.Name, d.Pages)), nil
		}
	}
	b.Node("list", func(context.Context, work) (update, error) { return update{}, nil })
	l.fetch = graph.TaskNode(b, "fetch", func(ctx context.Context, s work, d doc) (update, error) { return l.run(ctx, s, d) })
	b.Node("report", say("report"))
	b.Edge(graph.Start, "list")
	b.Route("list", func(_ context.Context, s work) (graph.Next, error) {
		var next graph.Next
		for i, name := range s.Log {
			next.Add(l.fetch.Send(doc{Name: name, Pages: []int{i}}))
		}
		return next, nil
	}, "fetch", graph.End)
	b.Edge("fetch", "report")
	b.Edge("report", graph.End)
	return b
}

func TestSendsRunOncePerSendAndMergeInSendOrder(t *testing.T) {
	var l library
	var started sync.WaitGroup
	started.Add(3)
	l.run = func(ctx context.Context, s work, d doc) (update, error) {
		started.Done()
		started.Wait() // all run concurrently
		task := graph.CurrentTask(ctx)
		return logged(fmt.Sprint(d.Name, d.Pages, task.Node, task.Index)), nil
	}
	res := done(t, graph.Done)(compile(t, newLibrary(&l)).Run(t.Context(), logged("z", "a", "m")))
	same(t, "log", res.State.Log, []string{"z", "a", "m", "z[0]fetch0", "a[1]fetch1", "m[2]fetch2", "report"})
	same(t, "steps", res.Steps, 3)
}

// TestSendsToSeveralTaskNodesKeepTheirOrder: one node that is declared last, and sends to two task
// nodes in turn (rules 2.1, 2.4 and 2.6). The task nodes ask, so that a snapshot lists all of it.
func TestSendsToSeveralTaskNodesKeepTheirOrder(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		answered := func(ctx context.Context, _ work, in doc) (update, error) {
			ok, err := refund.Ask(ctx, in)
			return logged(fmt.Sprint(in.Name, graph.CurrentTask(ctx).Index, ok)), err
		}
		read := graph.TaskNode(b, "read", answered, refund)
		write := graph.TaskNode(b, "write", answered, refund)
		b.Node("plain", say("plain"))
		followed := 0
		b.Node("end", say("end"))
		b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
			var next graph.Next
			for _, m := range []graph.Next{write.Send(doc{Name: "w"}), read.Send(doc{Name: "r"}), graph.To("plain"), write.Send(doc{Name: "v"})} {
				next.Add(m)
			}
			return next, nil
		}, "read", "write", "plain")
		b.Route("write", func(context.Context, work) (graph.Next, error) { followed++; return graph.To("end"), nil }, "end")
		b.Edge("read", graph.End)
		b.Edge("plain", graph.End)
		b.Edge("end", graph.End)
		th, _ := newThread(t, b, d)
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), update{}))
		order := []graph.TaskState{{Node: "plain", Finished: true}, {Node: "write"}, {Node: "read", Index: 1}, {Node: "write", Index: 2}}
		nodes := []graph.ID{"plain", "write", "read"}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "next of the result", res.Next, nodes)
		same(t, "next", snap.Next, nodes)
		same(t, "tasks", snap.Tasks, order)
		for what, open := range map[string][]graph.OpenQuestion{"the result": res.Questions, "the snapshot": snap.Questions} {
			var asked []string
			for _, q := range open {
				asked = append(asked, fmt.Sprint(q.Node, q.Index))
			}
			same(t, "questions of "+what, asked, []string{"write0", "read1", "write2"})
		}
		var answers []graph.ResumeOption
		for _, q := range snap.Questions {
			answers = append(answers, refund.Answer(q, true))
		}
		res = done(t, graph.Done)(th.Resume(t.Context(), answers...))
		same(t, "log", res.State.Log, []string{"plain", "w0 true", "r1 true", "v2 true", "end"})
		same(t, "calls of the route of write", followed, 1)
		for snap, err := range th.History(t.Context(), checkpoint.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			if len(snap.Ran) > 1 {
				same(t, "ran", snap.Ran, nodes)
			}
		}
	})
}

// TestUpdatesAsTaskNodesKeepTheirOrder as the results of sends do (rules 16.13 and 2.1).
func TestUpdatesAsTaskNodesKeepTheirOrder(t *testing.T) {
	b := newWork()
	run := func(context.Context, work, doc) (update, error) { return update{}, nil }
	graph.TaskNode(b, "read", run)
	graph.TaskNode(b, "write", run)
	b.Node("plain", say("plain"))
	b.Edge(graph.Start, "plain")
	for _, id := range []graph.ID{"read", "write", "plain"} {
		b.Edge(id, graph.End)
	}
	b.Route("plain", func(context.Context, work) (graph.Next, error) { return graph.To(graph.End), nil }, "read", "write", graph.End)
	th, _ := newThread(t, b)
	updated(t)(th.UpdateStates(t.Context(), []nodeUpdate{
		{Node: "write", Update: logged("w")}, {Node: "read", Update: logged("r")}, {Node: "write", Update: logged("v")}, {Node: "plain", Update: logged("p")},
	}))
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "log", snap.State.Log, []string{"p", "w", "r", "v"})
	same(t, "ran", snap.Ran, []graph.ID{"plain", "write", "read"})
}

func TestNothingToSendIsAnErrorThatSaysWhatToReturn(t *testing.T) {
	var l library
	_, err := compile(t, newLibrary(&l)).Run(t.Context(), input)
	var e *graph.RouteError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "no successor is chosen; return graph.To(graph.End)") {
		t.Errorf("got %v", err)
	}
}

func TestSendsAreStoredWithTheCheckpoint(t *testing.T) {
	var l library
	th, s := newThread(t, newLibrary(&l), graph.InterruptBefore("fetch"))
	res := done(t, graph.Paused)(th.Invoke(t.Context(), logged("x", "y")))
	same(t, "due", res.Next, []graph.ID{"fetch"})
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "due", snap.Next, []graph.ID{"fetch"})
	same(t, "tasks", snap.Tasks, []graph.TaskState{{Node: "fetch"}, {Node: "fetch", Index: 1}})

	var other library // another process, with its own graph
	th = compile(t, newLibrary(&other), graph.Saver(s)).Thread("t")
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"x", "y", "x[0]", "y[1]", "report"})
}

func TestAFailedSendDoesNotRunTheOthersAgain(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		var l library
		var ran counter
		var broken atomic.Bool
		broken.Store(true)
		keys := map[string]bool{}
		l.run = func(ctx context.Context, _ work, d doc) (update, error) {
			ran.add(d.Name)
			keys[graph.CurrentTask(ctx).Key] = true
			if d.Name == "c" && broken.Load() {
				return update{}, errBroken
			}
			return logged(d.Name + d.Name), nil
		}
		th, _ := newThread(t, newLibrary(&l), d, graph.Concurrency(1))
		_, err := th.Invoke(t.Context(), logged("a", "b", "c", "d"))
		var e *graph.NodeError
		if !errors.As(err, &e) || e.Index != 2 || !strings.Contains(err.Error(), `node "fetch" (send 2): it broke`) {
			t.Fatalf("got %v, want the failure of send 2", err)
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "tasks", timeless(t, snap.Tasks), []graph.TaskState{
			{Node: "fetch", Finished: true}, {Node: "fetch", Index: 1, Finished: true},
			{Node: "fetch", Index: 2, Failure: "it broke", Attempt: 1}, {Node: "fetch", Index: 3},
		})
		broken.Store(false)
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a", "b", "c", "d", "aa", "bb", "cc", "dd", "report"})
		same(t, "runs", ran.counts(), map[string]int{"a": 1, "b": 1, "c": 2, "d": 1})
		same(t, "keys", len(keys), 4)
	})
}

func TestConflictingSendsAreNamed(t *testing.T) {
	l := library{run: func(_ context.Context, _ work, d doc) (update, error) {
		var u update
		u.Status.Set(d.Name)
		return u, nil
	}}
	_, err := compile(t, newLibrary(&l)).Run(t.Context(), logged("a", "b"))
	var e *graph.ConflictError
	if !errors.As(err, &e) || e.Nodes != [2]graph.ID{"fetch", "fetch"} || e.Indexes != [2]int{0, 1} {
		t.Errorf("got %v, want a *ConflictError of sends 0 and 1", err)
	}
}

// router is a routing node that goes where Status says and counts how often it ran.
func router(ran *counter) func(context.Context, work) (update, graph.Next, error) {
	return func(_ context.Context, s work) (update, graph.Next, error) {
		ran.add("router")
		if s.Status == "" {
			return logged("router"), graph.Next{}, nil //graphvet:ignore graphnext a test needs this fault
		}
		return logged("router"), graph.To(graph.ID(s.Status)), nil
	}
}

func routing(ran *counter) *graph.Builder[work, update] {
	b := newWork()
	b.RoutingNode("router", router(ran), graph.Targets("x", "y", graph.End))
	b.Node("x", say("x"))
	b.Node("y", say("y"))
	b.Node("sibling", say("sibling"))
	b.Edge(graph.Start, "router")
	b.Edge("router", "sibling")
	for _, id := range []graph.ID{"x", "y", "sibling"} {
		b.Edge(id, graph.End)
	}
	return b
}

func status(s string) update {
	var u update
	u.Status.Set(s)
	return u
}

func TestARoutingNodeChoosesWhatFollows(t *testing.T) {
	var ran counter
	g := compile(t, routing(&ran))
	res := done(t, graph.Done)(g.Run(t.Context(), status("y")))
	same(t, "log", res.State.Log, []string{"router", "y", "sibling"})
	for status, want := range map[string]string{
		"":       `graph: g: step 2: node "router": no successor is chosen; return graph.To(graph.End) to finish`,
		"nobody": `graph: g: step 2: node "router": the choice "nobody" is not among the declared targets; declared are [x y End]`,
	} {
		var in update
		in.Status.Set(status)
		_, err := g.Run(t.Context(), in)
		var e *graph.NodeError
		if !errors.As(err, &e) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestTheChoiceOfARoutingNodeIsStoredWithItsResult(t *testing.T) {
	var ran counter
	var broken atomic.Bool
	broken.Store(true)
	b := routing(&ran)
	b.Node("bad", func(context.Context, work) (update, error) {
		if broken.Load() {
			return update{}, errBroken
		}
		u := status("x") // by now too late for the router
		return u, nil
	})
	b.Edge(graph.Start, "bad")
	b.Edge("bad", graph.End)
	th, _ := newThread(t, b, graph.Concurrency(1))
	if _, err := th.Invoke(t.Context(), status("y")); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want errBroken", err)
	}
	broken.Store(false)
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"router", "y", "sibling"})
	same(t, "runs", ran.counts(), map[string]int{"router": 1})
	if _, err := th.UpdateState(t.Context(), logged("edit"), graph.AsNode("router")); err == nil || !strings.Contains(err.Error(), "add graph.Goto") {
		t.Errorf("an edit as a routing node: got %v, want an error", err)
	}
}

// tree is a graph whose tasks send to themselves: each Doc of n pages sends n of one page less.
func tree() *graph.Builder[work, update] {
	b := newWork()
	var grow graph.Sender[doc]
	grow = graph.RoutingTaskNode(b, "grow", func(_ context.Context, _ work, d doc) (update, graph.Next, error) {
		if len(d.Pages) == 0 {
			return logged(d.Name), graph.To(graph.End), nil
		}
		var next graph.Next
		for i := range d.Pages {
			next.Add(grow.Send(doc{Name: fmt.Sprint(d.Name, i), Pages: d.Pages[1:]}))
		}
		return logged(d.Name), next, nil
	}, graph.Targets("grow", graph.End))
	b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
		return grow.Send(doc{Name: "r", Pages: []int{1, 2, 3}}), nil
	}, "grow")
	return b
}

const treeLog = "r r0 r1 r2 r00 r01 r10 r11 r20 r21 r000 r010 r100 r110 r200 r210"

func TestSendsThatSend(t *testing.T) {
	res := done(t, graph.Done)(compile(t, tree()).Run(t.Context(), input))
	same(t, "log", strings.Join(res.State.Log, " "), treeLog)
}

func TestSendsThatSendSurviveEveryCrash(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for left, more := 1, true; more; left++ {
			more = false
			for _, after := range []bool{false, true} {
				s := memory.New()
				dying := &crashing{Saver: s, left: left, after: after}
				_, err := compile(t, tree(), graph.Saver(dying), d, graph.Concurrency(1)).Thread("t").Invoke(t.Context(), input)
				if err == nil {
					continue
				}
				more = true
				th := compile(t, tree(), graph.Saver(s), d, graph.Strict()).Thread("t")
				res, err := th.Resume(t.Context(), graph.TakeOver())
				if errors.Is(err, checkpoint.ErrNotFound) {
					res, err = th.Invoke(t.Context(), input)
				}
				if err != nil {
					t.Fatalf("crash at call %d, after it was made %t: %v", left, after, err)
				}
				same(t, fmt.Sprintf("log after a crash at call %d", left), strings.Join(res.State.Log, " "), treeLog)
			}
		}
	})
}

func TestTenThousandSends(t *testing.T) {
	var running, most atomic.Int32
	l := library{run: func(_ context.Context, _ work, d doc) (update, error) {
		most.Store(max(most.Load(), running.Add(1)))
		runtime.Gosched()
		running.Add(-1)
		var u update
		u.Count.Add(1)
		return u, nil
	}}
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprint("doc ", i)
	}
	th, _ := newThread(t, newLibrary(&l), graph.Concurrency(8))
	res := done(t, graph.Done)(th.Invoke(t.Context(), logged(names...)))
	same(t, "count", res.State.Count, 10_000)
	if most.Load() > 8 {
		t.Errorf("%d tasks ran at once, want at most 8", most.Load())
	}
}

func TestWrongSends(t *testing.T) {
	b := newWork()
	fetch := graph.TaskNode(b, "fetch", func(context.Context, work, doc) (update, error) { return update{}, nil })
	other := newWork()
	stranger := graph.TaskNode(other, "plain", func(context.Context, work, doc) (update, error) { return update{}, nil })
	b.Node("plain", idle)
	b.Route(graph.Start, func(_ context.Context, s work) (graph.Next, error) {
		switch s.Status {
		case "bare":
			return graph.To(fetch.ID), nil
		case "stranger":
			return stranger.Send(doc{}), nil
		}
		return graph.Sender[doc]{}.Send(doc{}), nil
	}, "fetch", "plain")
	b.Edge("fetch", graph.End)
	b.Edge("plain", graph.End)
	g := compile(t, b)
	for in, want := range map[string]string{
		"bare":     `nothing is sent to task node "fetch"; use the Send of its Sender`,
		"stranger": `a payload is sent to "plain", which is no task node; use graph.To`,
		"zero":     `no successor is chosen`,
	} {
		if _, err := g.Run(t.Context(), status(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}

func TestWhatWasSentToANodeThatIsGone(t *testing.T) {
	var l library
	th, s := newThread(t, newLibrary(&l), graph.InterruptBefore("fetch"))
	done(t, graph.Paused)(th.Invoke(t.Context(), logged("x")))
	b := chain("fetch") // takes nothing
	_, err := compile(t, b, graph.Saver(s)).Thread("t").Resume(t.Context())
	if !errors.Is(err, graph.ErrGraphChanged) || !strings.Contains(err.Error(), `"fetch"`) {
		t.Errorf("got %v, want ErrGraphChanged naming fetch", err)
	}
}

func TestTaskNodesInCompile(t *testing.T) {
	b := newWork()
	graph.TaskNode(b, "fetch", func(context.Context, work, doc) (update, error) { return update{}, nil })
	graph.TaskNode[work, update, doc](b, "nothing", nil)
	b.Node("a", idle)
	b.RoutingNode("r", func(context.Context, work) (update, graph.Next, error) { return update{}, graph.Next{}, nil })
	b.Route("r", toEnd, graph.End)
	b.Edge(graph.Start, "fetch")
	b.Join([]graph.ID{"a", "r"}, "fetch")
	same(t, "faults", faults(t, b), []string{
		`node "nothing" has no function; pass one`,
		`edge Start -> fetch: fetch takes an input, so only a send reaches it`,
		`routing node "r" declares no targets; list by graph.Targets every node that it may choose, and graph.End if it may end`,
		`route from r: the node chooses its successors itself; leave the route out`,
		`join of [a r] -> fetch: fetch takes an input, so only a send reaches it`,
		`node "fetch" leads nowhere; add an edge to graph.End`,
		`node "nothing" is never reached and leads nowhere; wire it in or take it out`,
		`node "a" is never reached; add an edge or a route target to it`,
		`node "r" is never reached; add an edge or a route target to it`,
		`the join to fetch can never fire: a is never reached`,
		`the join to fetch can never fire: r is never reached`,
	})
}

func TestADeferredNodeWaitsForAllBranches(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"short", "long1", "long2", "long3"} {
		b.Node(id, say(string(id)))
	}
	b.Node("last", say("last"), graph.Deferred())
	b.Edge(graph.Start, "short")
	b.Edge(graph.Start, "long1")
	b.Edge("long1", "long2")
	b.Edge("long2", "long3")
	b.Edge("short", "last")
	b.Edge("long3", "last")
	b.Edge("last", graph.End)
	want := []string{"short", "long1", "long2", "long3", "last"}
	res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "log", res.State.Log, want)
	same(t, "steps", res.Steps, 4)

	th, _ := newThread(t, b, graph.InterruptBefore("long3", "last"))
	res = done(t, graph.Paused)(th.Invoke(t.Context(), input))
	same(t, "due", res.Next, []graph.ID{"long3", "last"})
	res = done(t, graph.Paused)(th.Resume(t.Context()))
	same(t, "due", res.Next, []graph.ID{"last"})
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, want)
}

func TestAStreamNamesSends(t *testing.T) {
	var l library
	th, _ := newThread(t, newLibrary(&l))
	var got []string
	for e, err := range th.Stream(t.Context(), logged("a", "b")) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == graph.EventUpdate {
			got = append(got, fmt.Sprint(e.Node, e.Index))
		}
	}
	same(t, "updates", got, []string{"list0", "fetch0", "fetch1", "report0"})
}

func TestASenderOfAnotherGraphIsRefused(t *testing.T) {
	other := graph.TaskNode(newWork(), "read", func(context.Context, work, wire.String) (update, error) { return update{}, nil })
	for _, routing := range []bool{false, true} {
		b := newWork()
		b.Route(graph.Start, func(context.Context, work) (graph.Next, error) { return other.Send("x"), nil }, "read")
		if routing {
			graph.RoutingTaskNode(b, "read", func(context.Context, work, teststate.Doc) (update, graph.Next, error) {
				return update{}, graph.To(graph.End), nil
			}, graph.Targets(graph.End))
		} else {
			graph.TaskNode(b, "read", func(context.Context, work, teststate.Doc) (update, error) { return update{}, nil })
			b.Edge("read", graph.End)
		}
		_, err := compile(t, b).Run(t.Context(), input)
		var node *graph.NodeError
		const want = "the payload is a wire.String, and the node takes a teststate.Doc; send with the Sender of this node"
		if !errors.As(err, &node) || !strings.Contains(err.Error(), want) {
			t.Errorf("routing %t: got %v, want a *NodeError: %s", routing, err, want)
		}
	}
}

// moment is a payload whose stored form has no zone.
type moment struct{ at time.Time }

func (m *moment) AppendWire(b []byte) ([]byte, error) {
	if m.at.IsZero() {
		return wire.AppendString(b, "never"), nil
	}
	return wire.AppendString(b, m.at.UTC().Format(time.RFC3339)), nil
}

func (m *moment) DecodeWire(b []byte) (err error) {
	var text wire.String
	if err := text.DecodeWire(b); err != nil {
		return err
	}
	m.at, err = time.Parse(time.RFC3339, string(text))
	return err
}

func (*moment) WireShape() shape.Payload { return shape.Payload{Type: "moment"} }

// TestATaskSeesTheSameInputBeforeAndAfterAResume is about sends (rule 9.4), also those of a
// subgraph to its parent graph.
func TestATaskSeesTheSameInputBeforeAndAfterAResume(t *testing.T) {
	at := time.Date(2030, 5, 6, 1, 0, 0, 0, time.FixedZone("far", 14*3600))
	saw := func(at time.Time, opts ...graph.Option) (graph.Result[work], error) {
		b := newWork()
		next := graph.TaskNode(b, "next", func(_ context.Context, _ work, m moment) (update, error) {
			return logged("next " + m.at.Format(time.DateOnly)), nil
		})
		again := graph.TaskNode(b, "again", func(_ context.Context, _ work, m moment) (update, error) {
			return logged("again " + m.at.Format(time.DateOnly)), nil
		})
		inner := newWork()
		inner.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
			return graph.ToParent(again.Send(moment{at})), nil
		}, graph.Parent)
		sub, err := inner.Compile(graph.SubgraphOnly())
		if err != nil {
			t.Fatal(err)
		}
		b.Subgraph("sub", sub, graph.Targets("again"))
		b.RoutingNode("a", func(context.Context, work) (update, graph.Next, error) {
			return update{}, next.Send(moment{at}), nil
		}, graph.Targets("next"))
		b.Edge(graph.Start, "a")
		b.Edge("next", "sub")
		b.Edge("again", graph.End)
		th := compile(t, b, append(opts, graph.Saver(memory.New()))...).Thread("t")
		res, err := th.Invoke(t.Context(), input)
		for err == nil && res.Status != graph.Done {
			res, err = th.Resume(t.Context())
		}
		return res, err
	}
	straight, err := saw(at)
	if err != nil {
		t.Fatal(err)
	}
	stopped, err := saw(at, graph.InterruptBefore("next", "again"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "after a resume", stopped.State.Log, straight.State.Log)
	same(t, "the log", straight.State.Log, []string{"next 2030-05-05", "again 2030-05-05"})
	var lossy *wire.LossyError
	if res, err := saw(time.Time{}); !errors.As(err, &lossy) || res.Status != graph.Failed {
		t.Errorf("an input that cannot be decoded: got %s, %v; want Failed and a *wire.LossyError", res.Status, err)
	}
}
