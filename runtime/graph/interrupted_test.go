package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestErrorsThatAWrapperOfANodeMustReturn runs code with each such error in a wrapper that makes a
// result of every error, and in one that asks Interrupted. It shows what is lost in the first.
func TestErrorsThatAWrapperOfANodeMustReturn(t *testing.T) {
	paid, unlisted := graph.NewSignal[wire.Bool]("paid"), graph.NewQuestion[wire.String, wire.Bool]("unlisted")
	charge := func(context.Context) (wire.String, error) { return "charged", nil }
	for name, c := range map[string]struct {
		work      func(ctx context.Context, stop context.CancelFunc) error
		is        error  // that Interrupted recognises; nil for an error that it does not
		swallowed string // the outcome of the first wrapper
		returned  string // the outcome of the second one
	}{
		"a question": {
			work: func(ctx context.Context, _ context.CancelFunc) error {
				_, err := refund.Ask(ctx, doc{Name: "shoes"})
				return err
			}, is: graph.ErrWaiting, swallowed: "waiting [] after 1", returned: "waiting [] after 1",
		},
		"a signal": {
			work: func(ctx context.Context, _ context.CancelFunc) error { _, err := paid.Receive(ctx); return err },
			is:   graph.ErrWaiting, swallowed: "waiting [] after 1", returned: "waiting [] after 1",
		},
		"a sleep": {
			work: func(ctx context.Context, _ context.CancelFunc) error { return graph.Sleep(ctx, time.Hour) },
			is:   graph.ErrWaiting, swallowed: "waiting [] after 1", returned: "waiting [] after 1",
		},
		"the end of the run": {
			work: func(ctx context.Context, stop context.CancelFunc) error {
				stop()
				<-ctx.Done()
				return errors.New("half of an answer")
			}, swallowed: "done [result] after 1", returned: "done [result] after 2", // without a second run the half counts
		},
		"another question": {
			work: func(ctx context.Context, _ context.CancelFunc) error { _, err := unlisted.Ask(ctx, "x"); return err },
			is:   graph.ErrNotAskable, swallowed: "done [result] after 1", returned: "failed [] after 1",
		},
		"another durable call": {
			work: func(ctx context.Context, _ context.CancelFunc) error {
				_, err := graph.Do(ctx, "#", charge)
				return err
			},
			is: graph.ErrNotDurable, swallowed: "done [result] after 1", returned: "failed [] after 1",
		},
		"a stored result of another type": {
			work: func(ctx context.Context, _ context.CancelFunc) error {
				if _, err := graph.DoNamed(ctx, "charge", charge); err != nil {
					return err
				}
				_, err := graph.DoNamed(ctx, "charge", func(context.Context) (wire.Int, error) { return 1, nil })
				return err
			}, is: graph.ErrGraphChanged, swallowed: "done [result] after 1", returned: "failed [] after 1",
		},
		"a result that is not stored": {
			work: func(ctx context.Context, _ context.CancelFunc) error {
				_, err := graph.Do(ctx, "charge", charge)
				return err
			},
			is: errBroken, swallowed: "done [result] after 1", returned: "failed [] after 1",
		},
		"a failure": {
			work:      func(context.Context, context.CancelFunc) error { return errors.New("no route to host") },
			swallowed: "done [result] after 1", returned: "done [result] after 1",
		},
		"a timeout of its own": {
			work: func(ctx context.Context, _ context.CancelFunc) error {
				ctx, cancel := context.WithTimeout(ctx, 0)
				defer cancel()
				return ctx.Err()
			}, swallowed: "done [result] after 1", returned: "done [result] after 1",
		},
	} {
		for _, careful := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", returned ", careful), func(t *testing.T) {
				var saver checkpoint.Saver = memory.New()
				if errors.Is(c.is, errBroken) {
					saver = &refusing{Saver: saver, refuse: 1, prefix: "do:"}
				}
				ctx, stop := context.WithCancel(t.Context())
				ran := 0
				b := single(func(ctx context.Context, _ work) (update, error) {
					ran++
					if ran > 1 {
						return logged("result"), nil // the run after the one that was stopped
					}
					err := c.work(ctx, stop)
					if c.is != nil && (!errors.Is(err, c.is) || !graph.Interrupted(ctx, fmt.Errorf("tool: %w", err))) {
						t.Errorf("got %v, want %v, which interrupts", err, c.is)
					}
					if careful && graph.Interrupted(ctx, err) {
						return update{}, fmt.Errorf("tool: %w", err)
					}
					return logged("result"), nil
				}, refund, paid)
				th := compile(t, b, graph.Saver(saver)).Thread("t")
				res, err := th.Invoke(ctx, update{})
				if ctx.Err() != nil {
					res, err = th.Resume(t.Context())
				}
				if (res.Status == graph.Failed) != (err != nil) || err != nil && !errors.Is(err, c.is) {
					t.Errorf("got %s, %v", res.Status, err)
				}
				want := c.swallowed
				if careful {
					want = c.returned
				}
				same(t, "outcome", fmt.Sprint(res.Status, " ", res.State.Log, " after ", ran), want)
			})
		}
	}
	if graph.Interrupted(t.Context(), nil) || graph.Interrupted(t.Context(), graph.ErrExpired) {
		t.Error("nil and ErrExpired are results, not interruptions")
	}
}
