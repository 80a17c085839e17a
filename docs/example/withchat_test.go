package example

import (
	"testing"

	"github.com/graphgen-go/graphgen/docs/example/chat"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

func TestComposedStateOfTheManual(t *testing.T) {
	b := graph.New("agent", AgentSchema)
	b.Node("shorten", shorten)
	b.Chain(graph.Start, "shorten", graph.End)
	g, err := b.Compile()
	if err != nil {
		t.Fatal(err)
	}
	in := AgentUpdate{Messages: state.Upsert[string](chat.Message{ID: "1", Text: "long"}), Tokens: state.Add[int64](1)}
	got, err := g.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	s := got.State
	if len(s.Messages.Messages) != 1 || s.Messages.Messages[0].Text != "shorter" || s.Topics[0] != "style" || s.Tokens != 43 || !s.Done {
		t.Errorf("the run ends with %+v", s)
	}
}

// TestPartOfTheManual runs a node over a part.
func TestPartOfTheManual(t *testing.T) {
	g, err := NewEditor()
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.Run(t.Context(), AgentUpdate{Messages: state.Upsert[string](chat.Message{ID: "1", Text: "long"})})
	if err != nil {
		t.Fatal(err)
	}
	if s := got.State; len(s.Messages.Messages) != 1 || s.Messages.Messages[0].Text != "short" || !s.Done {
		t.Errorf("the run ends with %+v", s)
	}
}

// TestUnionOfTheManual stores a member of a union of another package.
func TestUnionOfTheManual(t *testing.T) {
	s, err := state.Apply(AgentSchema, Agent{}, AgentUpdate{Sources: state.Append[chat.Source](chat.File("a.txt"), &chat.Page{URL: "b"})})
	if err != nil {
		t.Fatal(err)
	}
	if copied := AgentSchema.Clone(s); len(AgentSchema.Diff(s, copied)) > 0 || copied.Sources[1] == s.Sources[1] {
		t.Errorf("Clone returned %+v of %+v", copied, s)
	}
}
