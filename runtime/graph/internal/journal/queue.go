package journal

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// The bounds of a queue: an entry waits for room when so many entries, or so many bytes, wait
// already.
const (
	mostEntries = 128
	mostBytes   = 1 << 20
)

// queue stores entries one call after another, on a goroutine that lives while there are any.
// After a call fails the rest is dropped, because it builds on what failed. The first entry of an
// idle queue is stored alone; those that are added meanwhile are joined.
type queue struct {
	store func(context.Context, Entry) error

	mu      sync.Mutex
	changed sync.Cond
	waiting []batch
	entries int // in waiting
	bytes   int // in waiting
	added   int // entries so far
	done    int // of these, those that were stored
	busy    bool
	failed  error
}

// batch is what one call stores. It has the context of its first entry.
type batch struct {
	Entry
	ctx     context.Context // of the call that will be made
	joined  bool            // Records and Writes have memory of the batch's own
	entries int
	bytes   int
}

// add queues an entry, after waiting for room, and returns the error of an earlier one.
func (q *queue) add(ctx context.Context, e Entry) error {
	size := e.size()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.failed == nil && q.entries > 0 && (q.entries >= mostEntries || q.bytes+size > mostBytes) {
		q.changed.Wait()
	}
	if q.failed != nil {
		return q.failed
	}
	if n := len(q.waiting); n == 0 || !q.waiting[n-1].join(e) {
		q.waiting = append(q.waiting, batch{Entry: e, ctx: ctx})
	}
	last := &q.waiting[len(q.waiting)-1]
	last.entries++
	last.bytes += size
	q.entries++
	q.added++
	q.bytes += size
	if !q.busy {
		q.busy = true
		go q.run(q.take())
	}
	return nil
}

// take removes the first batch.
func (q *queue) take() batch {
	first := q.waiting[0]
	q.waiting[0] = batch{}
	q.waiting = q.waiting[1:]
	q.entries -= first.entries
	q.bytes -= first.bytes
	return first
}

// run stores batches until none waits.
func (q *queue) run(next batch) {
	for more := true; more; {
		err := q.store(next.ctx, next.Entry)
		q.mu.Lock()
		q.done += next.entries
		if err != nil {
			q.failed, q.waiting, q.entries, q.bytes = err, nil, 0, 0
		}
		if more = len(q.waiting) > 0; more {
			next = q.take()
		}
		q.busy = more
		q.changed.Broadcast()
		q.mu.Unlock()
	}
}

// waitStored waits until the entries that were added before are stored, and returns the first
// error. It does not wait for entries that are added in the meantime.
func (q *queue) waitStored() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for added := q.added; q.failed == nil && q.done < added; {
		q.changed.Wait()
	}
	return q.failed
}

// wait waits for what is queued and returns the first error.
func (q *queue) wait() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.busy {
		q.changed.Wait()
	}
	return q.failed
}

// join makes e, which was queued after b, a part of b, and reports whether it could. Records are
// joined that follow each other in one namespace. Writes without records join anything, because
// each names its base.
func (b *batch) join(e Entry) bool {
	has := len(b.Records)
	switch {
	case len(e.Records) == 0:
	case has == 0:
		b.Namespace, b.After = e.Namespace, e.After
	case b.Namespace != e.Namespace || b.Records[has-1].ID != e.After:
		return false
	}
	if !b.joined {
		b.Records, b.Writes, b.joined = slices.Clip(b.Records), slices.Clone(b.Writes), true
	}
	for i := range e.Records {
		b.drop(e.Records[i].Commits)
	}
	b.Records, b.Writes = append(b.Records, e.Records...), append(b.Writes, e.Writes...)
	addMessages(&b.Messages, &e.Messages)
	b.Labels = mergeLabels(b.Labels, e.Labels)
	if e.Status != 0 {
		b.Status = e.Status
	}
	return true
}

// mergeLabels returns changes of labels followed by later ones.
func mergeLabels(changes, later map[string]string) map[string]string {
	switch {
	case len(later) == 0:
		return changes
	case len(changes) == 0:
		return later
	}
	all := maps.Clone(changes)
	maps.Copy(all, later)
	return all
}

// drop removes the writes of a base that is committed by the same call: a saver would drop them.
func (b *batch) drop(base checkpoint.ID) {
	if !base.IsZero() {
		b.Writes = slices.DeleteFunc(b.Writes, func(w checkpoint.Write) bool { return w.Base == base })
	}
}

// size returns about how many bytes an entry stores.
func (e *Entry) size() (n int) {
	for i := range e.Records {
		n += len(e.Records[i].Payload)
		for j := range e.Records[i].Due {
			n += len(e.Records[i].Due[j].Payload)
		}
	}
	for i := range e.Writes {
		n += len(e.Writes[i].Payload)
	}
	return n
}
