package operate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
)

// Checkpoint returns the id of the checkpoint that a person has named. A name is an id, a Seq,
// "head", or "head~2", which is two before the head on its branch. The name "due:pay" is the
// newest one on that branch at which the node pay is due. Checkpoint returns the zero ID for the
// head and for an empty name. The At of ref is ignored. It returns a *RequestError for any other
// name, and checkpoint.ErrNotFound if the log of ref has no such checkpoint.
func (o *Operator) Checkpoint(ctx context.Context, ref checkpoint.Ref, name string) (checkpoint.ID, error) {
	if name == "" || name == "head" {
		return checkpoint.ID{}, nil
	}
	if id, err := checkpoint.ParseID(name); err == nil {
		return id, nil
	}
	ref.At = checkpoint.ID{}
	if back, ok := strings.CutPrefix(name, "head~"); ok {
		if n, err := strconv.Atoi(back); err == nil && n >= 0 {
			return o.ancestor(ctx, ref, func(*checkpoint.Record) bool { n--; return n < 0 })
		}
	}
	if node, ok := strings.CutPrefix(name, "due:"); ok {
		return o.ancestor(ctx, ref, func(r *checkpoint.Record) bool {
			return slices.Contains((&checkpoint.Chain{Due: r.Due}).Next(), node)
		})
	}
	seq, err := strconv.ParseUint(name, 10, 64)
	if err != nil {
		return checkpoint.ID{}, &RequestError{fmt.Sprintf("%q names no checkpoint; want an id, a number of the log, head, head~N or due:NODE", name)}
	}
	for r, err := range o.Saver.History(ctx, ref, checkpoint.Query{Headers: true, Sources: tree.Sources()}) {
		if err != nil {
			return checkpoint.ID{}, err
		}
		if r.Seq == seq {
			return r.ID, nil
		}
		if r.Seq < seq {
			break
		}
	}
	return checkpoint.ID{}, fmt.Errorf("thread %q has no checkpoint with number %d: %w; the history lists them", ref.Thread, seq, checkpoint.ErrNotFound)
}

// ancestor returns the newest checkpoint on the branch of the head that is the one.
func (o *Operator) ancestor(ctx context.Context, ref checkpoint.Ref, is func(*checkpoint.Record) bool) (checkpoint.ID, error) {
	var next checkpoint.ID
	first := true
	for r, err := range o.Saver.History(ctx, ref, checkpoint.Query{Headers: true, Sources: tree.Sources()}) {
		if err != nil {
			return checkpoint.ID{}, err
		}
		if !first && r.ID != next {
			continue
		}
		first, next = false, r.Parent
		if r.Source != checkpoint.Resume && is(&r) {
			return r.ID, nil
		}
	}
	return checkpoint.ID{}, fmt.Errorf("the branch of the head of thread %q has no such checkpoint: %w; the history lists them", ref.Thread, checkpoint.ErrNotFound)
}
