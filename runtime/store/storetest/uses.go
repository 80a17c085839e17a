package storetest

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
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

// found is a vector index, near a search by it, and having a search by words.
var (
	found  = store.VectorSpec{Name: "found", Model: "m", Dims: 2}
	near   = store.VectorQuery{Query: store.Query{Limit: 10}, Index: "found", Vector: []float32{1, 0}}
	having = store.TextQuery{Query: store.Query{Limit: 10}, Index: "found", Words: []string{"word"}}
)

// putFound returns a put that both searches find.
func putFound(n store.Namespace, key string) store.Op {
	op := put(n, key, "v")
	op.Vectors = []store.Vector{{Index: "found", Hash: [16]byte{1}, Values: []float32{1, 0}}}
	op.Texts = []store.Text{{Index: "found", Words: []store.Word{{Word: "word", Count: 1}}}}
	return op
}

// wantSearches fails unless both searches find an item with a version, or none for version 0.
func wantSearches(tb testing.TB, what string, b store.Backend, version int64) {
	tb.Helper()
	byMeaning, err := b.Search(tb.Context(), near)
	byWords, wordsErr := b.SearchText(tb.Context(), having)
	if err != nil || wordsErr != nil {
		tb.Errorf("%s: a search: %v, %v", what, err, wordsErr)
	}
	for kind, hits := range map[string][]store.Hit{"meaning": byMeaning, "words": byWords} {
		got := int64(0)
		for i := range hits {
			got = hits[i].Version
		}
		if len(hits) > 1 || got != version {
			tb.Errorf("%s: a search by %s: got %d items, the last of version %d, want version %d", what, kind, len(hits), got, version)
		}
	}
}

// testSearchExpired searches among items that have expired, and are as near as those that live.
func testSearchExpired(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	declareFound(tb, b)
	var ops []store.Op
	for i := range 20 {
		gone, live := putFound(users, fmt.Sprint("gone", i)), putFound(users, fmt.Sprintf("live%02d", i))
		gone.ExpireAt = past
		ops = append(ops, gone, live)
	}
	do(tb, b, ops...)
	nearest, words := near, having
	nearest.Limit, nearest.Offset, words.Limit, words.Offset = 3, 2, 3, 2
	byMeaning, err := b.Search(tb.Context(), nearest)
	byWords, wordsErr := b.SearchText(tb.Context(), words)
	if err != nil || wordsErr != nil {
		tb.Fatalf("got %v and %v", err, wordsErr)
	}
	for kind, hits := range map[string][]store.Hit{"meaning": byMeaning, "words": byWords} {
		var got []string
		for i := range hits {
			got = append(got, hits[i].Key)
		}
		wantNames(tb, "a search by "+kind, got, "live02", "live03", "live04")
	}
}

// declareFound declares the vector index found.
func declareFound(tb testing.TB, b store.Backend) {
	tb.Helper()
	other := found
	other.Model = "other"
	for _, spec := range []store.VectorSpec{found, other} {
		if got, err := b.Declare(tb.Context(), spec); err != nil || got != found {
			tb.Errorf("declare %+v: got %+v, %v, want %+v", spec, got, err, found)
		}
	}
}

// calls returns the errors of all calls.
func calls(ctx context.Context, b store.Backend) map[string]error {
	all := make(map[string]error)
	_, all["Do"] = b.Do(ctx, []store.Op{put(users, "k", "v")})
	_, all["Do of a get"] = b.Do(ctx, []store.Op{get(users, "k")})
	_, all["Find"] = b.Find(ctx, store.Query{Limit: 1})
	_, all["Namespaces"] = b.Namespaces(ctx, store.NamespaceQuery{})
	_, all["Sweep"] = b.Sweep(ctx, 1)
	_, all["Declare"] = b.Declare(ctx, found)
	_, all["Search"] = b.Search(ctx, near)
	_, all["SearchText"] = b.SearchText(ctx, having)
	if n, can := b.(store.Notifier); can {
		_, all["Notify"] = n.Notify(ctx, users, func() {})
	}
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
	declareFound(tb, b)
	searched := one(tb, b, putFound(store.Namespace{"searched"}, "k")).Record.Version
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
	declareFound(tb, b)
	wantSearches(tb, "after a new start", b, searched)
	vectors := one(tb, b, store.Op{Kind: store.OpVectors, Namespace: store.Namespace{"searched"}, Key: "k"}).Record.Vectors
	if want := putFound(nil, "").Vectors; !reflect.DeepEqual(vectors, want) {
		tb.Errorf("the vectors after a new start: got %+v, want %+v", vectors, want)
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
	declareFound(tb, a)
	declareFound(tb, b)
	one(tb, a, putFound(users, "k"))
	version := one(tb, b, putFound(users, "k")).Record.Version
	wantSearches(tb, "by the backend that did not write", a, version)
	one(tb, a, put(users, "k", "v"))
	wantSearches(tb, "after a put without vectors and words", b, 0)
	one(tb, b, remove(users, "k"))
	version = one(tb, a, putFound(users, "k")).Record.Version
	wantSearches(tb, "after a delete", b, version)
}
