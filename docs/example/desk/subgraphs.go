package desk

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// Letter is the state of the subgraph.
type Letter struct {
	To    string
	Lines []string `graph:"append"`
}

// newLetters returns a graph over Letter that asks before it writes. It uses the saver of its
// parent.
func newLetters() (*graph.Graph[Letter, LetterUpdate], error) {
	g := graph.New("letters", LetterSchema)
	g.Node("write", func(ctx context.Context, l Letter) (LetterUpdate, error) {
		answer, err := refund.Ask(ctx, Refund{Order: l.To})
		return LetterUpdate{Lines: state.Append("Dear "+l.To, "Yours, "+answer.By)}, err
	}, refund)
	g.Edge(graph.Start, "write")
	g.Edge("write", graph.End)
	return g.Compile(graph.SubgraphOnly())
}

// NewOffice returns a graph with a subgraph over another state.
func NewOffice(saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	letters, err := newLetters()
	if err != nil {
		return nil, err
	}
	g := graph.New("office", StateSchema)
	graph.MapSubgraph(g, "letter", letters,
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

// NewMailing returns a graph that writes a letter for each name: each send runs a subgraph.
func NewMailing(saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	letters, err := newLetters()
	if err != nil {
		return nil, err
	}
	g := graph.New("mailing", StateSchema)
	letter := graph.TaskSubgraph(g, "letter", letters,
		func(_ context.Context, _ State, d Doc) (LetterUpdate, error) {
			return LetterUpdate{To: state.Set(d.Name)}, nil
		},
		func(_ context.Context, _ State, d Doc, l Letter) (StateUpdate, error) {
			return StateUpdate{Log: state.Append(l.Lines...)}, nil
		})
	g.Route(graph.Start, func(_ context.Context, s State) (graph.Next, error) {
		var next graph.Next
		for _, name := range s.Names {
			next.Add(letter.Send(Doc{Name: name}))
		}
		return next, nil
	}, letter.ID)
	g.Edge(letter.ID, graph.End)
	return g.Compile(graph.Saver(saver))
}

// newChecks returns a graph over the state of its parent. It chooses the next nodes of the parent.
func newChecks() (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("checks", StateSchema)
	g.Node("look", func(_ context.Context, s State) (StateUpdate, error) {
		return StateUpdate{Log: state.Append("looked for " + s.Order)}, nil
	})
	g.Route("look", func(_ context.Context, s State) (graph.Next, error) {
		if s.Found[s.Order] == "" {
			return graph.ToParent(graph.To("person")), nil
		}
		return graph.ToParent(graph.To("reply")), nil
	}, graph.Parent)
	g.Edge(graph.Start, "look")
	return g.Compile(graph.SubgraphOnly())
}

// NewCounter returns a graph with a subgraph over the same state.
func NewCounter() (*graph.Graph[State, StateUpdate], error) {
	checks, err := newChecks()
	if err != nil {
		return nil, err
	}
	g := graph.New("counter", StateSchema)
	g.Subgraph("checks", checks, graph.Targets("person", "reply"))
	for _, id := range []graph.ID{"person", "reply"} {
		g.Node(id, func(_ context.Context, s State) (StateUpdate, error) {
			return StateUpdate{Log: state.Append(string(id) + " has it")}, nil
		})
		g.Edge(id, graph.End)
	}
	g.Edge(graph.Start, "checks")
	return g.Compile()
}

// Tree returns a line for each checkpoint of a thread of NewOffice and of its letters, newest
// first.
func Tree(ctx context.Context, t graph.Thread[State, StateUpdate]) ([]string, error) {
	letters, err := newLetters()
	if err != nil {
		return nil, err
	}
	var lines []string
	for snap, err := range t.History(ctx, checkpoint.Query{}) {
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("step %d, next %v", snap.Step, snap.Next))
		for _, call := range snap.Calls {
			for snap, err := range graph.Inside(t, call, letters).History(ctx, checkpoint.Query{}) {
				if err != nil {
					return nil, err
				}
				lines = append(lines, fmt.Sprintf("  %s: step %d, next %v", call.Node, snap.Step, snap.Next))
			}
		}
	}
	return lines, nil
}
