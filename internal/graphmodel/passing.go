package graphmodel

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// passing returns an interceptor that does nothing. It reports outcomes that contradict their
// errors.
func passing() graph.Interceptor {
	return graph.Interceptor{
		Step: func(ctx context.Context, _ graph.StepInfo, next func(context.Context) (graph.Status, error)) error {
			_, err := next(ctx)
			return err
		},
		Task: func(ctx context.Context, t graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
			o, err := next(ctx)
			switch o {
			case graph.OutcomeDone, graph.OutcomeWaiting, graph.OutcomePaused, graph.OutcomeReady:
				if err != nil {
					return fmt.Errorf("node %q: outcome %s with an error: %w", t.Node, o, err)
				}
			default:
				if err == nil {
					return fmt.Errorf("node %q: outcome %s without an error", t.Node, o)
				}
			}
			return err
		},
		Route: func(ctx context.Context, _ graph.RouteInfo, next func(context.Context) ([]graph.ID, error)) error {
			_, err := next(ctx)
			return err
		},
	}
}
