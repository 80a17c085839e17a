package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// crashingInbox is a saver that crashes, with an inbox.
type crashingInbox struct{ *crashing }

func (c crashingInbox) Mail(ctx context.Context, q checkpoint.MailQuery) (all []checkpoint.Message, err error) {
	err = c.call(func() error { all, err = c.Saver.Mail(ctx, q); return err })
	return all, err
}

func (c crashingInbox) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	return c.call(func() error { return c.Saver.Rewake(ctx, r) })
}

// converse submits two inputs and answers what they ask, as a client with one worker does. It
// repeats what was done before.
func converse(ctx context.Context, g *app, s checkpoint.Saver) error {
	th := g.Thread("t")
	for _, line := range []string{"one", "two"} {
		if _, err := th.Submit(ctx, logged(line), graph.RequestID(line)); err != nil {
			return err
		}
	}
	for range 100 {
		found, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 10})
		if err != nil {
			return err
		}
		for _, due := range found.Threads {
			if _, err := g.ResumeDue(ctx, due, graph.DueOptions{}); err != nil {
				return err
			}
		}
		if len(found.Threads) > 0 {
			continue
		}
		snap, err := th.State(ctx)
		if err != nil || snap.Status == graph.Done {
			return err
		}
		for _, q := range snap.Questions {
			if err := th.Answer(ctx, refund.Answer(q, true)); err != nil && !errors.Is(err, graph.ErrNotAsked) {
				return err
			}
		}
	}
	return errors.New("the thread is never done")
}

// TestMessagesTakeEffectOnceWhateverCallACrashHits proves rules 21.1 and 21.2 at each call of the
// saver.
func TestMessagesTakeEffectOnceWhateverCallACrashHits(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for point := 1; ; point++ {
			crashed := false
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d %t", point, after), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						crashed = crashAt(t, d, point, after) || crashed
					})
				})
			}
			if t.Failed() || !crashed {
				same(t, "crash points, more than ten", point > 10, true)
				return
			}
		}
	})
}

// crashAt lets the process die at one call of the saver, and repeats everything in another one. It
// reports whether there is such a call.
func crashAt(t *testing.T, d graph.Durability, point int, after bool) bool {
	t.Helper()
	s := memory.New()
	dying := crashingInbox{&crashing{Saver: s, left: point, after: after}}
	err := converse(t.Context(), compile(t, asker(new(counter)), graph.Saver(dying), d), s)
	if err != nil && !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	time.Sleep(2 * checkpoint.DefaultLease)
	g := compile(t, asker(new(counter)), graph.Saver(s), d)
	if again := converse(t.Context(), g, s); again != nil {
		t.Fatalf("after %v: %v", err, again)
	}
	th := g.Thread("t")
	same(t, "log", snapshot(t, th).State.Log, []string{"one", "answer true", "sibling", "two", "answer true", "sibling"})
	same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	return err != nil
}
