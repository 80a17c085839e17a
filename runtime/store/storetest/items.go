package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
)

func testPutGet(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	if got := one(tb, b, get(users, "city")); got.Found || got.Repeated {
		tb.Errorf("get of a missing item: got %+v, want nothing", got)
	}
	made := one(tb, b, put(users, "city", "rome"))
	if made.Found || made.Record.Version <= 0 {
		tb.Errorf("first put: got found %v, version %d, want a new item with a version", made.Found, made.Record.Version)
	}
	wantValue(tb, b, users, "city", "rome")
	read := one(tb, b, get(users, "city")).Record
	if read.Version != made.Record.Version || read.Created.IsZero() || !read.Created.Equal(read.Updated) || !read.Expires.IsZero() {
		tb.Errorf("got version %d, created %v, updated %v, expires %v; want version %d and one time", read.Version, read.Created, read.Updated, read.Expires, made.Record.Version)
	}
}

func testEmpty(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	for _, value := range [][]byte{nil, {}} {
		do(tb, b, store.Op{Kind: store.OpPut, Namespace: users, Key: "empty", Value: value})
		got := one(tb, b, get(users, "empty"))
		if !got.Found || got.Record.Value == nil || len(got.Record.Value) != 0 {
			tb.Errorf("after a put of %#v: got found %v, value %#v; want an empty value that is not nil", value, got.Found, got.Record.Value)
		}
		wantNames(tb, "find", find(tb, b, store.Query{Namespace: users}), "users/ada:empty")
	}
}

func testReplace(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	first := one(tb, b, put(users, "city", "rome"))
	made := one(tb, b, get(users, "city")).Record
	until(tb, "a later time", func() bool {
		one(tb, b, put(users, "city", "paris"))
		now := one(tb, b, get(users, "city")).Record
		if !now.Created.Equal(made.Created) {
			tb.Errorf("created: got %v after a put, want %v, the time of the first put", now.Created, made.Created)
		}
		return now.Updated.After(made.Created)
	})
	second := one(tb, b, put(users, "city", "oslo"))
	if !second.Found || second.Record.Version <= first.Record.Version {
		tb.Errorf("second put: got found %v, version %d after %d, want true and a larger one", second.Found, second.Record.Version, first.Record.Version)
	}
	wantValue(tb, b, users, "city", "oslo")
	if found, err := b.Find(tb.Context(), store.Query{Limit: 1}); err != nil || len(found) != 1 || !found[0].Created.Equal(made.Created) {
		tb.Errorf("find: got %+v, %v, want one item, created at %v", found, err, made.Created)
	}
}

func testDelete(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	do(tb, b, put(users, "city", "rome"), put(users, "name", "Ada"))
	if got := one(tb, b, remove(users, "city")); !got.Found {
		tb.Error("delete of an item: got found false, want true")
	}
	wantAbsent(tb, b, users, "city")
	wantValue(tb, b, users, "name", "Ada")
	wantNames(tb, "find", find(tb, b, store.Query{}), "users/ada:name")
	if got := one(tb, b, remove(users, "city")); got.Found {
		tb.Error("delete of nothing: got found true, want false")
	}
}

func testVersions(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	last := int64(0)
	for range 5 {
		for _, op := range []store.Op{put(users, "k", "1"), put(users, "k", "2"), remove(users, "k"), put(users, "k", "3"), put(users, "k", "4")} {
			got := one(tb, b, op)
			if op.Kind == store.OpDelete {
				continue
			}
			if got.Record.Version <= last {
				tb.Fatalf("%s %q: got version %d after %d, want a larger one", describe([]store.Op{op}), op.Value, got.Record.Version, last)
			}
			last = got.Record.Version
		}
		do(tb, b, remove(users, "k"))
	}
	// Versions that many writes have moved ahead of the clock.
	var ops []store.Op
	for range 900 {
		ops = append(ops, put(users, "k", "v"))
	}
	for range 3 {
		for i, r := range do(tb, b, append(ops, remove(users, "k"), put(users, "k", "v"), remove(users, "k"))...) {
			if r.Record.Version < last || r.Record.Version == last && i < len(ops) {
				tb.Fatalf("operation %d of a batch: got version %d after %d, want a larger one", i, r.Record.Version, last)
			}
			last = r.Record.Version
		}
	}
}

// testVersionsOfWriters lets writers create and delete an item. A version must be larger than all
// that any writer has seen before it began.
func testVersionsOfWriters(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	var seen atomic.Int64
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range rounds(100) {
				// A batch that does other work before it may hold an old reading of the clock.
				ops := []store.Op{put(users, "k", "v")}
				for n := range w * 4 {
					ops = append(ops, get(store.Namespace{"others"}, fmt.Sprint(n)))
				}
				slices.Reverse(ops)
				if i%3 == 0 {
					ops = append(ops, remove(users, "k"))
				}
				before := seen.Load()
				results, err := b.Do(tb.Context(), ops)
				if err != nil {
					tb.Errorf("writer %d: %v", w, err)
					return
				}
				version := results[w*4].Record.Version
				if version <= before {
					tb.Errorf("writer %d: got version %d, want more than %d, which was seen before", w, version, before)
					return
				}
				for {
					if now := seen.Load(); now >= version || seen.CompareAndSwap(now, version) {
						break
					}
				}
				if _, err := b.Do(tb.Context(), []store.Op{remove(users, "k")}); err != nil {
					tb.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	all.Wait()
}

func testIfVersion(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	op := put(users, "k", "x")
	op.IfVersion = 7
	_, err := b.Do(tb.Context(), []store.Op{op})
	wantConflict(tb, "a put of a missing item under version 7", err, 7, 0)
	first := one(tb, b, put(users, "k", "1")).Record.Version
	op = put(users, "k", "2")
	op.IfVersion = first
	second := one(tb, b, op).Record.Version
	_, err = b.Do(tb.Context(), []store.Op{op})
	wantConflict(tb, "a second put under the first version", err, first, second)
	wantValue(tb, b, users, "k", "2")
	do(tb, b, remove(users, "k"), put(users, "k", "3"))
	op.IfVersion = second
	if _, err = b.Do(tb.Context(), []store.Op{op}); err == nil {
		tb.Error("a put under the version of a deleted item succeeds on its successor, want a *ConflictError")
	}
	wantValue(tb, b, users, "k", "3")
}

func testIfAbsent(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	op := put(users, "k", "1")
	op.IfAbsent = true
	version := one(tb, b, op).Record.Version
	_, err := b.Do(tb.Context(), []store.Op{op})
	wantConflict(tb, "a second put if absent", err, 0, version)
	do(tb, b, remove(users, "k"))
	do(tb, b, op)
	wantValue(tb, b, users, "k", "1")
}

func testDeleteIfVersion(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	version := one(tb, b, put(users, "k", "1")).Record.Version
	op := remove(users, "k")
	op.IfVersion = version + 1
	_, err := b.Do(tb.Context(), []store.Op{op})
	wantConflict(tb, "a delete under another version", err, version+1, version)
	wantValue(tb, b, users, "k", "1")
	op.IfVersion = version
	do(tb, b, op)
	wantAbsent(tb, b, users, "k")
	_, err = b.Do(tb.Context(), []store.Op{op})
	wantConflict(tb, "a delete of nothing under a version", err, version, 0)
}

// hostile are parts and keys that a careless backend mixes up or does not keep.
func hostile() []string {
	return []string{
		"a", "A", "b", "a/b", "a.b", "a:b", "a,b", "a|b", "a b", "a%", "%", "_", "a_", "*", "?", "[a]", "\\", "a\\", "'", "''", "\"", "`", ";--",
		"' OR '1'='1", "'); DROP TABLE graph_item; --", "${x}", "{a}", "{}", "\x00", "a\x00", "a\x00\x01", "\x00\x01b", "a\x00\xff", "\x00\xff",
		"\xff", "\xff\xff", "a\xff", "\x01", "\n", "a\n", "a ", " a", " ", "\t", ".", "..", "../a", "ä", "a\u0308", "\u202e", "世界", "\xc3\x28", "NULL", "null", "0", "-1",
		strings.Repeat("k", 255), strings.Repeat("k", 256),
	}
}

func testApart(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	groups := []store.Namespace{
		{"a"}, {"a", "b"}, {"a", "b", "c"}, {"ab"}, {"a/b"}, {"a", "b/c"}, {"a/b", "c"}, {"a.b"}, {"a%"}, {"a_"}, {"%"}, {"_"}, {"b"}, {"a", "%"}, {"a", "_"}, {"*"},
		{"a\x00", "b"}, {"a", "\x00b"}, {"a\x00\x01b"}, {"a\x00\x01", "b"}, {"a", "\x00\xff"}, {"A"}, {"a "},
	}
	for i, n := range groups {
		do(tb, b, put(n, "k", fmt.Sprint(i)), put(n, "only "+fmt.Sprint(i), "x"))
	}
	for i, n := range groups {
		wantValue(tb, b, n, "k", fmt.Sprint(i))
		wantAbsent(tb, b, n, "only "+fmt.Sprint(i+1))
		for _, found := range find(tb, b, store.Query{Namespace: n, Exact: true}) {
			if found != n.String()+":k" && found != n.String()+":only "+fmt.Sprint(i) {
				tb.Errorf("the items of %s: got %q", n, found)
			}
		}
		var want []string
		for j, other := range groups {
			if n.Contains(other) {
				want = append(want, other.String()+":k", other.String()+":only "+fmt.Sprint(j))
			}
		}
		if got := find(tb, b, store.Query{Namespace: n}); !sameSet(got, want) {
			tb.Errorf("the items below %s: got %q, want %q", n, got, want)
		}
	}
	do(tb, b, remove(groups[0], "k"))
	for i, n := range groups[1:] {
		wantValue(tb, b, n, "k", fmt.Sprint(i+1))
	}
}

func sameSet(got, want []string) bool {
	seen := make(map[string]bool, len(got))
	for _, g := range got {
		seen[g] = true
	}
	for _, w := range want {
		if !seen[w] {
			return false
		}
	}
	return len(seen) == len(want) && len(got) == len(want)
}

func testHostile(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	names := hostile()
	var ops []store.Op
	for i, name := range names {
		ops = append(ops, put(store.Namespace{"keys"}, name, "key "+fmt.Sprint(i)), put(store.Namespace{"parts", name}, name, "part "+fmt.Sprint(i)))
		ops[len(ops)-2].Index = []store.Entry{entry("name", name)}
	}
	do(tb, b, ops...)
	for i, name := range names {
		wantValue(tb, b, store.Namespace{"keys"}, name, "key "+fmt.Sprint(i))
		wantValue(tb, b, store.Namespace{"parts", name}, name, "part "+fmt.Sprint(i))
		got := find(tb, b, store.Query{
			Namespace: store.Namespace{"keys"}, Limit: 3,
			Where: []store.Condition{{Index: "name", Ranges: []store.Range{{From: []byte(name), To: []byte(name + "\x00")}}}},
		})
		wantNames(tb, fmt.Sprintf("find by the index value %.40q", name), got, "keys:"+name)
		got = find(tb, b, store.Query{Namespace: store.Namespace{"parts", name}})
		wantNames(tb, fmt.Sprintf("find in the namespace %.40q", name), got, store.Namespace{"parts", name}.String()+":"+name)
	}
	if got := find(tb, b, store.Query{Namespace: store.Namespace{"keys"}, Limit: 7}); len(got) != len(names) {
		tb.Errorf("list in pages of 7: got %d keys, want %d", len(got), len(names))
	}
	if got := namespaces(tb, b, store.NamespaceQuery{Prefix: []store.Part{{Name: "parts"}}, Limit: 7}); len(got) != len(names) {
		tb.Errorf("namespaces in pages of 7: got %d, want %d", len(got), len(names))
	}
	for i, name := range names {
		do(tb, b, remove(store.Namespace{"keys"}, name))
		wantAbsent(tb, b, store.Namespace{"keys"}, name)
		if left := find(tb, b, store.Query{Namespace: store.Namespace{"keys"}}); len(left) != len(names)-i-1 {
			tb.Fatalf("after the delete of %.40q: got %d keys, want %d", name, len(left), len(names)-i-1)
		}
	}
}

func testLimits(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	long := strings.Repeat("x", store.MaxKey)
	deep := store.Namespace{strings.Repeat("y", store.MaxNamespace-2)}
	longest := put(deep, long, "v")
	longest.Index = []store.Entry{entry(strings.Repeat("i", store.MaxIndexName), strings.Repeat("v", store.MaxIndexValue))}
	longest.Once = strings.Repeat("o", store.MaxOnce)
	do(tb, b, longest)
	wantValue(tb, b, deep, long, "v")
	wantNames(tb, "find by the longest names", find(tb, b, store.Query{
		Namespace: deep, Where: []store.Condition{{Index: longest.Index[0].Index, Ranges: []store.Range{{From: longest.Index[0].Value}}}},
	}), deep.String()+":"+long)
	for name, change := range map[string]func(op *store.Op){
		"no namespace":          func(op *store.Op) { op.Namespace = nil },
		"an empty part":         func(op *store.Op) { op.Namespace = store.Namespace{"a", "", "b"} },
		"a long namespace":      func(op *store.Op) { op.Namespace = store.Namespace{deep[0] + "y"} },
		"an empty key":          func(op *store.Op) { op.Key = "" },
		"a long key":            func(op *store.Op) { op.Key = long + "x" },
		"a large value":         func(op *store.Op) { op.Value = make([]byte, store.MaxValue+1) },
		"a long once":           func(op *store.Op) { op.Once = longest.Once + "o" },
		"an unnamed index":      func(op *store.Op) { op.Index = []store.Entry{entry("", "v")} },
		"a long index name":     func(op *store.Op) { op.Index = []store.Entry{entry(longest.Index[0].Index+"i", "v")} },
		"a long index value":    func(op *store.Op) { op.Index = []store.Entry{entry("i", strings.Repeat("v", store.MaxIndexValue+1))} },
		"many index entries":    func(op *store.Op) { op.Index = make([]store.Entry, store.MaxEntries+1) },
		"a negative ttl":        func(op *store.Op) { op.TTL = -1 },
		"a ttl of a nanosecond": func(op *store.Op) { op.TTL = 1 },
		"a negative version":    func(op *store.Op) { op.IfVersion = -1 },
		"no kind":               func(op *store.Op) { op.Kind = 0 },
	} {
		op := put(users, "k", "v")
		change(&op)
		_, err := b.Do(tb.Context(), []store.Op{put(users, "other", "v"), op})
		wantInvalid(tb, name, err)
	}
	_, err := b.Do(tb.Context(), make([]store.Op, store.MaxOps+1))
	wantInvalid(tb, "too many operations", err)
	for _, limit := range []int{0, -1, store.MaxPage + 1} {
		_, err := b.Find(tb.Context(), store.Query{Limit: limit})
		wantInvalid(tb, fmt.Sprintf("limit %d", limit), err)
	}
	wantAbsent(tb, b, users, "other")
}

func testLarge(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20, store.MaxValue} {
		if testing.Short() && size > 1<<20 {
			break
		}
		value := strings.Repeat("0123456789abcde\x00", size/16)
		do(tb, b, put(users, "large", value))
		if got := string(one(tb, b, get(users, "large")).Record.Value); got != value {
			tb.Errorf("a value of %d bytes: got %d bytes that differ", size, len(got))
		}
	}
}
