package memrows_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/internal/memrows/strict"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// itemStore is a store on rows that a test counts and changes.
type itemStore struct {
	store.Backend
	rows *memrows.Store

	most, reads, read int // how many Reads may be made, and how many were, and of how many rows
}

var errTooMany = errors.New("too many reads")

// newItemStore returns an empty store. A call of it fails after 100 Reads.
func newItemStore() *itemStore {
	s := &itemStore{rows: memrows.New(), most: 100}
	s.Backend = rows.New("rows", limited{strict.Store{Store: s.rows}, s}, rows.Options{}).Store()
	return s
}

// limited is a Store that counts Reads.
type limited struct {
	rows.Store
	s *itemStore
}

func (l limited) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	if l.s.reads++; l.s.reads > l.s.most {
		return nil, time.Time{}, errTooMany
	}
	all, now, err := l.Store.Read(ctx, ranges...)
	for _, some := range all {
		l.s.read += len(some)
	}
	return all, now, err
}

// do runs operations, and then counts from 0.
func (s *itemStore) do(t *testing.T, ops ...store.Op) []store.Result {
	t.Helper()
	s.reads = 0
	results, err := s.Do(t.Context(), ops)
	if err != nil {
		t.Fatal(err)
	}
	s.reads, s.read = 0, 0
	return results
}

// all returns the rows of a table whose keys begin with a byte.
func (s *itemStore) all(t *testing.T, table rows.Table, kind byte) []rows.Row {
	t.Helper()
	found, _, err := s.rows.Read(t.Context(), rows.Range{Key: rows.Key{Table: table, Bytes: []byte{kind}}, To: []byte{kind + 1}})
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

// damage puts other bytes in the place of a row. It changes no revision.
func (s *itemStore) damage(t *testing.T, table rows.Table, row rows.Row) {
	t.Helper()
	row.Value[len(row.Value)-1] ^= 1
	if got := s.all(t, table, row.Key[0]); !bytes.Equal(got[0].Value, row.Value) {
		t.Fatal("the row was not damaged")
	}
}

var past = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

func item(key string) store.Op {
	return store.Op{Kind: store.OpPut, Namespace: store.Namespace{"n"}, Key: key, Value: []byte("v")}
}

// TestSweepEndsAfterDamage sweeps what a damaged item has left behind: nobody can know when it
// expires.
func TestSweepEndsAfterDamage(t *testing.T) {
	expired := item("k")
	expired.ExpireAt = past
	for name, c := range map[string]struct {
		then    []store.Op
		removed int
	}{
		"a damaged item":                 {nil, 1},
		"a damaged item that was put":    {[]store.Op{item("k")}, 0},
		"a damaged item that was buried": {[]store.Op{{Kind: store.OpDelete, Namespace: store.Namespace{"n"}, Key: "k"}}, 0},
	} {
		s := newItemStore()
		s.do(t, expired)
		s.damage(t, rows.Items, s.all(t, rows.Items, 'i')[0])
		if len(c.then) > 0 {
			s.do(t, c.then...)
		}
		if n, err := s.Sweep(t.Context(), 10); err != nil || n != c.removed {
			t.Errorf("%s: got %d, %v, want %d removed", name, n, err, c.removed)
		}
		s.reads = 0
		got, err := s.Do(t.Context(), []store.Op{{Kind: store.OpGet, Namespace: store.Namespace{"n"}, Key: "k"}})
		if want := name == "a damaged item that was put"; err != nil || got[0].Found != want {
			t.Errorf("%s: got %+v, %v, want found %t", name, got, err, want)
		}
	}
}

// TestSweepRemovesWhatBelongsToNoItem sweeps the row of a time whose item has no row.
func TestSweepRemovesWhatBelongsToNoItem(t *testing.T) {
	s := newItemStore()
	expired := item("k")
	expired.ExpireAt = past
	s.do(t, expired)
	row := s.all(t, rows.Items, 'i')[0]
	_, _, err := s.rows.Apply(t.Context(), &rows.Change{
		Checks:  []rows.Check{{Table: rows.Items, Thread: string(row.Key), Rev: row.Rev}},
		Deletes: []rows.Range{{Key: rows.Key{Table: rows.Items, Bytes: row.Key}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Sweep(t.Context(), 10); err != nil || n != 0 {
		t.Errorf("got %d, %v, want none removed", n, err)
	}
}

// TestAnItemWithDamagedWordsCanBeReplaced puts and deletes an item whose list of words is damaged.
func TestAnItemWithDamagedWordsCanBeReplaced(t *testing.T) {
	with := item("k")
	with.Texts = []store.Text{{Index: "t", Words: []store.Word{{Word: "w", Count: 1}}}}
	for name, op := range map[string]store.Op{"put": with, "delete": {Kind: store.OpDelete, Namespace: with.Namespace, Key: "k"}} {
		s := newItemStore()
		s.do(t, with)
		s.damage(t, rows.Entries, s.all(t, rows.Entries, 't')[0])
		if _, err := s.Do(t.Context(), []store.Op{op}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Do(t.Context(), []store.Op{with}); err != nil {
			t.Errorf("a put after the %s: %v", name, err)
		}
	}
}

// TestReadsPassItemsThatAreGone counts the Reads of calls among many items that were deleted or
// have expired, and the rows of the last item.
func TestReadsPassItemsThatAreGone(t *testing.T) {
	const gone = 2000
	s := newItemStore()
	if _, err := s.Declare(t.Context(), store.VectorSpec{Name: "v", Model: "m", Dims: 1}); err != nil {
		t.Fatal(err)
	}
	vectors, index := []store.Vector{{Index: "v", Values: []float32{1}}}, []store.Entry{{Index: "i", Value: []byte{1}}}
	for from := 0; from < gone; from += 500 {
		var puts []store.Op
		for i := range 500 {
			op := item(fmt.Sprintf("%05d", from+i))
			op.ExpireAt, op.Vectors, op.Index = past, vectors, index
			puts = append(puts, op)
		}
		s.do(t, puts...)
	}
	last := item("last")
	last.Vectors, last.Index = []store.Vector{{Index: "v", Values: []float32{0.5}}}, index
	s.do(t, last)
	q := store.Query{Limit: 1}
	for name, call := range map[string]func() (int, error){
		"find": func() (int, error) { all, err := s.Find(t.Context(), q); return len(all), err },
		"filter": func() (int, error) {
			where := store.Query{Limit: 1, Where: []store.Condition{{Index: "i", Ranges: []store.Range{{From: []byte{1}, To: []byte{1, 0}}}}}}
			all, err := s.Find(t.Context(), where)
			return len(all), err
		},
		"namespaces": func() (int, error) {
			all, err := s.Namespaces(t.Context(), store.NamespaceQuery{Limit: 1})
			return len(all), err
		},
		"search": func() (int, error) {
			all, err := s.Search(t.Context(), store.VectorQuery{Query: q, Index: "v", Vector: []float32{1}})
			return len(all), err
		},
	} {
		s.reads = 0
		if n, err := call(); err != nil || n != 1 || s.reads > 25 {
			t.Errorf("%s: got %d, %v by %d reads, want the last item by at most 25", name, n, err, s.reads)
		}
	}
}

// TestAFilterWithManyRangesReadsTheirEntriesOnce counts the rows that a filter reads whose ranges
// have more entries than a Read returns.
func TestAFilterWithManyRangesReadsTheirEntriesOnce(t *testing.T) {
	const n = 30_000
	s := newItemStore()
	for from := 0; from < n; from += store.MaxOps {
		var puts []store.Op
		for i := range store.MaxOps {
			op := item(fmt.Sprintf("%05d", from+i))
			op.Index = []store.Entry{{Index: "half", Value: []byte{byte(i % 2)}}, {Index: "other", Value: []byte{byte(1 - i%2)}}}
			puts = append(puts, op)
		}
		s.do(t, puts...)
	}
	low := []store.Range{{From: []byte{0}, To: []byte{1}}}
	got, err := s.Find(t.Context(), store.Query{Limit: 10, Where: []store.Condition{{Index: "half", Ranges: low}, {Index: "other", Ranges: low}}})
	if err != nil || len(got) != 0 || s.read > n+2*2*4096 {
		t.Errorf("got %d items, %v, by %d rows, want none by at most %d", len(got), err, s.read, n+2*2*4096)
	}
}

// TestFindsOfOnePageAreConcurrent finds by several goroutines. A call must not write behind the
// keys that a Store has returned.
func TestFindsOfOnePageAreConcurrent(t *testing.T) {
	s := rows.New("rows", memrows.New(), rows.Options{}).Store()
	if _, err := s.Do(t.Context(), []store.Op{item("a"), item("b")}); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for range 100 {
				if found, err := s.Find(t.Context(), store.Query{Limit: 1}); err != nil || len(found) != 1 {
					t.Errorf("got %d items, %v", len(found), err)
				}
			}
		})
	}
	calls.Wait()
}

// TestASearchByWordsIsWhole deletes the best item after the words were read.
func TestASearchByWordsIsWhole(t *testing.T) {
	memory := memrows.New()
	other := rows.New("rows", memory, rows.Options{}).Store()
	at := &between{Store: memory}
	s := rows.New("rows", at, rows.Options{}).Store()
	var puts []store.Op
	for _, key := range []string{"a", "b", "c"} {
		op := item(key)
		op.Texts = []store.Text{{Index: "t", Words: []store.Word{{Word: "w", Count: 1}}}}
		puts = append(puts, op)
	}
	if _, err := s.Do(t.Context(), puts); err != nil {
		t.Fatal(err)
	}
	gone := false
	remove := func() {
		_, err := other.Do(t.Context(), []store.Op{{Kind: store.OpDelete, Namespace: puts[0].Namespace, Key: "a"}})
		gone = err == nil
	}
	at.next = func() { at.next = remove } // after the Reads of the words and of the items that have them
	hits, err := s.SearchText(t.Context(), store.TextQuery{Query: store.Query{Limit: 2}, Index: "t", Words: []string{"w"}})
	if err != nil || len(hits) != 2 || !gone {
		t.Errorf("got %d items, %v, and gone %t, want the 2 that are left", len(hits), err, gone)
	}
}

// TestASearchWhoseItemsChangeComparesOnce puts an item again after each Read that it is in.
func TestASearchWhoseItemsChangeComparesOnce(t *testing.T) {
	memory := memrows.New()
	other := rows.New("rows", memory, rows.Options{}).Store()
	at := &busy{Store: memory}
	s := rows.New("rows", at, rows.Options{}).Store()
	if _, err := s.Declare(t.Context(), store.VectorSpec{Name: "v", Model: "m", Dims: 1}); err != nil {
		t.Fatal(err)
	}
	op := item("k")
	op.Vectors = []store.Vector{{Index: "v", Values: []float32{1}}}
	puts := 0
	at.read = func() {
		if puts++; puts <= 10 {
			if _, err := other.Do(t.Context(), []store.Op{op}); err != nil {
				t.Error(err)
			}
		}
	}
	at.read()
	hits, err := s.Search(t.Context(), store.VectorQuery{Query: store.Query{Limit: 1}, Index: "v", Vector: []float32{1}})
	if err != nil || len(hits) != 1 || at.ranges != 1 {
		t.Errorf("got %d items, %v, and compared %d times, want the item and once", len(hits), err, at.ranges)
	}
}

// busy is a Store that calls a function after each Read of rows by their keys, and counts others.
type busy struct {
	rows.Store
	read   func()
	ranges int
}

func (b *busy) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	all, now, err := b.Store.Read(ctx, ranges...)
	switch {
	case b.read == nil:
	case ranges[0].To == nil:
		b.read()
	default:
		b.ranges++
	}
	return all, now, err
}

// TestAConditionOfADamagedItemIsUnknown writes to a damaged item under conditions.
func TestAConditionOfADamagedItemIsUnknown(t *testing.T) {
	s := newItemStore()
	first := s.do(t, item("k"))[0].Record.Version
	s.damage(t, rows.Items, s.all(t, rows.Items, 'i')[0])
	absent, under, keeps, index := item("k"), item("k"), item("k"), item("k")
	absent.IfAbsent, under.IfVersion, keeps.KeepExpiry, index.Kind, index.Value = true, first, true, store.OpIndex, nil
	for _, op := range []store.Op{absent, under, keeps, index} {
		if got, err := s.Do(t.Context(), []store.Op{op}); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%+v: got %+v, %v, want ErrDamaged", op, got, err)
		}
	}
}

// TestCloseOfAStoreWaitsForCalls closes a store, but not its saver, while a call reads.
func TestCloseOfAStoreWaitsForCalls(t *testing.T) {
	at := &busy{Store: memrows.New()}
	s := rows.New("rows", at, rows.Options{}).Store()
	closed, early := make(chan struct{}), false
	at.read = func() {
		go func() {
			_ = s.Close() // it has no error
			close(closed)
		}()
		select {
		case <-closed:
			early = true
		case <-time.After(20 * time.Millisecond):
		}
	}
	if _, err := s.Do(t.Context(), []store.Op{{Kind: store.OpGet, Namespace: store.Namespace{"n"}, Key: "k"}}); err != nil || early {
		t.Errorf("got %v, and closed before its end: %t", err, early)
	}
	<-closed
}
