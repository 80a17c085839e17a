package journal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/internal/delta"
)

// OnExit is the Log that holds entries until the one with End, and then stores one record for each
// namespace: an overlay on the thread as it was when the run opened it. NewOnExit returns one.
//
// The records of subgraph calls are stored first, those of inner calls before those of outer ones. The
// entry of the run itself comes last. It is the commit point of the whole run: questions, status, end
// and release are in it.
//
// What it holds is what the newest record of the run leads to. A call belongs to the record that made
// it due, so a namespace is dropped when that record is superseded, unless the new one remembers it.
type OnExit struct {
	*Sync
	mu      sync.Mutex
	held    map[string]*held   // by namespace
	answers []checkpoint.Write // to questions that are stored
	last    []Entry            // what the last write still has to store; nil before it was tried
}

// held is what one namespace has to store.
type held struct {
	after  checkpoint.ID     // the stored head
	first  checkpoint.Record // of those held; its ID is zero if there are none
	newest checkpoint.Record
	whole  []byte   // the snapshot that deltas follow; nil if they follow the stored head
	deltas [][]byte // the payloads, one a record
	writes []heldWrite
}

// heldWrite is a pending write with the namespace that wrote it: a subgraph call also writes parts of
// its task's result, which is in the namespace around it.
type heldWrite struct {
	checkpoint.Write
	by string
}

// NewOnExit returns a Log that has not been opened.
func NewOnExit(c Config) *OnExit {
	return &OnExit{Sync: NewSync(c), held: make(map[string]*held)}
}

// Keeps implements Log.
func (l *OnExit) Keeps() bool { return true }

// Eager implements Log.
func (l *OnExit) Eager() bool { return false }

// Write implements Log.
func (l *OnExit) Write(ctx context.Context, e Entry) error {
	l.mu.Lock()
	l.hold(e)
	l.mu.Unlock()
	if !e.End {
		return nil
	}
	return l.flush(ctx, e.Outcome)
}

// hold adds an entry to what is held.
func (l *OnExit) hold(e Entry) {
	h := l.at(e.Namespace)
	for i := range e.Records {
		h.add(e.After, &e.Records[i])
	}
	if len(e.Records) > 0 {
		l.drop(e.Namespace, h)
	}
	for _, w := range e.Writes {
		l.holdWrite(heldWrite{w, e.Namespace})
	}
}

func (l *OnExit) at(namespace string) *held {
	h := l.held[namespace]
	if h == nil {
		h = new(held)
		l.held[namespace] = h
	}
	return h
}

// add makes rec the newest record. after is the stored head if rec is the first.
func (h *held) add(after checkpoint.ID, rec *checkpoint.Record) {
	if !h.records() {
		h.after, h.first = after, *rec
	}
	h.newest = *rec
	if rec.Snapshot {
		h.whole, h.deltas = rec.Payload, nil
		return
	}
	h.deltas = append(h.deltas, rec.Payload)
}

// drop removes what the newest record of a namespace does not lead to: writes of older bases, and calls
// that it does not remember.
func (l *OnExit) drop(namespace string, h *held) {
	h.writes = slices.DeleteFunc(h.writes, func(w heldWrite) bool { return w.Base != h.newest.Base })
	if len(l.held) == 1 {
		return
	}
	remembered := slices.Collect(maps.Values(Memory(h.newest.Meta)))
	for call := range l.held {
		if name := CallIn(namespace, call); name != "" && !slices.Contains(remembered, Within(namespace, name)) {
			delete(l.held, call)
		}
	}
}

// holdWrite adds a pending write. An answer to a question that is held as well withdraws both when they
// are dropped; one to a stored question is kept in any case.
func (l *OnExit) holdWrite(w heldWrite) {
	if w.Kind == checkpoint.Answer && !l.asks(w.Write) {
		l.answers = append(l.answers, w.Write)
		return
	}
	h := l.at(w.Namespace)
	h.writes = append(h.writes, w)
}

// asks reports whether the question that w answers is held.
func (l *OnExit) asks(w checkpoint.Write) bool {
	h := l.held[w.Namespace]
	return h != nil && slices.ContainsFunc(h.writes, func(q heldWrite) bool {
		return q.Kind == checkpoint.Question && q.Base == w.Base && q.Task == w.Task && q.Name == w.Name
	})
}

// flush makes the last write of the run. Called again after an error it repeats what it has not stored,
// and then stores what was held since.
func (l *OnExit) flush(ctx context.Context, o Outcome) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) > 0 {
		if err := l.repeat(ctx); err != nil || len(l.held)+len(l.answers) == 0 {
			return err
		}
	}
	entries, err := l.entries(o)
	if err != nil {
		return err
	}
	l.last, l.answers = entries, nil
	clear(l.held)
	return l.repeat(ctx)
}

// repeat stores what is left of the last write.
func (l *OnExit) repeat(ctx context.Context) error {
	for len(l.last) > 0 {
		if err := l.Sync.Write(ctx, l.last[0]); err != nil {
			return err
		}
		l.last = l.last[1:]
	}
	return nil
}

// entries turns what is held into entries: inner calls first, the run itself last.
func (l *OnExit) entries(o Outcome) ([]Entry, error) {
	namespaces := slices.SortedFunc(maps.Keys(l.held), func(a, b string) int {
		return cmp.Or(strings.Count(b, "/")-strings.Count(a, "/"), cmp.Compare(b, a)) // "" is last
	})
	var entries []Entry
	at := make(map[string]int) // by namespace
	for _, namespace := range namespaces {
		h := l.held[namespace]
		if namespace == "" || !h.records() {
			continue
		}
		rec, err := h.record()
		if err != nil {
			return nil, fmt.Errorf("join the changes of the run: %w", err)
		}
		at[namespace] = len(entries)
		entries = append(entries, Entry{Namespace: namespace, After: h.after, Records: []checkpoint.Record{rec}})
	}
	root := Entry{Outcome: o}
	if h := l.held[""]; h.records() {
		rec, err := h.record()
		if err != nil {
			return nil, fmt.Errorf("join the changes of the run: %w", err)
		}
		root.After, root.Records = h.after, []checkpoint.Record{rec}
	}
	entries = append(entries, root)
	for _, namespace := range namespaces {
		for _, w := range l.held[namespace].writes {
			i, ok := at[l.actOf(w)]
			if !ok {
				i = len(entries) - 1
			}
			entries[i].Writes = append(entries[i].Writes, w.Write)
		}
	}
	last := &entries[len(entries)-1]
	last.Writes = append(last.Writes, l.answers...)
	return entries, nil
}

// actOf returns the namespace whose entry a write goes with: the one that makes it count. What a call
// wrote counts from the act on that stores the record which made the call due.
func (l *OnExit) actOf(w heldWrite) string {
	namespace := w.Namespace
	if !l.held[namespace].records() {
		namespace = w.by
	}
	for namespace != "" {
		around := namespace[:max(strings.LastIndexByte(namespace, '/'), 0)]
		if !l.held[around].records() {
			break
		}
		namespace = around
	}
	return namespace
}

// records reports whether a record is held.
func (h *held) records() bool { return h != nil && !h.first.ID.IsZero() }

// record returns the one record that is stored of those held.
func (h *held) record() (rec checkpoint.Record, err error) {
	rec = h.newest
	rec.Parent, rec.Commits = h.first.Parent, h.first.Commits
	if rec.Snapshot = h.whole != nil; rec.Snapshot {
		rec.Payload, err = delta.Fold(h.whole, h.deltas...)
		return rec, err
	}
	if len(h.deltas) > 1 {
		rec.Payload, err = delta.Concat(h.deltas...)
	}
	return rec, err
}

// Load implements Log.
func (l *OnExit) Load(ctx context.Context, p checkpoint.Place) (checkpoint.Chain, error) {
	c, err := l.Sync.Load(ctx, p)
	if err != nil || !p.At.IsZero() || p.Version != 0 {
		return c, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held[p.Namespace]; h != nil {
		h.show(&c)
	}
	c.Thread.Questions = l.questions(c.Thread.Questions)
	return c, nil
}

// show adds what is held to a chain that was loaded.
func (h *held) show(c *checkpoint.Chain) {
	c.Records, c.Writes = slices.Clone(c.Records), slices.Clone(c.Writes)
	if h.records() {
		if h.whole != nil {
			c.Records = []checkpoint.Record{{Snapshot: true, Payload: h.whole}}
		}
		for _, d := range h.deltas {
			c.Records = append(c.Records, checkpoint.Record{Payload: d})
		}
		last := &c.Records[len(c.Records)-1]
		payload, whole := last.Payload, last.Snapshot
		*last = h.newest
		last.Payload, last.Snapshot = payload, whole
		c.Head, c.Due, c.Writes, c.Committed = h.newest.ID, h.newest.Due, nil, false
	}
	for _, w := range h.writes {
		c.Writes = append(c.Writes, w.Write)
	}
}

// questions returns the open questions of the thread: those stored and those held, without those that
// were answered since.
func (l *OnExit) questions(stored []checkpoint.Write) []checkpoint.Write {
	all := slices.Clone(stored)
	for _, namespace := range slices.Sorted(maps.Keys(l.held)) {
		for _, w := range l.held[namespace].writes {
			all = append(all, w.Write)
		}
	}
	return checkpoint.OpenQuestions(append(all, l.answers...))
}
