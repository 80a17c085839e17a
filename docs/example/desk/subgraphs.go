package desk

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// Letter is the state of a graph of its own.
type Letter struct {
	To    string
	Lines []string `graph:"append"`
}

// newLetters is a graph over Letter. It asks before it writes, and uses the saver of the graph that it is in.
func newLetters() (*graph.Graph[Letter, LetterUpdate], error) {
	g := graph.New("letters", LetterSchema)
	g.Node("write", func(ctx context.Context, l Letter) (LetterUpdate, error) {
		answer, err := refund.Ask(ctx, Refund{Order: l.To})
		return LetterUpdate{Lines: state.Append("Dear "+l.To, "Yours, "+answer.By)}, err
	}, refund)
	g.Edge(graph.Start, "write")
	g.Edge("write", graph.End)
	return g.Compile(graph.Nested())
}

// NewOffice is a graph of which one node is another graph.
func NewOffice(saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	letters, err := newLetters()
	if err != nil {
		return nil, err
	}
	g := graph.New("office", StateSchema)
	graph.Subgraph(g, "letter", letters,
		func(_ context.Context, s State) (LetterUpdate, error) {
			return LetterUpdate{To: state.Set(s.Order)}, nil
		},
		func(_ context.Context, _ State, l Letter) (StateUpdate, error) {
			return StateUpdate{Log: state.Append(l.Lines...)}, nil
		})
	g.Edge(graph.Start, "letter")
	g.Edge("letter", graph.End)
	return g.Compile(graph.Saver(saver))
}
