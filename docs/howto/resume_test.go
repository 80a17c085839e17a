package howto_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// killed is the saver of a process that dies: all its calls fail.
type killed struct {
	checkpoint.Saver
	dead atomic.Bool
}

func (k *killed) Append(ctx context.Context, r checkpoint.Append) (checkpoint.AppendResult, error) {
	if k.dead.Load() {
		return checkpoint.AppendResult{}, checkpoint.ErrClosed
	}
	return k.Saver.Append(ctx, r)
}

func (k *killed) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if k.dead.Load() {
		return checkpoint.PutResult{}, checkpoint.ErrClosed
	}
	return k.Saver.PutWrites(ctx, w)
}

// newSteps returns a graph of two nodes. The second calls f.
func newSteps(t *testing.T, saver checkpoint.Saver, f func()) *graph.Graph[howto.State, howto.StateUpdate] {
	t.Helper()
	g := graph.New("steps", howto.StateSchema)
	g.Node("first", func(context.Context, howto.State) (howto.StateUpdate, error) {
		return howto.StateUpdate{Log: state.Append("first")}, nil
	})
	g.Node("second", func(context.Context, howto.State) (howto.StateUpdate, error) {
		f()
		return howto.StateUpdate{Log: state.Append("second")}, nil
	})
	g.Edge(graph.Start, "first")
	g.Edge("first", "second")
	g.Edge("second", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func TestSweepResumesAfterTheLeaseOfADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		saver := memory.New()
		dying := &killed{Saver: saver}
		if _, err := newSteps(t, dying, func() { dying.dead.Store(true) }).Thread("t").Invoke(t.Context(), howto.StateUpdate{}); err == nil {
			t.Fatal("the run of a dead process succeeded")
		}
		runs := 0
		app := newSteps(t, saver, func() { runs++ })
		for _, c := range []struct {
			pause time.Duration
			want  checkpoint.Status
			runs  int
		}{{0, checkpoint.Running, 0}, {checkpoint.DefaultLease + time.Second, checkpoint.Done, 1}, {time.Hour, checkpoint.Done, 1}} {
			time.Sleep(c.pause)
			if err := howto.Sweep(t.Context(), app, saver); err != nil {
				t.Fatal(err)
			}
			snap, err := app.Thread("t").State(t.Context())
			if err != nil || snap.Status != c.want || runs != c.runs {
				t.Errorf("%v later: got %v after %d runs, %v; want %v after %d", c.pause, snap.Status, runs, err, c.want, c.runs)
			}
		}
	})
}
