package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// often packs a log when it is asked to, all but the newest four records.
var often = sqlite.Packing(pack.Policy{Every: 1 << 20, Keep: 4})

var errKilled = errors.New("killed")

// dying is a database whose transactions end at a statement, as if the process died there.
type dying struct {
	sqlsaver.DB
	left *atomic.Int64 // statements of transactions until then
}

func (d *dying) Begin(ctx context.Context, writes bool) (sqlsaver.Tx, error) {
	tx, err := d.DB.Begin(ctx, writes)
	if err != nil || !writes {
		return tx, err
	}
	return &dyingTx{tx, d.left}, nil
}

type dyingTx struct {
	sqlsaver.Tx
	left *atomic.Int64
}

func (t *dyingTx) next() error {
	if t.left.Add(-1) == 0 {
		return errKilled
	}
	return nil
}

func (t *dyingTx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	if err := t.next(); err != nil {
		return 0, err
	}
	return t.Tx.Exec(ctx, text, args...)
}

func (t *dyingTx) Query(ctx context.Context, text string, args ...any) (sqlsaver.Rows, error) {
	if err := t.next(); err != nil {
		return nil, err
	}
	return t.Tx.Query(ctx, text, args...)
}

func (t *dyingTx) Later(ctx context.Context, text string, args ...any) error {
	if err := t.next(); err != nil {
		return err
	}
	return t.Tx.Later(ctx, text, args...)
}

func (t *dyingTx) Commit(ctx context.Context) error {
	if err := t.next(); err != nil {
		return err
	}
	return t.Tx.Commit(ctx)
}

// TestPackingDiesAtEachStatement ends the transaction that packs at its first statement, its
// second, and so on. The stored records must be the same each time, in rows or in packs.
func TestPackingDiesAtEachStatement(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	var left atomic.Int64
	s := open(t, path, often, sqlite.WrapDB(func(db sqlsaver.DB) sqlsaver.DB { return &dying{db, &left} }))
	want, head := memory.New(), checkpoint.ID{}
	var err error
	for n := range 20 {
		if head, err = packtest.Turn(t.Context(), n, head, s, want); err != nil {
			t.Fatal(err)
		}
	}
	for n := int64(1); ; n++ {
		left.Store(n)
		err := sqlsaver.Pack(t.Context(), s.Saver, "t")
		left.Store(0)
		packs := count(t, path, "graph_pack")
		if err == nil {
			if n < 8 || packs == 0 {
				t.Errorf("packing takes %d statements and makes %d packs, want some of both", n, packs)
			}
			packtest.Same(t, s, want)
			return
		}
		if rows := count(t, path, "graph_checkpoint"); !errors.Is(err, errKilled) || rows != 60 && (rows != 4 || packs != 1) {
			t.Fatalf("at statement %d: got %d rows and %d packs, %v; want 60 rows, or 4 and a pack", n, rows, packs, err)
		}
		packtest.Same(t, s, want)
	}
}

// TestTwoPackersPackOnce lets a saver pack what another one has packed.
func TestTwoPackersPackOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	one, two := open(t, path, often), open(t, path, often)
	want, head := memory.New(), checkpoint.ID{}
	var err error
	for n := range 20 {
		if head, err = packtest.Turn(t.Context(), n, head, one, want); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*sqlite.Saver{one, two, one} {
		if err := sqlsaver.Pack(t.Context(), s.Saver, "t"); err != nil {
			t.Fatal(err)
		}
		if rows, packs := count(t, path, "graph_checkpoint"), count(t, path, "graph_pack"); rows != 4 || packs != 1 {
			t.Errorf("got %d rows and %d packs, want 4 and one", rows, packs)
		}
		packtest.Same(t, s, want)
	}
}

// reading is a database that counts the bytes that its transactions read.
type reading struct {
	sqlsaver.DB
	bytes *atomic.Int64
}

func (r *reading) Begin(ctx context.Context, writes bool) (sqlsaver.Tx, error) {
	tx, err := r.DB.Begin(ctx, writes)
	return &readingTx{tx, r.bytes}, err
}

type readingTx struct {
	sqlsaver.Tx
	bytes *atomic.Int64
}

func (t *readingTx) Query(ctx context.Context, text string, args ...any) (sqlsaver.Rows, error) {
	rows, err := t.Tx.Query(ctx, text, args...)
	return &readingRows{rows, t.bytes}, err
}

type readingRows struct {
	sqlsaver.Rows
	bytes *atomic.Int64
}

func (r *readingRows) Scan(dest ...any) error {
	err := r.Rows.Scan(dest...)
	for _, d := range dest {
		if b, is := d.(*[]byte); is {
			r.bytes.Add(int64(len(*b)))
		}
	}
	return err
}

// TestPackingDoesNotReadLargePayloads packs a conversation in which every tenth message is larger
// than a pack. Packing reads such a message only if the row after a pack has it.
func TestPackingDoesNotReadLargePayloads(t *testing.T) {
	const size, large = 200 << 10, 4
	path := filepath.Join(t.TempDir(), "threads.db")
	var read atomic.Int64
	s := open(t, path, often, sqlite.WrapDB(func(db sqlsaver.DB) sqlsaver.DB { return &reading{db, &read} }))
	want, head := memory.New(), checkpoint.ID{}
	var err error
	turn := 0
	talk := func(size int) {
		if head, err = packtest.TurnOf(t.Context(), turn, size, head, s, want); err != nil {
			t.Fatal(err)
		}
		turn++
	}
	for range large {
		for range 9 {
			talk(packtest.MessageSize)
		}
		talk(size) // after a pack
		talk(size) // after two small records, which are too few for a pack
	}
	for range 3 {
		talk(packtest.MessageSize)
	}
	read.Store(0)
	if err := sqlsaver.Pack(t.Context(), s.Saver, "t"); err != nil {
		t.Fatal(err)
	}
	if got := read.Load(); got < large*size || got > large*size+64<<10 {
		t.Errorf("packing read %d bytes, want the %d messages of %d bytes that follow packs", got, large, size)
	}
	if packs := count(t, path, "graph_pack"); packs != large {
		t.Errorf("got %d packs, want %d", packs, large)
	}
	packtest.Same(t, s, want)
}

// TestAnImportIsPacked copies a thread to a saver that has not run it.
func TestAnImportIsPacked(t *testing.T) {
	want, head := memory.New(), checkpoint.ID{}
	var err error
	for n := range 400 {
		if head, err = packtest.Turn(t.Context(), n, head, want); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlite.Open(path, sqlite.Synchronous(sqlite.Normal))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Import(t.Context(), "t", want.Export(t.Context(), "t", 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if rows, packs := count(t, path, "graph_checkpoint"), count(t, path, "graph_pack"); rows >= 200 || packs == 0 {
		t.Errorf("got %d rows and %d packs of 1200 records, want fewer than 200 rows", rows, packs)
	}
	packtest.Same(t, open(t, path), want)
}

// TestPackersRunsAndReaders packs while a thread gets turns and is read, with two savers on one
// file.
func TestPackersRunsAndReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("a storm; the other tests of packing run one call after the other")
	}
	const turns = 60
	path := filepath.Join(t.TempDir(), "threads.db")
	fast := sqlite.Packing(pack.Policy{Every: 20, Keep: 3})
	one, two := open(t, path, fast, sqlite.Synchronous(sqlite.Normal)), open(t, path, fast)
	want, head := memory.New(), checkpoint.ID{}
	var done atomic.Int64 // turns
	var over atomic.Bool
	var all sync.WaitGroup
	until := func(call func() error) {
		all.Go(func() {
			for !over.Load() {
				if err := call(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for _, s := range []*sqlite.Saver{one, two} {
		until(func() error { return sqlsaver.Pack(t.Context(), s.Saver, "t") })
		until(func() error { return packtest.WholeHistory(t.Context(), s, done.Load()) })
		until(func() error { return packtest.WholeState(t.Context(), s, done.Load()) })
	}
	for n := range turns {
		var err error
		if head, err = packtest.Turn(t.Context(), n, head, []*sqlite.Saver{one, two}[n%2], want); err != nil {
			t.Error(err)
			break
		}
		done.Store(int64(n + 1))
	}
	over.Store(true)
	all.Wait()
	packtest.Same(t, two, want)
	if packs := count(t, path, "graph_pack"); packs == 0 {
		t.Error("nothing was packed")
	}
}

// TestTheLogShrinksAfterALargeTransaction stores 32 MB in one commit, and small records after it.
func TestTheLogShrinksAfterALargeTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path, sqlite.Synchronous(sqlite.Normal))
	r, err := begin(t.Context(), s, "t")
	if err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if _, err := r.commit(t.Context(), make([]byte, 32<<20)); err != nil {
		t.Fatal(err)
	}
	before := size()
	for range 5 {
		if _, err := r.commit(t.Context(), []byte("small")); err != nil {
			t.Fatal(err)
		}
	}
	if after := size(); before < 32<<20 || after > 5<<20 {
		t.Errorf("the log has %d bytes after a large transaction and %d later, want more than 32 MB and at most 5 MB", before, after)
	}
}

func TestRecordsArePackedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long")
	}
	path := filepath.Join(t.TempDir(), "threads.db")
	packtest.PacksAgain(t, func(tb testing.TB) checkpoint.Saver {
		tb.Helper()
		s, err := sqlite.Open(path, sqlite.Synchronous(sqlite.Normal))
		if err != nil {
			tb.Fatal(err)
		}
		return s
	})
}
