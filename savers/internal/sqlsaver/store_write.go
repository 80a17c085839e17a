package sqlsaver

import (
	"context"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// storeBatch is a transaction of the store that writes.
type storeBatch struct {
	t    *Store
	tx   Tx
	now  int64 // when the transaction began
	over int64 // items that expire by then have expired
	last int64 // the largest version of this transaction
}

// write runs operations in a transaction.
func (t *Store) write(ctx context.Context, tx Tx, ops []store.Op) ([]store.Result, error) {
	b := storeBatch{t: t, tx: tx}
	if err := b.clock(ctx); err != nil {
		return nil, err
	}
	results := make([]store.Result, len(ops))
	for i := range ops {
		var err error
		if results[i], err = b.do(ctx, &ops[i]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// clock reads the clock of the server. SQLite has none of its own: its statements read that of the
// machine, in milliseconds.
func (b *storeBatch) clock(ctx context.Context) error {
	if b.t.s.has(stStoreNow) {
		_, err := b.t.s.one(ctx, b.tx, stStoreNow, nil, &b.now)
		b.over = b.now
		return err
	}
	at := time.Now()
	b.now, b.over = at.UnixMicro(), (at.UnixMilli()+1)*1000
	return nil
}

func (b *storeBatch) do(ctx context.Context, op *store.Op) (store.Result, error) {
	s := b.t.s
	ns, key := op.Namespace.Append(nil), []byte(op.Key)
	switch op.Kind {
	case store.OpGet:
		return b.get(ctx, op, ns, key)
	case store.OpVectors:
		return b.t.vectors(ctx, b.tx, op)
	}
	if op.Once != "" {
		var version int64
		used, err := s.one(ctx, b.tx, stStoreUsed, []any{ns, key, []byte(op.Once)}, &version)
		if err != nil || used {
			r := store.Record{Namespace: slices.Clone(op.Namespace), Key: op.Key, Version: version}
			return store.Result{Record: r, Repeated: true}, err
		}
	}
	old, err := b.lock(ctx, ns, key)
	if err != nil {
		return store.Result{}, err
	}
	if err := b.conflict(op, &old); err != nil {
		return store.Result{}, err
	}
	result := store.Result{Found: old.live(b.over)}
	made := old
	switch {
	case op.Kind == store.OpPut:
		made, err = b.put(ctx, op, ns, key, &old)
	case !result.Found:
		made = storeRow{}
	case op.Kind == store.OpDelete:
		err = b.remove(ctx, ns, key, &old)
	default:
		made.entries = appendEntries([]byte{}, indexed(op))
		if err = b.index(ctx, ns, key, &old, op); err == nil {
			err = s.later(ctx, b.tx, stStoreReindex, made.entries, ns, key)
		}
	}
	if err == nil && op.Once != "" {
		version := made.version
		if op.Kind == store.OpDelete {
			version = 0
		}
		_, err = s.exec(ctx, b.tx, stStoreUse, ns, key, []byte(op.Once), version, b.now)
	}
	result.Record = made.record(op)
	return result, err
}

// lock reads an item without its value, and locks its row.
func (b *storeBatch) lock(ctx context.Context, ns, key []byte) (r storeRow, err error) {
	r.found, err = b.t.s.one(ctx, b.tx, stStoreLock, []any{ns, key},
		&r.version, &r.created, &r.updated, &r.expires, &r.ttl, &r.entries)
	b.last = max(b.last, r.version)
	return r, err
}

// get reads an item, and starts its life again if op says so.
func (b *storeBatch) get(ctx context.Context, op *store.Op, ns, key []byte) (store.Result, error) {
	if op.Refresh {
		if _, err := b.lock(ctx, ns, key); err != nil {
			return store.Result{}, err
		}
	}
	r, now, err := b.t.get(ctx, b.tx, op)
	if err != nil {
		return store.Result{}, err
	}
	if op.Refresh && r.live(now) && r.ttl > 0 {
		r.expires = b.now + r.ttl
		if err := b.t.s.later(ctx, b.tx, stStoreTouch, r.expires, ns, key); err != nil {
			return store.Result{}, err
		}
	}
	return r.result(op, now)
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

// put stores an item.
func (b *storeBatch) put(ctx context.Context, op *store.Op, ns, key []byte, old *storeRow) (storeRow, error) {
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
	value := appendSum(op.Value, ns, key)
	var err error
	if old.found {
		err = b.t.s.later(ctx, b.tx, stStoreUpdate,
			made.version, made.created, made.updated, made.expires, made.ttl, made.entries, value, ns, key)
	} else {
		_, err = b.t.s.exec(ctx, b.tx, stStoreInsert,
			ns, key, made.version, made.created, made.updated, made.expires, made.ttl, made.entries, value)
	}
	if err != nil {
		return made, err
	}
	return made, b.index(ctx, ns, key, old, op)
}

// index replaces the index entries and the vectors of an item by those of op.
func (b *storeBatch) index(ctx context.Context, ns, key []byte, old *storeRow, op *store.Op) error {
	entries := indexed(op)
	before, err := parseEntries(old.entries)
	if err != nil {
		return err
	}
	for _, e := range before {
		if among(e, entries) {
			continue
		}
		if err := b.removeEntry(ctx, ns, key, e); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if among(e, before) {
			continue
		}
		if err := b.insertEntry(ctx, ns, key, e, op); err != nil {
			return err
		}
	}
	return nil
}

// notNil returns b as a value that is not NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// remove removes an item with its index entries.
func (b *storeBatch) remove(ctx context.Context, ns, key []byte, old *storeRow) error {
	if err := b.index(ctx, ns, key, old, &store.Op{}); err != nil {
		return err
	}
	return b.t.s.later(ctx, b.tx, stStoreRemove, ns, key)
}

// Sweep removes expired items, and forgets writes that ran once.
func (t *Store) Sweep(ctx context.Context, limit int) (removed int, err error) {
	if err := t.begin(ctx); err != nil {
		return 0, err
	}
	defer t.s.end()
	err = t.s.write(ctx, RolledBack, func(tx Tx) error {
		removed = 0
		b := storeBatch{t: t, tx: tx}
		if err := b.clock(ctx); err != nil {
			return err
		}
		n, err := b.sweep(ctx, limit)
		removed = n
		if err == nil {
			err = t.s.later(ctx, tx, stStoreForget, store.OnceFor.Microseconds(), int64(limit))
		}
		return err
	})
	return removed, t.wrap(ctx, "sweep", err)
}

func (b *storeBatch) sweep(ctx context.Context, limit int) (removed int, err error) {
	var places [][2][]byte
	rows, err := b.t.s.query(ctx, b.tx, stStoreExpired, int64(limit))
	if err != nil {
		return 0, err
	}
	err = each(rows, func(rows Rows) error {
		var at [2][]byte
		err := rows.Scan(&at[0], &at[1])
		places = append(places, at)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, at := range places {
		old, err := b.lock(ctx, at[0], at[1])
		if err != nil {
			return 0, err
		}
		if !old.found || old.live(b.over) { // another call has changed it
			continue
		}
		if err := b.remove(ctx, at[0], at[1], &old); err != nil {
			return 0, err
		}
		removed++
	}
	return removed, nil
}
