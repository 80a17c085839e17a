package graph_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// stand returns a thread that waits for a person and for a signal, with a failed task.
func stand(t *testing.T, saver checkpoint.Saver) graph.Thread[work, update] {
	t.Helper()
	ask := graph.NewQuestion[wire.String, wire.Bool]("sure")
	come := graph.NewSignal[wire.String]("come")
	child := newWork()
	child.Node("inner", func(ctx context.Context, _ work) (update, error) {
		_, err := ask.Ask(ctx, "inside?")
		return update{}, err
	}, ask)
	child.Edge(graph.Start, "inner")
	child.Edge("inner", graph.End)
	b := newWork()
	b.Node("asks", func(ctx context.Context, _ work) (update, error) {
		graph.Summary(ctx, "asked")
		_, err := ask.Ask(ctx, "really?")
		return update{}, err
	}, ask)
	b.Node("waits", func(ctx context.Context, _ work) (update, error) {
		_, err := come.Receive(ctx)
		return update{}, err
	}, come)
	b.Node("works", say("works"))
	b.Subgraph("sub", compile(t, child, graph.SubgraphOnly()))
	for _, id := range []graph.ID{"asks", "waits", "works", "sub"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	th := compile(t, b, graph.Saver(saver)).Thread("t")
	if _, err := th.Invoke(t.Context(), logged("in"), graph.Metadata(map[string]string{"by": "Ada"}), graph.Title("a title")); err != nil {
		t.Fatal(err)
	}
	return th
}

// A tool without the graph reads what the graph reads.
func TestReadStoredReadsWhatStateReads(t *testing.T) {
	saver := memory.New()
	th := stand(t, saver)
	want, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ref := checkpoint.Ref{Thread: "t"}
	c, err := saver.Load(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	got, err := graph.Stored{Ref: ref}.Read(&c)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.State) == 0 {
		t.Error("there is no state")
	}
	same(t, "checkpoint", got.Checkpoint, want.Checkpoint)
	same(t, "tasks", got.Tasks, want.Tasks)
	same(t, "questions", got.Questions, want.Questions)
	same(t, "signals", got.Signals, want.Signals)
	same(t, "next", got.Next, want.Next)
	same(t, "status", got.Status, want.Status)
	same(t, "metadata", got.Metadata, want.Metadata)
	same(t, "title", got.Title, want.Title)
	same(t, "ran", got.Ran, want.Ran)
	found := false
	for _, call := range got.Calls {
		found = found || call == want.Calls[0]
	}
	if len(want.Questions) != 2 || len(want.Calls) != 1 || !found {
		t.Errorf("got calls %v, want %v among them, and 2 questions, not %d", got.Calls, want.Calls, len(want.Questions))
	}
	position, err := graph.Stored{Ref: ref}.Position(&c)
	if err != nil || position.State != nil || position.Checkpoint != want.Checkpoint {
		t.Errorf("position: got state %q, checkpoint %s, %v", position.State, position.Checkpoint, err)
	}

	call := checkpoint.Ref{Thread: "t", Namespace: want.Calls[0].Namespace}
	if c, err = saver.Load(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	inner, err := graph.Stored{Ref: call}.Read(&c)
	if err != nil || len(inner.Questions) != 1 || inner.Questions[0].Node != "inner" {
		t.Errorf("the call: got %v, %v", inner.Questions, err)
	}
}

func TestReadStoredOfNothing(t *testing.T) {
	if _, err := (graph.Stored{Ref: checkpoint.Ref{Thread: "t"}}).Read(&checkpoint.Chain{}); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	saver := memory.New()
	stand(t, saver)
	c, err := saver.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Writes {
		c.Writes[i].Payload = []byte{0xc1}
	}
	if _, err := (graph.Stored{Ref: checkpoint.Ref{Thread: "t"}}).Read(&c); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("damaged writes: got %v, want ErrDamaged", err)
	}
}

func TestATimerNamesTheAttempt(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		b.Node("flaky", func(context.Context, work) (update, error) {
			return update{}, graph.RetryAfter(errBroken, day)
		}, graph.Retry(graph.RetryPolicy{Attempts: 3}))
		b.Edge(graph.Start, "flaky")
		b.Edge("flaky", graph.End)
		th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
		for attempt := 2; attempt <= 3; attempt++ {
			if attempt == 2 {
				done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
			} else {
				time.Sleep(day)
				done(t, graph.Waiting)(th.Resume(t.Context()))
			}
			s, err := th.State(t.Context())
			if err != nil || len(s.Timers) != 1 {
				t.Fatalf("got %d timers, %v", len(s.Timers), err)
			}
			same(t, "attempt", s.Timers[0].Attempt, attempt)
		}
	})
}
