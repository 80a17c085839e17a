package savertest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// brokenOutcomes is a saver that breaks a rule of outcomes: each function that is not nil replaces
// the method of that name.
type brokenOutcomes struct {
	*broken
	put   func(ctx context.Context, thread string, w checkpoint.Write) error
	found func(ctx context.Context, q checkpoint.OutcomeQuery) ([]checkpoint.Write, error)
}

func (b *brokenOutcomes) PutOutcome(ctx context.Context, thread string, w checkpoint.Write) error {
	if b.put != nil {
		return b.put(ctx, thread, w)
	}
	return b.Saver.PutOutcome(ctx, thread, w)
}

func (b *brokenOutcomes) Outcomes(ctx context.Context, q checkpoint.OutcomeQuery) ([]checkpoint.Write, error) {
	if b.found != nil {
		return b.found(ctx, q)
	}
	return b.Saver.Outcomes(ctx, q)
}

// fenced makes b store outcomes as writes of the newest run of each thread that end says.
func fenced(b *brokenOutcomes, change func(w *checkpoint.PutWrites)) {
	fences := make(map[string]checkpoint.ID)
	b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
		done, err := b.Saver.Append(ctx, a)
		if a.Open != nil && err == nil {
			fences[a.Thread] = a.Records[0].ID
		}
		return done, err
	}
	b.put = func(ctx context.Context, thread string, w checkpoint.Write) error {
		if err := b.Saver.PutOutcome(ctx, thread, w); err != nil {
			return err
		}
		p := checkpoint.PutWrites{Thread: thread, Fence: fences[thread]}
		change(&p)
		_, err := b.Saver.PutWrites(ctx, p)
		return err
	}
}

// changing changes each outcome that is stored.
func changing(change func(w *checkpoint.Write)) func(b *brokenOutcomes) {
	return func(b *brokenOutcomes) {
		b.put = func(ctx context.Context, thread string, w checkpoint.Write) error {
			change(&w)
			return b.Saver.PutOutcome(ctx, thread, w)
		}
	}
}

// stripped removes outcomes from a list.
func stripped(writes []checkpoint.Write) []checkpoint.Write {
	return slices.DeleteFunc(slices.Clone(writes), func(w checkpoint.Write) bool { return w.Kind == checkpoint.Outcome })
}

var outcomeBreaks = []struct {
	rule, found string
	by          func(b *brokenOutcomes)
}{
	{"stores payloads", "an outcome is stored without a fence", changing(func(w *checkpoint.Write) { w.Payload = nil })},
	{"keeps executions of a task apart", "an outcome is stored without a fence", changing(func(w *checkpoint.Write) { w.Name = "1" })},
	{"keeps namespaces apart", "an outcome is stored without a fence", changing(func(w *checkpoint.Write) { w.Namespace = "" })},
	{"returns outcomes with a load", "an outcome is stored without a fence", func(b *brokenOutcomes) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			chain.Writes = stripped(chain.Writes)
			return chain, err
		}
	}},
	{"finds only what is named", "an outcome is stored without a fence", func(b *brokenOutcomes) {
		b.found = func(ctx context.Context, q checkpoint.OutcomeQuery) ([]checkpoint.Write, error) {
			chain, err := b.Saver.Load(ctx, checkpoint.Ref{Thread: q.Thread, Namespace: q.Namespace})
			return chain.Writes, err
		}
	}},
	{"keeps the first outcome", "the first outcome of a name stays", func(b *brokenOutcomes) {
		var mu sync.Mutex
		last := make(map[string]checkpoint.Write)
		b.put = func(ctx context.Context, thread string, w checkpoint.Write) error {
			mu.Lock()
			last[w.Task+w.Name] = w
			mu.Unlock()
			return b.Saver.PutOutcome(ctx, thread, w)
		}
		b.found = func(ctx context.Context, q checkpoint.OutcomeQuery) (found []checkpoint.Write, err error) {
			mu.Lock()
			defer mu.Unlock()
			for _, n := range q.Names {
				found = append(found, last[n.Task+n.Name])
			}
			return found, nil
		}
	}},
	{"accepts an outcome again", "the first outcome of a name stays", func(b *brokenOutcomes) {
		seen := make(map[string]bool)
		b.put = func(ctx context.Context, thread string, w checkpoint.Write) error {
			if seen[w.Task+w.Name] {
				return fmt.Errorf("once more: %w", checkpoint.ErrConflict)
			}
			seen[w.Task+w.Name] = true
			return b.Saver.PutOutcome(ctx, thread, w)
		}
	}},
	{"leaves the status", "an outcome changes nothing else", func(b *brokenOutcomes) {
		fenced(b, func(w *checkpoint.PutWrites) { w.Status, w.Lease = checkpoint.Running, time.Hour })
	}},
	{"leaves the lease", "an outcome changes nothing else", func(b *brokenOutcomes) {
		fenced(b, func(w *checkpoint.PutWrites) { w.Lease = time.Hour })
	}},
	{"needs no fence", "an outcome changes nothing else", func(b *brokenOutcomes) {
		fenced(b, func(w *checkpoint.PutWrites) { w.End = true })
	}},
	{"ignores a committed base", "an outcome of a committed base has no effect", func(b *brokenOutcomes) {
		all := make(map[string]checkpoint.Write)
		b.put = func(ctx context.Context, thread string, w checkpoint.Write) error {
			all[w.Base.String()+w.Task+w.Name] = w
			return b.Saver.PutOutcome(ctx, thread, w)
		}
		b.found = func(ctx context.Context, q checkpoint.OutcomeQuery) (found []checkpoint.Write, err error) {
			for _, n := range q.Names {
				if w, ok := all[q.Base.String()+n.Task+n.Name]; ok {
					found = append(found, w)
				}
			}
			return found, nil
		}
	}},
	{"accepts an outcome of a committed base", "an outcome of a committed base has no effect", func(b *brokenOutcomes) {
		b.put = func(ctx context.Context, thread string, w checkpoint.Write) error {
			if chain, err := b.Saver.Load(ctx, checkpoint.Ref{Thread: thread}); err != nil || chain.Last.Base != w.Base {
				return fmt.Errorf("committed: %w", checkpoint.ErrConflict)
			}
			return b.Saver.PutOutcome(ctx, thread, w)
		}
	}},
	{"refuses an outcome for a version that is gone", "an outcome for a version that is gone is refused", func(b *brokenOutcomes) {
		b.put = func(ctx context.Context, thread string, w checkpoint.Write) error {
			_ = b.Saver.PutOutcome(ctx, thread, w)
			return nil
		}
	}},
	{"returns outcomes with an opening", "an opening returns outcomes", func(b *brokenOutcomes) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			done.Writes = stripped(done.Writes)
			return done, err
		}
	}},
	{"copies outcomes", "outcomes are copied and keep their base", func(b *brokenOutcomes) {
		b.found = func(ctx context.Context, q checkpoint.OutcomeQuery) ([]checkpoint.Write, error) {
			if q.Thread == "copy" {
				return nil, nil
			}
			return b.Saver.Outcomes(ctx, q)
		}
	}},
	{"refuses writes of other kinds", "invalid outcomes are refused", changing(func(w *checkpoint.Write) { w.Kind = checkpoint.Outcome })},
}

func TestABrokenRuleOfOutcomesIsFound(t *testing.T) {
	for _, c := range outcomeBreaks {
		t.Run(c.rule, func(t *testing.T) {
			open := func() (checkpoint.Saver, error) {
				b := &brokenOutcomes{broken: &broken{Saver: memory.New()}}
				c.by(b)
				return b, nil
			}
			if got := failuresOf(t, c.found, savertest.Storage{Open: open}); len(got) == 0 {
				t.Errorf("a saver that does not do it: got no failure of %q, want one", c.found)
			}
		})
	}
}
