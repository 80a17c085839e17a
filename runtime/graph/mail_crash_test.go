package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// desk receives a payment, then asks a question. depth is the number of subgraphs around both.
func desk(t *testing.T, depth int) *graph.Builder[work, update] {
	t.Helper()
	b := newWork()
	b.Node("pay", func(ctx context.Context, _ work) (update, error) {
		p, err := payment.Receive(ctx)
		return logged(fmt.Sprint("paid ", p)), err
	}, payment)
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		ok, err := refund.Ask(ctx, doc{Name: "shoes"})
		return logged(fmt.Sprint("answer ", ok)), err
	}, refund)
	b.Edge(graph.Start, "pay")
	b.Edge("pay", "ask")
	b.Edge("ask", graph.End)
	for range depth {
		outer := newWork()
		outer.Subgraph("sub", compile(t, b, graph.SubgraphOnly()))
		outer.Edge(graph.Start, "sub")
		outer.Edge("sub", graph.End)
		b = outer
	}
	return b
}

// order is an input of desk and its payment. It is over when the log has the line until.
type order struct {
	input, pays, until string
	policy             []graph.SubmitOption
}

// orders has a signal that comes before its input, an input that waits for a signal, and one that
// cancels that.
var orders = []order{
	{"one", "1", "answer true", nil},
	{"two", "", "two", nil},
	{"three", "3", "answer true", []graph.SubmitOption{graph.CancelPending("a newer order")}},
}

// place places all orders, as a client with one worker does. It repeats what was done before.
func place(ctx context.Context, g *app, s checkpoint.Saver) error {
	th := g.Thread("t")
	for _, o := range orders {
		if o.pays != "" && o.policy == nil { // early
			if err := th.Signal(ctx, payment.With(wire.String(o.pays), graph.RequestID(o.input))); err != nil {
				return err
			}
		}
		if _, err := th.Submit(ctx, logged(o.input), append(o.policy, graph.RequestID(o.input))...); err != nil {
			return err
		}
		if o.pays != "" && o.policy != nil {
			if err := th.Signal(ctx, payment.With(wire.String(o.pays), graph.RequestID(o.input))); err != nil {
				return err
			}
		}
		if err := until(ctx, g, s, o); err != nil {
			return err
		}
	}
	return nil
}

// until works and answers until the log has the last line of an order, after its input.
func until(ctx context.Context, g *app, s checkpoint.Saver, o order) error {
	th := g.Thread("t")
	for range 100 {
		found, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 10})
		if err != nil {
			return err
		}
		for _, due := range found.Threads {
			if _, err := g.ResumeDue(ctx, due, graph.DueOptions{}); err != nil {
				return err
			}
		}
		if len(found.Threads) > 0 {
			continue
		}
		snap, err := th.State(ctx)
		if err != nil {
			return err
		}
		if at := slices.Index(snap.State.Log, o.input); at >= 0 && slices.Contains(snap.State.Log[at:], o.until) {
			return nil
		}
		for _, q := range snap.Questions {
			if err := th.Answer(ctx, refund.Answer(q, true)); err != nil && !errors.Is(err, graph.ErrNotAsked) {
				return err
			}
		}
		time.Sleep(time.Second)
	}
	return fmt.Errorf("order %s never ends", o.input)
}

// TestMailEndsTheSameWhateverCallACrashHits lets a process die at each call of the saver. Another
// one repeats what its client sends (rules 21.1, 21.9, 21.14, 21.21 and 21.22).
func TestMailEndsTheSameWhateverCallACrashHits(t *testing.T) {
	for depth := range 3 {
		eachDurability(t, func(t *testing.T, d graph.Durability) {
			t.Parallel()
			points := 0
			for more := true; more && !t.Failed(); {
				more = false
				points++
				for _, after := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						more = mailCrash(t, d, depth, points, after) || more
					})
				}
			}
			if points < 20 {
				t.Errorf("only %d crash points, want them all", points)
			}
		})
	}
}

// mailCrash lets the process die at one call of the saver, and reports whether there is such one.
func mailCrash(t *testing.T, d graph.Durability, depth, point int, after bool) bool {
	t.Helper()
	what := fmt.Sprintf("depth %d, crash at call %d, after it was made %t", depth, point, after)
	s := memory.New()
	dying := crashingInbox{&crashing{Saver: s, left: point, after: after}}
	b := desk(t, depth)
	err := place(t.Context(), compile(t, b, graph.Saver(dying), d), s)
	if err != nil && !errors.Is(err, errCrash) {
		t.Fatalf("%s: %v", what, err)
	}
	time.Sleep(2 * checkpoint.DefaultLease)
	g := compile(t, b, graph.Saver(s), d)
	if again := place(t.Context(), g, s); again != nil {
		t.Fatalf("%s: %v", what, again)
	}
	th := g.Thread("t")
	same(t, what+": log", snapshot(t, th).State.Log, []string{"one", "paid 1", "answer true", "two", "three", "paid 3", "answer true"})
	same(t, what+": messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	same(t, what+": refused", refusals(t, th), []string(nil))
	return err != nil
}
