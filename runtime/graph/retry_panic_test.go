package graph_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestAPanicIsRetriedOnlyOnRequest: only a policy with an If that accepts the *PanicError retries
// a panic, by rule 11.4. The node panics twice and then succeeds.
func TestAPanicIsRetriedOnlyOnRequest(t *testing.T) {
	isPanic := func(err error) bool { return errors.As(err, new(*graph.PanicError)) }
	for name, c := range map[string]struct {
		policies []graph.RetryPolicy
		attempts int32
	}{
		"every error":      {[]graph.RetryPolicy{{Attempts: 5, Base: 1}}, 1},
		"another error":    {[]graph.RetryPolicy{{Attempts: 5, Base: 1, If: func(err error) bool { return errors.Is(err, errBroken) }}}, 1},
		"panics":           {[]graph.RetryPolicy{{Attempts: 5, Base: 1, If: isPanic}}, 3},
		"panics, then all": {[]graph.RetryPolicy{{Attempts: 5, Base: 1, If: isPanic}, {Attempts: 2}}, 3},
		"never panics":     {[]graph.RetryPolicy{{If: isPanic}, {Attempts: 5, Base: 1, If: func(error) bool { return true }}}, 1},
		"too often":        {[]graph.RetryPolicy{{Attempts: 2, Base: 1, If: isPanic}}, 2},
	} {
		for kind, build := range panicking() {
			t.Run(fmt.Sprint(name, "/", kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var ran atomic.Int32
					s := memory.New()
					g := build(t, s, func(context.Context, work) (update, error) {
						if ran.Add(1) < 3 {
							panic("bang")
						}
						return update{}, nil
					}, graph.Retry(c.policies...))
					_, err := serving(g, s).invoke(t, g.Thread("t"))
					same(t, "attempts", ran.Load(), c.attempts)
					if want := c.attempts < 3; isPanic(err) != want || (err != nil) != want {
						t.Errorf("got error %v, want the panic: %t", err, want)
					}
				})
			})
		}
	}
}

// panicking returns graphs whose node f is retried: itself, as a part of a subgraph, and in a
// worker of a queue.
func panicking() map[string]func(*testing.T, checkpoint.Saver, func(context.Context, work) (update, error), graph.NodeOption) *app {
	type node = func(context.Context, work) (update, error)
	return map[string]func(*testing.T, checkpoint.Saver, node, graph.NodeOption) *app{
		"a node": func(t *testing.T, s checkpoint.Saver, f node, retry graph.NodeOption) *app {
			t.Helper()
			b := newWork()
			b.Node("n", f, retry)
			return compile(t, line(b, "n"), graph.Saver(s))
		},
		"a subgraph": func(t *testing.T, s checkpoint.Saver, f node, retry graph.NodeOption) *app {
			t.Helper()
			inner, b := newWork(), newWork()
			inner.Node("n", f)
			b.Subgraph("sub", compile(t, line(inner, "n"), graph.SubgraphOnly()), retry)
			return compile(t, line(b, "sub"), graph.Saver(s))
		},
		"a queue": func(t *testing.T, s checkpoint.Saver, f node, retry graph.NodeOption) *app {
			t.Helper()
			return queued(t, f, s, nil, retry)
		},
	}
}
