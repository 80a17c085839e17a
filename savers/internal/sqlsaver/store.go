package sqlsaver

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/store"
)

// Store is a store.Backend in the tables and on the connections of a saver.
type Store struct {
	s      *Database
	closed atomic.Bool

	opening sync.Mutex
	open    atomic.Bool // the tables are there, and the statements are prepared

	searches sync.Map // by name of the vector index: *VectorSearch
}

var _ store.Backend = (*Store)(nil)

// NewStore returns the store in the database of a saver. Its first call does about its tables what
// opening the saver did about those of the saver. Its Close leaves the saver open. It cannot be
// used after the saver was closed.
func NewStore(s *Database) *Store { return &Store{s: s} }

// Close ends the use of the store.
func (t *Store) Close() error {
	t.closed.Store(true)
	return nil
}

// begin starts a call, as Database.begin does. The first call opens the store.
func (t *Store) begin(ctx context.Context) error {
	if t.closed.Load() {
		return fmt.Errorf("%s: %w", t.s.d.Name, store.ErrClosed)
	}
	err := t.s.begin(ctx)
	if errors.Is(err, checkpoint.ErrClosed) {
		return fmt.Errorf("%s: %w", t.s.d.Name, store.ErrClosed)
	}
	if err != nil || t.open.Load() {
		return err
	}
	if err := t.prepare(ctx); err != nil {
		t.s.end()
		return t.wrap(ctx, "open the store", err)
	}
	return nil
}

// prepare makes, changes or verifies the tables of the store, and prepares its statements.
func (t *Store) prepare(ctx context.Context) error {
	t.opening.Lock()
	defer t.opening.Unlock()
	if t.open.Load() {
		return nil
	}
	mode := t.s.mode
	if mode == Recreate {
		mode = Create // the saver has dropped them
	}
	err := t.s.migrate(ctx, storeTables(), mode)
	if err == nil {
		err = t.s.prepare(ctx)
	}
	t.open.Store(err == nil)
	return err
}

// wrap names the saver and the call in an error, as Database.wrap does.
func (t *Store) wrap(ctx context.Context, what string, err error) error {
	if errors.Is(err, store.ErrConflict) || errors.As(err, new(*store.InvalidError)) {
		return err
	}
	err = t.s.wrap(ctx, what, err)
	if errors.Is(err, checkpoint.ErrUnavailable) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// storeRow is a row of graph_store_item.
type storeRow struct {
	found   bool
	value   []byte
	version int64
	created int64
	updated int64
	expires int64
	ttl     int64
	entries []byte
}

// live reports whether the item exists at a time.
func (r *storeRow) live(now int64) bool { return r.found && (r.expires == 0 || r.expires > now) }

// Do runs operations as one.
func (t *Store) Do(ctx context.Context, ops []store.Op) (results []store.Result, err error) {
	if err := store.CheckOps(ops); err != nil {
		return nil, err
	}
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	defer t.s.end()
	if len(ops) == 0 {
		return nil, nil
	}
	writes := slices.ContainsFunc(ops, func(op store.Op) bool { return op.Kind != store.OpGet && op.Kind != store.OpVectors || op.Refresh })
	switch {
	case writes:
		err = t.s.try(ctx, RolledBack, func() error {
			err := t.s.shared(ctx, func(ctx context.Context, tx Tx) (err error) {
				results, err = t.write(ctx, tx, ops)
				return err
			})
			if err != nil && t.s.fault(err) == Duplicate { // another call has inserted the row
				return &againError{err}
			}
			return err
		})
	case len(ops) == 1:
		err = t.s.try(ctx, Lost, func() error {
			results = make([]store.Result, 1)
			results[0], err = t.readOne(ctx, &ops[0])
			return err
		})
	default:
		err = t.s.read(ctx, func(tx Tx) error {
			results, err = t.reads(ctx, tx, ops)
			return err
		})
	}
	if err != nil {
		return nil, t.wrap(ctx, "do", err)
	}
	return results, nil
}

// getArgs returns the arguments of a statement that reads the item of op.
func getArgs(op *store.Op) []any { return []any{op.Namespace.Append(nil), []byte(op.Key)} }

// targets are where the columns of stStoreGet are scanned.
func (r *storeRow) targets(now *int64) []any {
	return []any{&r.value, &r.version, &r.created, &r.updated, &r.expires, &r.ttl, &r.entries, now}
}

// readOne runs an operation that only reads, without a transaction.
func (t *Store) readOne(ctx context.Context, op *store.Op) (store.Result, error) {
	if op.Kind == store.OpVectors {
		return t.vectors(ctx, t.s.db, op)
	}
	var r storeRow
	var now int64
	var err error
	if r.found, err = t.s.one(ctx, t.s.db, stStoreGet, getArgs(op), r.targets(&now)...); err != nil {
		return store.Result{}, err
	}
	return r.result(op, now)
}

// reads runs operations that only read. It reads all items first.
func (t *Store) reads(ctx context.Context, tx Tx, ops []store.Op) ([]store.Result, error) {
	rows, clocks := make([]storeRow, len(ops)), make([]int64, len(ops))
	var calls []Call
	var of []int // the operation of each call
	for i := range ops {
		if ops[i].Kind == store.OpGet {
			calls, of = append(calls, t.s.ask(stStoreGet, getArgs(&ops[i])...)), append(of, i)
		}
	}
	err := tx.Pipeline(ctx, calls, func(call int, r Rows) error {
		i := of[call]
		rows[i].found = true
		return r.Scan(rows[i].targets(&clocks[i])...)
	})
	results := make([]store.Result, len(ops))
	for i := 0; i < len(ops) && err == nil; i++ {
		if ops[i].Kind == store.OpVectors {
			results[i], err = t.vectors(ctx, tx, &ops[i])
		} else {
			results[i], err = rows[i].result(&ops[i], clocks[i])
		}
	}
	return results, err
}

// result is the result of a get.
func (r *storeRow) result(op *store.Op, now int64) (store.Result, error) {
	if !r.live(now) {
		return store.Result{Record: store.Record{Namespace: slices.Clone(op.Namespace), Key: op.Key}}, nil
	}
	result := store.Result{Record: r.record(op.Namespace, op.Key), Found: true}
	var err error
	result.Record.Value, err = cutValue(r.value, op.Namespace.Append(nil), []byte(op.Key))
	return result, err
}

// record returns the row without its value. It copies n.
func (r *storeRow) record(n store.Namespace, key string) store.Record {
	return store.Record{
		Namespace: slices.Clone(n), Key: key, Version: r.version,
		Created: microTime(r.created), Updated: microTime(r.updated), Expires: microTime(r.expires),
	}
}

// microTime returns the time for a column, whose 0 is none.
func microTime(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// appendSum appends the checksum of a value and its place.
func appendSum(value, namespace, key []byte) []byte {
	return binary.LittleEndian.AppendUint32(slices.Clone(value), valueSum(value, namespace, key))
}

// valueSum returns the checksum of an item: of its namespace, key and value.
func valueSum(value, namespace, key []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	var length [binary.MaxVarintLen64]byte
	sum := crc32.Checksum(binary.AppendUvarint(length[:0], uint64(len(namespace))), table)
	for _, b := range [...][]byte{namespace, key, value} {
		sum = crc32.Update(sum, table, b)
	}
	return sum
}

// cutValue returns the value that appendSum got.
func cutValue(b, namespace, key []byte) ([]byte, error) {
	n := len(b) - 4
	if n < 0 || binary.LittleEndian.Uint32(b[n:]) != valueSum(b[:n], namespace, key) {
		return nil, fmt.Errorf("the item with the key %q: %w: its checksum is wrong; write or delete it",
			key, store.ErrDamaged)
	}
	return b[:n:n], nil
}

// appendEntries appends the list of an item's index entries.
func appendEntries(b []byte, entries []store.Entry) []byte {
	for _, e := range entries {
		b = append(binary.AppendUvarint(b, uint64(len(e.Index))), e.Index...)
		b = append(binary.AppendUvarint(b, uint64(len(e.Value))), e.Value...)
	}
	return b
}

// parseEntries returns the entries that appendEntries wrote.
func parseEntries(b []byte) (entries []store.Entry, err error) {
	cut := func() (part []byte) {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			err = fmt.Errorf("index entries of an item: %w: a length of %d", store.ErrDamaged, n)
			b = nil
			return nil
		}
		part, b = b[size:size+int(n)], b[size+int(n):]
		return part
	}
	for len(b) > 0 && err == nil {
		name := string(cut())
		if err == nil {
			entries = append(entries, store.Entry{Index: name, Value: cut()})
		}
	}
	return entries, err
}

// among reports whether an entry is one of others.
func among(e store.Entry, others []store.Entry) bool {
	return slices.ContainsFunc(others, func(o store.Entry) bool {
		return o.Index == e.Index && bytes.Equal(o.Value, e.Value)
	})
}
