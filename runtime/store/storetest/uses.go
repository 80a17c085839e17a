package storetest

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
)

func testCancelled(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	for name, err := range calls(ctx, b) {
		wantErr(tb, name, err, context.Canceled)
	}
	wantAbsent(tb, b, users, "k")
}

// calls returns the errors of all calls.
func calls(ctx context.Context, b store.Backend) map[string]error {
	all := make(map[string]error)
	_, all["Do"] = b.Do(ctx, []store.Op{put(users, "k", "v")})
	_, all["Do of a get"] = b.Do(ctx, []store.Op{get(users, "k")})
	_, all["Find"] = b.Find(ctx, store.Query{Limit: 1})
	_, all["Namespaces"] = b.Namespaces(ctx, store.NamespaceQuery{})
	_, all["Sweep"] = b.Sweep(ctx, 1)
	return all
}

func testClosed(tb testing.TB, place Storage) {
	tb.Helper()
	b, err := place.Open()
	if err != nil {
		tb.Fatal(err)
	}
	do(tb, b, put(users, "k", "v"))
	for range 2 {
		if err := b.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	}
	for name, err := range calls(tb.Context(), b) {
		wantErr(tb, name+" after Close", err, store.ErrClosed)
	}
}

func testOwned(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	value, index, n := []byte("value"), []byte("index"), store.Namespace{"users", "ada"}
	one(tb, b, store.Op{Kind: store.OpPut, Namespace: n, Key: "k", Value: value, Index: []store.Entry{{Index: "kind", Value: index}}})
	copy(value, "xxxxx")
	copy(index, "xxxxx")
	n[1] = "eve"
	wantValue(tb, b, users, "k", "value")
	wantNames(tb, "find", find(tb, b, store.Query{Where: where("kind", between("index", "index\x00"))}), "users/ada:k")
	read := one(tb, b, get(users, "k")).Record.Value
	one(tb, b, put(users, "k", "other"))
	if !bytes.Equal(read, []byte("value")) {
		tb.Errorf("a value that was read has changed to %q", read)
	}
}

func testReopen(tb testing.TB, place Storage) {
	tb.Helper()
	if !place.Shared {
		return
	}
	b, err := place.Open()
	if err != nil {
		tb.Fatal(err)
	}
	fillIndexed(tb, b, users)
	version := one(tb, b, putOnce("once", "1", "task")).Record.Version
	if err := b.Close(); err != nil {
		tb.Fatal(err)
	}
	b = open(tb, place)
	got := find(tb, b, store.Query{Namespace: users, Where: where("kind", store.Range{})})
	wantNames(tb, "find", got, "users/ada:a", "users/ada:b", "users/ada:c", "users/ada:d")
	wantValue(tb, b, users, "once", "1")
	if r := one(tb, b, putOnce("once", "2", "task")); !r.Repeated || r.Record.Version != version {
		tb.Errorf("a key of Once after a new start: got %+v, want repeated with version %d", r, version)
	}
	if got := one(tb, b, put(users, "once", "3")).Record.Version; got <= version {
		tb.Errorf("the next version: got %d, want more than %d", got, version)
	}
}

func testShared(tb testing.TB, place Storage) {
	tb.Helper()
	if !place.Shared {
		return
	}
	a, b := open(tb, place), open(tb, place)
	for i := range 10 {
		key := fmt.Sprint(i)
		version := one(tb, a, put(users, key, "a")).Record.Version
		wantValue(tb, b, users, key, "a")
		op := put(users, key, "b")
		op.IfVersion = version
		next := one(tb, b, op).Record.Version
		_, err := a.Do(tb.Context(), []store.Op{op})
		wantConflict(tb, "a put under a version that another backend replaced", err, version, next)
		wantValue(tb, a, users, key, "b")
	}
}
