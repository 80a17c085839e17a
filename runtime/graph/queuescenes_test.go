package graph_test

import (
	"context"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// The scenes of waits for other threads: a queue, a child, a reply, and the ends of waits.

// queueing returns a graph with a node in a queue; nil for a durability that queues do not have.
func (sc *scene) queueing(opts ...graph.NodeOption) *app {
	if sc.d != graph.Sync {
		sc.printf("a queue needs Sync\n")
		return nil
	}
	b := newWork()
	b.Node("gpu", sc.node("gpu", 0), append(opts, graph.Queue("gpu"))...)
	return compile(sc.t, line(b, "gpu"), graph.Saver(sc.saver), sc.d)
}

func queueScene(sc *scene) {
	g := sc.queueing()
	if g == nil {
		return
	}
	th := g.Thread("t")
	sc.submits(th, "one")
	sc.works(th, g)
	serving(g, sc.saver).work(sc.t)
	sc.printf("the worker of the queue has run the task\n")
	sc.works(th, g)
	sc.did("result")(th.Result(sc.t.Context(), graph.RequestID("one")))
}

func queueTimeoutScene(sc *scene) {
	g := sc.queueing(graph.StartTimeout(time.Minute), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: time.Millisecond}))
	if g == nil {
		return
	}
	th := g.Thread("t")
	sc.submits(th, "one")
	sc.works(th, g)
	time.Sleep(time.Minute + time.Second)
	sc.printf("no worker has taken the task\n")
	sc.works(th, g)
	serving(g, sc.saver).work(sc.t)
	sc.printf("the worker of the queue has run the second attempt\n")
	sc.works(th, g)
}

func childScene(sc *scene) {
	f := familyOn(sc.t, sc.saver, sc.node("work", 0), nil, sc.d)
	th := f.parent.Thread("t")
	sc.submits(th, "one")
	f.work(sc.t)
	sc.did("result")(th.Result(sc.t.Context()))
}

func replyScene(sc *scene) {
	if sc.d == graph.OnExit {
		sc.printf("a reply needs Sync or Async\n")
		return
	}
	b := newWork()
	b.Node("greet", func(ctx context.Context, _ work) (update, error) {
		sc.runs(ctx)
		m, err := greet.Receive(ctx)
		if err != nil {
			return update{}, err
		}
		return logged("greeted " + string(m.Value)), m.Reply(ctx, "hello "+m.Value)
	}, greet)
	g := compile(sc.t, line(b, "greet"), graph.Saver(sc.saver), sc.d)
	th := g.Thread("t")
	sc.submits(th, "one")
	sc.works(th, g)
	sc.printf("signal%s\n", failed(th.Signal(sc.t.Context(), greet.With("ada", graph.RequestID("1")))))
	sc.works(th, g)
	reply, err := greet.Ask(sc.t.Context(), th, "ada", graph.RequestID("1"))
	sc.printf("ask: %s%s\n", reply, failed(err))
}

func executionTimeoutScene(sc *scene) {
	g, th := sc.desk()
	sc.submits(th, "one", graph.ExecutionTimeout(day))
	sc.submits(th, "two")
	sc.works(th, g)
	time.Sleep(day)
	sc.works(th, g)
	sc.did("result of the first input")(th.Result(sc.t.Context(), graph.RequestID("one")))
	sc.did("resume in person")(th.Resume(sc.t.Context()))
}
