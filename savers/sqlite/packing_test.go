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

func (t *dyingTx) Later(ctx context.Context, scan func(sqlsaver.Rows) error, text string, args ...any) error {
	if err := t.next(); err != nil {
		return err
	}
	return t.Tx.Later(ctx, scan, text, args...)
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
		err := s.Pack(t.Context(), "t")
		left.Store(0)
		rows, packs := records(t, path)
		if err == nil {
			if n < 4 || packs == 0 {
				t.Errorf("packing takes %d statements and makes %d packs, want some of both", n, packs)
			}
			packtest.Same(t, s, want)
			return
		}
		if !errors.Is(err, errKilled) || rows != 60 && (rows != 4 || packs != 1) {
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
		if err := s.Pack(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		if rows, packs := records(t, path); rows != 4 || packs != 1 {
			t.Errorf("got %d rows and %d packs, want 4 and one", rows, packs)
		}
		packtest.Same(t, s, want)
	}
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
	if rows, packs := records(t, path); rows >= 200 || packs == 0 {
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
		until(func() error { return s.Pack(t.Context(), "t") })
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
	if _, packs := records(t, path); packs == 0 {
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
