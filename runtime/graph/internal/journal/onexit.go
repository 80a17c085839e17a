package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// OnExit is the Log that holds entries until the one with End. Then it stores one record for each
// namespace. It is an overlay on the thread as it was when the run opened it. NewOnExit returns
// one.
//
// The records of subgraph calls are stored first, those of inner calls before those of outer
// ones. The entry of the run itself comes last. It is the commit point of the whole run:
// questions, status, end and release are in it.
//
// OnExit holds the namespaces that the newest record of the run leads to. A call belongs to the
// record that made it due. So a namespace is dropped when that record is superseded, unless the
// new one leads to it by Stateful. A call that began in this run is dropped when it is over.
type OnExit struct {
	*Sync
	mu      sync.Mutex
	held    map[string]*held   // by namespace
	made    int                // how many namespaces were ever held
	asked   []checkpoint.Write // the questions that were open when the run opened
	answers writeSet           // to questions that may be stored
	handled checkpoint.Handled // the messages of held entries
	labels  map[string]string  // the labels of held entries
	owners  map[uint64]string  // by the number of a signal: the namespace that took it
	last    []Entry            // what the last write still has to store; nil before it was tried
	refused bool               // the storage has refused the last write for its size
}

// held is what one namespace has to store.
type held struct {
	after  checkpoint.ID     // the stored head
	first  checkpoint.Record // of those held; its ID is zero if there are none
	newest checkpoint.Record
	whole  []byte   // the snapshot that deltas follow; nil if they follow the stored head
	deltas [][]byte // the payloads, one a record
	writes writeSet
	number int      // the namespaces are numbered as they are first held
	calls  []string // the namespaces of the calls in it that are held
}

// NewOnExit returns a Log that has not been opened.
func NewOnExit(c Config) *OnExit {
	return &OnExit{Sync: NewSync(c), held: make(map[string]*held)}
}

// Open implements Log.
func (l *OnExit) Open(ctx context.Context, o checkpoint.Opening, e Entry) ([]checkpoint.Write, error) {
	stand, err := l.Sync.Open(ctx, o, e)
	l.asked = checkpoint.OpenQuestions(stand)
	return stand, err
}

// Keeps implements Log.
func (l *OnExit) Keeps() bool { return true }

// Eager implements Log.
func (l *OnExit) Eager() bool { return false }

// Write implements Log.
func (l *OnExit) Write(ctx context.Context, e Entry) error {
	l.note(&e)
	if e.End && l.refused {
		return l.Sync.Write(ctx, l.bare(&e))
	}
	l.mu.Lock()
	l.hold(e)
	l.mu.Unlock()
	if !e.End {
		return nil
	}
	return l.flush(ctx, e.Change)
}

// hold adds an entry to what is held. The writes come first, so that what withdraws a question of
// a call is dropped with the call.
func (l *OnExit) hold(e Entry) {
	addMessages(&l.handled, &e.Messages)
	l.labels = mergeLabels(l.labels, e.Labels)
	l.own(&e)
	for _, w := range e.Writes {
		l.holdWrite(heldWrite{w, e.Namespace})
	}
	if len(e.Records) == 0 {
		return
	}
	h := l.at(e.Namespace)
	for i := range e.Records {
		h.add(e.After, &e.Records[i])
	}
	l.drop(e.Namespace, h)
}

// at returns what is held of a namespace, and begins to hold it if necessary.
func (l *OnExit) at(namespace string) *held {
	h := l.held[namespace]
	if h != nil {
		return h
	}
	l.made++
	h = &held{number: l.made}
	l.held[namespace] = h
	if namespace != "" {
		around := l.at(outside(namespace))
		around.calls = append(around.calls, namespace)
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

// drop removes what the newest record of a namespace does not lead to: writes of older bases, and
// calls that are over and not remembered.
func (l *OnExit) drop(namespace string, h *held) {
	before := h.writes.list
	h.writes = writeSet{}
	for _, w := range before {
		if w.Base == h.newest.Base {
			h.writes.add(w)
		}
	}
	if len(h.calls) > 0 {
		l.dropCalls(h, l.remembered(h), namespace)
	}
}

// dropCalls removes the calls in h, at any depth, that are not remembered. by is the namespace
// whose record ended them.
func (l *OnExit) dropCalls(h *held, remembered map[string]bool, by string) {
	h.calls = slices.DeleteFunc(h.calls, func(namespace string) bool {
		call := l.held[namespace]
		l.dropCalls(call, remembered, by)
		if remembered[namespace] {
			return false
		}
		l.withdraw(namespace, call, by)
		if len(call.calls) > 0 { // a later call remembers one of them
			*call = held{number: call.number, calls: call.calls}
			return false
		}
		delete(l.held, namespace)
		return true
	})
}

// Over implements Log. A call that began in an earlier run stays: its newest record supersedes
// what is stored of it.
func (l *OnExit) Over(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	call := l.held[namespace]
	if !call.records() || !call.after.IsZero() {
		return
	}
	l.dropCalls(call, nil, namespace)
	around := l.held[outside(namespace)]
	around.calls = slices.DeleteFunc(around.calls, func(other string) bool { return other == namespace })
	delete(l.held, namespace)
}

// remembered returns the held namespaces that the newest record of h leads to by Stateful. It
// names some of them, and the newest records of these name others.
func (l *OnExit) remembered(h *held) map[string]bool {
	reached := make(map[string]bool)
	for next := []*held{h}; len(next) > 0; next = next[1:] {
		for _, namespace := range Memory(next[0].newest.Meta) {
			if call := l.held[namespace]; call != nil && !reached[namespace] {
				reached[namespace] = true
				next = append(next, call)
			}
		}
	}
	return reached
}

// withdraw answers the stored questions that a call has left behind, because none of the records
// that supersede them is going to be stored. by is the namespace whose record ended the call.
func (l *OnExit) withdraw(namespace string, call *held, by string) {
	for _, q := range l.asked {
		if call.records() && q.Namespace == namespace && q.Base == call.first.Commits {
			q.Kind, q.Payload = checkpoint.Answer, wire.AppendNil(nil)
			l.answers.add(heldWrite{q, by})
		}
	}
}

// holdWrite adds a pending write. An answer to a question of a record that is held is dropped
// with that record. Any other answer is kept, because the question may be stored.
func (l *OnExit) holdWrite(w heldWrite) {
	if h := l.held[w.Namespace]; w.Kind == checkpoint.Answer && (!h.records() || h.newest.Base != w.Base) {
		l.answers.add(w)
		return
	}
	l.at(w.Namespace).writes.add(w)
}

// flush makes the last write of the run. Called again after an error it repeats what it has not
// stored, and then stores what was held since.
func (l *OnExit) flush(ctx context.Context, o Change) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) > 0 {
		if err := l.repeat(ctx); err != nil || len(l.held)+len(l.answers.list) == 0 {
			return err
		}
	}
	o.Messages, o.Labels = l.handled, l.labels
	entries, err := l.entries(o)
	if err != nil {
		return err
	}
	l.last, l.answers, l.handled, l.labels = entries, writeSet{}, checkpoint.Handled{}, nil
	clear(l.held)
	return l.repeat(ctx)
}

// repeat stores what is left of the last write.
func (l *OnExit) repeat(ctx context.Context) error {
	for len(l.last) > 0 {
		if err := l.Sync.Write(ctx, l.last[0]); err != nil {
			if l.refused = errors.Is(err, checkpoint.ErrTooLarge); l.refused {
				l.last = nil
			}
			return err
		}
		l.last = l.last[1:]
	}
	return nil
}

// entries turns what is held into entries: inner calls first, the run itself last.
func (l *OnExit) entries(o Change) ([]Entry, error) {
	var entries []Entry
	at := make(map[string]int) // by namespace
	for _, namespace := range l.namespaces() {
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
	root := Entry{Change: o}
	if h := l.held[""]; h.records() {
		rec, err := h.record()
		if err != nil {
			return nil, fmt.Errorf("join the changes of the run: %w", err)
		}
		root.After, root.Records = h.after, []checkpoint.Record{rec}
	}
	if n := len(entries); n > 0 && len(root.Records) == 0 {
		entries[n-1].Labels = o.Labels // the superstep of a call has set them
	}
	entries = append(entries, root)
	for _, w := range l.writes() {
		i, ok := at[l.actOf(w)]
		if !ok {
			i = len(entries) - 1
		}
		entries[i].Writes = append(entries[i].Writes, w.Write)
	}
	l.share(entries, at)
	return entries, nil
}

// namespaces returns those of what is held, inner calls before outer ones, older ones first.
func (l *OnExit) namespaces() []string {
	return slices.SortedFunc(maps.Keys(l.held), func(a, b string) int {
		return cmp.Or(depth(b)-depth(a), l.held[a].number-l.held[b].number)
	})
}

// writes returns the pending writes that are held, answers last.
func (l *OnExit) writes() []heldWrite {
	var all []heldWrite
	for _, namespace := range l.namespaces() {
		all = append(all, l.held[namespace].writes.list...)
	}
	return append(all, l.answers.list...)
}

// actOf returns the namespace whose entry a write goes with: the one that makes it count. The
// writes of a call count from the act that stores the record which made the call due. A call that
// had begun before the run is due at a stored record.
func (l *OnExit) actOf(w heldWrite) string {
	namespace := w.Namespace
	if w.Task == ReceivedTask {
		namespace = l.owners[numberOf(&w.Write)]
	}
	if !l.held[namespace].records() {
		namespace = w.by
	}
	for namespace != "" {
		around := outside(namespace)
		if h := l.held[namespace]; h.records() && !h.after.IsZero() || !l.held[around].records() {
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
func (l *OnExit) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := l.Sync.Load(ctx, p)
	if err != nil || !p.At.IsZero() || p.Version != 0 {
		return c, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held[p.Namespace]; h != nil {
		h.show(&c)
	}
	if !c.Committed {
		c.Writes = with(c.Writes, slices.DeleteFunc(slices.Clone(l.answers.list), func(w heldWrite) bool {
			return w.Namespace != p.Namespace || w.Base != c.Last.Base
		}))
	}
	if p.Questions() {
		c.Thread.Questions = l.questions(c.Thread.Questions)
	}
	return c, nil
}

// show adds what is held to a chain that was loaded.
func (h *held) show(c *checkpoint.Chain) {
	if h.records() {
		if h.whole != nil {
			c.Snapshot, c.Deltas, c.Chained = h.whole, nil, 0
		}
		c.Last, c.Deltas, c.Chained = h.newest, append(slices.Clip(c.Deltas), h.deltas...), c.Chained+len(h.deltas)
		c.Head, c.Due, c.Writes, c.Committed = h.newest.ID, h.newest.Due, nil, false
	}
	c.Writes = with(c.Writes, h.writes.list)
}

// with returns stored writes with those that are held.
func with(stored []checkpoint.Write, held []heldWrite) []checkpoint.Write {
	var set writeSet
	for _, w := range stored {
		set.add(heldWrite{Write: w})
	}
	for _, w := range held {
		set.add(w)
	}
	var all []checkpoint.Write
	for _, w := range set.list {
		all = append(all, w.Write)
	}
	return all
}

// questions returns the open questions of the thread: those stored and those held, without those
// whose superstep is over or that were answered since.
func (l *OnExit) questions(stored []checkpoint.Write) []checkpoint.Write {
	open := slices.DeleteFunc(slices.Clone(stored), func(q checkpoint.Write) bool {
		h := l.held[q.Namespace]
		return h.records() && q.Base == h.first.Commits
	})
	return checkpoint.OpenQuestions(with(open, l.writes()))
}
