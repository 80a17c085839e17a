package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
)

func testBatchOrder(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	do(tb, b, put(users, "old", "1"))
	got := do(tb, b,
		get(users, "k"), put(users, "k", "1"), get(users, "k"), put(users, "k", "2"), get(users, "k"), remove(users, "k"), get(users, "k"),
		put(users, "k", "3"), get(users, "old"), remove(users, "old"))
	var read string
	for _, at := range []int{0, 2, 4, 6, 8} {
		if got[at].Found {
			read += string(got[at].Record.Value)
		}
		read += ","
	}
	if read != ",1,2,,1," {
		tb.Errorf("the gets of a batch: got %q, want %q", read, ",1,2,,1,")
	}
	wantValue(tb, b, users, "k", "3")
	wantAbsent(tb, b, users, "old")
	if none, err := b.Do(tb.Context(), nil); err != nil || len(none) != 0 {
		tb.Errorf("an empty batch: got %d results, %v", len(none), err)
	}
}

func testBatchAtomic(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	do(tb, b, put(users, "a", "1"), put(users, "b", "1"))
	fails := put(users, "b", "x")
	fails.IfAbsent = true
	indexed := put(users, "c", "2")
	indexed.Index = []store.Entry{entry("kind", "x")}
	_, err := b.Do(tb.Context(), []store.Op{put(users, "a", "2"), indexed, remove(users, "b"), put(users, "b", "2"), fails})
	if !errors.Is(err, store.ErrConflict) {
		tb.Errorf("got %v, want an ErrConflict", err)
	}
	wantValue(tb, b, users, "a", "1")
	wantValue(tb, b, users, "b", "1")
	wantAbsent(tb, b, users, "c")
	wantNames(tb, "find by the index", find(tb, b, store.Query{Where: []store.Condition{{Index: "kind", Ranges: []store.Range{{}}}}}))
}

func testBatchReads(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	n := store.Namespace{"accounts"}
	var ops []store.Op
	for i := range 100 {
		ops = append(ops, put(n, fmt.Sprint(i), fmt.Sprint("v", i)))
	}
	do(tb, b, ops...)
	for i := range ops {
		ops[i] = get(n, fmt.Sprint(i))
	}
	for i, r := range do(tb, b, ops...) {
		if want := fmt.Sprint("v", i); !r.Found || string(r.Record.Value) != want || r.Record.Key != fmt.Sprint(i) {
			tb.Errorf("get %d: got key %q, value %q, want %q", i, r.Record.Key, r.Record.Value, want)
		}
	}
}

func rounds(n int) int {
	if testing.Short() {
		return max(n/5, 1)
	}
	return n
}

// testBatchWriters lets 50 writers give all items of a batch one value, while readers look for a
// mix.
func testBatchWriters(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	n := store.Namespace{"shared"}
	batch := func(value string) (ops []store.Op) {
		for i := range 8 {
			ops = append(ops, put(n, fmt.Sprint(i), value))
		}
		return ops
	}
	do(tb, b, batch("first")...)
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 50 {
		writers.Go(func() {
			for i := range rounds(10) {
				if _, err := b.Do(tb.Context(), batch(fmt.Sprintf("%d of %d", i, w))); err != nil {
					tb.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				wantOneValue(tb, b, n)
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	wantOneValue(tb, b, n)
}

// wantOneValue fails unless all items of a namespace have the same value, by gets and by Find.
func wantOneValue(tb testing.TB, b store.Backend, n store.Namespace) {
	tb.Helper()
	var ops []store.Op
	for i := range 8 {
		ops = append(ops, get(n, fmt.Sprint(i)))
	}
	results, err := b.Do(tb.Context(), ops)
	if err != nil {
		tb.Errorf("read: %v", err)
		return
	}
	for i := range results {
		if got, want := string(results[i].Record.Value), string(results[0].Record.Value); got != want {
			tb.Errorf("a batch of gets has %q and %q, want one value", want, got)
		}
	}
	page, err := b.Find(tb.Context(), store.Query{Namespace: n, Limit: 100})
	if err != nil || len(page) != 8 {
		tb.Errorf("find: got %d items, %v, want 8", len(page), err)
	}
	for i := range page {
		if got, want := string(page[i].Value), string(page[0].Value); got != want {
			tb.Errorf("a page of Find has %q and %q, want one value", want, got)
		}
	}
}

// testCounter lets writers make a number, and increment it by its version.
func testCounter(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	var all sync.WaitGroup
	each := rounds(20)
	for range 8 {
		all.Go(func() {
			for done := 0; done < each; {
				var n int
				read, err := b.Do(tb.Context(), []store.Op{get(users, "n")})
				if err == nil && read[0].Found {
					_, err = fmt.Sscan(string(read[0].Record.Value), &n)
				}
				if err != nil {
					tb.Errorf("read the counter: %v", err)
					return
				}
				op := put(users, "n", fmt.Sprint(n+1))
				op.IfVersion, op.IfAbsent = read[0].Record.Version, !read[0].Found
				switch _, err := b.Do(tb.Context(), []store.Op{op}); {
				case err == nil:
					done++
				case !errors.Is(err, store.ErrConflict):
					tb.Errorf("write the counter: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	wantValue(tb, b, users, "n", fmt.Sprint(8*each))
}

func putOnce(key, value, once string) store.Op {
	op := put(users, key, value)
	op.Once = once
	return op
}

func testOnce(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	first := one(tb, b, putOnce("k", "1", "task 1"))
	if first.Repeated {
		tb.Error("the first use is repeated, want not")
	}
	check := func(what, value string) {
		tb.Helper()
		again := putOnce("k", "other", "task 1")
		again.IfAbsent = true // its condition held the first time
		got := one(tb, b, again)
		if !got.Repeated || got.Record.Version != first.Record.Version {
			tb.Errorf("%s: got repeated %v, version %d, want true and %d", what, got.Repeated, got.Record.Version, first.Record.Version)
		}
		if value == "" {
			wantAbsent(tb, b, users, "k")
		} else {
			wantValue(tb, b, users, "k", value)
		}
	}
	check("a second use", "1")
	do(tb, b, put(users, "k", "2"))
	check("a use after another write", "2")
	do(tb, b, remove(users, "k"))
	check("a use after a delete", "")
	do(tb, b, putOnce("k", "3", "task 2"))
	wantValue(tb, b, users, "k", "3")
	got := do(tb, b, putOnce("twice", "1", "same"), putOnce("twice", "2", "same"))
	if got[0].Repeated || !got[1].Repeated || got[1].Record.Version != got[0].Record.Version {
		tb.Errorf("one key twice in a batch: got %+v, want the second repeated", got)
	}
	wantValue(tb, b, users, "twice", "1")
}

func testOnceItem(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	other := putOnce("a", "3", "task")
	other.Namespace = store.Namespace{"users", "bob"}
	for i, r := range do(tb, b, putOnce("a", "1", "task"), putOnce("b", "2", "task"), other) {
		if r.Repeated {
			tb.Errorf("write %d, of another item under the same key, is repeated", i)
		}
	}
	wantValue(tb, b, users, "b", "2")
	wantValue(tb, b, other.Namespace, "a", "3")
}

func testOnceFailed(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	do(tb, b, put(users, "there", "1"))
	fails := put(users, "there", "x")
	fails.IfAbsent = true
	if _, err := b.Do(tb.Context(), []store.Op{putOnce("k", "1", "task"), fails}); !errors.Is(err, store.ErrConflict) {
		tb.Fatalf("got %v, want an ErrConflict", err)
	}
	if got := one(tb, b, putOnce("k", "2", "task")); got.Repeated {
		tb.Error("a key that a failed batch named is used, want not")
	}
	wantValue(tb, b, users, "k", "2")
}

func testOnceDelete(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	op := remove(users, "k")
	op.Once = "task"
	do(tb, b, put(users, "k", "1"))
	if got := one(tb, b, op); !got.Found || got.Repeated {
		tb.Errorf("first delete: got %+v, want found", got)
	}
	do(tb, b, put(users, "k", "2"))
	if got := one(tb, b, op); !got.Repeated {
		tb.Errorf("second delete: got %+v, want repeated", got)
	}
	wantValue(tb, b, users, "k", "2")
}
