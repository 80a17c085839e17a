package savers_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/bench/savers"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// line is a thread with the writes of a graph, but without a graph.
type line struct {
	saver       checkpoint.Saver
	thread      string
	fence, head checkpoint.ID
	step        int
}

// begin opens a run on a new thread and commits a number of steps.
func begin(ctx context.Context, s checkpoint.Saver, thread string, steps int) (*line, error) {
	id, err := checkpoint.NewID()
	if err != nil {
		return nil, err
	}
	l := &line{saver: s, thread: thread, fence: id, head: id}
	_, err = s.Append(ctx, checkpoint.Append{
		Thread: thread, Open: &checkpoint.Opening{Holder: "bench"}, Lease: time.Hour,
		Records: []checkpoint.Record{{
			ID: id, Base: id, Line: id, Source: checkpoint.Input, Graph: "bench", Due: []checkpoint.Task{{Node: "node"}},
			Created: time.Now(), Snapshot: true, Payload: []byte{0x80},
		}},
	})
	for err == nil && l.step < steps {
		err = l.commit(ctx)
	}
	return l, err
}

var payload = make([]byte, 200)

// commit commits the next step.
func (l *line) commit(ctx context.Context) error {
	id, err := checkpoint.NewID()
	if err != nil {
		return err
	}
	_, err = l.saver.Append(ctx, checkpoint.Append{
		Thread: l.thread, After: l.head, Fence: l.fence, Lease: time.Hour,
		Records: []checkpoint.Record{{
			ID: id, Parent: l.head, Base: id, Line: l.fence, Commits: l.head, Step: l.step + 1, Source: checkpoint.Loop,
			Graph: "bench", Due: []checkpoint.Task{{Node: "node"}}, Created: time.Now(), Payload: payload,
		}},
	})
	l.head = id
	l.step++
	return err
}

// loop runs a graph of one node on a thread, for a number of steps.
func loop[S, U any](tb testing.TB, s checkpoint.Saver, thread string, steps int, schema *state.Schema[S, U], node func(S) U, step func(S) int) {
	tb.Helper()
	g := graph.New("loop", schema)
	g.Node("node", func(_ context.Context, s S) (U, error) { return node(s), nil })
	g.Edge(graph.Start, "node")
	g.Route("node", func(_ context.Context, s S) (graph.Next, error) {
		if step(s) < steps {
			return graph.To("node"), nil
		}
		return graph.To(graph.End), nil
	}, "node", graph.End)
	app, err := g.Compile(graph.Saver(s), graph.MaxSteps(2*steps))
	if err != nil {
		tb.Fatal(err)
	}
	var none U
	if _, err := app.Thread(thread).Invoke(tb.Context(), none); err != nil {
		tb.Fatal(err)
	}
}

// letters returns a text that servers cannot compress by much.
func letters(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteByte(byte(' ' + rand.IntN(95)))
	}
	return b.String()
}

// talk appends a message of 200 bytes a step.
func talk(tb testing.TB, s checkpoint.Saver, thread string, steps int) {
	tb.Helper()
	message := letters(200)
	loop(tb, s, thread, steps, savers.TalkSchema, func(s savers.Talk) (u savers.TalkUpdate) {
		u.Step.Set(s.Step + 1)
		u.Messages.Append(message)
		return u
	}, func(s savers.Talk) int { return s.Step })
}

// rewrite replaces a text of 10 kB in each step.
func rewrite(tb testing.TB, s checkpoint.Saver, thread string, steps int) {
	tb.Helper()
	loop(tb, s, thread, steps, savers.PageSchema, func(s savers.Page) (u savers.PageUpdate) {
		u.Step.Set(s.Step + 1)
		u.Text.Set(letters(10_000))
		return u
	}, func(s savers.Page) int { return s.Step })
}
