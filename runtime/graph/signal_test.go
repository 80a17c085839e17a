package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

var (
	payment = graph.NewSignal[wire.String]("paid")
	shipped = graph.NewSignal[wire.String]("shipped")
)

// receiver is a node that receives one signal for each key, and logs its name with each payload.
func receiver(name string, keys ...string) func(context.Context, work) (update, error) {
	return receives(name, nil, keys...)
}

func receives(name string, opts []graph.ReceiveOption, keys ...string) func(context.Context, work) (update, error) {
	return func(ctx context.Context, _ work) (update, error) {
		var lines []string
		for _, key := range keys {
			got, err := payment.Receive(ctx, append(slices.Clip(opts), graph.For(key))...)
			switch {
			case errors.Is(err, graph.ErrExpired):
				got = "expired"
			case err != nil:
				return update{}, err
			}
			lines = append(lines, name+" "+string(got))
		}
		return logged(lines...), nil
	}
}

// receivers is a graph of receivers in a sequence. Each receives one signal without a key.
func receivers(ids ...graph.ID) *graph.Builder[work, update] {
	b := newWork()
	for _, id := range ids {
		b.Node(id, receiver(string(id), ""), payment)
	}
	return line(b, ids...)
}

// send sends signals with the given payloads.
func send(t *testing.T, th thread, payloads ...wire.String) {
	t.Helper()
	for _, p := range payloads {
		if err := th.Signal(t.Context(), payment.With(p)); err != nil {
			t.Fatal(err)
		}
	}
}

// eachNesting runs test with a graph, with a subgraph, and with a subgraph of a subgraph. It does
// so for each durability, in a synctest bubble.
func eachNesting(t *testing.T, b func() *graph.Builder[work, update], test func(t *testing.T, s checkpoint.Saver, g *app)) {
	t.Helper()
	for depth := range 3 {
		t.Run(fmt.Sprint("depth ", depth), func(t *testing.T) {
			eachInBubble(t, func(t *testing.T, d graph.Durability) {
				s, b := memory.New(), b()
				for range depth {
					b = only(compile(t, b, graph.SubgraphOnly()))
				}
				test(t, s, compile(t, b, graph.Saver(s), d))
			})
		})
	}
}

func TestASignalThatCameBeforeTheNodeBeganIsReceived(t *testing.T) {
	eachNesting(t, func() *graph.Builder[work, update] { return receivers("a", "b") }, func(t *testing.T, s checkpoint.Saver, g *app) {
		th := g.Thread("t")
		send(t, th, "one", "two", "three")
		res := done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
		same(t, "log", res.State.Log, []string{"in", "a one", "b two"})
		same(t, "messages left", untaken(t, th), []checkpoint.MessageKind{checkpoint.SignalMessage})
		same(t, "openings by a worker", serve(t, g, s), 0)
	})
}

func TestATaskWaitsForASignal(t *testing.T) {
	eachNesting(t, func() *graph.Builder[work, update] { return receivers("a", "b") }, func(t *testing.T, s checkpoint.Saver, g *app) {
		th := g.Thread("t")
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		same(t, "questions and timers", len(res.Questions)+len(res.Timers), 0)
		same(t, "signals", len(res.Signals), 1)
		same(t, "wake", described(t, th).Wake, time.Time{})
		for _, payload := range []wire.String{"one", "two"} {
			send(t, th, payload)
			same(t, "openings by a worker", serve(t, g, s), 1)
		}
		same(t, "log", snapshot(t, th).State.Log, []string{"in", "a one", "b two"})
		same(t, "status", snapshot(t, th).Status, graph.Done)
		same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	})
}

func TestAResumeReceivesASignal(t *testing.T) {
	eachNesting(t, func() *graph.Builder[work, update] { return receivers("a") }, func(t *testing.T, _ checkpoint.Saver, g *app) {
		th := g.Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		send(t, th, "one")
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "a one"})
	})
}

func TestTheSignalsThatAThreadWaitsForAreListed(t *testing.T) {
	eachNesting(t, func() *graph.Builder[work, update] {
		b := newWork()
		b.Node("a", func(ctx context.Context, _ work) (update, error) {
			_, err := payment.Receive(ctx, graph.For("order-7"), graph.ExpireAfter(day))
			_, other := shipped.Receive(ctx)
			return update{}, errors.Join(err, other)
		}, payment, shipped)
		return line(b, "a")
	}, func(t *testing.T, _ checkpoint.Saver, g *app) {
		t.Helper()
		th := g.Thread("t")
		due := time.Now().Add(day).UTC()
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		listed, err := graph.OpenSignals(described(t, th))
		if err != nil {
			t.Fatal(err)
		}
		snap := snapshot(t, th)
		for where, got := range map[string][]graph.OpenSignal{"result": res.Signals, "snapshot": snap.Signals, "listed": listed} {
			if len(got) != 2 {
				t.Fatalf("%s: got %v, want two signals", where, got)
			}
			same(t, where+": payment", []any{got[0].Signal, got[0].Key, got[0].Node, got[0].Expires}, []any{"paid", "order-7", graph.ID("a"), due})
			same(t, where+": shipped", []any{got[1].Signal, got[1].Key, got[1].Node, got[1].Expires}, []any{"shipped", "", graph.ID("a"), time.Time{}})
		}
		if want := "paid for order-7 at "; !strings.Contains(snap.String(), want) || !strings.HasSuffix(res.Signals[0].String(), "a until "+due.Format(time.RFC3339Nano)) {
			t.Errorf("got %q and %q, want the signal and its time", snap, res.Signals[0])
		}
		if asked, err := graph.OpenQuestions(described(t, th)); len(asked) != 0 || err != nil {
			t.Errorf("got questions %v, %v; want none", asked, err)
		}
		same(t, "wake", described(t, th).Wake.Equal(due), true)
	})
}

// TestAStraySignalAddsNoRecord sends signals that nobody waits for, to a thread that waits for
// another one and to one that is done.
func TestAStraySignalAddsNoRecord(t *testing.T) {
	eachNesting(t, func() *graph.Builder[work, update] { return receivers("a") }, func(t *testing.T, s checkpoint.Saver, g *app) {
		th := g.Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		for _, status := range []graph.Status{graph.Waiting, graph.Done} {
			head := described(t, th).Head
			if err := th.Signal(t.Context(), payment.With("stray", graph.For("nobody"))); err != nil {
				t.Fatal(err)
			}
			same(t, "ready", readyNow(t, s), "t")
			same(t, "openings by a worker", serve(t, g, s), 0)
			same(t, "head", described(t, th).Head, head)
			same(t, "status", described(t, th).Status, status)
			same(t, "wake", described(t, th).Wake, time.Time{})
			send(t, th, "one")
			serve(t, g, s)
		}
	})
}

func TestSignalsHaveKeys(t *testing.T) {
	eachNesting(t, func() *graph.Builder[work, update] {
		b := newWork()
		b.Node("a", receiver("a", "x", "", "x"), payment)
		return line(b, "a")
	}, func(t *testing.T, s checkpoint.Saver, g *app) {
		t.Helper()
		th := g.Thread("t")
		if err := th.Signal(t.Context(), payment.With("x1", graph.For("x")), payment.With("none"), payment.With("y", graph.For("y"))); err != nil {
			t.Fatal(err)
		}
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		same(t, "signals", res.Signals[0].Key, "x")
		if err := th.Signal(t.Context(), payment.With("x2", graph.For("x"))); err != nil {
			t.Fatal(err)
		}
		serve(t, g, s)
		same(t, "log", snapshot(t, th).State.Log, []string{"in", "a x1", "a none", "a x2"})
		same(t, "messages left", untaken(t, th), []checkpoint.MessageKind{checkpoint.SignalMessage})
	})
}

// TestReceiversThatWaitGetSignalsInTaskOrder has sends, a node and a subgraph that wait for one
// signal each.
func TestReceiversThatWaitGetSignalsInTaskOrder(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		eachInBubble(t, func(t *testing.T, d graph.Durability) {
			s, b := memory.New(), newWork()
			inner := newWork()
			for _, id := range []graph.ID{"x", "y"} {
				inner.Node(id, receiver("sub "+string(id), ""), payment)
				inner.Edge(graph.Start, id)
				inner.Edge(id, graph.End)
			}
			b.Node("first", receiver("first", ""), payment)
			b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()))
			each := graph.TaskNode(b, "each", func(ctx context.Context, w work, in doc) (update, error) {
				return receiver(in.Name, "")(ctx, w)
			}, payment)
			b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
				next := graph.To("first", "sub")
				next.Add(each.Send(doc{Name: "send 0"}))
				next.Add(each.Send(doc{Name: "send 1"}))
				return next, nil
			}, "first", "sub", "each")
			for _, id := range []graph.ID{"first", "sub", "each"} {
				b.Edge(id, graph.End)
			}
			g := compile(t, b, graph.Saver(s), d)
			th := g.Thread("t")
			res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
			same(t, "signals", len(res.Signals), 5)
			send(t, th, "1", "2", "3")
			if resumed {
				done(t, graph.Waiting)(th.Resume(t.Context()))
			} else {
				serve(t, g, s)
			}
			send(t, th, "4", "5")
			serve(t, g, s)
			same(t, "log", snapshot(t, th).State.Log, []string{"in", "first 1", "sub x 2", "sub y 3", "send 0 4", "send 1 5"})
		})
	}
}

// TestEachSignalIsReceivedOnce has many tasks that receive at the same time.
func TestEachSignalIsReceivedOnce(t *testing.T) {
	eachNesting(t, func() *graph.Builder[work, update] {
		b := newWork()
		each := graph.TaskNode(b, "each", func(ctx context.Context, w work, _ doc) (update, error) {
			return receiver("got", "", "")(ctx, w)
		}, payment)
		b.Node("split", idle)
		b.Edge(graph.Start, "split")
		b.Route("split", func(context.Context, work) (graph.Next, error) {
			var next graph.Next
			for range 20 {
				next.Add(each.Send(doc{}))
			}
			return next, nil
		}, "each")
		b.Edge("each", graph.End)
		return b
	}, func(t *testing.T, s checkpoint.Saver, g *app) {
		t.Helper()
		th := g.Thread("t")
		for i := range 30 {
			send(t, th, wire.String(fmt.Sprint(i)))
		}
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged()))
		for i := range 10 {
			send(t, th, wire.String(fmt.Sprint(30+i)))
		}
		serve(t, g, s)
		seen := make(map[string]int)
		for _, line := range snapshot(t, th).State.Log {
			seen[line]++
		}
		if len(seen) != 40 {
			t.Errorf("got %v, want 40 different signals", seen)
		}
		same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	})
}

// TestASignalThatComesDuringTheRunIsReceived has a task that waits while its sibling runs. The
// signal comes in the meantime.
func TestASignalThatComesDuringTheRunIsReceived(t *testing.T) {
	for depth := range 3 {
		eachInBubble(t, func(t *testing.T, d graph.Durability) {
			s := memory.New()
			var g *app
			b := newWork()
			b.Node("a", receiver("a", ""), payment)
			b.Node("slow", func(ctx context.Context, _ work) (update, error) {
				time.Sleep(time.Hour)
				err := g.Thread("t").Signal(ctx, payment.With("one"))
				time.Sleep(time.Hour) // the run asks for messages meanwhile
				return logged("slow"), err
			})
			for _, id := range []graph.ID{"a", "slow"} {
				b.Edge(graph.Start, id)
				b.Edge(id, graph.End)
			}
			for range depth {
				b = only(compile(t, b, graph.SubgraphOnly()))
			}
			g = compile(t, b, graph.Saver(s), d)
			res := done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), logged("in")))
			same(t, "log", res.State.Log, []string{"in", "a one", "slow"})
			same(t, "ready", readyNow(t, s), "")
		})
	}
}

func TestASignalCanExpire(t *testing.T) {
	for after, want := range map[time.Duration]string{0: "a one", day: "a one", day + time.Second: "a expired"} {
		eachNesting(t, func() *graph.Builder[work, update] {
			b := newWork()
			b.Node("a", receives("a", []graph.ReceiveOption{graph.ExpireAfter(day)}, ""), payment)
			return line(b, "a")
		}, func(t *testing.T, s checkpoint.Saver, g *app) {
			t.Helper()
			th := g.Thread("t")
			began := time.Now()
			done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
			same(t, "wake", described(t, th).Wake.Sub(began), day)
			time.Sleep(after)
			send(t, th, "one")
			time.Sleep(2 * day) // no worker looks in time
			same(t, "openings by a worker", serve(t, g, s), 1)
			same(t, "log", snapshot(t, th).State.Log, []string{"in", want})
		})
	}
}

// TestASignalInTimeCountsInARunInProgress has a receive, and a question, that expire while a
// sibling runs, which sends both in time.
func TestASignalInTimeCountsInARunInProgress(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		s, b := memory.New(), newWork()
		var g *app
		b.Node("a", receives("a", []graph.ReceiveOption{graph.ExpireAfter(time.Second)}, ""), payment)
		b.Node("ask", expiring(time.Second), refund)
		b.Node("slow", func(ctx context.Context, _ work) (update, error) {
			time.Sleep(time.Second - time.Millisecond)
			th := g.Thread("t")
			err := th.Signal(ctx, payment.With("one"))
			if snap, loaded := th.State(ctx); d != graph.OnExit && loaded == nil {
				err = errors.Join(err, th.Answer(ctx, refund.Answer(snap.Questions[0], true)))
			}
			time.Sleep(time.Second)
			return logged("slow"), err
		})
		for _, id := range []graph.ID{"a", "ask", "slow"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		g = compile(t, b, graph.Saver(s), d)
		want := []string{"in", "a one", "answer true", "slow"}
		if d == graph.OnExit {
			want[2] = "expired" // the question is not visible before
			done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), logged("in")))
		} else {
			done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), logged("in")))
			serve(t, g, s)
		}
		same(t, "log", snapshot(t, g.Thread("t")).State.Log, want)
	})
}

// TestASignalBetweenTheLookAndTheOpeningIsInTime posts a signal in time, after a worker has loaded
// the thread, which then expires the receive.
func TestASignalBetweenTheLookAndTheOpeningIsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := memory.New(), newWork()
		b.Node("a", receives("a", []graph.ReceiveOption{graph.ExpireAfter(day)}, ""), payment)
		slow := &slowLoad{Saver: s}
		g := compile(t, line(b, "a"), graph.Saver(slow))
		th := compile(t, b, graph.Saver(s)).Thread("t")
		done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), logged("in")))
		time.Sleep(day - time.Second)
		slow.loaded = func() {
			slow.loaded = nil
			send(t, th, "one")
			time.Sleep(2 * time.Second)
		}
		res := done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "a one"})
	})
}

// slowLoad calls a function after each Load.
type slowLoad struct {
	checkpoint.Saver
	loaded func()
}

func (s *slowLoad) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := s.Saver.Load(ctx, p)
	if s.loaded != nil {
		s.loaded()
	}
	return c, err
}

func TestAttemptsShareTheSignalsOfATask(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		s, b, tries := memory.New(), newWork(), 0
		b.Node("a", func(ctx context.Context, w work) (update, error) {
			u, err := receiver("a", "", "")(ctx, w)
			if tries++; err == nil && tries < 4 {
				return u, errBroken
			}
			return u, err
		}, payment, graph.Retry(graph.RetryPolicy{Attempts: 2}))
		th := compile(t, line(b, "a"), graph.Saver(s), d).Thread("t")
		send(t, th, "one", "two", "three")
		if _, err := th.Invoke(t.Context(), logged("in")); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want the node to fail", err)
		}
		same(t, "messages left", len(untaken(t, th)), 1)
		if _, err := th.Resume(t.Context()); err != nil && !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		same(t, "log", snapshot(t, th).State.Log, []string{"in", "a one", "a two"})
	})
}

func TestASignalIsSentOnceForEachRequest(t *testing.T) {
	s := memory.New()
	th := compile(t, receivers("a"), graph.Saver(s)).Thread("t")
	submit(t, th, "in", graph.RequestID("evt_1"))
	for range 2 {
		if err := th.Signal(t.Context(), payment.With("one", graph.RequestID("evt_1"))); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "messages", untaken(t, th), []checkpoint.MessageKind{checkpoint.InputMessage, checkpoint.SignalMessage})
}

func TestAReleaseDropsSignals(t *testing.T) {
	s := memory.New()
	th := compile(t, receivers("a"), graph.Saver(s)).Thread("t")
	send(t, th, "one", "two")
	done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
	if _, err := th.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
}

func TestASignalThatCannotBeReceivedIsRefused(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		g := compile(t, receivers("a", "b"), graph.Saver(s), d)
		th := g.Thread("t")
		if err := th.Signal(t.Context(), shipped.With("one")); !errors.Is(err, graph.ErrNotReceivable) {
			t.Errorf("got %v, want ErrNotReceivable", err)
		}
		same(t, "messages", untaken(t, th), []checkpoint.MessageKind(nil))
		b := newWork() // another version of the graph
		number := graph.NewSignal[wire.Int]("paid")
		b.Node("a", idle, shipped, number)
		other := compile(t, line(b, "a"), graph.Saver(s)).Thread("t")
		bad := func() {
			if err := other.Signal(t.Context(), shipped.With("one"), number.With(7)); err != nil {
				t.Fatal(err)
			}
		}
		bad()
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		bad()
		send(t, th, "good")
		serve(t, g, s)
		send(t, th, "better")
		serve(t, g, s)
		same(t, "log", snapshot(t, th).State.Log, []string{"in", "a good", "b better"})
		kinds := make(map[string]int)
		for _, reason := range refusals(t, th) {
			kinds[strings.SplitAfterN(reason, "paid", 2)[0]]++
		}
		same(t, "refused", kinds, map[string]int{
			`no node of graph "g" lists signal "shipped"`: 2, `the payload of signal "paid`: 2,
		})
		same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	})
}

func TestReceiveAndSignalAreChecked(t *testing.T) {
	long := strings.Repeat("k", checkpoint.MaxMessageID+1)
	b := newWork()
	errs := make(map[string]error)
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		_, errs["not listed"] = shipped.Receive(ctx)
		_, errs["long key"] = payment.Receive(ctx, graph.For(long))
		_, errs["two keys received"] = payment.Receive(ctx, graph.For("a"), graph.For("b"))
		_, errs["no time"] = payment.Receive(ctx, graph.ExpireAfter(-1))
		return update{}, nil
	}, payment)
	th := compile(t, line(b, "a"), graph.Saver(memory.New())).Thread("t")
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	_, errs["no node"] = payment.Receive(t.Context())
	errs["long key sent"] = th.Signal(t.Context(), payment.With("one", graph.For(long)))
	errs["two keys"] = th.Signal(t.Context(), payment.With("one", graph.For("a"), graph.For("b")))
	errs["no id"] = th.Signal(t.Context(), payment.With("one", graph.RequestID("")))
	for name, want := range map[string]string{
		"not listed":        `list it among the options of the node`,
		"no node":           `needs the context of a node`,
		"long key":          `its key has 1025 bytes, more than 1024`,
		"long key sent":     `its key has 1025 bytes, more than 1024`,
		"no time":           `ExpireAfter(-1ns): give it more than 0`,
		"two keys":          `For is given twice; give it once`,
		"two keys received": `For is given twice; give it once`,
		"no id":             `RequestID is empty`,
	} {
		if errs[name] == nil || !strings.Contains(errs[name].Error(), want) {
			t.Errorf("%s: got %v, want %s", name, errs[name], want)
		}
	}
	for _, name := range []string{"not listed", "no node"} {
		if !errors.Is(errs[name], graph.ErrNotAskable) {
			t.Errorf("%s: got %v, want ErrNotAskable", name, errs[name])
		}
	}
	same(t, "messages", untaken(t, th), []checkpoint.MessageKind(nil))
}

func TestCompileChecksSignals(t *testing.T) {
	b := newWork()
	b.Node("a", idle, payment, payment, graph.NewSignal[wire.String]("a/b"))
	_, err := line(b, "a").Compile()
	for _, want := range []string{
		`node "a" lists signal "paid" twice`, `node "a": signal "a/b": a name has 1 to 1024 bytes and none of : # and /`,
		`node "a" receives signals, which needs a Saver`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestNobodyAnswersAReceive gives the id of a receive to Resume and Answer.
func TestNobodyAnswersAReceive(t *testing.T) {
	s := memory.New()
	th := compile(t, receivers("a"), graph.Saver(s)).Thread("t")
	done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
	q := described(t, th).Questions[0]
	forged := graph.AnswerBytes(q.Task+"/"+q.Name, []byte{0xa1, 'x'})
	if err := th.Answer(t.Context(), forged); !errors.Is(err, graph.ErrNotAsked) || !strings.Contains(err.Error(), "Thread.Signal") {
		t.Errorf("Answer: got %v, want ErrNotAsked that names Thread.Signal", err)
	}
	if _, err := th.Resume(t.Context(), forged); !errors.Is(err, graph.ErrNotAsked) {
		t.Errorf("Resume: got %v, want ErrNotAsked", err)
	}
}
