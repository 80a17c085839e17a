package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// open opens a backend and closes it at the end of the test.
func open(tb testing.TB, place Storage) store.Backend {
	tb.Helper()
	b, err := place.Open()
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return b
}

var users = store.Namespace{"users", "ada"}

func put(n store.Namespace, key, value string) store.Op {
	return store.Op{Kind: store.OpPut, Namespace: n, Key: key, Value: []byte(value)}
}

func get(n store.Namespace, key string) store.Op {
	return store.Op{Kind: store.OpGet, Namespace: n, Key: key}
}

func remove(n store.Namespace, key string) store.Op {
	return store.Op{Kind: store.OpDelete, Namespace: n, Key: key}
}

// entry returns an index entry.
func entry(index, value string) store.Entry { return store.Entry{Index: index, Value: []byte(value)} }

// do runs operations and fails the test if that fails.
func do(tb testing.TB, b store.Backend, ops ...store.Op) []store.Result {
	tb.Helper()
	results, err := b.Do(tb.Context(), ops)
	if err != nil {
		tb.Fatalf("do %s: %v", describe(ops), err)
	}
	if len(results) != len(ops) {
		tb.Fatalf("do %s: got %d results, want %d", describe(ops), len(results), len(ops))
	}
	return results
}

// one runs one operation.
func one(tb testing.TB, b store.Backend, op store.Op) store.Result {
	tb.Helper()
	return do(tb, b, op)[0]
}

func describe(ops []store.Op) string {
	var all []string
	for i := range ops[:min(len(ops), 5)] {
		kind := [...]string{"nothing", "get", "put", "delete", "index", "vectors"}[ops[i].Kind]
		all = append(all, fmt.Sprintf("%s %.60s %.40q", kind, ops[i].Namespace, ops[i].Key))
	}
	return strings.Join(all, ", ")
}

// wantValue fails unless an item has a value.
func wantValue(tb testing.TB, b store.Backend, n store.Namespace, key, want string) {
	tb.Helper()
	switch got := one(tb, b, get(n, key)); {
	case !got.Found:
		tb.Errorf("%.60s, key %.40q: not found, want the value %.40q", n, key, want)
	case string(got.Record.Value) != want:
		tb.Errorf("%.60s, key %.40q: got the value %.40q, want %.40q", n, key, got.Record.Value, want)
	case got.Record.Key != key || !slices.Equal(got.Record.Namespace, n):
		tb.Errorf("%.60s, key %.40q: the record is of %.60s, key %.40q", n, key, got.Record.Namespace, got.Record.Key)
	}
}

func wantAbsent(tb testing.TB, b store.Backend, n store.Namespace, key string) {
	tb.Helper()
	if got := one(tb, b, get(n, key)); got.Found {
		tb.Errorf("%.60s, key %.40q: got the value %.40q, want no item", n, key, got.Record.Value)
	}
}

// wantConflict fails unless err is a *ConflictError with these versions.
func wantConflict(tb testing.TB, what string, err error, want, found int64) {
	tb.Helper()
	var conflict *store.ConflictError
	switch {
	case !errors.Is(err, store.ErrConflict) || !errors.As(err, &conflict):
		tb.Errorf("%s: got %v, want a *ConflictError", what, err)
	case conflict.Want != want || conflict.Found != found:
		tb.Errorf("%s: got versions %d and %d in %v, want %d and %d", what, conflict.Want, conflict.Found, err, want, found)
	}
}

func wantErr(tb testing.TB, what string, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%s: got %v, want an error that is %q", what, err, want)
	}
}

func wantInvalid(tb testing.TB, what string, err error) {
	tb.Helper()
	var invalid *store.InvalidError
	if !errors.As(err, &invalid) {
		tb.Errorf("%s: got %v, want an *InvalidError", what, err)
	}
}

// most is more than the items of any test. A backend with wrong pages would list for ever.
const most = 2 * store.MaxPage

// find returns all items that q selects, in pages of q.Limit, as "namespace:key".
func find(tb testing.TB, b store.Backend, q store.Query) (names []string) {
	tb.Helper()
	if q.Limit == 0 {
		q.Limit = store.MaxPage
	}
	for {
		page, err := b.Find(tb.Context(), q)
		if err != nil {
			tb.Fatalf("find %+v: %v", q, err)
		}
		for i := range page {
			names = append(names, page[i].Namespace.String()+":"+page[i].Key)
		}
		if len(page) > q.Limit || len(names) > most {
			tb.Fatalf("find %+v: got %d items in a page, %d in all; want at most %d and %d", q, len(page), len(names), q.Limit, most)
		}
		if len(page) < q.Limit {
			return names
		}
		last := page[len(page)-1]
		q.After = &store.Position{Namespace: last.Namespace, Key: last.Key}
	}
}

// namespaces returns all namespaces that q selects, in pages of q.Limit.
func namespaces(tb testing.TB, b store.Backend, q store.NamespaceQuery) (names []string) {
	tb.Helper()
	if q.Limit == 0 {
		q.Limit = store.MaxPage
	}
	for {
		page, err := b.Namespaces(tb.Context(), q)
		if err != nil {
			tb.Fatalf("namespaces %+v: %v", q, err)
		}
		for _, n := range page {
			names = append(names, n.String())
		}
		if len(page) > q.Limit || len(names) > most {
			tb.Fatalf("namespaces %+v: got %d in a page, %d in all; want at most %d and %d", q, len(page), len(names), q.Limit, most)
		}
		if len(page) < q.Limit {
			return names
		}
		q.After = page[len(page)-1]
	}
}

// collection returns a collection of facts in a backend.
func collection[T any, P wire.Generated[T]](tb testing.TB, b store.Backend, opts ...store.CollectionOption[T]) *store.Collection[T] {
	tb.Helper()
	c, err := store.NewCollection[T, P](b, store.Namespace{"facts"}, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// wantNames fails unless got equals want, in order.
func wantNames(tb testing.TB, what string, got []string, want ...string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: got %.80q, want %.80q", what, got, want)
	}
}

// collect returns the values of a sequence up to its first error.
func collect[V any](tb testing.TB, seq iter.Seq2[V, error]) (all []V) {
	tb.Helper()
	for v, err := range seq {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// patience is the time limit of until, which allows for a slow machine.
const patience = 2 * time.Minute

// until calls ok until it returns true. Tests use it for effects of a clock; they do not test the
// duration.
func until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("%s: not so after %v", what, patience)
		}
	}
}
