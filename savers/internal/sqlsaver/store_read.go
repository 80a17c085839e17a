package sqlsaver

import (
	"encoding/hex"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// asking are statements of one pipeline, each with a function that scans its rows.
type asking struct {
	s     *Database
	calls []Call
	scans []func(Rows) error
}

// ask adds a statement to the batch. scan is called with its rows.
func (a *asking) ask(scan func(Rows) error, st statement, args ...any) {
	a.calls, a.scans = append(a.calls, a.s.ask(st, args...)), append(a.scans, scan)
}

// askEach locks and reads each item by a statement. It is for a protocol with a pipeline, for a
// database in the process, and for one item.
func (b *storeBatch) askEach(a *asking) {
	for _, s := range b.order {
		a.ask(s.scan, stStoreLock, s.ns, s.key)
	}
	for _, s := range b.order {
		if s.reads {
			a.ask(s.scanValue, stStoreGet, s.ns, s.key)
		}
	}
	for _, u := range b.uses {
		a.ask(u.scan, stStoreUsed, u.slot.ns, u.slot.key, u.once)
	}
}

// askAll locks and reads all items by one statement, in the same order, and all uses of Once by
// another.
func (b *storeBatch) askAll(a *asking) {
	var keys, used hexList
	for _, s := range b.order {
		keys.add(s.reads, s.ns, s.key)
	}
	a.ask(func(rows Rows) error {
		var n int
		var r storeRow
		if err := rows.Scan(&n, &r.version, &r.created, &r.updated, &r.expires, &r.ttl, &r.entries, &r.value); err != nil {
			return err
		}
		if n < 1 || n > len(b.order) {
			return fmt.Errorf("an item with the number %d of %d: %w", n, len(b.order), store.ErrDamaged)
		}
		r.found = true
		b.order[n-1].stored = r
		return nil
	}, stStoreLockAll, keys.json())
	if len(b.uses) == 0 {
		return
	}
	uses := make([]*storeUse, 0, len(b.uses))
	for _, u := range b.uses {
		uses = append(uses, u)
		used.add(false, u.slot.ns, u.slot.key, u.once)
	}
	a.ask(func(rows Rows) error {
		var n int
		var version int64
		if err := rows.Scan(&n, &version); err != nil {
			return err
		}
		if n < 1 || n > len(uses) {
			return fmt.Errorf("a use of Once with the number %d of %d: %w", n, len(uses), store.ErrDamaged)
		}
		uses[n-1].found, uses[n-1].version = true, version
		return nil
	}, stStoreUsedAll, used.json())
}

// hexList is a JSON list of lists of bytes in hexadecimal.
type hexList []byte

// add adds a list. A flag that is true is its last element, a 1.
func (l *hexList) add(flag bool, parts ...[]byte) {
	b := *l
	for i, part := range parts {
		head := `","`
		switch {
		case i == 0 && len(b) == 0:
			head = `[["`
		case i == 0:
			head = `,["`
		}
		b = hex.AppendEncode(append(b, head...), part)
	}
	b = append(b, '"')
	if flag {
		b = append(b, ",1"...)
	}
	*l = append(b, ']')
}

// json returns the list, which must have elements.
func (l *hexList) json() string { return string(append(*l, ']')) }

// scan reads the row of an item without its value.
func (s *storeSlot) scan(rows Rows) error {
	r := &s.stored
	r.found = true
	return rows.Scan(&r.version, &r.created, &r.updated, &r.expires, &r.ttl, &r.entries)
}

// scanValue reads the value of an item.
func (s *storeSlot) scanValue(rows Rows) error {
	var r storeRow
	var now int64
	err := rows.Scan(r.targets(&now)...)
	s.stored.value = r.value
	return err
}

// scan reads the version of the item that was used.
func (u *storeUse) scan(rows Rows) error {
	u.found = true
	return rows.Scan(&u.version)
}
