package bench

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// turns is the number of messages that one run of the loop appends.
const turns = 1000

var message = strings.Repeat("x", 180)

// say appends a message of 200 bytes, as a step of a conversation does. It allocates the list of
// that message.
func say(_ context.Context, s flow.Conversation) (u flow.ConversationUpdate, err error) {
	u.Step.Set(s.Step + 1)
	u.Messages.Append(flow.Message{ID: "m0000", Role: "assistant", Text: message})
	return u, nil
}

func sayOn(_ context.Context, s flow.Conversation) (graph.Next, error) {
	if len(s.Messages) < turns {
		return graph.To("say"), nil
	}
	return graph.To(graph.End), nil
}

func talk(tb testing.TB, opts ...graph.Option) *graph.Graph[flow.Conversation, flow.ConversationUpdate] {
	tb.Helper()
	g := graph.New("talk", flow.ConversationSchema)
	g.Node("say", say)
	g.Edge(graph.Start, "say")
	g.Route("say", sayOn, "say", graph.End)
	app, err := g.Compile(append(opts, graph.MaxSteps(2*turns))...)
	if err != nil {
		tb.Fatal(err)
	}
	return app
}

// BenchmarkLoop is a loop of one node that appends a message a step. One op is a run of 1,000
// steps.
func BenchmarkLoop(b *testing.B) {
	ctx := context.Background()
	// loop calls the node and merges its update. It calls store after each step.
	loop := func(b *testing.B, opts cell.Options, store func(l cell.Live[flow.Conversation, flow.ConversationUpdate]) error) {
		b.Helper()
		b.ReportAllocs()
		for b.Loop() {
			l := flow.ConversationSchema.New(opts)
			var u flow.ConversationUpdate
			var err error
			for range turns {
				if u, err = say(ctx, l.View()); err == nil {
					err = l.Merge(0, &u)
				}
				l.EndStep()
				if err == nil && store != nil {
					err = store(l)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		perTurn(b)
	}
	b.Run("baseline calls and merges", func(b *testing.B) { loop(b, cell.Options{}, nil) })
	b.Run("graphgen", func(b *testing.B) {
		app := talk(b)
		b.ReportAllocs()
		for b.Loop() {
			if res, err := app.Run(ctx, flow.ConversationUpdate{}); err != nil || len(res.State.Messages) != turns {
				b.Fatal(len(res.State.Messages), err)
			}
		}
		perTurn(b)
	})
	b.Run("baseline calls, merges and copies of deltas", func(b *testing.B) {
		var buf []byte
		var log [][]byte
		loop(b, cell.Options{Record: true}, func(l cell.Live[flow.Conversation, flow.ConversationUpdate]) (err error) {
			buf, err = l.AppendDelta(buf[:0])
			if len(log) == turns {
				log = log[:0]
			}
			log = append(log, slices.Clone(buf))
			return err
		})
	})
	b.Run("graphgen memory saver", func(b *testing.B) {
		saver := memory.New()
		app := talk(b, graph.Saver(saver))
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			// A new thread: a run on a deleted one would start from its head in memory.
			thread := strconv.Itoa(n)
			if res, err := app.Thread(thread).Invoke(ctx, flow.ConversationUpdate{}); err != nil || len(res.State.Messages) != turns {
				b.Fatal(len(res.State.Messages), err)
			}
			if err := saver.Delete(ctx, thread); err != nil {
				b.Fatal(err)
			}
		}
		perTurn(b)
	})
}

func perTurn(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*turns), "ns/step")
}
