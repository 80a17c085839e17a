package graph_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestATaskThatFailsKeepsItsSignals proves rule 21.23: with ContinueOnError the siblings of the
// task receive theirs, and the task gets the same signal in the next run.
func TestATaskThatFailsKeepsItsSignals(t *testing.T) {
	for _, nested := range []bool{false, true} {
		eachDurability(t, func(t *testing.T, d graph.Durability) {
			s, b, received := memory.New(), newWork(), make(chan struct{})
			var again atomic.Bool
			b.Node("fails", func(ctx context.Context, _ work) (update, error) {
				p, err := payment.Receive(ctx)
				if err == nil && !again.Swap(true) {
					close(received)
					err = errBroken
				}
				return logged(fmt.Sprint("fails ", p)), err
			}, payment, graph.ContinueOnError())
			b.Node("waits", func(ctx context.Context, _ work) (update, error) {
				<-received // the other task has the first signal
				p, err := payment.Receive(ctx)
				return logged(fmt.Sprint("waits ", p)), err
			}, payment)
			for _, id := range []graph.ID{"fails", "waits"} {
				b.Edge(graph.Start, id)
				b.Edge(id, graph.End)
			}
			if nested {
				outer := newWork()
				outer.Subgraph("sub", compile(t, b, graph.SubgraphOnly()))
				outer.Edge(graph.Start, "sub")
				outer.Edge("sub", graph.End)
				b = outer
			}
			g := compile(t, b, graph.Saver(s), d)
			th := g.Thread("t")
			if err := th.Signal(t.Context(), payment.With("first")); err != nil {
				t.Fatal(err)
			}
			res, err := th.Invoke(t.Context(), logged("in"))
			if !errors.Is(err, errBroken) || res.Status != graph.Failed {
				t.Fatalf("got %s, %v; want the failure", res.Status, err)
			}
			same(t, "receives after the failure", len(snapshot(t, th).Signals), 1)
			if err := th.Signal(t.Context(), payment.With("second")); err != nil {
				t.Fatal(err)
			}
			res = done(t, graph.Done)(th.Resume(t.Context()))
			same(t, "log", res.State.Log, []string{"in", "fails first", "waits second"})
		})
	}
}
