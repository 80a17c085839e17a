package sqlsaver

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// storeBatch is a transaction of the store that writes. It reads and locks all items first, runs
// the operations on them in memory, and then stores what has changed. So it needs two round trips
// if the protocol has a pipeline.
type storeBatch struct {
	t     *Store
	tx    Tx
	now   int64 // after all items are locked
	over  int64 // items that expire by then have expired
	last  int64 // the largest version that was read or written
	slots map[string]*storeSlot
	order []*storeSlot // by place, so that two batches lock in one order
	uses  map[string]*storeUse
	used  []*storeUse // new ones, in order
}

// storeSlot is an item of a batch.
type storeSlot struct {
	ns, key []byte
	stored  storeRow // as it is stored
	row     storeRow // as the batch leaves it
	reads   bool     // the batch reads the value
	wrote   bool     // the batch has a new value, in row.value
	dirty   bool
	source  *store.Op // the last that gave the item index entries and vectors; nil for none
}

// storeUse is a use of Once.
type storeUse struct {
	slot    *storeSlot
	once    []byte
	found   bool
	version int64
}

// grave is how long the row of a deleted item stays. Its version makes those of a later item
// larger, also if the writer read the clock earlier.
const grave = time.Hour

// buried is the ttl in the row of a deleted item. The row expired one grave before the delete, so
// that it stays deleted if the clock goes back.
const buried = -1

// write runs operations in a transaction.
func (t *Store) write(ctx context.Context, tx Tx, ops []store.Op) ([]store.Result, error) {
	b := storeBatch{t: t, tx: tx, slots: make(map[string]*storeSlot), uses: make(map[string]*storeUse)}
	for i := range ops {
		b.slot(&ops[i])
	}
	if err := b.read(ctx); err != nil {
		return nil, err
	}
	results := make([]store.Result, len(ops))
	for i := range ops {
		var err error
		if results[i], err = b.do(ctx, &ops[i]); err != nil {
			return nil, err
		}
	}
	for _, s := range b.order {
		if err := b.store(ctx, s); err != nil {
			return nil, err
		}
	}
	for _, u := range b.used {
		if err := t.s.later(ctx, tx, stStoreUse, u.slot.ns, u.slot.key, u.once, u.version, b.now); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// slot returns the slot of the item of an operation, and the row of its Once; nil without Once.
func (b *storeBatch) slot(op *store.Op) (*storeSlot, *storeUse) {
	ns := op.Namespace.Append(nil)
	at := string(ns) + "\x00\x00" + op.Key
	s := b.slots[at]
	if s == nil {
		s = &storeSlot{ns: ns, key: []byte(op.Key)}
		b.slots[at] = s
		b.order = append(b.order, s)
	}
	s.reads = s.reads || op.Kind == store.OpGet
	if op.Once == "" {
		return s, nil
	}
	name := at + "\x00" + op.Once
	u := b.uses[name]
	if u == nil {
		u = &storeUse{slot: s, once: []byte(op.Once)}
		b.uses[name] = u
	}
	return s, u
}

// read locks all items in the order of their places, and reads what the batch needs of them. The
// clock is read last.
func (b *storeBatch) read(ctx context.Context) error {
	slices.SortFunc(b.order, func(x, y *storeSlot) int {
		if c := bytes.Compare(x.ns, y.ns); c != 0 {
			return c
		}
		return bytes.Compare(x.key, y.key)
	})
	a := asking{s: b.t.s}
	if b.t.s.has(stStoreLockAll) && len(b.order) > 1 {
		b.askAll(&a)
	} else {
		b.askEach(&a)
	}
	if b.t.s.has(stStoreNow) {
		a.ask(func(rows Rows) error { return rows.Scan(&b.now) }, stStoreNow)
	}
	if err := b.tx.Pipeline(ctx, a.calls, func(call int, rows Rows) error { return a.scans[call](rows) }); err != nil {
		return err
	}
	b.over = b.now
	if !b.t.s.has(stStoreNow) { // SQLite: its statements read the machine's clock, in milliseconds
		at := time.Now()
		b.now, b.over = at.UnixMicro(), (at.UnixMilli()+1)*1000
	}
	for _, s := range b.order {
		s.row = s.stored
		b.last = max(b.last, s.stored.version)
	}
	return nil
}

// do runs an operation on its slot.
func (b *storeBatch) do(ctx context.Context, op *store.Op) (store.Result, error) {
	s, use := b.slot(op)
	switch {
	case op.Kind == store.OpVectors && s.source != nil:
		return s.vectors(op, b.over), nil
	case op.Kind == store.OpVectors:
		return b.t.vectors(ctx, b.tx, op)
	case op.Kind == store.OpGet:
		if op.Refresh && s.row.live(b.over) && s.row.ttl > 0 {
			s.row.expires, s.dirty = b.now+s.row.ttl, true
		}
		return s.row.result(op, b.over)
	}
	if use != nil && use.found {
		r := store.Record{Namespace: slices.Clone(op.Namespace), Key: op.Key, Version: use.version}
		return store.Result{Record: r, Repeated: true}, nil
	}
	if err := b.conflict(op, &s.row); err != nil {
		return store.Result{}, err
	}
	result := store.Result{Found: s.row.live(b.over)}
	made := storeRow{}
	switch {
	case op.Kind == store.OpPut:
		b.put(op, s)
		made = s.row
	case !result.Found:
	case op.Kind == store.OpDelete:
		made = s.row
		s.bury(b.now)
	default:
		s.row.entries, s.dirty, s.source = appendEntries([]byte{}, indexed(op)), true, op
		made = s.row
	}
	result.Record = made.record(op.Namespace, op.Key)
	if use != nil {
		use.found, use.version = true, made.version
		if op.Kind == store.OpDelete {
			use.version = 0
		}
		b.used = append(b.used, use)
	}
	return result, nil
}

// conflict returns a *ConflictError if the condition of op does not hold.
func (b *storeBatch) conflict(op *store.Op, old *storeRow) error {
	found := int64(0)
	if old.live(b.over) {
		found = old.version
	}
	missing := op.Kind == store.OpIndex && found == 0
	if op.IfAbsent && found != 0 || op.IfVersion != 0 && found != op.IfVersion && !missing {
		return &store.ConflictError{Namespace: slices.Clone(op.Namespace), Key: op.Key, Want: op.IfVersion, Found: found}
	}
	return nil
}

// put gives a slot a new value.
func (b *storeBatch) put(op *store.Op, s *storeSlot) {
	old := s.row
	made := storeRow{found: true, created: b.now, updated: b.now, entries: appendEntries([]byte{}, indexed(op))}
	if old.live(b.over) {
		made.version, made.created = old.version+1, old.created
		made.updated = max(b.now, old.updated) // clocks of machines differ
	} else {
		made.version = max(b.now, b.last+1)
	}
	b.last = max(b.last, made.version)
	switch {
	case op.TTL > 0:
		made.ttl = op.TTL.Microseconds()
		made.expires = made.updated + made.ttl
	case !op.ExpireAt.IsZero():
		made.expires = max(op.ExpireAt.UnixMicro(), 1)
	case op.KeepExpiry && old.live(b.over):
		made.ttl, made.expires = old.ttl, old.expires
	}
	made.value = appendSum(op.Value, s.ns, s.key)
	s.row, s.wrote, s.dirty, s.source = made, true, true, op
}

// bury makes a slot that of a deleted item.
func (s *storeSlot) bury(now int64) {
	s.row = storeRow{
		found: true, version: s.row.version, created: s.row.created, updated: now, ttl: buried, expires: max(now-grave.Microseconds(), 1),
		entries: []byte{}, value: []byte{},
	}
	s.wrote, s.dirty, s.source = true, true, new(store.Op)
}

// store stores what has changed of a slot.
func (b *storeBatch) store(ctx context.Context, s *storeSlot) error {
	r, save := &s.row, b.t.s
	var err error
	switch {
	case !s.dirty:
		return nil
	case !s.stored.found:
		err = save.later(ctx, b.tx, stStoreInsert, s.ns, s.key, r.version, r.created, r.updated, r.expires, r.ttl, r.entries, r.value)
	case s.wrote:
		err = save.later(ctx, b.tx, stStoreUpdate, r.version, r.created, r.updated, r.expires, r.ttl, r.entries, r.value, s.ns, s.key)
	default:
		err = save.later(ctx, b.tx, stStoreTouch, r.expires, notNil(r.entries), s.ns, s.key)
	}
	if err != nil || bytes.Equal(r.entries, s.stored.entries) {
		return err
	}
	return b.index(ctx, s)
}

// vectors returns the vectors that the batch has given an item.
func (s *storeSlot) vectors(op *store.Op, over int64) store.Result {
	result := store.Result{Record: store.Record{Namespace: slices.Clone(op.Namespace), Key: op.Key}}
	if !s.row.live(over) || len(s.source.Vectors) == 0 {
		return result
	}
	result.Found, result.Record.Version = true, s.row.version
	for _, v := range s.source.Vectors {
		v.Values = slices.Clone(v.Values)
		result.Record.Vectors = append(result.Record.Vectors, v)
	}
	return result
}

// notNil returns b as a value that is not NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Sweep removes expired items, and forgets writes that ran once and items that were deleted long
// ago.
func (t *Store) Sweep(ctx context.Context, limit int) (removed int, err error) {
	if err := t.begin(ctx); err != nil {
		return 0, err
	}
	defer t.s.end()
	err = t.s.write(ctx, RolledBack, func(tx Tx) error {
		b := storeBatch{t: t, tx: tx, slots: make(map[string]*storeSlot)}
		n, err := b.sweep(ctx, limit)
		removed = n
		if err == nil {
			err = t.s.later(ctx, tx, stStorePurge, b.now-2*grave.Microseconds(), int64(limit))
		}
		if err == nil {
			err = t.s.later(ctx, tx, stStoreForget, store.OnceFor.Microseconds(), int64(limit))
		}
		return err
	})
	return removed, t.wrap(ctx, "sweep", err)
}

// sweep removes expired items. The row of one that was written lately stays, without its value.
func (b *storeBatch) sweep(ctx context.Context, limit int) (removed int, err error) {
	rows, err := b.t.s.query(ctx, b.tx, stStoreExpired, int64(limit))
	if err != nil {
		return 0, err
	}
	err = each(rows, func(rows Rows) error {
		s := new(storeSlot)
		b.order = append(b.order, s)
		return rows.Scan(&s.ns, &s.key)
	})
	if err == nil {
		err = b.read(ctx)
	}
	if err != nil {
		return 0, err
	}
	for _, s := range b.order {
		if !s.stored.found || s.row.live(b.over) || s.row.ttl == buried { // another call has changed it
			continue
		}
		s.bury(b.now)
		if err := b.store(ctx, s); err != nil {
			return 0, err
		}
		removed++
	}
	return removed, nil
}
