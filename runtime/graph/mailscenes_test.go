package graph_test

import (
	"context"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// The scenes of mail: a client sends messages, and a worker looks at the thread.

// submits posts an input.
func (sc *scene) submits(th thread, line string, opts ...graph.SubmitOption) {
	_, err := th.Submit(sc.t.Context(), logged(line), append(opts, graph.RequestID(line))...)
	sc.printf("submit %s%s\n", line, failed(err))
}

// works lets a worker look at the thread until it is not due any more.
func (sc *scene) works(th thread, g *app) {
	for range 10 {
		found, err := sc.saver.Ready(sc.t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
		if err != nil {
			sc.t.Fatal(err)
		}
		if len(found.Threads) == 0 {
			sc.printf("not due\n")
			return
		}
		run, err := g.ResumeDue(sc.t.Context(), found.Threads[0], graph.DueOptions{})
		sc.printf("worker: opened %t, %s, log %v%s\n", run.Opened, run.Status, snapshot(sc.t, th).State.Log, failed(err))
	}
	sc.t.Error("the thread is due again and again")
}

// desk returns a graph that asks, and its thread.
func (sc *scene) desk() (*app, thread) {
	g := compile(sc.t, sc.asking(), graph.Saver(sc.saver), sc.d)
	return g, g.Thread("t")
}

func submitQueued(sc *scene) {
	g, th := sc.desk()
	sc.submits(th, "one")
	sc.submits(th, "two")
	sc.submits(th, "one")
	sc.works(th, g)
	answered(sc, th)
	sc.works(th, g)
}

func submitIfIdle(sc *scene) {
	g, th := sc.desk()
	sc.submits(th, "one", graph.IfIdle())
	sc.submits(th, "two", graph.IfIdle())
	sc.works(th, g)
	sc.submits(th, "three", graph.IfIdle())
}

func submitCancels(sc *scene) {
	g, th := sc.desk()
	sc.submits(th, "one")
	sc.works(th, g)
	sc.submits(th, "two")
	sc.submits(th, "three", graph.CancelPending("a newer order"))
	sc.works(th, g)
}

func submitDiscards(sc *scene) {
	g, th := sc.desk()
	sc.submits(th, "one")
	sc.works(th, g)
	sc.submits(th, "two", graph.DiscardPending())
	sc.works(th, g)
}

// answered answers the open question of a thread by mail.
func answered(sc *scene, th thread) {
	q := snapshot(sc.t, th).Questions[0]
	sc.printf("answer%s\n", failed(th.Answer(sc.t.Context(), refund.Answer(q, true))))
}

func answerByMail(sc *scene) {
	g, th := sc.desk()
	res := sc.did("input")(th.Invoke(sc.t.Context(), input))
	answered(sc, th)
	sc.did("another answer, in person")(th.Resume(sc.t.Context(), refund.Answer(res.Questions[0], true)))
	sc.works(th, g)
	sc.did("second input")(th.Invoke(sc.t.Context(), input))
	answered(sc, th)
	sc.works(th, g)
}

func cancelByMail(sc *scene) {
	g, th := sc.desk()
	sc.submits(th, "one")
	sc.works(th, g)
	for _, reason := range []string{"no stock", "still no stock"} {
		sc.printf("cancel%s\n", failed(th.Cancel(sc.t.Context(), reason)))
		sc.works(th, g)
	}
	sc.did("resume in person")(th.Resume(sc.t.Context()))
}

func cancelOfARun(sc *scene) {
	g := compile(sc.t, sc.chain("a", "b"), graph.Saver(sc.saver), sc.d)
	th := g.Thread("t")
	b := newWork()
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		sc.runs(ctx)
		sc.submits(th, "two")
		sc.printf("cancel%s\n", failed(th.Cancel(context.WithoutCancel(ctx), "no stock")))
		sc.submits(th, "three")
		time.Sleep(2 * time.Second)
		return update{}, ctx.Err()
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	slow := compile(sc.t, b, graph.Saver(sc.saver), sc.d)
	sc.did("input")(slow.Thread("t").Invoke(sc.t.Context(), logged("one")))
	sc.works(th, g)
}

func signalTooEarly(sc *scene) {
	b := newWork()
	b.Node("pay", func(ctx context.Context, _ work) (update, error) {
		sc.runs(ctx)
		p, err := payment.Receive(ctx)
		return logged(fmt.Sprint("paid ", p)), err
	}, payment)
	b.Edge(graph.Start, "pay")
	b.Edge("pay", graph.End)
	g := compile(sc.t, b, graph.Saver(sc.saver), sc.d)
	th := g.Thread("t")
	for _, line := range []string{"one", "two"} {
		if line == "one" {
			sc.printf("signal%s\n", failed(th.Signal(sc.t.Context(), payment.With("early", graph.RequestID("early")))))
		}
		sc.submits(th, line)
		sc.works(th, g)
	}
	sc.printf("signal%s\n", failed(th.Signal(sc.t.Context(), payment.With("late", graph.RequestID("late")))))
	sc.works(th, g)
}
