package howto

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

const (
	chunkSize = 500 // items of one task: what a crash can repeat
	atOnce    = 10  // chunks of one superstep
)

// NewImport returns a graph that processes the items from 0 to Total.
func NewImport(process func(ctx context.Context, item int) error, saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("import", StateSchema)
	work := graph.TaskNode(g, "work", func(ctx context.Context, _ State, c Chunk) (StateUpdate, error) {
		var u StateUpdate
		for item := c.From; item < c.To; item++ {
			if err := ctx.Err(); err != nil {
				return u, err
			}
			if err := process(ctx, item); err != nil {
				u.Rejected.Append(item) // one bad item does not stop the others
				continue
			}
			u.Accepted.Add(1)
		}
		return u, nil
	}, graph.Writes("Accepted", "Rejected"))
	g.RoutingNode("split", func(_ context.Context, s State) (StateUpdate, graph.Next, error) {
		if s.Cursor >= s.Total {
			return StateUpdate{}, graph.To(graph.End), nil
		}
		var next graph.Next
		from := s.Cursor
		for range atOnce {
			if from >= s.Total {
				break
			}
			to := min(from+chunkSize, s.Total)
			next.Add(work.Send(Chunk{From: from, To: to}))
			from = to
		}
		var u StateUpdate
		u.Cursor.Set(from)
		return u, next, nil
	}, graph.Targets(work.ID, graph.End))
	g.Edge(graph.Start, "split")
	g.Edge(work.ID, "split") // fires once, when all chunks of the superstep are done
	return g.Compile(graph.Saver(saver))
}
