package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// past is a time before all clocks of servers.
var past = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

func expired(key string) store.Op {
	op := put(users, key, "old")
	op.ExpireAt = past
	op.Index = []store.Entry{entry("kind", "x")}
	return op
}

func testExpired(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	first := one(tb, b, expired("k")).Record.Version
	wantAbsent(tb, b, users, "k")
	wantNames(tb, "find", find(tb, b, store.Query{}))
	wantNames(tb, "find by the index", find(tb, b, store.Query{Where: where("kind", store.Range{})}))
	wantNames(tb, "namespaces", namespaces(tb, b, store.NamespaceQuery{}))
	if got := one(tb, b, remove(users, "k")); got.Found {
		tb.Error("delete of an expired item: got found true, want false")
	}
	do(tb, b, expired("k"))
	under := put(users, "k", "x")
	under.IfVersion = first
	_, err := b.Do(tb.Context(), []store.Op{under})
	wantConflict(tb, "a put under the version of an expired item", err, first, 0)
	absent := put(users, "k", "new")
	absent.IfAbsent = true
	got := one(tb, b, absent)
	if got.Found || got.Record.Version <= first {
		tb.Errorf("a put of an expired item: got found %v, version %d, want a new item and more than %d", got.Found, got.Record.Version, first)
	}
	wantValue(tb, b, users, "k", "new")
	wantNames(tb, "find by the index of the expired item", find(tb, b, store.Query{Where: where("kind", store.Range{})}))
	far := put(users, "far", "v")
	far.ExpireAt = time.Now().Add(1000 * time.Hour)
	do(tb, b, far)
	wantValue(tb, b, users, "far", "v")
	if at := one(tb, b, get(users, "far")).Record.Expires; !at.Equal(far.ExpireAt.Truncate(time.Microsecond)) {
		tb.Errorf("expires: got %v, want %v", at, far.ExpireAt)
	}
}

func testTTL(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	op := put(users, "k", "v")
	op.TTL = 20 * time.Millisecond
	op.Index = []store.Entry{entry("kind", "x")}
	made := one(tb, b, op).Record
	hour := put(users, "hour", "v")
	hour.TTL = time.Hour
	do(tb, b, hour)
	r := one(tb, b, get(users, "hour")).Record
	if got := r.Expires.Sub(r.Updated); got != time.Hour {
		tb.Errorf("a ttl of an hour: it expires %v after the put", got)
	}
	until(tb, "the item expires", func() bool { return !one(tb, b, get(users, "k")).Found })
	wantNames(tb, "find", find(tb, b, store.Query{}), "users/ada:hour")
	wantNames(tb, "find by the index", find(tb, b, store.Query{Where: where("kind", store.Range{})}))
	if next := one(tb, b, put(users, "k", "v")); next.Found || next.Record.Version <= made.Version {
		tb.Errorf("the next put: got found %v, version %d after %d, want a new item", next.Found, next.Record.Version, made.Version)
	}
}

func testRefresh(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	op := put(users, "k", "v")
	op.TTL = time.Hour
	do(tb, b, op)
	before := one(tb, b, get(users, "k")).Record
	read := get(users, "k")
	read.Refresh = true
	until(tb, "a refresh moves the end", func() bool {
		got := one(tb, b, read)
		if !got.Found || got.Record.Version != before.Version || !got.Record.Updated.Equal(before.Updated) || string(got.Record.Value) != "v" {
			tb.Fatalf("a refresh: got %+v, want the item %+v", got, before)
		}
		return got.Record.Expires.After(before.Expires)
	})
	if got := one(tb, b, get(users, "k")).Record.Expires; !got.After(before.Expires) {
		tb.Errorf("after a refresh: it expires at %v, want later than %v", got, before.Expires)
	}
	plain := one(tb, b, get(users, "k")).Record.Expires
	if got := one(tb, b, get(users, "k")).Record.Expires; !got.Equal(plain) {
		tb.Errorf("a get without Refresh moves the end from %v to %v", plain, got)
	}
	fixed := put(users, "fixed", "v")
	fixed.ExpireAt = time.Now().Add(time.Hour)
	do(tb, b, fixed, put(users, "never", "v"))
	for _, key := range []string{"fixed", "never"} {
		before := one(tb, b, get(users, key)).Record.Expires
		read.Key = key
		if got := one(tb, b, read).Record.Expires; !got.Equal(before) {
			tb.Errorf("a refresh of %s: got the end %v, want %v", key, got, before)
		}
	}
	read.Key = "missing"
	if got := one(tb, b, read); got.Found {
		tb.Error("a refresh of nothing finds an item")
	}
	do(tb, b, expired("gone"))
	read.Key = "gone"
	if got := one(tb, b, read); got.Found {
		tb.Error("a refresh of an expired item finds it")
	}
}

func testKeepExpiry(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	op := put(users, "k", "1")
	op.TTL = time.Hour
	do(tb, b, op)
	before := one(tb, b, get(users, "k")).Record.Expires
	keep := put(users, "k", "2")
	keep.KeepExpiry = true
	do(tb, b, keep)
	if got := one(tb, b, get(users, "k")).Record.Expires; !got.Equal(before) {
		tb.Fatalf("a put that keeps the end: got %v, want %v", got, before)
	}
	read := get(users, "k")
	read.Refresh = true
	until(tb, "the kept time to live is refreshed", func() bool { return one(tb, b, read).Record.Expires.After(before) })
	do(tb, b, put(users, "k", "3"))
	if got := one(tb, b, get(users, "k")).Record.Expires; !got.IsZero() {
		tb.Errorf("a put without an end: got %v, want none", got)
	}
	do(tb, b, expired("gone"))
	keep.Key = "gone"
	do(tb, b, keep)
	wantValue(tb, b, users, "gone", "2")
}

func testSweep(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	var ops []store.Op
	for i := range 30 {
		ops = append(ops, expired(fmt.Sprint("old", i)), put(users, fmt.Sprint("new", i), "v"))
	}
	far := put(users, "far", "v")
	far.TTL = time.Hour
	do(tb, b, append(ops, far)...)
	n, err := b.Sweep(tb.Context(), 10)
	if err != nil || n != 10 {
		tb.Errorf("a sweep of 10: got %d, %v", n, err)
	}
	n, err = store.Sweep(context.WithoutCancel(tb.Context()), b)
	if err != nil || n != 20 {
		tb.Errorf("a sweep of the rest: got %d, %v, want 20", n, err)
	}
	if got := find(tb, b, store.Query{}); len(got) != 31 {
		tb.Errorf("after the sweep: got %d items, want 31", len(got))
	}
}
