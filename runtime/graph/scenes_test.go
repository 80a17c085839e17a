package graph_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// scenes are the scenarios of the transcripts, by the name of the file.
var scenes = map[string]func(*scene){
	"queue":             queueScene,
	"queue_timeout":     queueTimeoutScene,
	"child":             childScene,
	"reply":             replyScene,
	"execution_timeout": executionTimeoutScene,

	"chain": func(sc *scene) {
		th := sc.thread(sc.chain("a", "b"))
		sc.did("first input")(th.Invoke(sc.t.Context(), logged("one"), graph.RequestID("r-1")))
		sc.did("the same request")(th.Invoke(sc.t.Context(), logged("one"), graph.RequestID("r-1")))
		sc.did("second input")(th.Invoke(sc.t.Context(), logged("two")))
	},
	"turns": func(sc *scene) {
		here, other := sc.thread(sc.chain("a")), sc.thread(sc.chain("a"))
		sc.did("first input")(here.Invoke(sc.t.Context(), logged("one")))
		sc.did("second input")(here.Invoke(sc.t.Context(), logged("two")))
		sc.did("input by another process")(other.Invoke(sc.t.Context(), logged("three")))
		sc.did("third input")(here.Invoke(sc.t.Context(), logged("four")))
	},
	"release": func(sc *scene) {
		th := sc.thread(sc.chain("a"), graph.ReleaseOnDone())
		sc.did("first input")(th.Invoke(sc.t.Context(), logged("one")))
		sc.did("second input")(th.Invoke(sc.t.Context(), logged("two")))
	},
	"entry_route": func(sc *scene) {
		b := newWork()
		b.Node("a", sc.node("a", 0))
		b.Route(graph.Start, choose("a"), "a")
		b.Edge("a", graph.End)
		sc.did("input")(sc.thread(b).Invoke(sc.t.Context(), logged("in")))
	},
	"parallel_join": func(sc *scene) {
		sc.did("input")(sc.thread(sc.parallel(nil)).Invoke(sc.t.Context(), input))
	},
	"failure": func(sc *scene) {
		th := sc.thread(sc.parallel(errBroken))
		sc.did("input")(th.Invoke(sc.t.Context(), input))
		th = sc.thread(sc.parallel(nil))
		sc.did("resume")(th.Resume(sc.t.Context()))
	},
	"rerun": func(sc *scene) {
		th := sc.thread(sc.parallel(errBroken))
		sc.did("input")(th.Invoke(sc.t.Context(), input))
		th = sc.thread(sc.parallel(nil))
		sc.did("resume")(th.Resume(sc.t.Context(), graph.Rerun("quick")))
	},
	"sleep": func(sc *scene) {
		b := newWork()
		b.Node("nap", sleeper("nap", time.Second, day))
		b.Node("ask", func(ctx context.Context, w work) (update, error) {
			time.Sleep(2 * time.Millisecond) // so that the other node asks first
			return expiring(2*day)(ctx, w)
		}, refund)
		b.Node("after", sc.node("after", 0))
		for _, id := range []graph.ID{"nap", "ask"} {
			b.Edge(graph.Start, id)
			b.Edge(id, "after")
		}
		b.Edge("after", graph.End)
		th := sc.thread(b)
		sc.did("input")(th.Invoke(sc.t.Context(), input))
		sc.did("resume too early")(th.Resume(sc.t.Context()))
		for _, what := range []string{"resume after the first sleep", "resume after the second sleep", "resume after the question has expired"} {
			listed, err := th.Describe(sc.t.Context())
			if err != nil {
				sc.t.Fatal(err)
			}
			time.Sleep(time.Until(listed.Wake))
			sc.did(what)(th.Resume(sc.t.Context()))
		}
	},
	"sleep_in_memory": func(sc *scene) {
		b := newWork()
		b.Node("nap", sleeper("nap", time.Second))
		b.Node("sibling", sc.node("sibling", 2*time.Millisecond))
		for _, id := range []graph.ID{"nap", "sibling"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		sc.did("input")(sc.thread(b).Invoke(sc.t.Context(), input))
	},
	"race": func(sc *scene) {
		b := newWork()
		for i, id := range []graph.ID{"slow", "quick"} {
			b.Node(id, sc.node(string(id), time.Duration(2-i)*time.Millisecond))
			b.Edge(graph.Start, id)
		}
		b.JoinAny([]graph.ID{"slow", "quick"}, "after")
		b.Node("after", sc.node("after", 0))
		b.Edge("after", graph.End)
		sc.did("input")(sc.thread(b).Invoke(sc.t.Context(), input))
	},
	"sends": func(sc *scene) {
		b := newWork()
		fetch := graph.TaskNode(b, "fetch", func(ctx context.Context, _ work, d teststate.Doc) (update, error) {
			sc.runs(ctx)
			time.Sleep(time.Duration(len(d.Name)) * time.Millisecond)
			return logged(d.Name), nil
		})
		b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
			next := fetch.Send(teststate.Doc{Name: "one"})
			next.Add(fetch.Send(teststate.Doc{Name: "three"}))
			return next, nil
		}, "fetch")
		b.Edge("fetch", graph.End)
		sc.did("input")(sc.thread(b).Invoke(sc.t.Context(), input))
	},
	"interrupts": func(sc *scene) {
		th := sc.thread(sc.chain("a", "b"), graph.InterruptBefore("b"), graph.InterruptAfter("a"))
		sc.did("input")(th.Invoke(sc.t.Context(), input))
		sc.edited("edit")(th.UpdateState(sc.t.Context(), logged("edited")))
		sc.did("resume")(th.Resume(sc.t.Context()))
		sc.did("resume a finished thread")(th.Resume(sc.t.Context()))
	},
	"before_route": func(sc *scene) {
		b := newWork()
		b.Node("a", sc.node("a", 0))
		b.Node("b", sc.node("b", 0))
		b.Edge(graph.Start, "a")
		b.Route("a", choose("b"), "b")
		b.Edge("b", graph.End)
		th := sc.thread(b, graph.InterruptAfter("a"), graph.BeforeRoute())
		sc.did("input")(th.Invoke(sc.t.Context(), input))
		sc.did("resume")(th.Resume(sc.t.Context()))
	},
	"question": func(sc *scene) {
		th := sc.thread(sc.asking())
		res := sc.did("input")(th.Invoke(sc.t.Context(), input))
		sc.did("resume without an answer")(th.Resume(sc.t.Context()))
		sc.did("answer")(th.Resume(sc.t.Context(), refund.Answer(res.Questions[0], true)))
	},
	"durable_call": func(sc *scene) {
		b := newWork()
		b.Node("pay", func(ctx context.Context, _ work) (update, error) {
			sc.runs(ctx)
			number, err := graph.Do(ctx, "charge", func(context.Context) (wire.Int, error) { return 17, nil })
			if err != nil {
				return update{}, err
			}
			if _, err := refund.Ask(ctx, teststate.Doc{Name: "shoes"}); err != nil {
				return update{}, err
			}
			return logged(fmt.Sprint("receipt ", number)), nil
		}, refund)
		b.Edge(graph.Start, "pay")
		b.Edge("pay", graph.End)
		th := sc.thread(b)
		res := sc.did("input")(th.Invoke(sc.t.Context(), input))
		sc.did("answer")(th.Resume(sc.t.Context(), refund.Answer(res.Questions[0], true)))
	},
	"fork_and_replay": func(sc *scene) {
		th := sc.thread(sc.chain("a", "b"))
		sc.did("input")(th.Invoke(sc.t.Context(), input))
		var first graph.Snapshot[work]
		for _, snap := range collect(sc.t, th.History(sc.t.Context(), checkpoint.Query{})) {
			if len(snap.Next) == 1 && snap.Next[0] == "a" {
				first = snap
			}
		}
		sc.did("replay")(th.At(first.Checkpoint).Resume(sc.t.Context()))
		sc.edited("fork")(th.At(first.Checkpoint).UpdateState(sc.t.Context(), logged("forked")))
		sc.edited("fork as a")(th.At(first.Checkpoint).UpdateState(sc.t.Context(), logged("as a"), graph.AsNode("a")))
		sc.did("resume")(th.Resume(sc.t.Context()))
	},
	"abandon": func(sc *scene) {
		th := sc.thread(sc.chain("a", "b"), graph.InterruptBefore("b"))
		sc.did("input")(th.Invoke(sc.t.Context(), logged("one")))
		sc.did("another")(th.Invoke(sc.t.Context(), logged("two"), graph.DiscardPending()))
	},
	"subgraph": func(sc *scene) {
		sc.did("input")(sc.thread(sc.nested(sc.chain("x", "y"), true)).Invoke(sc.t.Context(), input))
	},
	"subgraph_same_state": func(sc *scene) {
		sc.did("input")(sc.thread(sc.nested(sc.chain("x", "y"), false)).Invoke(sc.t.Context(), input))
	},
	"subgraph_question": func(sc *scene) {
		th := sc.thread(sc.nested(sc.asking(), true))
		res := sc.did("input")(th.Invoke(sc.t.Context(), input))
		sc.did("answer")(th.Resume(sc.t.Context(), refund.Answer(res.Questions[0], true)))
	},
	"subgraph_sends": func(sc *scene) {
		b := newWork()
		child := compile(sc.t, sc.asking(), graph.SubgraphOnly())
		read := graph.TaskSubgraph(b, "read", child,
			func(_ context.Context, _ work, d teststate.Doc) (update, error) { return logged(d.Name), nil },
			func(_ context.Context, _ work, d teststate.Doc, c work) (update, error) { return logged(c.Log...), nil })
		b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
			next := read.Send(teststate.Doc{Name: "one"})
			next.Add(read.Send(teststate.Doc{Name: "two"}))
			return next, nil
		}, read.ID)
		b.Edge(read.ID, graph.End)
		th := sc.thread(b, graph.Concurrency(1))
		res := sc.did("input")(th.Invoke(sc.t.Context(), input))
		res = sc.did("answer the second send")(th.Resume(sc.t.Context(), refund.Answer(res.Questions[1], true)))
		sc.did("answer the first send")(th.Resume(sc.t.Context(), refund.Answer(res.Questions[0], true)))
	},
	"subgraph_stop": func(sc *scene) {
		th := sc.thread(sc.nested(sc.chain("x", "y"), false, graph.InterruptBefore("y")))
		sc.did("input")(th.Invoke(sc.t.Context(), input))
		sc.did("resume")(th.Resume(sc.t.Context()))
	},
	"subgraph_edit": func(sc *scene) {
		child := compile(sc.t, sc.chain("x", "y"), graph.InterruptBefore("y"), graph.SubgraphOnly())
		b := newWork()
		b.Subgraph("sub", child)
		b.Edge(graph.Start, "sub")
		b.Edge("sub", graph.End)
		th := sc.thread(b)
		sc.did("input")(th.Invoke(sc.t.Context(), input))
		sc.edited("edit of the thread")(th.UpdateState(sc.t.Context(), logged("thread")))
		sc.edited("edit of the call")(callOf(sc.t, th, "sub", child).UpdateState(sc.t.Context(), logged("call")))
		sc.did("edit and resume")(th.Edit(logged("last")).Resume(sc.t.Context()))
	},
	"subgraph_rerun": func(sc *scene) {
		th := sc.thread(sc.nested(sc.asking(), false))
		sc.did("input")(th.Invoke(sc.t.Context(), input))
		res := sc.did("rerun")(th.Resume(sc.t.Context(), graph.Rerun("sub")))
		sc.did("answer")(th.Resume(sc.t.Context(), refund.Answer(res.Questions[0], true)))
	},
	"subgraph_remembers": func(sc *scene) {
		b := newWork()
		graph.MapSubgraph(b, "sub", compile(sc.t, sc.chain("x"), graph.SubgraphOnly()), sc.into, sc.outOf, graph.Stateful())
		b.Edge(graph.Start, "sub")
		b.Edge("sub", graph.End)
		th := sc.thread(b)
		sc.did("input")(th.Invoke(sc.t.Context(), logged("one")))
		sc.did("input")(th.Invoke(sc.t.Context(), logged("two")))
	},
	"subgraph_to_parent": func(sc *scene) {
		inner := newWork()
		inner.RoutingNode("up", func(ctx context.Context, _ work) (update, graph.Next, error) {
			sc.runs(ctx)
			return logged("up"), graph.ToParent(graph.To("b")), nil
		}, graph.Targets(graph.Parent))
		inner.Edge(graph.Start, "up")
		b := newWork()
		b.Subgraph("sub", compile(sc.t, inner, graph.SubgraphOnly()), graph.Targets("b", graph.End))
		b.Node("b", sc.node("b", 0))
		b.Edge(graph.Start, "sub")
		b.Edge("b", graph.End)
		sc.did("input")(sc.thread(b).Invoke(sc.t.Context(), input))
	},
	"submit_queued":    submitQueued,
	"submit_if_idle":   submitIfIdle,
	"submit_cancels":   submitCancels,
	"submit_discards":  submitDiscards,
	"answer_by_mail":   answerByMail,
	"cancel_by_mail":   cancelByMail,
	"cancel_of_a_run":  cancelOfARun,
	"signal_too_early": signalTooEarly,
}

// chain is Start -> ids... -> End.
func (sc *scene) chain(ids ...graph.ID) *graph.Builder[work, update] {
	b := newWork()
	from := graph.Start
	for _, id := range ids {
		b.Node(id, sc.node(string(id), 0))
		b.Edge(from, id)
		from = id
	}
	b.Edge(from, graph.End)
	return b
}

// parallel has three nodes of different length and a join; the slowest ends with err.
func (sc *scene) parallel(err error) *graph.Builder[work, update] {
	b := newWork()
	for i, id := range []graph.ID{"quick", "slow"} {
		b.Node(id, sc.node(string(id), time.Duration(i+1)*time.Millisecond))
		b.Edge(graph.Start, id)
	}
	b.Node("slowest", func(ctx context.Context, s work) (update, error) {
		u, _ := sc.node("slowest", 4*time.Millisecond)(ctx, s)
		return u, err
	})
	b.Edge(graph.Start, "slowest")
	b.Join([]graph.ID{"quick", "slow", "slowest"}, "after")
	b.Node("after", sc.node("after", 0))
	b.Edge("after", graph.End)
	return b
}

// asking has a node that asks, alongside one that takes longer.
func (sc *scene) asking() *graph.Builder[work, update] {
	b := newWork()
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		sc.runs(ctx)
		time.Sleep(time.Millisecond)
		if ok, err := refund.Ask(ctx, teststate.Doc{Name: "shoes"}); !ok || err != nil {
			return update{}, err
		}
		return logged("answered"), nil
	}, refund)
	b.Node("sibling", sc.node("sibling", 2*time.Millisecond))
	b.Edge(graph.Start, "ask")
	b.Edge(graph.Start, "sibling")
	b.Edge("ask", graph.End)
	b.Edge("sibling", graph.End)
	return b
}

// nested is a -> sub, over a state of its own or the same one.
func (sc *scene) nested(inner *graph.Builder[work, update], mapped bool, opts ...graph.Option) *graph.Builder[work, update] {
	child := compile(sc.t, inner, append(opts, graph.SubgraphOnly())...)
	b := newWork()
	b.Node("a", sc.node("a", 0))
	if mapped {
		graph.MapSubgraph(b, "sub", child, sc.into, sc.outOf)
	} else {
		b.Subgraph("sub", child)
	}
	b.Edge(graph.Start, "a")
	b.Edge("a", "sub")
	b.Edge("sub", graph.End)
	return b
}

func (sc *scene) into(ctx context.Context, s work) (update, error) {
	sc.runs(ctx)
	return logged("given " + strings.Join(s.Log, "+")), nil
}

func (sc *scene) outOf(_ context.Context, _, child work) (update, error) {
	return logged("child: " + strings.Join(child.Log, "+")), nil
}
