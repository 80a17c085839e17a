package ledger

import (
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Pruned is a log as a Prune leaves it.
type Pruned struct {
	Namespace string
	Kept      []Kept
	Removed   int
}

// Kept is an entry that stays. If Fold has entries, a Prune removes the entry before it. Its
// payload then becomes the snapshot of the state that Fold restores.
type Kept struct {
	Entry *Entry
	Fold  []*Entry

	snapshot func(chain []checkpoint.Record) ([]byte, error)
}

// Ended reports whether keep removes the whole thread. status is that of its open version, or Done
// if none is open. updated is when its newest run opened or ended, and wake is when it is due.
// inputs is how many untaken inputs it has, and posted is when its newest other message was posted
// that is untaken.
func Ended(keep *checkpoint.Retention, status checkpoint.Status, updated, wake time.Time, inputs int, posted time.Time) bool {
	over := status == checkpoint.Done || status == checkpoint.Cancelled
	if !wake.IsZero() && posted.IsZero() { // it is due for another reason, such as a report to its caller
		return false
	}
	return !keep.Ended.IsZero() && keep.Fence.IsZero() && over && inputs == 0 && updated.Before(keep.Ended) && posted.Before(keep.Ended)
}

// Prune returns what keep leaves of each namespace that loses a record, sorted by name. Nothing is
// changed.
func (v *Version) Prune(keep checkpoint.Retention) []Pruned {
	if keep.Last <= 0 && keep.Since.IsZero() {
		return nil
	}
	needed := v.needed(keep)
	var pruned []Pruned
	for _, name := range v.Namespaces() {
		if p := prune(v.log(name), name, cut(v.log(name), keep), needed); p.Removed > 0 {
			p.foldWith(keep.Fold)
			pruned = append(pruned, p)
		}
	}
	return pruned
}

// needed returns the bases that must stay: those that have pending writes and those of entries
// that are kept. A base that stays for this reason also needs its own base.
func (v *Version) needed(keep checkpoint.Retention) map[checkpoint.ID]bool {
	needed := make(map[checkpoint.ID]bool)
	var need func(id checkpoint.ID)
	need = func(id checkpoint.ID) {
		at, found := v.where[id]
		if !found || needed[id] {
			return
		}
		needed[id] = true
		need(v.log(at.namespace)[at.index].Base)
	}
	for base, writes := range v.pending {
		if len(writes) > 0 {
			need(base)
		}
	}
	for _, name := range v.Namespaces() {
		log := v.log(name)
		for _, e := range log[cut(log, keep):] {
			need(e.Base)
		}
	}
	return needed
}

// cut returns the index of the first entry that Last or Since of keep selects. It is at most that
// of the head.
func cut(log []*Entry, keep checkpoint.Retention) int {
	first := len(log) - 1 // a head stays, whatever its age
	if keep.Last > 0 {
		first = min(first, lastCheckpoints(log, keep.Last))
	}
	if !keep.Since.IsZero() {
		for i, e := range log[:first] {
			if !e.Created.Before(keep.Since) {
				return i
			}
		}
	}
	return first
}

// lastCheckpoints returns the index of the n-th newest entry that is a checkpoint.
func lastCheckpoints(log []*Entry, n int) int {
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].Source == checkpoint.Resume {
			continue
		}
		if n--; n == 0 {
			return i
		}
	}
	return 0
}

// prune decides which entries of a log stay: those from first on, and those that are needed. An
// entry whose chain is cut gets the records that become its snapshot.
func prune(log []*Entry, namespace string, first int, needed map[checkpoint.ID]bool) Pruned {
	p := Pruned{Namespace: namespace}
	chain := 0 // where the chain of log[i] starts
	for i, e := range log {
		if e.Snapshot {
			chain = i
		}
		if i < first && !needed[e.ID] {
			p.Removed++
			continue
		}
		kept := Kept{Entry: e}
		torn := len(p.Kept) == 0 || p.Kept[len(p.Kept)-1].Entry != log[max(i-1, 0)]
		if torn && !e.Snapshot {
			kept.Fold = log[chain : i+1]
		}
		p.Kept = append(p.Kept, kept)
	}
	return p
}

// foldWith sets how entries that stay get their snapshots; nil is checkpoint.Fold.
func (p *Pruned) foldWith(fold func(namespace string, chain []checkpoint.Record) ([]byte, error)) {
	for i := range p.Kept {
		p.Kept[i].snapshot = FoldChain
		if fold != nil {
			p.Kept[i].snapshot = func(chain []checkpoint.Record) ([]byte, error) { return fold(p.Namespace, chain) }
		}
	}
}

// Replace replaces each pruned log by its remaining entries, in order, with their new snapshots.
// It does not change the old slices, so current readers can still use them.
func (v *Version) Replace(pruned []Pruned, entries [][]*Entry) {
	for n, p := range pruned {
		kept := p.Kept
		for _, e := range v.log(p.Namespace) {
			if len(kept) > 0 && kept[0].Entry == e {
				kept = kept[1:]
			} else {
				delete(v.where, e.ID)
			}
		}
		for i, e := range entries[n] {
			e.place = v.where[e.ID].place // of the entry that it replaces, if it is another
			e.index = i
			v.where[e.ID] = e
		}
		v.setLog(p.Namespace, entries[n])
	}
}

// Snapshot returns the last record of chain with a snapshot of the state there in place of its
// delta. chain holds the records of Fold, whole. The first has a snapshot; Prune may have given
// others one.
func (k *Kept) Snapshot(chain []checkpoint.Record) (r checkpoint.Record, err error) {
	r = chain[len(chain)-1]
	r.Snapshot = true
	if r.Payload, err = k.snapshot(chain); err != nil {
		return checkpoint.Record{}, fmt.Errorf("prune: records %d to %d: %w", chain[0].Seq, r.Seq, err)
	}
	return r, nil
}

// FoldChain returns the snapshot at the last record of chain, which holds whole records from a
// snapshot on.
func FoldChain(chain []checkpoint.Record) ([]byte, error) {
	var state []byte
	var deltas [][]byte
	for i := range chain {
		if chain[i].Snapshot {
			state, deltas = chain[i].Payload, nil
			continue
		}
		deltas = append(deltas, chain[i].Payload)
	}
	return checkpoint.Fold(state, deltas...)
}
