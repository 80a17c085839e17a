package graph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// parts are values that a program hands to a graph and keeps.
type parts struct {
	Messages []ref.Message
	Docs     []ref.Doc
	Vector   []float64
	Labels   map[string]string
	Facts    map[string]ref.Fact
	Log      []string
	Plan     ref.PlanEdit
}

func someParts(name string) parts {
	p := parts{
		Vector: []float64{1, 2}, Labels: map[string]string{"of": name}, Facts: map[string]ref.Fact{name: {Source: name}}, Log: []string{name},
		Docs: []ref.Doc{{Title: name, Pages: []string{"1", "2"}}}, Plan: ref.PlanEdit{Goal: name, Step: name},
	}
	for i := range 12 {
		p.Messages = append(p.Messages, ref.Message{
			ID: fmt.Sprint(name, i), Text: name, Calls: []ref.ToolCall{{ID: name, Args: []byte(name)}},
		})
	}
	return p
}

func (p *parts) update() (u ref.EverythingUpdate) {
	u.Messages.Upsert(p.Messages...)
	u.Docs.Append(p.Docs...)
	u.Vector.Set(p.Vector)
	u.Labels.Set(p.Labels)
	u.Facts.Merge(p.Facts)
	u.Log.Append(p.Log...)
	u.Plan.Reduce(p.Plan)
	u.Cache.Set(&ref.Cache{Hits: 1})
	return u
}

// TestWritesToWhatUserCodeKeepsDoNotReachTheNextTurn writes, between turns, through all that a
// caller, a node and a reader of events hold. The thread is that of a graph which keeps nothing in
// memory and whose parts nobody writes to.
func TestWritesToWhatUserCodeKeepsDoNotReachTheNextTurn(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		var kept []func() // write to what user code holds
		app := func(s checkpoint.Saver, writes bool, opts ...graph.Option) graph.Thread[ref.Everything, ref.EverythingUpdate] {
			keep := func(write func()) {
				if writes {
					kept = append(kept, write)
				}
			}
			b := graph.New("g", ref.EverythingSchema)
			b.Node("a", func(_ context.Context, s ref.Everything) (ref.EverythingUpdate, error) {
				p := someParts(fmt.Sprint("a", len(s.Log)))
				u := p.update()
				keep(func() { goldentest.Scramble(&p); goldentest.Scramble(&s) })
				return u, nil
			})
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			g, err := b.Compile(append(opts, graph.Saver(s), d)...)
			if err != nil {
				t.Fatal(err)
			}
			return g.Thread("t")
		}
		hot, cold := app(memory.New(), true), app(memory.New(), false, graph.HotThreads(0))
		for turn := range 4 {
			p := someParts(fmt.Sprint("in", turn))
			for ev, err := range hot.Stream(t.Context(), p.update(), graph.Events(graph.EventState|graph.EventUpdate)) {
				if err != nil {
					t.Fatal(err)
				}
				if ev.Kind == graph.EventRunEnded {
					kept = append(kept, func() { goldentest.Scramble(&ev.Result.State) })
				} else {
					kept = append(kept, func() { goldentest.Scramble(&ev.State); goldentest.Scramble(&ev.Update) })
				}
			}
			other := someParts(fmt.Sprint("in", turn))
			want, err := cold.Invoke(t.Context(), other.update())
			if err != nil {
				t.Fatal(err)
			}
			got, err := hot.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if fields := state.FieldNames(ref.EverythingSchema.Diff(want.State, got.State)); fields != nil {
				t.Fatalf("turn %d: the thread differs in %v", turn, fields)
			}
			kept = append(kept, func() { goldentest.Scramble(&got.State) })
			again, err := hot.Resume(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, func() { goldentest.Scramble(&again.State) })
			goldentest.Scramble(&p)
			for _, write := range kept {
				write()
			}
		}
	})
}
