package journal_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// appending is a saver whose Append after the opening is a function of the test.
type appending struct {
	checkpoint.Saver
	append func(ctx context.Context) error
}

func (a *appending) Append(ctx context.Context, in checkpoint.Append) (checkpoint.AppendResult, error) {
	if in.Open != nil {
		return a.Saver.Append(ctx, in)
	}
	return checkpoint.AppendResult{}, a.append(ctx)
}

// commitOn opens a run on a saver that appends by the given function, and commits a record under
// ctx.
func commitOn(t *testing.T, ctx context.Context, appends func(ctx context.Context) error) error { //nolint:revive // the run's
	t.Helper()
	s := newSpy()
	s.Saver = &appending{s.Saver, appends}
	sc := begin(t, s, journal.NewSync(config(s)))
	defer sc.log.Close()
	return sc.root.Commit(ctx, sc.next(sc.root, 1), nil, journal.Change{})
}

func TestACallOfASaverEndsAtItsTimeout(t *testing.T) {
	for name, until := range map[string]func(ctx context.Context){
		"by Done":              func(ctx context.Context) { <-ctx.Done() },
		"by a derived context": func(ctx context.Context) { c, cancel := context.WithCancel(ctx); defer cancel(); <-c.Done() },
		"by AfterFunc": func(ctx context.Context) {
			over := make(chan struct{})
			context.AfterFunc(ctx, func() { close(over) })
			<-over
		},
		"by Err": func(ctx context.Context) {
			for ctx.Err() == nil {
				time.Sleep(time.Second)
			}
		},
		"by Deadline": func(ctx context.Context) {
			at, ok := ctx.Deadline()
			if !ok {
				t.Error("a call has no deadline")
			}
			time.Sleep(time.Until(at))
		},
		"late by Done": func(ctx context.Context) { time.Sleep(time.Hour); <-ctx.Done() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				took := time.Duration(0)
				err := commitOn(t, t.Context(), func(ctx context.Context) error {
					until(ctx)
					took = time.Since(began)
					return ctx.Err()
				})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
				}
				if want := time.Minute; took != want && name != "late by Done" {
					t.Errorf("the call ended after %v, want %v", took, want)
				}
			})
		})
	}
}

type valueKey struct{}

func TestACallOfASaverOutlivesItsRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), valueKey{}, "value"))
	cancel(errDown)
	for name, first := range map[string]func(ctx context.Context){
		"before Done": func(context.Context) {},
		"after Done":  func(ctx context.Context) { ctx.Done() },
	} {
		t.Run(name, func(t *testing.T) {
			err := commitOn(t, ctx, func(ctx context.Context) error {
				first(ctx)
				if ctx.Value(valueKey{}) != "value" {
					t.Errorf("got %v, want the value of the run's context", ctx.Value(valueKey{}))
				}
				if ctx.Err() != nil || context.Cause(ctx) != nil {
					t.Errorf("got %v, because of %v; want no end", ctx.Err(), context.Cause(ctx))
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAContextThatASaverKeepsIsCancelled looks at it when the call is over.
func TestAContextThatASaverKeepsIsCancelled(t *testing.T) {
	for name, keep := range map[string]func(ctx context.Context, kept *sync.WaitGroup){
		"untouched": func(context.Context, *sync.WaitGroup) {},
		"waited on": func(ctx context.Context, kept *sync.WaitGroup) { kept.Go(func() { <-ctx.Done() }) },
		"asked":     func(ctx context.Context, kept *sync.WaitGroup) { kept.Go(func() { _ = ctx.Err() }) },
	} {
		t.Run(name, func(t *testing.T) {
			var waiting sync.WaitGroup
			var kept context.Context
			if err := commitOn(t, t.Context(), func(ctx context.Context) error {
				kept = ctx
				keep(ctx, &waiting)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			waiting.Wait()
			<-kept.Done()
			if err := kept.Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		})
	}
}

// TestEachCallOfASaverHasAContextOfItsOwn: a saver may keep one, which then must not seem to live
// again.
func TestEachCallOfASaverHasAContextOfItsOwn(t *testing.T) {
	s := newSpy()
	var kept []context.Context
	s.Saver = &appending{s.Saver, func(ctx context.Context) error {
		for i, old := range kept {
			if old.Err() == nil {
				t.Errorf("the context of call %d lives in call %d", i, len(kept))
			}
		}
		kept = append(kept, ctx)
		return nil
	}}
	sc := begin(t, s, journal.NewSync(config(s)))
	defer sc.log.Close()
	for n := range 3 {
		sc.commit(sc.root, n, nil)
	}
}
