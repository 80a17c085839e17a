package graphmodel

import (
	"context"
	"fmt"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// tally is a saver that counts how often each input is stored, and how it ends. An input begins a
// run, is refused, or is removed with its thread. The history of a thread that was removed does
// not say so.
type tally struct {
	checkpoint.Saver
	mu     sync.Mutex
	inputs map[string]*inputCount       // by thread and id
	posted map[string]map[uint64]string // the ids of the untaken inputs, by thread and number
}

// inputCount says how often an input was stored, and how it ended.
type inputCount struct {
	stored, refused, removed int
	began                    map[checkpoint.ID]bool // the records with which its runs begin
}

func newTally(s checkpoint.Saver) *tally {
	return &tally{Saver: s, inputs: make(map[string]*inputCount), posted: make(map[string]map[uint64]string)}
}

// of returns the count of an input.
func (t *tally) of(thread, id string) *inputCount {
	key := thread + " " + id
	if t.inputs[key] == nil {
		t.inputs[key] = &inputCount{began: make(map[checkpoint.ID]bool)}
	}
	return t.inputs[key]
}

// check returns an error unless each input that was stored has ended once (rule 21.24).
func (t *tally) check(thread, id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.of(thread, id)
	return differ("ends of "+id, fmt.Sprint(len(c.began)+c.refused+c.removed), fmt.Sprint(c.stored))
}

func (t *tally) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	done, err := t.Saver.Post(ctx, posts...)
	for i := range done {
		for k, m := range done[i].Messages {
			p := &posts[i]
			if p.Messages[k].Kind != checkpoint.InputMessage || m.Known {
				continue
			}
			t.of(p.Thread, p.Messages[k].ID).stored++
			if t.posted[p.Thread] == nil {
				t.posted[p.Thread] = make(map[uint64]string)
			}
			t.posted[p.Thread][m.Number] = p.Messages[k].ID
		}
	}
	return done, err
}

// handled counts what a write of a thread has done with inputs.
func (t *tally) handled(thread string, h *checkpoint.Handled) {
	for _, r := range h.Refuse {
		if id, untaken := t.posted[thread][r.Number]; untaken {
			t.of(thread, id).refused++
			delete(t.posted[thread], r.Number)
		}
	}
	for _, number := range h.Take {
		delete(t.posted[thread], number)
	}
}

func (t *tally) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	done, err := t.Saver.Append(ctx, a)
	if err == nil {
		t.handled(a.Thread, &a.Messages)
		for i := range a.Records {
			if r := &a.Records[i]; a.Namespace == "" && r.Request != "" && r.Line == r.ID {
				t.of(a.Thread, r.Request).began[r.ID] = true
			}
		}
	}
	return done, err
}

func (t *tally) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	done, err := t.Saver.PutWrites(ctx, p)
	if err == nil {
		t.handled(p.Thread, &p.Messages)
	}
	return done, err
}

func (t *tally) Delete(ctx context.Context, thread string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.Saver.Delete(ctx, thread)
	if err == nil {
		for _, id := range t.posted[thread] {
			t.of(thread, id).removed++
		}
		delete(t.posted, thread)
	}
	return err
}
