package howto

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// userKey is the key of the user in a context.
type userKey struct{}

// WithUser returns a context on behalf of a user.
func WithUser(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// ErrNotAllowed is the error of a task that its user must not run.
var ErrNotAllowed = errors.New("the user may not do this")

// authorise refuses tasks of the node pay, unless a clerk runs the graph.
func authorise(clerks map[string]bool) graph.Interceptor {
	return graph.Interceptor{
		Task: func(ctx context.Context, t graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
			user, _ := ctx.Value(userKey{}).(string)
			if t.Node == "pay" && !clerks[user] {
				return fmt.Errorf("%w: %q", ErrNotAllowed, user)
			}
			_, err := next(ctx)
			return err
		},
	}
}

// Audit has the runs of a graph report each update, with the key of its task.
func Audit(g *graph.Builder[State, StateUpdate], report func(key string, node graph.ID, u StateUpdate)) {
	g.OnUpdate(func(ctx context.Context, t graph.TaskInfo, _ State, u StateUpdate) error {
		report(graph.CurrentTask(ctx).Key, t.Node, u)
		return nil
	})
}

// users carries the user of a thread to the process that continues it.
type users struct{}

// Inject implements graph.Propagator.
func (users) Inject(ctx context.Context) map[string]string {
	if user, ok := ctx.Value(userKey{}).(string); ok {
		return map[string]string{"user": user}
	}
	return nil
}

// Extract implements graph.Propagator. The user of a call counts more than the stored one.
func (users) Extract(ctx context.Context, stored map[string]string) context.Context {
	if user, ok := stored["user"]; ok && ctx.Value(userKey{}) == nil {
		return WithUser(ctx, user)
	}
	return ctx
}

// NewPayments returns a graph that pays on behalf of clerks, and writes a log.
func NewPayments(saver checkpoint.Saver, logger *slog.Logger, clerks map[string]bool) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("payments", StateSchema)
	g.Node("pay", func(ctx context.Context, s State) (StateUpdate, error) {
		var u StateUpdate
		u.Paid.Set(true)
		return u, nil
	})
	g.Edge(graph.Start, "pay")
	g.Edge("pay", graph.End)
	return g.Compile(graph.Saver(saver), graph.Log(logger), graph.Intercept(authorise(clerks)), graph.Propagate(users{}))
}
