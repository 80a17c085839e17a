package graph_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// takeFails is a saver whose next write fails that takes a message.
type takeFails struct {
	checkpoint.Saver
	fails atomic.Bool
}

func (s *takeFails) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if len(w.Messages.Take) > 0 && s.fails.Swap(false) {
		return checkpoint.PutResult{}, errBroken
	}
	return s.Saver.PutWrites(ctx, w)
}

// TestASignalWhoseTakingFailedWakesTheThread: the write of a receive fails, and the node waits at
// another receive of that signal. The message still waits, so the thread must be due (rules 21.7
// and 21.16).
func TestASignalWhoseTakingFailedWakesTheThread(t *testing.T) {
	ping := graph.NewSignal[wire.String]("ping")
	for _, d := range []graph.Durability{graph.Sync, graph.Async} {
		t.Run(d.String(), func(t *testing.T) {
			s := &takeFails{Saver: memory.New()}
			b := newWork()
			b.Node("ship", func(ctx context.Context, _ work) (update, error) {
				got, err := ping.Receive(ctx)
				if err != nil && !errors.Is(err, graph.ErrWaiting) {
					got, err = ping.Receive(ctx)
				}
				return logged(string(got)), err
			}, ping)
			b.Edge(graph.Start, "ship")
			b.Edge("ship", graph.End)
			g := compile(t, b, graph.Saver(s), d)
			th := g.Thread("t")
			if err := th.Signal(t.Context(), ping.With("1")); err != nil {
				t.Fatal(err)
			}
			s.fails.Store(true)
			res, err := th.Invoke(t.Context(), update{})
			if s.fails.Load() || d == graph.Sync && (err != nil || res.Status != graph.Waiting) {
				t.Fatalf("got %s, %v; want it to wait after a failed write", res.Status, err)
			}
			if err != nil { // Async: no further write is tried
				return
			}
			found, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 10})
			if err != nil || len(found.Threads) != 1 {
				t.Errorf("due are %v, %v; want the thread, because its signal waits", found.Threads, err)
			}
			serve(t, g, s)
			same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
		})
	}
}
