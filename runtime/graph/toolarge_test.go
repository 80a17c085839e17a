package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// bounded refuses values of more than max bytes, as servers do.
type bounded struct {
	checkpoint.Saver
	max int
}

func (b *bounded) fits(records []checkpoint.Record, writes []checkpoint.Write) error {
	var sizes []int
	for _, r := range records {
		sizes = append(sizes, len(r.Payload))
		for _, d := range r.Due {
			sizes = append(sizes, len(d.Payload))
		}
	}
	for _, w := range writes {
		sizes = append(sizes, len(w.Payload))
	}
	for _, size := range sizes {
		if size > b.max {
			return &checkpoint.SizeError{Size: size, Limit: int64(b.max), Setting: "max of the test"}
		}
	}
	return nil
}

func (b *bounded) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if err := b.fits(a.Records, a.Writes); err != nil {
		return checkpoint.AppendResult{}, err
	}
	return b.Saver.Append(ctx, a)
}

func (b *bounded) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if err := b.fits(nil, w.Writes); err != nil {
		return checkpoint.PutResult{}, err
	}
	return b.Saver.PutWrites(ctx, w)
}

func (b *bounded) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	for i := range posts {
		if err := b.fits(nil, posts[i].Outcomes); err != nil {
			return nil, err
		}
	}
	return b.Saver.Post(ctx, posts...)
}

// huge does not fit in a bounded saver.
var huge = strings.Repeat("x", 5000)

// oversized are graphs that store something huge. Their node a counts its calls.
var oversized = map[string]func(t *testing.T, b *graph.Builder[work, update], calls *atomic.Int32) []graph.Option{
	"a result alone": func(_ *testing.T, b *graph.Builder[work, update], calls *atomic.Int32) []graph.Option {
		b.Node("a", countedRuns(calls, say(huge)))
		b.Chain(graph.Start, "a", graph.End)
		return nil
	},
	"the result of one of several tasks": func(_ *testing.T, b *graph.Builder[work, update], calls *atomic.Int32) []graph.Option {
		b.Node("a", countedRuns(calls, say(huge)), graph.Retry(graph.RetryPolicy{Attempts: 3}))
		b.Node("other", say("ok"))
		for _, id := range []graph.ID{"a", "other"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		return nil
	},
	"the sum of results": func(_ *testing.T, b *graph.Builder[work, update], calls *atomic.Int32) []graph.Option {
		b.Node("a", countedRuns(calls, say(huge[:3000])))
		b.Node("other", say(huge[:3000]))
		for _, id := range []graph.ID{"a", "other"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		return nil
	},
	"a durable call": func(_ *testing.T, b *graph.Builder[work, update], calls *atomic.Int32) []graph.Option {
		b.Node("a", countedRuns(calls, func(ctx context.Context, _ work) (update, error) {
			_, err := graph.Do(ctx, "read", func(context.Context) (doc, error) { return doc{Name: huge}, nil })
			return update{}, err
		}), graph.Retry(graph.RetryPolicy{Attempts: 3}))
		b.Fallback("a", toldOf)
		b.Chain(graph.Start, "a", graph.End)
		return nil
	},
	"the result of a subgraph": func(t *testing.T, b *graph.Builder[work, update], calls *atomic.Int32) []graph.Option {
		t.Helper()
		inner := graph.New("inner", teststate.PairSchema)
		inner.Node("a", func(context.Context, pair) (pairUpdate, error) {
			calls.Add(1)
			return pairUpdate{Foo: state.Set(huge)}, nil
		})
		inner.Chain(graph.Start, "a", graph.End)
		graph.MapSubgraph(b, "sub", compilePair(t, inner), toPair, fromPair, graph.Retry(graph.RetryPolicy{Attempts: 3}))
		b.Chain(graph.Start, "sub", graph.End)
		return nil
	},
	"in a queue": func(_ *testing.T, b *graph.Builder[work, update], calls *atomic.Int32) []graph.Option {
		b.Node("a", countedRuns(calls, say(huge)), graph.Queue("gpu"), graph.Retry(graph.RetryPolicy{Attempts: 3}))
		b.Chain(graph.Start, "a", graph.End)
		return nil
	},
}

// TestAResultThatTheStorageRefusesForItsSizeFailsTheThread tests rule 11.15.
func TestAResultThatTheStorageRefusesForItsSizeFailsTheThread(t *testing.T) {
	for name, build := range oversized {
		t.Run(name, func(t *testing.T) {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				if name == "in a queue" && d != graph.Sync || name == "a durable call" && d == graph.OnExit {
					return // a queue needs Sync, and OnExit stores no result of a call
				}
				field := name != "a durable call"
				for _, by := range []string{"Invoke", "a worker"} {
					t.Run(by, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { failsForItsSize(t, build, d, by == "a worker", field) })
					})
				}
			})
		})
	}
}

func failsForItsSize(t *testing.T, build func(*testing.T, *graph.Builder[work, update], *atomic.Int32) []graph.Option, d graph.Durability, byWorker, field bool) {
	t.Helper()
	var calls atomic.Int32
	s, b := &bounded{memory.New(), 4096}, newWork()
	g := compile(t, b, append(build(t, b, &calls), graph.Saver(s), d)...)
	th, p := g.Thread("t"), serving(g, s)
	var err error
	if byWorker {
		if _, err := th.Submit(t.Context(), input); err != nil {
			t.Fatal(err)
		}
		var run graph.DueRun
		run, err = resumeDue(t, g, s, graph.DueOptions{Retry: threeTries})
		for err == nil && run.Status == graph.Waiting && p.work(t) > 0 {
			run, err = resumeDue(t, g, s, graph.DueOptions{Retry: threeTries})
		}
	} else {
		_, err = p.invoke(t, th)
	}
	if !errors.Is(err, checkpoint.ErrTooLarge) {
		t.Fatalf("got %v, want the error of the storage", err)
	}
	snap, broken := th.State(t.Context())
	if broken != nil {
		t.Fatal(broken)
	}
	if snap.Status != graph.Failed || !strings.Contains(snap.Reason, "at most 4096 bytes (max of the test)") {
		t.Errorf("stored: got %s, because of %.500q; want it failed, with the limit of the storage", snap.Status, snap.Reason)
	}
	if field && !strings.Contains(snap.Reason, "the largest field is ") {
		t.Errorf("reason: got %.500q, want it to name the largest field", snap.Reason)
	}
	stored := listed(t, s)
	if stored.Holder != "" || !stored.Wake.IsZero() {
		t.Errorf("the thread: got holder %q, wake %v; want nobody, and that it is not due", stored.Holder, stored.Wake)
	}
	same(t, "calls of the node", calls.Load(), int32(1))
}

// TestResultsThatFitAreStoredWithARefusedOne tests rule 11.15.
func TestResultsThatFitAreStoredWithARefusedOne(t *testing.T) {
	var huges, fits atomic.Int32
	s, b := &bounded{memory.New(), 4096}, newWork()
	b.Node("other", countedRuns(&fits, say(huge[:3000])))
	b.Node("third", countedRuns(&fits, say(huge[:3000])))
	b.Node("a", countedRuns(&huges, say(huge)))
	for _, id := range []graph.ID{"a", "other", "third"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	th := compile(t, b, graph.Saver(s), graph.Concurrency(1)).Thread("t")
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, checkpoint.ErrTooLarge) {
		t.Fatalf("got %v, want the error of the storage", err)
	}
	s.max = 1 << 20 // the operator has raised the limit
	done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "calls of the node with the huge result", huges.Load(), int32(2))
	same(t, "calls of the others", fits.Load(), int32(2))
}

// TestAPostedInputWithWhichTheThreadDoesNotFitIsRefused tests rule 21.26. Each input fits, and the
// state with the huge one does not.
func TestAPostedInputWithWhichTheThreadDoesNotFitIsRefused(t *testing.T) {
	for name, routed := range map[string]bool{"an edge from Start": false, "a route from Start": true} {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, a thread before %t", name, before), func(t *testing.T) {
				eachDurability(t, func(t *testing.T, d graph.Durability) {
					synctest.Test(t, func(t *testing.T) { refusesUnfit(t, d, routed, before) })
				})
			})
		}
	}
}

func refusesUnfit(t *testing.T, d graph.Durability, routed, before bool) {
	t.Helper()
	s, b := &bounded{memory.New(), 4096}, newWork()
	b.Node("a", say("a"))
	if routed {
		b.Route(graph.Start, func(context.Context, work) (graph.Next, error) { return graph.To("a"), nil }, "a")
	} else {
		b.Edge(graph.Start, "a")
	}
	b.Edge("a", graph.End)
	g := compile(t, b, graph.Saver(s), d)
	th := g.Thread("t")
	if before {
		done(t, graph.Done)(th.Invoke(t.Context(), logged("before")))
	}
	for _, text := range []string{huge, "small"} {
		if _, err := th.Submit(t.Context(), logged(text)); err != nil {
			t.Fatal(err)
		}
		var refused []checkpoint.Refusal
		run, err := resumeDue(t, g, s, graph.DueOptions{Retry: threeTries, Refused: func(r checkpoint.Refusal) { refused = append(refused, r) }})
		snap, broken := th.State(t.Context())
		if broken != nil || errors.Is(err, checkpoint.ErrTooLarge) != (text == huge && !before) {
			t.Fatalf("got %v and %v, want ErrTooLarge if the thread does not begin", err, broken)
		}
		if text == "small" {
			want := []string{"small", "a"}
			if before {
				want = []string{"before", "a", "small", "a"}
			}
			same(t, "log after the next input", snap.State.Log, want)
			break
		}
		const reason = "the checkpoint with this message cannot be stored: "
		want := graph.Failed
		if before {
			want = graph.Done
		}
		if snap.Status != want || run.Status != want || !before && !strings.Contains(snap.Reason, reason) {
			t.Errorf("got %s, stored %s because of %.300q; want %s", run.Status, snap.Status, snap.Reason, want)
		}
		if len(refused) != 1 || !strings.HasPrefix(refused[0].Reason, reason) || !strings.Contains(refused[0].Reason, "at most 4096 bytes (max of the test)") {
			t.Errorf("got the refusals %.500v, want the input, with the limit of the storage", refused)
		}
		if in, err := th.Inbox(t.Context()); err != nil || len(in.Refused) != 1 || len(in.Waiting) != 0 {
			t.Errorf("the inbox: got %d refused and %d waiting messages, %v; want one that was refused", len(in.Refused), len(in.Waiting), err)
		}
		if stored := listed(t, s); stored.Holder != "" || !stored.Wake.IsZero() {
			t.Errorf("the thread: got holder %q, wake %v; want nobody, and that it is not due", stored.Holder, stored.Wake)
		}
	}
}
