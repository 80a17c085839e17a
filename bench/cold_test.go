package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// BenchmarkColdTurn restores a conversation of 1,000 turns, one message of 200 bytes each. It
// does so as a process that has not run the conversation before: a load, and the deltas. The
// floor is decoding the state.
func BenchmarkColdTurn(b *testing.B) {
	const turns = 1000
	saver, err := sqlite.Open(filepath.Join(b.TempDir(), "threads.db"), sqlite.Synchronous(sqlite.Normal))
	if err != nil {
		b.Fatal(err)
	}
	build := graph.New("turns", flow.ConversationSchema)
	build.Node("talk", func(_ context.Context, s flow.Conversation) (u flow.ConversationUpdate, err error) {
		u.Messages.Append(flow.Message{ID: fmt.Sprintf("m%04d", len(s.Messages)), Role: "assistant", Text: strings.Repeat("m", 200)})
		return u, nil
	})
	build.Edge(graph.Start, "talk")
	build.Edge("talk", graph.End)
	app, err := build.Compile(graph.Saver(saver))
	if err != nil {
		b.Fatal(err)
	}
	for range turns {
		if _, err := app.Thread("t").Invoke(b.Context(), flow.ConversationUpdate{}); err != nil {
			b.Fatal(err)
		}
	}
	least := [3]time.Duration{time.Hour, time.Hour, time.Hour}
	var c checkpoint.Chain
	measure := func(i int, f func() error) {
		start := time.Now()
		err := f()
		least[i] = min(least[i], time.Since(start))
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		measure(0, func() (err error) {
			c, err = saver.Load(b.Context(), checkpoint.Ref{Thread: "t"})
			return err
		})
		restored := flow.ConversationSchema.New(cell.Options{})
		measure(1, func() error {
			err := restored.Decode(c.Snapshot)
			for i := 0; i < len(c.Deltas) && err == nil; i++ {
				err = restored.Apply(c.Deltas[i])
			}
			return err
		})
		state, err := restored.AppendSnapshot(nil)
		if err != nil || len(restored.View().Messages) != turns {
			b.Fatalf("got %d messages, %v; want %d", len(restored.View().Messages), err, turns)
		}
		floor := flow.ConversationSchema.New(cell.Options{})
		measure(2, func() error { return floor.Decode(state) })
	}
	b.ReportMetric(float64(least[0]), "load-ns")
	b.ReportMetric(float64(least[1]), "restore-ns")
	b.ReportMetric(float64(least[2]), "floor-ns")
	b.ReportMetric(float64(len(c.Deltas)), "deltas")
	b.ReportMetric(0, "ns/op")
	if err := saver.Close(); err != nil {
		b.Error(err)
	}
}
