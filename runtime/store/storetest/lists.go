package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// fill stores some items in several namespaces, in no order.
func fill(tb testing.TB, b store.Backend) {
	tb.Helper()
	do(tb, b,
		put(store.Namespace{"b"}, "1", "x"), put(store.Namespace{"a", "c"}, "2", "x"), put(store.Namespace{"a"}, "3", "x"), put(store.Namespace{"a", "c"}, "10", "x"),
		put(store.Namespace{"a", "b", "d"}, "1", "x"), put(store.Namespace{"a"}, "1", "x"), put(store.Namespace{"a", "b"}, "z", "x"), put(store.Namespace{"ab"}, "1", "x"))
}

func testListOrder(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	wantNames(tb, "an empty store", find(tb, b, store.Query{}))
	fill(tb, b)
	all := []string{"a:1", "a:3", "a/b:z", "a/b/d:1", "a/c:10", "a/c:2", "ab:1", "b:1"}
	wantNames(tb, "all", find(tb, b, store.Query{}), all...)
	wantNames(tb, "a", find(tb, b, store.Query{Namespace: store.Namespace{"a"}}), all[:6]...)
	wantNames(tb, "a/b", find(tb, b, store.Query{Namespace: store.Namespace{"a", "b"}}), all[2:4]...)
	wantNames(tb, "a missing one", find(tb, b, store.Query{Namespace: store.Namespace{"a", "x"}}))
}

func testListPages(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	fill(tb, b)
	for _, n := range []store.Namespace{nil, {"a"}, {"a", "c"}, {"b"}} {
		want := find(tb, b, store.Query{Namespace: n})
		for limit := 1; limit <= 9; limit++ {
			wantNames(tb, fmt.Sprintf("%s in pages of %d", n, limit), find(tb, b, store.Query{Namespace: n, Limit: limit}), want...)
		}
	}
	got := find(tb, b, store.Query{Namespace: store.Namespace{"a"}, After: &store.Position{Namespace: store.Namespace{"a", "b"}, Key: "not there"}})
	wantNames(tb, "after a missing key", got, "a/b:z", "a/b/d:1", "a/c:10", "a/c:2")
}

func testListExact(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	fill(tb, b)
	wantNames(tb, "a alone", find(tb, b, store.Query{Namespace: store.Namespace{"a"}, Exact: true}), "a:1", "a:3")
	wantNames(tb, "a/b alone", find(tb, b, store.Query{Namespace: store.Namespace{"a", "b"}, Exact: true, Limit: 1}), "a/b:z")
}

func where(index string, ranges ...store.Range) []store.Condition {
	return []store.Condition{{Index: index, Ranges: ranges}}
}

func between(from, to string) store.Range {
	r := store.Range{From: []byte(from), To: []byte(to)}
	if to == "" {
		r.To = nil
	}
	return r
}

// fillIndexed stores items with index entries in a namespace.
func fillIndexed(tb testing.TB, b store.Backend, n store.Namespace) {
	tb.Helper()
	for key, entries := range map[string][]store.Entry{
		"a": {entry("kind", "place"), entry("size", "3"), entry("tag", "x"), entry("tag", "y")},
		"b": {entry("kind", "name"), entry("size", "5"), entry("tag", "y")},
		"c": {entry("kind", "place"), entry("size", "7")},
		"d": {entry("kind", ""), entry("size", "5"), entry("tag", "x\x00")},
		"e": nil,
	} {
		op := put(n, key, "v")
		op.Index = entries
		do(tb, b, op)
	}
}

func testFilter(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	fillIndexed(tb, b, users)
	for _, c := range []struct {
		name   string
		index  string
		ranges []store.Range
		want   []string
	}{
		{"equal", "kind", []store.Range{between("place", "place\x00")}, []string{"a", "c"}},
		{"equal to the empty value", "kind", []store.Range{between("", "\x00")}, []string{"d"}},
		{"equal to a prefix of another", "tag", []store.Range{between("x", "x\x00")}, []string{"a"}},
		{"less", "size", []store.Range{between("", "5")}, []string{"a"}},
		{"at least", "size", []store.Range{between("5", "")}, []string{"b", "c", "d"}},
		{"in", "size", []store.Range{between("3", "3\x00"), between("7", "7\x00")}, []string{"a", "c"}},
		{"ranges that overlap", "size", []store.Range{between("3", "6"), between("5", "")}, []string{"a", "b", "c", "d"}},
		{"exists", "tag", []store.Range{{}}, []string{"a", "b", "d"}},
		{"in nothing", "tag", nil, nil},
		{"an empty range", "size", []store.Range{between("7", "3")}, nil},
		{"a missing index", "tags", []store.Range{{}}, nil},
		{"a missing value", "kind", []store.Range{between("plac", "plac\x00")}, nil},
	} {
		var want []string
		for _, key := range c.want {
			want = append(want, "users/ada:"+key)
		}
		wantNames(tb, c.name, find(tb, b, store.Query{Namespace: users, Where: where(c.index, c.ranges...)}), want...)
		wantNames(tb, c.name+", exact", find(tb, b, store.Query{Namespace: users, Exact: true, Where: where(c.index, c.ranges...)}), want...)
	}
}

func testFilterSeveral(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	fillIndexed(tb, b, users)
	size, kind, tag := where("size", between("4", ""))[0], where("kind", between("place", "place\x00"))[0], where("tag", store.Range{})[0]
	for _, c := range []struct {
		where []store.Condition
		want  []string
	}{
		{[]store.Condition{size, kind}, []string{"users/ada:c"}},
		{[]store.Condition{kind, size}, []string{"users/ada:c"}},
		{[]store.Condition{tag, size}, []string{"users/ada:b", "users/ada:d"}},
		{[]store.Condition{tag, size, kind}, nil},
		{append(where("tag", between("x", "x\x00")), where("tag", between("y", "y\x00"))...), []string{"users/ada:a"}},
	} {
		wantNames(tb, fmt.Sprintf("where %q", c.where), find(tb, b, store.Query{Namespace: users, Where: c.where}), c.want...)
	}
}

func testFilterBelow(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	bob := store.Namespace{"users", "bob"}
	fillIndexed(tb, b, users)
	fillIndexed(tb, b, bob)
	fillIndexed(tb, b, bob.Below("old"))
	fillIndexed(tb, b, store.Namespace{"usersx"})
	place1 := where("kind", between("place", "place\x00"))
	all := []string{"users/ada:a", "users/ada:c", "users/bob:a", "users/bob:c", "users/bob/old:a", "users/bob/old:c"}
	wantNames(tb, "below users", find(tb, b, store.Query{Namespace: store.Namespace{"users"}, Where: place1}), all...)
	wantNames(tb, "below users, in pages", find(tb, b, store.Query{Namespace: store.Namespace{"users"}, Where: place1, Limit: 1}), all...)
	wantNames(tb, "below bob", find(tb, b, store.Query{Namespace: bob, Where: place1}), all[2:]...)
	wantNames(tb, "bob alone", find(tb, b, store.Query{Namespace: bob, Exact: true, Where: place1}), all[2:4]...)
	wantNames(tb, "everywhere", find(tb, b, store.Query{Where: place1}), append(all, "usersx:a", "usersx:c")...)
}

func testFilterPages(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	var ops []store.Op
	var want []string
	for i := range 100 {
		op := put(users, fmt.Sprintf("%03d", 99-i), "v")
		op.Index = []store.Entry{entry("parity", fmt.Sprint(i%2)), entry("n", fmt.Sprintf("%03d", i))}
		ops = append(ops, op)
		if i%2 == 1 && i < 50 {
			want = append(want, fmt.Sprintf("users/ada:%03d", 99-i))
		}
	}
	do(tb, b, ops...)
	slices.Sort(want)
	conditions := append(where("parity", between("1", "1\x00")), where("n", between("", "050"))...)
	for _, limit := range []int{1, 3, 25, 100} {
		wantNames(tb, fmt.Sprintf("pages of %d", limit), find(tb, b, store.Query{Namespace: users, Where: conditions, Limit: limit}), want...)
	}
}

func testIndexFollows(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	item := func(kind string) store.Op {
		op := put(users, "k", "v")
		if kind != "" {
			op.Index = []store.Entry{entry("kind", kind)}
		}
		return op
	}
	q := store.Query{Where: where("kind", store.Range{})}
	one(tb, b, item("a"))
	wantNames(tb, "after a put", find(tb, b, q), "users/ada:k")
	one(tb, b, item("b"))
	wantNames(tb, "by the old value", find(tb, b, store.Query{Where: where("kind", between("a", "a\x00"))}))
	wantNames(tb, "by the new value", find(tb, b, store.Query{Where: where("kind", between("b", "b\x00"))}), "users/ada:k")
	one(tb, b, item(""))
	wantNames(tb, "after a put without entries", find(tb, b, q))
	one(tb, b, item("c"))
	do(tb, b, remove(users, "k"))
	wantNames(tb, "after a delete", find(tb, b, q))
	one(tb, b, item(""))
	wantNames(tb, "after the next put", find(tb, b, q))
}

func testReindex(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	made := one(tb, b, put(users, "k", "v"))
	before := one(tb, b, get(users, "k")).Record
	op := store.Op{Kind: store.OpIndex, Namespace: users, Key: "k", Index: []store.Entry{entry("kind", "x")}, IfVersion: made.Record.Version}
	one(tb, b, op)
	q := store.Query{Where: where("kind", store.Range{})}
	wantNames(tb, "after OpIndex", find(tb, b, q), "users/ada:k")
	after := one(tb, b, get(users, "k")).Record
	if after.Version != before.Version || !after.Updated.Equal(before.Updated) || string(after.Value) != "v" {
		tb.Errorf("after OpIndex: got %+v, want %+v", after, before)
	}
	second := one(tb, b, put(users, "k", "v2")).Record.Version
	_, err := b.Do(tb.Context(), []store.Op{op})
	wantConflict(tb, "OpIndex under an old version", err, made.Record.Version, second)
	op.Key = "missing"
	if got := one(tb, b, op); got.Found {
		tb.Error("OpIndex of a missing item: got found true")
	}
	wantAbsent(tb, b, users, "missing")
	wantNames(tb, "after OpIndex of a missing item", find(tb, b, q))
}

func testNamespaces(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	wantNames(tb, "an empty store", namespaces(tb, b, store.NamespaceQuery{}))
	for _, n := range []store.Namespace{
		{"users", "ada", "facts"}, {"users", "bob", "facts"}, {"users", "bob", "notes"}, {"users", "*", "notes"}, {"users"}, {"docs", "public", "v1"}, {"docs", "public", "v2"},
	} {
		do(tb, b, put(n, "k", "v"), put(n, "l", "v"))
	}
	name := func(s string) store.Part { return store.Part{Name: s} }
	anyPart := store.Part{Any: true}
	for _, c := range []struct {
		name string
		q    store.NamespaceQuery
		want []string
	}{
		{"all", store.NamespaceQuery{}, []string{
			"docs/public/v1", "docs/public/v2", "users", "users/*/notes", "users/ada/facts", "users/bob/facts", "users/bob/notes",
		}},
		{"prefix", store.NamespaceQuery{Prefix: []store.Part{name("users"), name("bob")}}, []string{"users/bob/facts", "users/bob/notes"}},
		{"suffix", store.NamespaceQuery{Suffix: []store.Part{name("facts")}}, []string{"users/ada/facts", "users/bob/facts"}},
		{"wildcard in the prefix", store.NamespaceQuery{Prefix: []store.Part{anyPart, name("public")}}, []string{"docs/public/v1", "docs/public/v2"}},
		{"wildcard in the suffix", store.NamespaceQuery{Suffix: []store.Part{name("bob"), anyPart}}, []string{"users/bob/facts", "users/bob/notes"}},
		{"a part named *", store.NamespaceQuery{Prefix: []store.Part{name("users"), name("*")}}, []string{"users/*/notes"}},
		{"both", store.NamespaceQuery{Prefix: []store.Part{name("users"), anyPart}, Suffix: []store.Part{name("notes")}}, []string{"users/*/notes", "users/bob/notes"}},
		{"depth 1", store.NamespaceQuery{Depth: 1}, []string{"docs", "users"}},
		{"depth 2", store.NamespaceQuery{Depth: 2}, []string{"docs/public", "users", "users/*", "users/ada", "users/bob"}},
		{"depth and prefix", store.NamespaceQuery{Prefix: []store.Part{name("users")}, Depth: 2}, []string{"users", "users/*", "users/ada", "users/bob"}},
		{"depth and suffix", store.NamespaceQuery{Suffix: []store.Part{name("facts")}, Depth: 2}, []string{"users/ada", "users/bob"}},
		{"none", store.NamespaceQuery{Prefix: []store.Part{name("user")}}, nil},
		{"longer than any", store.NamespaceQuery{Prefix: []store.Part{anyPart, anyPart, anyPart, anyPart}}, nil},
	} {
		wantNames(tb, c.name, namespaces(tb, b, c.q), c.want...)
		c.q.Limit = 1
		wantNames(tb, c.name+", in pages", namespaces(tb, b, c.q), c.want...)
	}
	_, err := b.Namespaces(tb.Context(), store.NamespaceQuery{Prefix: []store.Part{{}}})
	wantInvalid(tb, "an empty part", err)
	do(tb, b, remove(store.Namespace{"users", "ada", "facts"}, "k"))
	wantNames(tb, "with one item left", namespaces(tb, b, store.NamespaceQuery{Suffix: []store.Part{name("facts")}}), "users/ada/facts", "users/bob/facts")
	do(tb, b, remove(store.Namespace{"users", "ada", "facts"}, "l"))
	wantNames(tb, "without items", namespaces(tb, b, store.NamespaceQuery{Suffix: []store.Part{name("facts")}}), "users/bob/facts")
}

func testNamespacePages(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	var ops []store.Op
	var want, users []string
	for i := range 60 {
		user := fmt.Sprintf("u%03d", i/3)
		n := store.Namespace{"users", user, fmt.Sprint("n", i%3)}
		ops = append(ops, put(n, "k", "v"))
		want = append(want, n.String())
		if i%3 == 0 {
			users = append(users, "users/"+user)
		}
	}
	do(tb, b, ops...)
	for _, limit := range []int{1, 7, 60, 100} {
		wantNames(tb, fmt.Sprintf("pages of %d", limit), namespaces(tb, b, store.NamespaceQuery{Limit: limit}), want...)
		wantNames(tb, fmt.Sprintf("depth 2 in pages of %d", limit), namespaces(tb, b, store.NamespaceQuery{Limit: limit, Depth: 2}), users...)
	}
}
