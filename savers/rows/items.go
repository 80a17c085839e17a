package rows

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
)

// Store returns the store of the saver: typed memory across threads, for package store. It uses
// the tables Items and Entries. Its Close leaves the saver open. It cannot be used after the saver
// was closed.
//
// A batch is a Read and a Change. It reads again if another call has changed one of its items.
func (s *Saver) Store() store.Backend {
	t := &items{s: s}
	if n, can := s.store.(Notifier); can {
		return notifying{t, n}
	}
	return t
}

// Notifier is a Store that says that items may have changed.
type Notifier interface {
	// Notify calls changed after Changes of rows of Items that begin with a prefix, as the method
	// of a store.Notifier does.
	Notify(ctx context.Context, prefix []byte, changed func()) (stop func(), err error)
}

// items is a store.Backend on the rows of a Saver.
type items struct {
	s      *Saver
	calls  sync.RWMutex // calls hold it to read, Close to write
	closed bool
}

var _ store.Backend = (*items)(nil)

// notifying is a store.Backend on a Store that notifies.
type notifying struct {
	*items
	notifier Notifier
}

// Notify calls changed after writes in a namespace and those below it.
func (t notifying) Notify(ctx context.Context, n store.Namespace, changed func()) (stop func(), err error) {
	err = t.read(ctx, nil, func() error {
		stop, err = t.notifier.Notify(ctx, itemKey(rowOfItem, n.Append(nil)).Bytes, changed)
		return err
	})
	return stop, err
}

// Close ends the use of the store. It waits for calls in progress.
func (t *items) Close() error {
	t.calls.Lock()
	defer t.calls.Unlock()
	t.closed = true
	return nil
}

// read runs f as a call that reads. invalid is what is wrong with its arguments.
func (t *items) read(ctx context.Context, invalid error, f func() error) error {
	return t.call(ctx, invalid, f, t.s.call)
}

// write runs f as a call that writes, again while it returns ErrChanged.
func (t *items) write(ctx context.Context, f func() error) error {
	return t.call(ctx, nil, f, t.s.change)
}

// call runs f by a method of the saver, and gives its error the kinds of package store.
func (t *items) call(
	ctx context.Context, invalid error, f func() error, by func(ctx context.Context, invalid error, f func() error) error,
) error {
	if invalid != nil {
		return invalid
	}
	t.calls.RLock()
	defer t.calls.RUnlock()
	if t.closed {
		return fmt.Errorf("%s: %w", t.s.name, store.ErrClosed)
	}
	err := by(ctx, nil, f)
	var conflict *store.ConflictError
	if errors.As(err, &conflict) {
		return conflict
	}
	for _, kinds := range [...][2]error{
		{checkpoint.ErrClosed, store.ErrClosed}, {checkpoint.ErrDamaged, store.ErrDamaged}, {checkpoint.ErrUnavailable, store.ErrUnavailable},
	} {
		if errors.Is(err, kinds[0]) {
			return fmt.Errorf("%w: %w", kinds[1], err)
		}
	}
	return err
}

// Do runs operations as one.
func (t *items) Do(ctx context.Context, ops []store.Op) (results []store.Result, err error) {
	if err := store.CheckOps(ops); err != nil || len(ops) == 0 {
		return nil, errors.Join(err, t.read(ctx, nil, func() error { return nil }))
	}
	f := func() (err error) {
		results, err = t.try(ctx, ops)
		return err
	}
	if slices.ContainsFunc(ops, changes) {
		err = t.write(ctx, f)
	} else {
		err = t.read(ctx, nil, f)
	}
	return results, err
}

// changes reports whether an operation may change something.
func changes(op store.Op) bool {
	return op.Kind != store.OpGet && op.Kind != store.OpVectors || op.Refresh
}

// try runs operations on what is stored now. It returns ErrChanged if that changes meanwhile.
func (t *items) try(ctx context.Context, ops []store.Op) ([]store.Result, error) {
	b := itemBatch{slots: make(map[string]*slot), uses: make(map[string]*use)}
	for i := range ops {
		b.add(&ops[i])
	}
	if err := b.load(ctx, t.s); err != nil {
		return nil, err
	}
	results := make([]store.Result, len(ops))
	for i := range ops {
		var err error
		if results[i], err = b.do(&ops[i]); err != nil {
			return nil, err
		}
	}
	return results, b.store(ctx, t.s)
}

// present is the value of a row whose key says everything.
var present = []byte{1}

// itemBatch is a batch of operations. It reads all items first, runs the operations on them in
// memory, and then stores what has changed.
type itemBatch struct {
	now   int64
	slots map[string]*slot // by place
	order []*slot
	uses  map[string]*use // by key
	dirty bool
	c     Change
}

// slot is an item of a batch.
type slot struct {
	place           []byte
	reads           bool // the batch reads the value
	writes          bool
	vectors         bool // the batch reads the vectors
	depends         bool // what the batch writes depends on the item
	stored, item    item // before the batch, and as it leaves it
	words           []store.Text
	storedVectors   []store.Vector
	dirty, replaced bool      // the row of the item has changed; the value has
	source          *store.Op // the last that gave the item index entries, vectors and words
}

// use is a use of Once.
type use struct {
	key     Key
	found   bool
	made    bool // by this batch
	version int64
}

// slot returns the slot of an operation, and its use of Once; nil for none.
func (b *itemBatch) slot(op *store.Op) (*slot, *use) {
	place := placeOf(op.Namespace, op.Key)
	s := b.slots[string(place)]
	if s == nil {
		s = &slot{place: place}
		b.slots[string(place)], b.order = s, append(b.order, s)
	}
	if op.Once == "" {
		return s, nil
	}
	key := entryKey(rowOfOnce, parted(place), []byte(op.Once))
	u := b.uses[string(key.Bytes)]
	if u == nil {
		u = &use{key: key}
		b.uses[string(key.Bytes)] = u
	}
	return s, u
}

// add notes what an operation reads.
func (b *itemBatch) add(op *store.Op) {
	s, _ := b.slot(op)
	switch op.Kind {
	case store.OpGet:
		s.reads = true
	case store.OpVectors:
		s.vectors = true
	default:
		s.writes = true
		s.depends = s.depends || op.IfAbsent || op.IfVersion != 0 || op.KeepExpiry || op.Kind == store.OpIndex
	}
}

// load reads the items.
func (b *itemBatch) load(ctx context.Context, s *Saver) error {
	var ranges []Range
	var scans []func([]Row) error
	ask := func(r Range, scan func(*Row) error) {
		ranges = append(ranges, r)
		scans = append(scans, func(all []Row) error {
			for i := range all {
				if err := scan(&all[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, s := range b.order { // first the rows of one table, because a Store can read these together
		s.item.place = s.place
		ask(point(itemKey(rowOfItem, s.place)), func(r *Row) error {
			i, err := r.item()
			if err != nil && s.writes && !s.reads && !s.vectors && !s.depends {
				i, err = &item{place: s.place, rev: r.Rev, damaged: true}, nil
			}
			if err == nil {
				s.stored, s.item = *i, *i
			}
			return err
		})
	}
	for _, s := range b.order {
		if s.writes {
			ask(point(entryKey(rowOfWords, s.place)), func(r *Row) error {
				s.words, _ = r.words() // the rows of words that nobody knows stay
				return nil
			})
		}
	}
	for _, u := range b.uses {
		ask(point(u.key), func(r *Row) (err error) {
			u.found = true
			u.version, _, err = r.two()
			return err
		})
	}
	now, err := asked(ctx, s, ranges, scans)
	b.now = now
	if err != nil || !slices.ContainsFunc(b.order, func(s *slot) bool { return s.vectors && len(s.stored.vectors) > 0 || s.reads && s.stored.large }) {
		return err
	}
	return b.loadMore(ctx, s)
}

// asked reads ranges, and scans the rows of each. It returns the time.
func asked(ctx context.Context, s *Saver, ranges []Range, scans []func([]Row) error) (now int64, err error) {
	rows, at, err := s.read(ctx, ranges...)
	if err != nil {
		return 0, err
	}
	for i, scan := range scans {
		if err := scan(rows[i]); err != nil {
			return 0, err
		}
	}
	return at.UnixMicro(), nil
}

// mostPoints is about how many rows by their keys one Read of a batch asks for. Statements of
// databases have limits.
const mostPoints = 4096

// loadMore reads the large values of items, and their vectors, by some Reads. It returns
// ErrChanged if an item has changed since load has read what there is.
func (b *itemBatch) loadMore(ctx context.Context, s *Saver) error {
	for rest := b.order; len(rest) > 0; {
		n, points := 0, 0
		for ; n < len(rest) && (n == 0 || points < mostPoints); n++ {
			points += 2 + len(rest[n].stored.vectors)
		}
		if err := loadMoreOf(ctx, s, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// loadMoreOf is loadMore for some slots.
func loadMoreOf(ctx context.Context, s *Saver, some []*slot) error {
	var ranges []Range
	var scans []func([]Row) error
	for _, s := range some {
		ranges = append(ranges, point(itemKey(rowOfItem, s.place)))
		scans = append(scans, func(all []Row) error {
			if revOf(all) != s.stored.rev {
				return ErrChanged
			}
			return nil
		})
	}
	for _, s := range some {
		if s.reads && s.stored.large {
			ranges = append(ranges, point(entryKey(rowOfValue, s.place)))
			scans = append(scans, func(all []Row) (err error) {
				for i := range all {
					s.item.value, err = unseal(all[i].Value, all[i].Key)
				}
				return err
			})
		}
		for n := range s.stored.vectors {
			if !s.vectors {
				break
			}
			ranges = append(ranges, point(vectorKey(s.place, n)))
			scans = append(scans, func(all []Row) error {
				for i := range all {
					v, err := all[i].Vector()
					if err != nil {
						return err
					}
					s.storedVectors = append(s.storedVectors, v)
				}
				return nil
			})
		}
	}
	_, err := asked(ctx, s, ranges, scans)
	return err
}

// do runs an operation on its slot.
func (b *itemBatch) do(op *store.Op) (store.Result, error) {
	s, use := b.slot(op)
	i := &s.item
	none := store.Record{Namespace: slices.Clone(op.Namespace), Key: op.Key}
	live := i.live(b.now)
	switch {
	case op.Kind == store.OpVectors:
		r := store.Result{Record: none}
		if live && len(i.vectors) > 0 {
			r.Found, r.Record.Version, r.Record.Vectors = true, i.version, s.read()
		}
		return r, nil
	case op.Kind == store.OpGet && !live:
		return store.Result{Record: none}, nil
	case op.Kind == store.OpGet:
		if op.Refresh && i.ttl > 0 {
			i.expires, s.dirty = b.now+i.ttl, true
		}
		record, err := i.found(new(parsed))
		return store.Result{Record: record, Found: true}, err
	case use != nil && use.found:
		none.Version = use.version
		return store.Result{Record: none, Repeated: true}, nil
	}
	found := int64(0)
	if live {
		found = i.version
	}
	missing := op.Kind == store.OpIndex && !live
	if op.IfAbsent && live || op.IfVersion != 0 && found != op.IfVersion && !missing {
		return store.Result{}, &store.ConflictError{Namespace: none.Namespace, Key: op.Key, Want: op.IfVersion, Found: found}
	}
	result := store.Result{Record: none, Found: live}
	switch {
	case op.Kind == store.OpPut:
		s.put(op, b.now)
		result.Record = i.record(op.Namespace, op.Key)
	case op.Kind == store.OpDelete && i.damaged:
		s.bury(b.now)
	case !live:
	case op.Kind == store.OpDelete:
		result.Record = i.record(op.Namespace, op.Key)
		s.bury(b.now)
	default:
		s.content(op)
		result.Record = i.record(op.Namespace, op.Key)
	}
	if use != nil {
		s.dirty, use.found, use.made, use.version = true, true, true, result.Record.Version
		if op.Kind == store.OpDelete {
			use.version = 0
		}
	}
	return result, nil
}

// read returns the vectors of the slot.
func (s *slot) read() []store.Vector {
	if s.source == nil {
		return s.storedVectors
	}
	all := slices.Clone(s.source.Vectors)
	for i := range all {
		all[i].Values = slices.Clone(all[i].Values)
	}
	return all
}

// put gives the slot a new value.
func (s *slot) put(op *store.Op, now int64) {
	old := s.item
	made := item{place: s.place, version: max(now, old.version+1), created: now, updated: now}
	live := old.live(now)
	if live {
		made.version, made.created = old.version+1, old.created
		made.updated = max(now, old.updated) // clocks of machines differ
	}
	switch {
	case op.TTL > 0:
		made.ttl = op.TTL.Microseconds()
		made.expires = made.updated + made.ttl
	case !op.ExpireAt.IsZero():
		made.expires = max(op.ExpireAt.UnixMicro(), 1)
	case op.KeepExpiry && live:
		made.ttl, made.expires = old.ttl, old.expires
	}
	made.value, made.large = append([]byte{}, op.Value...), len(op.Value) >= largeValue
	s.item, s.replaced = made, true
	s.content(op)
}

// content gives the slot index entries, vectors and words.
func (s *slot) content(op *store.Op) {
	i := &s.item
	i.index, i.vectors, i.words = op.Index, op.Vectors, len(op.Texts) > 0
	s.dirty, s.source = true, op
}

// bury makes the slot that of a deleted item.
func (s *slot) bury(now int64) {
	s.item = item{place: s.place, version: s.item.version, created: s.item.created, updated: now, buried: true}
	s.dirty, s.replaced, s.source = true, true, new(store.Op)
}

// store stores what the batch has changed, unless that is nothing.
func (b *itemBatch) store(ctx context.Context, s *Saver) error {
	for _, s := range b.order {
		b.dirty = b.dirty || s.dirty
	}
	if !b.dirty {
		return nil
	}
	b.c.Once = true // a write that is stored twice would find itself
	for _, s := range b.order {
		b.check(itemKey(rowOfItem, s.place), s.stored.rev)
		if s.dirty || s.stored.rev == 0 {
			b.save(s)
		}
	}
	for _, u := range b.uses {
		if !u.made {
			continue
		}
		at := entryKey(rowOfUse, timeKey(b.now), u.key.Bytes[1:])
		b.put(u.key, numbers(u.key.Bytes, u.version, b.now))
		b.c.Puts[len(b.c.Puts)-1].New = true
		b.put(at, present)
	}
	_, _, err := s.store.Apply(ctx, &b.c)
	return err
}

// check adds a check of an item to the change of the batch.
func (b *itemBatch) check(k Key, rev uint64) {
	b.c.Checks = append(b.c.Checks, Check{Table: Items, Thread: string(k.Bytes), Rev: rev})
}

// put adds a row to the change of the batch.
func (b *itemBatch) put(k Key, value []byte) { b.c.Puts = append(b.c.Puts, Put{Key: k, Value: value}) }

// remove removes a row in the change of the batch.
func (b *itemBatch) remove(k Key) { b.c.Deletes = append(b.c.Deletes, point(k)) }

// save adds the rows of a slot to the change of the batch. The item of a slot without a row
// becomes one that was deleted: so nobody makes it before the change is stored.
func (b *itemBatch) save(s *slot) {
	if s.item.version == 0 {
		s.item.buried, s.item.updated, s.item.created = true, b.now, b.now
		s.item.version = b.now
	}
	i, old := &s.item, &s.stored
	key := itemKey(rowOfItem, s.place)
	b.put(key, i.appendTo(nil, key.Bytes))
	value := entryKey(rowOfValue, s.place)
	switch {
	case s.replaced && i.large:
		b.put(value, seal(append(make([]byte, 0, len(i.value)+4), i.value...), 0, value.Bytes))
	case s.replaced && old.large:
		b.remove(value)
	}
	if was, is := old.due(), i.due(); was != is {
		if was != 0 {
			b.remove(entryKey(rowOfExpiry, timeKey(was), s.place))
		}
		if is != 0 {
			at := entryKey(rowOfExpiry, timeKey(is), s.place)
			b.put(at, present)
		}
	}
	if s.source != nil {
		b.saveEntries(s)
		b.saveVectors(s)
		b.saveWords(s)
	}
}

// saveEntries stores the index entries of a slot.
func (b *itemBatch) saveEntries(s *slot) {
	among := func(e store.Entry, all []store.Entry) bool {
		return slices.ContainsFunc(all, func(o store.Entry) bool { return o.Index == e.Index && bytes.Equal(o.Value, e.Value) })
	}
	for _, e := range s.stored.index {
		if !among(e, s.item.index) {
			b.remove(indexKey(form(e.Index, e.Value), s.place))
		}
	}
	for _, e := range s.item.index {
		if !among(e, s.stored.index) {
			b.put(indexKey(form(e.Index, e.Value), s.place), present)
		}
	}
}

// saveVectors stores the vectors of a slot that have changed.
func (b *itemBatch) saveVectors(s *slot) {
	before, after := s.stored.vectors, s.item.vectors
	for n := range max(len(before), len(after)) {
		switch key := vectorKey(s.place, n); {
		case n >= len(after):
			b.remove(key)
		case n >= len(before) || before[n].Hash != after[n].Hash || before[n].Index != after[n].Index:
			b.put(key, appendVector(nil, &after[n], key.Bytes))
		}
	}
}

// saveWords stores the words of a slot that have changed.
func (b *itemBatch) saveWords(s *slot) {
	type counted struct{ count, total int }
	rowsOf := func(texts []store.Text) map[string]counted {
		all := make(map[string]counted)
		for i := range texts {
			total := texts[i].Total()
			for _, w := range texts[i].Words {
				all[string(form(texts[i].Index, []byte(w.Word)))] = counted{w.Count, total}
			}
		}
		return all
	}
	before, after := rowsOf(s.words), rowsOf(s.source.Texts)
	for f := range before {
		if _, stays := after[f]; !stays {
			b.remove(entryKey(rowOfWord, []byte(f), s.place))
		}
	}
	for f, n := range after {
		if before[f] != n {
			key := entryKey(rowOfWord, []byte(f), s.place)
			b.put(key, numbers(key.Bytes, int64(n.count), int64(n.total)))
		}
	}
	switch key := entryKey(rowOfWords, s.place); {
	case len(after) > 0:
		b.put(key, wordsRow(s.source.Texts).appendTo(nil, key.Bytes))
	case s.stored.words || len(before) > 0:
		b.remove(key)
	}
}

// Declare makes a vector index, unless it exists.
func (t *items) Declare(ctx context.Context, spec store.VectorSpec) (stored store.VectorSpec, err error) {
	if err := spec.Check(); err != nil {
		return stored, err
	}
	key := itemKey(rowOfIndex, []byte(spec.Name))
	err = t.read(ctx, nil, func() error {
		rows, _, err := t.s.read(ctx, point(key))
		if err != nil {
			return err
		}
		if stored = spec; len(rows[0]) > 0 || t.s.options.ReadOnly {
			return t.declared(ctx, &stored, rows[0])
		}
		value := seal(binary.AppendUvarint(codec.AppendString(nil, spec.Model), uint64(spec.Dims)), 0, key.Bytes)
		_, _, err = t.s.store.Apply(ctx, &Change{
			Checks: []Check{{Table: Items, Thread: string(key.Bytes)}}, Puts: []Put{{Key: key, Value: value}},
		})
		if err != nil {
			return err
		}
		return t.indexVectors(ctx, &spec)
	})
	return stored, err
}

// declared sets spec to what the row of a vector index says, and makes the index of the storage.
func (t *items) declared(ctx context.Context, spec *store.VectorSpec, found []Row) error {
	if len(found) == 0 {
		return checkpoint.ErrReadOnly
	}
	b, err := unseal(found[0].Value, found[0].Key)
	in := codec.NewReader(b)
	spec.Model, spec.Dims = in.String(), in.Int()
	if err != nil {
		return err
	}
	if err := in.End(); err != nil {
		return damaged(found[0].Key, err)
	}
	return t.indexVectors(ctx, spec)
}

// indexVectors makes the index of the storage for a vector index.
func (t *items) indexVectors(ctx context.Context, spec *store.VectorSpec) error {
	if s, can := t.s.store.(Searcher); can {
		return s.IndexVectors(ctx, *spec)
	}
	return nil
}

// mostSwept is how many items a Change of Sweep removes. Each may have thousands of words.
const mostSwept = 128

// Sweep removes expired items, and forgets writes that ran once and items that were deleted long
// ago.
func (t *items) Sweep(ctx context.Context, limit int) (removed int, err error) {
	for limit = max(limit, 1); ; {
		swept, n := 0, 0
		err = t.write(ctx, func() error {
			swept, n, err = t.sweep(ctx, min(limit-removed, mostSwept))
			return err
		})
		if removed += n; err != nil || removed >= limit || swept == 0 {
			return removed, err
		}
	}
}

// sweep looks at items that are due, and at uses of Once. It returns how many rows that say so it
// removed, and how many items. It checks and puts a row that no item has, because a change needs a
// check.
func (t *items) sweep(ctx context.Context, limit int) (swept, removed int, err error) {
	_, at, err := t.s.read(ctx)
	if err != nil {
		return 0, 0, err
	}
	now, turn := at.UnixMicro(), itemKey(rowOfIndex)
	due, uses := Range{Key: entryKey(rowOfExpiry), Limit: limit}, Range{Key: entryKey(rowOfUse), Limit: limit}
	due.To = entryKey(rowOfExpiry, timeKey(now+1)).Bytes
	uses.To = entryKey(rowOfUse, timeKey(now-store.OnceFor.Microseconds())).Bytes
	found, _, err := t.s.read(ctx, due, uses, point(turn))
	if err != nil || len(found[0])+len(found[1]) == 0 {
		return 0, 0, err
	}
	b := itemBatch{slots: make(map[string]*slot), dirty: true}
	for i := range found[0] {
		n, key := cutPlace(found[0][i].Key[1+timeSize:])
		ns, err := store.ParseNamespace(n)
		if err != nil {
			return 0, 0, err
		}
		b.add(&store.Op{Kind: store.OpDelete, Namespace: ns, Key: string(key)})
	}
	if err := b.load(ctx, t.s); err != nil {
		return 0, 0, err
	}
	b.check(turn, revOf(found[2]))
	b.put(turn, numbers(turn.Bytes, now, 0))
	strays := make(map[string]bool) // the items of rows that a damaged item has left behind
	for i := range found[0] {
		k := found[0][i].Key
		if place := string(k[1+timeSize:]); !bytes.Equal(k[1:1+timeSize], timeKey(b.slots[place].stored.due())) {
			b.remove(Key{Table: Entries, Bytes: k})
			strays[place] = true
			swept++
		}
	}
	for _, s := range b.order {
		switch old := &s.stored; {
		case old.rev == 0:
			s.dirty = true
		case !old.buried && !old.live(b.now):
			s.bury(b.now)
			removed++
			swept++
		case old.buried && old.due() <= b.now:
			b.check(itemKey(rowOfItem, s.place), old.rev)
			b.remove(itemKey(rowOfItem, s.place))
			b.remove(entryKey(rowOfExpiry, timeKey(old.due()), s.place))
			swept++
		case strays[string(s.place)]:
			b.check(itemKey(rowOfItem, s.place), old.rev)
		}
	}
	b.order = slices.DeleteFunc(b.order, func(s *slot) bool { return !s.dirty })
	for i := range found[1] {
		b.remove(Key{Table: Entries, Bytes: found[1][i].Key})
		b.remove(entryKey(rowOfOnce, found[1][i].Key[1+timeSize:]))
	}
	return swept + len(found[1]), removed, b.store(ctx, t.s)
}

// revOf returns the revision of the row of a point; 0 for none.
func revOf(found []Row) uint64 {
	if len(found) == 0 {
		return 0
	}
	return found[0].Rev
}
