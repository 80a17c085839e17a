package graph_test

import (
	"context"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/shape"
)

// schemaCounter counts the descriptions that are offered to a saver.
type schemaCounter struct {
	checkpoint.Saver
	offered int
}

func (s *schemaCounter) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	for _, w := range a.Writes {
		if w.Kind == checkpoint.Schema {
			s.offered++
		}
	}
	return s.Saver.Append(ctx, a)
}

// TestSchemasAreStoredOnceAVersion: what a fingerprint stands for can be read without the types of
// the graph.
func TestSchemasAreStoredOnceAVersion(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := &schemaCounter{Saver: memory.New()}
		inner := graph.New("inner", teststate.PairSchema)
		inner.Node("ask", func(ctx context.Context, _ pair) (pairUpdate, error) {
			_, err := refund.Ask(ctx, doc{Name: "shoes"})
			return pairUpdate{}, err
		}, refund, payment)
		inner.Edge(graph.Start, "ask")
		inner.Edge("ask", graph.End)
		th := compile(t, around(t, nil, compilePair(t, inner)), graph.Saver(s), d).Thread("t")
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
		res = done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		same(t, "descriptions offered", s.offered, 2)

		all, err := s.Schemas(t.Context(), "t", 0)
		if err != nil || len(all) != 2 {
			t.Fatalf("got %d descriptions, %v; want those of both graphs", len(all), err)
		}
		snap, err := th.State(t.Context())
		if err != nil || len(snap.Calls) != 1 {
			t.Fatalf("got %d calls, %v; want the one that asks", len(snap.Calls), err)
		}
		place := checkpoint.Ref{Thread: "t", Namespace: snap.Calls[0].Namespace}
		for rec, err := range s.History(t.Context(), place, checkpoint.Query{Limit: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			var g shape.Graph
			if err := g.DecodeWire(all[rec.Fingerprint]); err != nil {
				t.Fatal(err)
			}
			same(t, "state", g.State.Name, "Pair")
			if len(g.Questions) != 1 || g.Questions[0].Name != "refund" || g.Questions[0].Answer.Type != "bool" {
				t.Errorf("questions: got %+v, want refund, answered by a bool", g.Questions)
			}
			same(t, "signals", g.Signals, []shape.Signal{{Name: "paid", Payload: shape.Payload{Type: "string"}}})
		}
		done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
		_, err = th.Release(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		same(t, "descriptions offered with the next version", s.offered, 4)
	})
}
