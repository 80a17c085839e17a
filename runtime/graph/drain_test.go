package graph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestADrainOfAThreadEndsOnlyItsRun(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memory.New(), newWork()
			for _, id := range []graph.ID{"a", "b"} {
				b.Node(id, func(ctx context.Context, _ work) (update, error) {
					if !rest(ctx, 2*time.Second) {
						return update{}, ctx.Err()
					}
					return logged(string(id)), nil
				})
			}
			b.Chain(graph.Start, "a", "b", graph.End)
			g := compile(t, b, graph.Saver(s), d)
			ended := make(map[string]graph.Status)
			other := make(chan graph.Status)
			go func() {
				res, err := g.Thread("other").Invoke(t.Context(), logged("in"))
				if err != nil {
					t.Error(err)
				}
				other <- res.Status
			}()
			waits := make(chan error)
			time.AfterFunc(time.Second, func() {
				go func() {
					_, err := g.Thread("t").Resume(t.Context(), graph.Wait())
					waits <- err
				}()
				synctest.Wait()
				short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				if err := g.Thread("t").Drain(short); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a short drain: got %v, want the error of its context", err)
				}
				if _, err := g.Thread("t").Invoke(t.Context(), logged("more")); !errors.Is(err, graph.ErrDraining) {
					t.Errorf("a call during the drain: got %v, want ErrDraining", err)
				}
				if err := g.Thread("t").Drain(t.Context()); err != nil {
					t.Error(err)
				}
				ended["t"] = snapshot(t, g.Thread("t")).Status
			})
			res, err := g.Thread("t").Invoke(t.Context(), logged("in"))
			if err != nil || res.Status != graph.Ready {
				t.Errorf("got %s, %v; want Ready", res.Status, err)
			}
			same(t, "log", res.State.Log, []string{"in", "a"})
			if err := <-waits; !errors.Is(err, graph.ErrDraining) {
				t.Errorf("a call that waited: got %v, want ErrDraining", err)
			}
			same(t, "the other thread", <-other, graph.Done)
			synctest.Wait()
			same(t, "status after the drain", ended["t"], graph.Ready)
			done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
			if err := g.Thread("t").Drain(t.Context()); err != nil {
				t.Errorf("a drain without a run: %v", err)
			}
		})
	})
}

// TestADrainOfAThreadEndsARunThatWaitsInMemory drains a run that sleeps for less than its lease.
func TestADrainOfAThreadEndsARunThatWaitsInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWork()
		b.Node("sleep", func(ctx context.Context, _ work) (update, error) {
			return logged("slept"), graph.Sleep(ctx, 10*time.Second)
		})
		b.Chain(graph.Start, "sleep", graph.End)
		th := compile(t, b, graph.Saver(memory.New())).Thread("t")
		began := time.Now()
		time.AfterFunc(time.Second, func() {
			if err := th.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		})
		res, err := th.Invoke(t.Context(), logged("in"))
		if err != nil || res.Status != graph.Waiting || time.Since(began) >= 10*time.Second {
			t.Errorf("got %s, %v after %s; want Waiting before the sleep is over", res.Status, err, time.Since(began))
		}
	})
}
