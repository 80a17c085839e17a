package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// Store keeps items in the memory of the process. It is a store.Backend for tests, examples and
// programs whose memory may end with the process. The zero Store is empty and ready to use. All
// methods are safe for concurrent use. Times are those of package time, so tests inside
// testing/synctest need not wait until an item expires. A Store must not be copied.
type Store struct {
	mu      sync.RWMutex
	closed  bool
	items   sorted[*item]    // by namespace and key
	entries sorted[*item]    // by namespace, index, value and key
	words   sorted[posting]  // by index, word, namespace and key
	uses    map[string]usage // of Op.Once, by namespace, key and once
	specs   map[string]store.VectorSpec
	version int64 // the newest of items that were created or removed
	watched map[*watched]struct{}
}

var _ store.Backend = (*Store)(nil)

// item is a stored item. It never changes: a write replaces it.
type item struct {
	store.Record
	at      string // its key in Store.items
	index   []store.Entry
	vectors []store.Vector
	texts   []store.Text
	ttl     time.Duration
}

// usage is a use of an Op.Once.
type usage struct {
	version int64
	at      time.Time
}

// NewStore returns an empty store.
func NewStore() *Store { return new(Store) }

// Close drops all items. It returns nil.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.items, s.entries, s.words, s.uses, s.specs = true, sorted[*item]{}, sorted[*item]{}, sorted[posting]{}, nil, nil
	return nil
}

// ready returns an error if ctx has ended or s is closed. refused is the fault of a call's
// arguments, or nil. The caller must hold s.mu.
func (s *Store) ready(ctx context.Context, refused error) error {
	if refused != nil {
		return refused
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	if s.closed {
		return fmt.Errorf("memory: %w", store.ErrClosed)
	}
	return nil
}

// now returns the time as it is stored.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// live reports whether an item has not expired at a time.
func (i *item) live(at time.Time) bool { return i.Expires.IsZero() || at.Before(i.Expires) }

// place returns the key of an item in Store.items.
func place(n store.Namespace, key string) string {
	return string(append(append(n.Append(nil), 0, 0), key...)) // a part begins with another byte, or with 00 ff
}

// entryPlace returns the key of an index entry in Store.entries.
func entryPlace(n store.Namespace, index string, value []byte, key string) string {
	b := append(n.Append(nil), 0, 0)
	b = store.AppendPart(b, index)
	b = store.AppendPart(b, string(value))
	return string(append(b, key...))
}

// Do runs operations as one.
func (s *Store) Do(ctx context.Context, ops []store.Op) ([]store.Result, error) {
	if err := store.CheckOps(ops); err != nil {
		return nil, err
	}
	reads := !slices.ContainsFunc(ops, func(op store.Op) bool { return op.Kind != store.OpGet && op.Kind != store.OpVectors || op.Refresh })
	if reads {
		s.mu.RLock()
		defer s.mu.RUnlock()
	} else {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	if err := s.ready(ctx, nil); err != nil {
		return nil, err
	}
	b := batch{s: s, now: now()}
	results := make([]store.Result, len(ops))
	for i := range ops {
		var err error
		if results[i], err = b.do(&ops[i]); err != nil {
			b.undo()
			return nil, err
		}
	}
	if !reads {
		s.notify(ops)
	}
	return results, nil
}

// batch is one call of Do.
type batch struct {
	s      *Store
	now    time.Time
	undone []func() // undo what the batch did, newest last
}

// undo undoes everything that the batch has done.
func (b *batch) undo() {
	for _, f := range slices.Backward(b.undone) {
		f()
	}
}

// set stores or, if it is nil, removes the item at a place.
func (b *batch) set(at string, old, it *item) {
	b.s.set(at, old, it)
	b.undone = append(b.undone, func() { b.s.set(at, it, old) })
}

// set replaces the item old at a place by it, with their index entries and words. Either is nil
// for none.
func (s *Store) set(at string, old, it *item) {
	if old != nil {
		for _, e := range old.index {
			s.entries.remove(entryPlace(old.Namespace, e.Index, e.Value, old.Key))
		}
	}
	s.setWords(at, old, it)
	if it == nil {
		s.items.remove(at)
		return
	}
	s.items.put(at, it)
	for _, e := range it.index {
		s.entries.put(entryPlace(it.Namespace, e.Index, e.Value, it.Key), it)
	}
}

// do runs one operation of the batch.
func (b *batch) do(op *store.Op) (store.Result, error) {
	at := place(op.Namespace, op.Key)
	old, _ := b.s.items.get(at)
	it := old // the live item
	if it != nil && !it.live(b.now) {
		it = nil
	}
	switch op.Kind {
	case store.OpGet:
		return b.get(op, at, it), nil
	case store.OpVectors:
		return vectorsOf(op, it), nil
	}
	use := ""
	if op.Once != "" {
		use = fmt.Sprintf("%d %s%s", len(at), at, op.Once)
		if used, ok := b.s.uses[use]; ok {
			r := store.Record{Namespace: slices.Clone(op.Namespace), Key: op.Key, Version: used.version}
			return store.Result{Record: r, Repeated: true}, nil
		}
	}
	if err := conflict(op, it); err != nil {
		return store.Result{}, err
	}
	result := store.Result{Found: it != nil}
	switch {
	case op.Kind == store.OpPut:
		made := b.put(op, at, old, it)
		b.set(at, old, made)
		result.Record = made.Record
		result.Record.Value = nil
	case it == nil:
		result.Record = store.Record{Namespace: slices.Clone(op.Namespace), Key: op.Key}
	case op.Kind == store.OpDelete:
		b.s.version = max(b.s.version, it.Version)
		b.set(at, old, nil)
		result.Record = it.Record
	default:
		made := *it
		made.index, made.vectors, made.texts = cloneEntries(op.Index), cloneVectors(op.Vectors), cloneTexts(op.Texts)
		b.set(at, old, &made)
		result.Record = made.Record
	}
	if use != "" {
		b.use(use, op, result.Record.Version)
	}
	return result, nil
}

// conflict returns a *ConflictError if the condition of op does not hold for the live item.
func conflict(op *store.Op, it *item) error {
	found := int64(0)
	if it != nil {
		found = it.Version
	}
	missing := op.Kind == store.OpIndex && it == nil
	if op.IfAbsent && found != 0 || op.IfVersion != 0 && found != op.IfVersion && !missing {
		return &store.ConflictError{Namespace: slices.Clone(op.Namespace), Key: op.Key, Want: op.IfVersion, Found: found}
	}
	return nil
}

// get reads the live item.
func (b *batch) get(op *store.Op, at string, it *item) store.Result {
	if it == nil {
		return store.Result{Record: store.Record{Namespace: slices.Clone(op.Namespace), Key: op.Key}}
	}
	if op.Refresh && it.ttl > 0 {
		made := *it
		made.Expires = b.now.Add(it.ttl)
		b.set(at, it, &made)
		it = &made
	}
	return store.Result{Record: it.Record, Found: true}
}

// put returns the item that op stores. old is what is stored, and it the live item.
func (b *batch) put(op *store.Op, at string, old, it *item) *item {
	made := &item{
		Record: store.Record{
			Namespace: slices.Clone(op.Namespace), Key: op.Key, Value: append([]byte{}, op.Value...),
			Created: b.now, Updated: b.now,
		},
		at: at, index: cloneEntries(op.Index), vectors: cloneVectors(op.Vectors), texts: cloneTexts(op.Texts),
	}
	if it != nil {
		made.Version, made.Created = it.Version+1, it.Created
	} else {
		b.s.version = max(b.s.version+1, b.now.UnixMicro())
		if old != nil {
			b.s.version = max(b.s.version, old.Version+1)
		}
		made.Version = b.s.version
	}
	switch {
	case op.TTL > 0:
		made.ttl = op.TTL
		made.Expires = b.now.Add(op.TTL).Truncate(time.Microsecond)
	case !op.ExpireAt.IsZero():
		made.Expires = op.ExpireAt.UTC().Truncate(time.Microsecond)
	case op.KeepExpiry && it != nil:
		made.ttl, made.Expires = it.ttl, it.Expires
	}
	return made
}

// use remembers that the key of op was used.
func (b *batch) use(key string, op *store.Op, version int64) {
	if op.Kind == store.OpDelete {
		version = 0
	}
	if b.s.uses == nil {
		b.s.uses = make(map[string]usage)
	}
	b.s.uses[key] = usage{version, b.now}
	b.undone = append(b.undone, func() { delete(b.s.uses, key) })
}

// cloneEntries returns a deep copy of index entries.
func cloneEntries(entries []store.Entry) []store.Entry {
	all := make([]store.Entry, 0, len(entries))
	for _, e := range entries {
		all = append(all, store.Entry{Index: e.Index, Value: bytes.Clone(e.Value)})
	}
	return all
}

// Sweep removes expired items.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx, nil); err != nil {
		return 0, err
	}
	at := now()
	var gone []*item
	s.items.from("", func(_ string, it *item) bool {
		if !it.live(at) {
			gone = append(gone, it)
		}
		return len(gone) < limit
	})
	for _, it := range gone {
		s.version = max(s.version, it.Version)
		s.set(it.at, it, nil)
	}
	for key, use := range s.uses {
		if at.Sub(use.at) > store.OnceFor {
			delete(s.uses, key)
		}
	}
	return len(gone), nil
}

// Find returns the items that q selects.
func (s *Store) Find(ctx context.Context, q store.Query) ([]store.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx, q.Check()); err != nil {
		return nil, err
	}
	f := finding{s: s, q: &q, now: now()}
	f.visit = func(it *item) bool {
		f.found = append(f.found, it.Record)
		return len(f.found) < q.Limit
	}
	f.run()
	return f.found, nil
}

// run visits the items that q selects.
func (f *finding) run() {
	q := f.q
	f.prefix = string(q.Namespace.Append(nil))
	if q.Exact {
		f.prefix += "\x00\x00"
	}
	if q.After != nil {
		f.after = place(q.After.Namespace, q.After.Key)
	}
	if len(q.Where) > 0 {
		f.byIndex()
	} else {
		f.scan()
	}
}

// finding is one call of Find or Search.
type finding struct {
	s      *Store
	q      *store.Query
	now    time.Time
	prefix string           // of the places of all items
	after  string           // a place
	visit  func(*item) bool // reports whether there may be more to visit
	ended  bool
	found  []store.Record
}

// add visits an item if it is live and all conditions hold. It reports whether there may be more.
func (f *finding) add(it *item) bool {
	if it.live(f.now) && holds(it, f.q.Where) {
		f.ended = !f.visit(it)
	}
	return !f.ended
}

// scan adds the items of the namespaces.
func (f *finding) scan() {
	f.s.items.from(max(f.prefix, f.after), func(key string, it *item) bool {
		if !strings.HasPrefix(key, f.prefix) {
			return false
		}
		return key == f.after || f.add(it)
	})
}

// byIndex adds the items that the first condition selects, one namespace after the other.
func (f *finding) byIndex() {
	from := max(f.prefix, f.after)
	for !f.ended {
		var next *item // the first item of the next namespace
		f.s.items.from(from, func(key string, it *item) bool {
			if key == f.after {
				return true
			}
			if strings.HasPrefix(key, f.prefix) {
				next = it
			}
			return false
		})
		if next == nil {
			return
		}
		f.inNamespace(next.Namespace)
		from = afterItems(next.Namespace)
	}
}

// afterItems returns a place after all items of a namespace, and before those of the next one.
func afterItems(n store.Namespace) string { return string(n.Append(nil)) + "\x00\x01" }

// inNamespace adds the items of one namespace, in order of their keys.
func (f *finding) inNamespace(n store.Namespace) {
	var items []*item
	base := string(append(n.Append(nil), 0, 0))
	for _, r := range f.q.Where[0].Ranges {
		index := string(store.AppendPart([]byte(base), f.q.Where[0].Index))
		from := index + string(prefixOf(r.From))
		f.s.entries.from(from, func(key string, it *item) bool {
			if !strings.HasPrefix(key, index) {
				return false
			}
			if r.To != nil && key >= index+string(prefixOf(r.To)) {
				return false
			}
			items = append(items, it)
			return true
		})
	}
	slices.SortFunc(items, func(a, b *item) int { return strings.Compare(a.Key, b.Key) })
	items = slices.CompactFunc(items, func(a, b *item) bool { return a == b })
	for _, it := range items {
		if it.at > f.after && !f.add(it) {
			return
		}
	}
}

// prefixOf returns the form of a value without the end of the part.
func prefixOf(value []byte) []byte {
	b := store.AppendPart(nil, string(value))
	return b[:len(b)-2]
}

// holds reports whether all conditions hold.
func holds(it *item, where []store.Condition) bool {
	for _, c := range where {
		if !slices.ContainsFunc(it.index, func(e store.Entry) bool {
			return e.Index == c.Index && slices.ContainsFunc(c.Ranges, func(r store.Range) bool {
				return bytes.Compare(e.Value, r.From) >= 0 && (r.To == nil || bytes.Compare(e.Value, r.To) < 0)
			})
		}) {
			return false
		}
	}
	return true
}

// Namespaces returns the namespaces that q selects.
func (s *Store) Namespaces(ctx context.Context, q store.NamespaceQuery) ([]store.Namespace, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx, q.Check()); err != nil {
		return nil, err
	}
	limit := store.MaxPage
	if q.Limit > 0 {
		limit = min(limit, q.Limit)
	}
	var all []store.Namespace
	at, prefix := now(), string(q.Literal().Append(nil))
	from := prefix
	if len(q.After) > 0 {
		from = max(from, past(q, q.After))
	}
	for len(all) < limit {
		var next *item
		s.items.from(from, func(key string, it *item) bool {
			if !strings.HasPrefix(key, prefix) {
				return false
			}
			if it.live(at) {
				next = it
			}
			return next == nil
		})
		if next == nil {
			break
		}
		n := q.Cut(next.Namespace)
		if !q.Matches(next.Namespace) {
			from = afterItems(next.Namespace)
			continue
		}
		all = append(all, slices.Clone(n))
		from = past(q, n)
	}
	return all, nil
}

// past returns a place after all items of namespaces that q cuts to n, and before the next.
func past(q store.NamespaceQuery, n store.Namespace) string {
	if q.Depth > 0 && len(n) >= q.Depth {
		b := n[:q.Depth].Append(nil)
		b[len(b)-1]++ // 00 01 ends the last part
		return string(b)
	}
	return afterItems(n)
}
