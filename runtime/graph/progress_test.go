package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestAnIdleNodeFails(t *testing.T) {
	reports := map[string]func(context.Context) error{
		"nothing":  func(context.Context) error { return nil },
		"Emit":     func(ctx context.Context) error { graph.Emit(ctx, 1); return nil },
		"Progress": func(ctx context.Context) error { return graph.Progress(ctx, "half") },
	}
	for name, report := range reports {
		for _, in := range []string{"node", "subgraph", "interceptor"} {
			t.Run(name+"/"+in, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newWork()
					var seen error
					slow := func(ctx context.Context, _ work) (update, error) {
						for range 2 {
							if !rest(ctx, 40*time.Second) {
								seen = ctx.Err()
								return update{}, seen
							}
							if err := report(ctx); err != nil {
								return update{}, err
							}
						}
						return logged("done"), nil
					}
					var opts []graph.Option
					switch in {
					case "subgraph":
						sub := newWork()
						sub.Node("slow", slow)
						sub.Chain(graph.Start, "slow", graph.End)
						b.Subgraph("slow", compile(t, sub, graph.SubgraphOnly()), graph.IdleTimeout(time.Minute))
					case "interceptor":
						opts = append(opts, graph.Intercept(graph.Interceptor{
							Task: func(ctx context.Context, _ graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
								_, err := next(ctx)
								return err
							},
						}))
						fallthrough
					default:
						b.Node("slow", slow, graph.IdleTimeout(time.Minute), graph.Timeout(time.Hour))
					}
					b.Chain(graph.Start, "slow", graph.End)
					_, err := compile(t, b, opts...).Run(t.Context(), logged("in"))
					if name != "nothing" {
						if err != nil {
							t.Error(err)
						}
						return
					}
					var node *graph.NodeError
					if !errors.As(err, &node) || !errors.Is(err, graph.ErrIdleTimeout) || !errors.Is(err, context.DeadlineExceeded) {
						t.Fatalf("got %v, want ErrIdleTimeout", err)
					}
					if seen == nil || !strings.Contains(err.Error(), "its IdleTimeout of 1m0s has passed") {
						t.Errorf("got %v, the node saw %v", err, seen)
					}
				})
			})
		}
	}
}

func TestIdleTimeoutIsChecked(t *testing.T) {
	b := newWork()
	b.Node("a", func(context.Context, work) (update, error) { return update{}, nil }, graph.IdleTimeout(0))
	b.Chain(graph.Start, "a", graph.End)
	same(t, "faults", faults(t, b), []string{`node "a": its IdleTimeout is 0s; want more than 0`})
}

// paging is a graph whose node fails after it has reported a page. Each attempt begins after the
// page that the last one reported. The attempts are noted in begun.
func paging(begun *[]string, opts ...graph.NodeOption) *graph.Builder[work, update] {
	b := newWork()
	b.Node("read", func(ctx context.Context, _ work) (update, error) {
		last, ok := graph.LastProgress(ctx)
		*begun = append(*begun, fmt.Sprint(last, ok))
		if err := graph.Progress(ctx, last+"x"); err != nil {
			return update{}, err
		}
		if len(last) == 2 {
			return logged(last), nil
		}
		return update{}, errors.New("broken")
	}, opts...)
	b.Node("after", func(ctx context.Context, _ work) (update, error) {
		last, ok := graph.LastProgress(ctx)
		*begun = append(*begun, fmt.Sprint(last, ok))
		return update{}, nil
	})
	b.Chain(graph.Start, "read", "after", graph.End)
	return b
}

func TestTheNextAttemptGetsTheLastProgress(t *testing.T) {
	want := []string{"false", "xtrue", "xxtrue", "false"}
	t.Run("in one run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var begun []string
			g := compile(t, paging(&begun, graph.Retry(graph.RetryPolicy{Attempts: 3})))
			done(t, graph.Done)(g.Run(t.Context(), logged("in")))
			same(t, "attempts", begun, want)
		})
	})
	for name, wrap := range map[string]func(*testing.T, *graph.Builder[work, update]) *graph.Builder[work, update]{
		"node": func(_ *testing.T, b *graph.Builder[work, update]) *graph.Builder[work, update] { return b },
		"subgraph": func(t *testing.T, b *graph.Builder[work, update]) *graph.Builder[work, update] {
			t.Helper()
			around := newWork()
			around.Subgraph("sub", compile(t, b, graph.SubgraphOnly()))
			around.Chain(graph.Start, "sub", graph.End)
			return around
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				var begun []string
				th := compile(t, wrap(t, paging(&begun)), graph.Saver(memory.New()), d).Thread("t")
				if _, err := th.Invoke(t.Context(), logged("in")); err == nil {
					t.Fatal("the first attempt succeeded")
				}
				if name == "node" {
					same(t, "shown", snapshot(t, th).Tasks[0].Progress, "x")
				}
				if _, err := th.Resume(t.Context()); err == nil {
					t.Fatal("the second attempt succeeded")
				}
				done(t, graph.Done)(th.Resume(t.Context()))
				same(t, "attempts", begun, want)
			})
		})
	}
	t.Run("Rerun", func(t *testing.T) {
		var begun []string
		th := compile(t, paging(&begun), graph.Saver(memory.New())).Thread("t")
		_, _ = th.Invoke(t.Context(), logged("in"))
		_, _ = th.Resume(t.Context(), graph.Rerun("read"))
		same(t, "attempts", begun, []string{"false", "false"})
	})
}

// TestARenewalOfTheLeaseStoresProgress looks at the thread while its node runs, as after a crash.
func TestARenewalOfTheLeaseStoresProgress(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async} {
		synctest.Test(t, func(t *testing.T) {
			s, b := memory.New(), newWork()
			b.Node("slow", func(ctx context.Context, _ work) (update, error) {
				if last, ok := graph.LastProgress(ctx); ok {
					return logged(last), nil
				}
				rest(ctx, 100*time.Millisecond) // no note comes at the moment of a renewal
				for i := range 60 {
					if err := graph.Progress(ctx, fmt.Sprint("second ", i)); err != nil {
						return update{}, err
					}
					if !rest(ctx, time.Second) {
						return update{}, ctx.Err()
					}
				}
				return update{}, nil
			})
			b.Chain(graph.Start, "slow", graph.End)
			g, other := compile(t, b, graph.Saver(s), d), compile(t, b, graph.Saver(s), d)
			time.AfterFunc(5500*time.Millisecond, func() {
				same(t, "shown", snapshot(t, other.Thread("t")).Tasks[0].Progress, "second 4")
				res := done(t, graph.Done)(other.Thread("t").Resume(t.Context(), graph.TakeOver()))
				same(t, "log", res.State.Log, []string{"in", "second 4"})
			})
			if _, err := g.Thread("t").Invoke(t.Context(), logged("in")); err == nil {
				t.Error("the first run ended without an error")
			}
		})
	}
}

func TestALongNoteOfProgressIsRefused(t *testing.T) {
	b := newWork()
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		long := graph.Progress(ctx, strings.Repeat("x", graph.MaxProgress+1))
		if _, ok := graph.LastProgress(ctx); ok {
			t.Error("the long note was kept")
		}
		return update{}, errors.Join(long, graph.Progress(ctx, strings.Repeat("x", graph.MaxProgress)))
	})
	b.Chain(graph.Start, "a", graph.End)
	if _, err := compile(t, b).Run(t.Context(), logged("in")); !errors.Is(err, graph.ErrProgressTooLong) {
		t.Errorf("got %v, want ErrProgressTooLong", err)
	}
	if err := graph.Progress(t.Context(), "in no node"); err != nil {
		t.Error(err)
	}
}
