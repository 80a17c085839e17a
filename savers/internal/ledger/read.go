package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// View is what a [checkpoint.Chain] is made of.
type View struct {
	Entries []*Entry // from a snapshot to the checkpoint asked for
	Base    *Entry   // of the last entry; nil when the log does not have it
	Chain   checkpoint.Chain
}

// View returns what restoring a checkpoint takes; at zero is the head. Of its Chain the saver has
// still to set Records, Due and Thread.
func (v *Version) View(namespace string, at checkpoint.ID) (View, error) {
	view := View{Chain: checkpoint.Chain{Version: v.Number, Birth: v.About.Birth, Head: v.headID(namespace)}}
	if v.Released.IsZero() {
		view.Chain.Fence = v.Fence
	}
	log := v.log(namespace)
	last := len(log) - 1
	if !at.IsZero() {
		found, ok := v.where[at]
		if !ok || found.namespace != namespace {
			return View{}, NoRecord(v.Thread, namespace, at)
		}
		last = found.index
	}
	if last < 0 {
		return view, nil
	}
	first := last
	for first > 0 && !log[first].Snapshot {
		first--
	}
	view.Entries = slices.Clip(log[first : last+1])
	base := log[last].Base
	if found, ok := v.where[base]; ok && found.namespace == namespace {
		view.Base = log[found.index]
		view.Chain.Committed = found.committed
	}
	view.Chain.Writes = inOrder(v.pending[base])
	return view, nil
}

// Log returns the log of a namespace, oldest first, up to but without the record before; zero is
// all of it.
func (v *Version) Log(namespace string, before checkpoint.ID) ([]*Entry, error) {
	log := v.log(namespace)
	if before.IsZero() {
		return slices.Clip(log), nil
	}
	found, ok := v.where[before]
	if !ok || found.namespace != namespace {
		return nil, NoRecord(v.Thread, namespace, before)
	}
	return slices.Clip(log[:found.index]), nil
}

// Writes returns the pending writes of every base, in the order first stored.
func (v *Version) Writes() []checkpoint.Write {
	all := make([]map[identity]*stored, 0, len(v.pending))
	for base, writes := range v.pending {
		if !base.IsZero() {
			all = append(all, writes)
		}
	}
	return inOrder(all...)
}

// Schemas returns the descriptions of schemas, in the order first stored. They belong to no base.
func (v *Version) Schemas() []checkpoint.Write { return inOrder(v.pending[checkpoint.ID{}]) }

// inOrder returns pending writes of several bases in the order in which they were stored.
func inOrder(bases ...map[identity]*stored) []checkpoint.Write {
	var all []*stored
	for _, writes := range bases {
		for _, w := range writes {
			all = append(all, w)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b *stored) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
	writes := make([]checkpoint.Write, len(all))
	for i, w := range all {
		writes[i] = w.Write
	}
	return writes
}

// Describe returns the version as a Thread. The lease is the saver's: until when, or zero when it
// is not known; versions is how many the thread has.
func (v *Version) Describe(leased bool, until time.Time, versions int) checkpoint.Thread {
	t := checkpoint.Thread{
		ID: v.Thread, Version: v.Number, Status: v.Status, Updated: v.Updated, Versions: versions,
		Wake: v.Wake, Attempts: v.Attempts,
		Posted: v.Mail.Posted, Inputs: v.Mail.Inputs, Others: v.Mail.Others, Cancels: v.Mail.Cancels,
		Questions: checkpoint.OpenQuestions(v.Writes()),
	}
	if leased {
		t.Holder, t.Lease = v.Holder, until
	}
	if !v.Released.IsZero() { // the inbox is of the next version
		t.Wake, t.Posted, t.Inputs, t.Others, t.Cancels = time.Time{}, 0, 0, 0, 0
	}
	v.About.Describe(&t)
	if head := v.Head(""); head != nil {
		t.Head, t.Step = head.ID, head.Step
	}
	return t
}

// Listing returns the version as one of a thread's versions.
func (v *Version) Listing() checkpoint.Version {
	return checkpoint.Version{
		Thread: v.Thread, Number: v.Number, Released: v.Released,
		Head: v.headID(""), Records: len(v.root), Status: v.Status,
	}
}

// News returns what has changed last of the thread of v, which is the open version or the one that
// begins next.
func (v *Version) News() checkpoint.News {
	n := checkpoint.News{
		Posted: v.Mail.Posted, Cancels: v.Mail.Cancels, Inputs: v.Mail.Inputs, Replies: v.Mail.Replies, Due: !v.Wake.IsZero(),
	}
	if !v.Empty() && v.Released.IsZero() {
		n.Version, n.Status, n.Fence = v.Number, v.Status, v.Fence
	}
	return n
}

// Follows reports whether a thread follows q.After in the order of q.
func Follows(q *checkpoint.ThreadQuery, id string, created time.Time) bool {
	if !q.NewestFirst() {
		return id > q.After
	}
	return q.After == "" || created.Before(q.AfterCreated) || created.Equal(q.AfterCreated) && id < q.After
}

// Newer compares two threads for the order NewestFirst. It is negative if the thread a comes
// first.
func Newer(a, b string, createdA, createdB time.Time) int {
	return cmp.Or(createdB.Compare(createdA), strings.Compare(b, a))
}

// Selects reports whether q selects t by everything but its id and the limit, which the saver
// checks.
func Selects(q *checkpoint.ThreadQuery, t *checkpoint.Thread, leased bool) bool {
	switch {
	case q.Status != 0 && t.Status != q.Status,
		q.Graph != "" && t.Graph != q.Graph,
		!q.CreatedSince.IsZero() && t.Created.Before(q.CreatedSince),
		!q.CreatedUntil.IsZero() && !t.Created.Before(q.CreatedUntil),
		!Labelled(t.Labels, q.Labels):
		return false
	}
	return q.IdleSince.IsZero() || !leased && !t.Updated.IsZero() && t.Updated.Before(q.IdleSince) && t.Created.Before(q.IdleSince)
}
