package savertest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// fenced makes b store outcomes as writes of the newest run of each thread that change says.
func fenced(b *brokenInbox, change func(w *checkpoint.PutWrites)) {
	fences := make(map[string]checkpoint.ID)
	b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
		done, err := b.inner.Append(ctx, a)
		if a.Open != nil && err == nil {
			fences[a.Thread] = a.Records[0].ID
		}
		return done, err
	}
	b.post = func(ctx context.Context, posts []checkpoint.Post) ([]checkpoint.Posted, error) {
		done, err := b.inner.Post(ctx, posts...)
		if err != nil || done[0].Err != nil {
			return done, err
		}
		p := checkpoint.PutWrites{Thread: posts[0].Thread, Fence: fences[posts[0].Thread]}
		change(&p)
		_, err = b.inner.PutWrites(ctx, p)
		return done, err
	}
}

// changing changes each outcome that is stored.
func changing(change func(w *checkpoint.Write)) func(b *brokenInbox) {
	return posting(func(p *checkpoint.Post) {
		p.Outcomes = slices.Clone(p.Outcomes)
		for i := range p.Outcomes {
			change(&p.Outcomes[i])
		}
	})
}

// waking changes each WakeMessage of a Post with outcomes.
func waking(change func(p *checkpoint.Post)) func(b *brokenInbox) {
	return posting(func(p *checkpoint.Post) {
		if len(p.Outcomes)*len(p.Messages) > 0 {
			change(p)
		}
	})
}

// loading changes the outcomes of each load.
func loading(change func(thread string, writes []checkpoint.Write) []checkpoint.Write) func(b *brokenInbox) {
	return func(b *brokenInbox) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.inner.Load(ctx, p)
			chain.Writes = change(p.Thread, chain.Writes)
			return chain, err
		}
	}
}

// stripped removes outcomes from a list.
func stripped(writes []checkpoint.Write) []checkpoint.Write {
	return slices.DeleteFunc(slices.Clone(writes), func(w checkpoint.Write) bool { return w.Kind == checkpoint.Outcome })
}

var outcomeBreaks = []struct {
	rule, found string
	by          func(b *brokenInbox)
}{
	{"stores payloads", "an outcome is stored without a fence", changing(func(w *checkpoint.Write) { w.Payload = nil })},
	{"keeps executions of a task apart", "an outcome is stored without a fence", changing(func(w *checkpoint.Write) { w.Name = "1" })},
	{"keeps namespaces apart", "an outcome is stored without a fence", changing(func(w *checkpoint.Write) { w.Namespace = "" })},
	{"returns outcomes with a load", "an outcome is stored without a fence", loading(func(_ string, all []checkpoint.Write) []checkpoint.Write {
		return stripped(all)
	})},
	{"keeps the first outcome", "the first outcome of a name stays", func(b *brokenInbox) {
		var mu sync.Mutex
		last := make(map[string]checkpoint.Write)
		changing(func(w *checkpoint.Write) {
			mu.Lock()
			defer mu.Unlock()
			last[w.Task+w.Name] = *w
		})(b)
		loading(func(_ string, all []checkpoint.Write) []checkpoint.Write {
			all = slices.Clone(all)
			for i := range all {
				all[i] = last[all[i].Task+all[i].Name]
			}
			return all
		})(b)
	}},
	{"accepts an outcome again", "the first outcome of a name stays", func(b *brokenInbox) {
		seen := make(map[string]bool)
		b.post = func(ctx context.Context, posts []checkpoint.Post) ([]checkpoint.Posted, error) {
			w := posts[0].Outcomes[0]
			if seen[w.Task+w.Name] {
				return []checkpoint.Posted{{Err: fmt.Errorf("once more: %w", checkpoint.ErrConflict)}}, nil
			}
			seen[w.Task+w.Name] = true
			return b.inner.Post(ctx, posts...)
		}
	}},
	{"leaves the status", "an outcome changes nothing else", func(b *brokenInbox) {
		fenced(b, func(w *checkpoint.PutWrites) { w.Status, w.Lease = checkpoint.Running, time.Hour })
	}},
	{"leaves the lease", "an outcome changes nothing else", func(b *brokenInbox) {
		fenced(b, func(w *checkpoint.PutWrites) { w.Lease = time.Hour })
	}},
	{"needs no fence", "an outcome changes nothing else", func(b *brokenInbox) {
		fenced(b, func(w *checkpoint.PutWrites) { w.End = true })
	}},
	{"ignores a committed base", "an outcome of a committed base has no effect", func(b *brokenInbox) {
		var all []checkpoint.Write
		changing(func(w *checkpoint.Write) { all = append(all, *w) })(b)
		loading(func(_ string, writes []checkpoint.Write) []checkpoint.Write {
			return append(slices.Clone(writes), all...)
		})(b)
	}},
	{"accepts an outcome of a committed base", "an outcome of a committed base has no effect", func(b *brokenInbox) {
		b.post = func(ctx context.Context, posts []checkpoint.Post) ([]checkpoint.Posted, error) {
			if chain, err := b.inner.Load(ctx, checkpoint.Ref{Thread: posts[0].Thread}); err != nil || chain.Last.Base != posts[0].Outcomes[0].Base {
				return []checkpoint.Posted{{Err: fmt.Errorf("committed: %w", checkpoint.ErrConflict)}}, nil
			}
			return b.inner.Post(ctx, posts...)
		}
	}},
	{"refuses an outcome for a version that is gone", "an outcome for a version that is gone is refused", func(b *brokenInbox) {
		b.post = func(ctx context.Context, posts []checkpoint.Post) ([]checkpoint.Posted, error) {
			done, err := b.inner.Post(ctx, posts...)
			done[0].Err = nil
			return done, err
		}
	}},
	{"returns outcomes with an opening", "an opening returns outcomes", func(b *brokenInbox) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.inner.Append(ctx, a)
			done.Writes = stripped(done.Writes)
			return done, err
		}
	}},
	{"copies outcomes", "outcomes are copied and keep their base", loading(func(thread string, all []checkpoint.Write) []checkpoint.Write {
		if thread == "copy" {
			return stripped(all)
		}
		return all
	})},
	{"makes a thread due by an outcome", "outcomes make a thread due once", waking(func(p *checkpoint.Post) { p.Messages = nil })},
	{"makes a thread due once", "outcomes make a thread due once", func(b *brokenInbox) {
		b.post = func(ctx context.Context, posts []checkpoint.Post) ([]checkpoint.Posted, error) {
			done, err := b.inner.Post(ctx, checkpoint.Post{Thread: posts[0].Thread, Outcomes: posts[0].Outcomes})
			if err != nil || len(posts[0].Messages) == 0 {
				return done, err
			}
			return b.inner.Post(ctx, checkpoint.Post{Thread: posts[0].Thread, Messages: posts[0].Messages})
		}
	}},
	{"refuses writes of other kinds", "invalid outcomes are refused", changing(func(w *checkpoint.Write) { w.Kind = checkpoint.Outcome })},
}

func TestABrokenRuleOfOutcomesIsFound(t *testing.T) {
	for _, c := range outcomeBreaks {
		t.Run(c.rule, func(t *testing.T) {
			if got := failuresOf(t, c.found, inboxPlace(c.by)); len(got) == 0 {
				t.Errorf("a saver that does not do it: got no failure of %q, want one", c.found)
			}
		})
	}
}
