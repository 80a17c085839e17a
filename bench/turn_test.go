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
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// dialogue is a conversation. Each Invoke adds a message of 200 bytes, and a node answers with an
// empty update.
type dialogue struct {
	app    *graph.Graph[flow.Conversation, flow.ConversationUpdate]
	thread graph.Thread[flow.Conversation, flow.ConversationUpdate]
	text   string
	n      int
}

// begin begins a conversation and takes turns until it has `over` of them.
func (c *dialogue) begin(b *testing.B, id string, over int) {
	b.Helper()
	c.thread, c.n = c.app.Thread(id), 0
	for c.n < over {
		c.turn(b)
	}
}

// turn takes a turn and returns how long that took.
func (c *dialogue) turn(b *testing.B) time.Duration {
	b.Helper()
	var in flow.ConversationUpdate
	in.Messages.Append(flow.Message{ID: fmt.Sprintf("m%04d", c.n), Role: "user", Text: c.text})
	c.n++
	start := time.Now()
	_, err := c.thread.Invoke(b.Context(), in)
	d := time.Since(start)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// BenchmarkTurn takes turns 11 to 20 of ten short conversations and turns 1,001 to 1,100 of a
// long one. The turns alternate. A figure is the median. Without hot threads, each turn reads the
// long conversation.
func BenchmarkTurn(b *testing.B) {
	for _, c := range []struct {
		name string
		open func(b *testing.B) (checkpoint.Saver, error)
		opts []graph.Option
	}{
		{"memory", func(*testing.B) (checkpoint.Saver, error) { return memory.New(), nil }, nil},
		{"memory, shared state", func(*testing.B) (checkpoint.Saver, error) { return memory.New(), nil }, []graph.Option{graph.SharedState()}},
		{"memory, cold", func(*testing.B) (checkpoint.Saver, error) { return memory.New(), nil }, []graph.Option{graph.HotThreads(0)}},
		{"file", func(b *testing.B) (checkpoint.Saver, error) {
			b.Helper()
			return file.Open(b.TempDir())
		}, nil},
		{"sqlite", func(b *testing.B) (checkpoint.Saver, error) {
			b.Helper()
			return sqlite.Open(filepath.Join(b.TempDir(), "db"))
		}, nil},
		{"sqlite, normal", func(b *testing.B) (checkpoint.Saver, error) {
			b.Helper()
			return sqlite.Open(filepath.Join(b.TempDir(), "db"), sqlite.Synchronous(sqlite.Normal))
		}, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			saver, err := c.open(b)
			if err != nil {
				b.Fatal(err)
			}
			defer saver.Close()
			build := graph.New("turn", flow.ConversationSchema)
			build.Node("answer", func(context.Context, flow.Conversation) (flow.ConversationUpdate, error) {
				return flow.ConversationUpdate{}, nil
			})
			build.Edge(graph.Start, "answer")
			build.Edge("answer", graph.End)
			app, err := build.Compile(append(c.opts, graph.Saver(saver))...)
			if err != nil {
				b.Fatal(err)
			}
			short, long := &dialogue{app: app, text: strings.Repeat("x", 180)}, &dialogue{app: app, text: strings.Repeat("x", 180)}
			long.begin(b, "long", 1000)
			var early, late []time.Duration
			for i := 0; b.Loop(); i++ {
				if i >= 10 {
					continue // keeps the long conversation about as long
				}
				short.begin(b, fmt.Sprint("short", i), 10)
				for range 10 {
					early = append(early, short.turn(b))
					late = append(late, long.turn(b))
				}
			}
			b.ReportMetric(float64(median(early)), "ns/turn-10")
			b.ReportMetric(float64(median(late)), "ns/turn-1000")
			b.ReportMetric(0, "ns/op")
		})
	}
}
