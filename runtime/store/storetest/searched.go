package storetest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
)

// searched is a collection that is searched by the text of facts, with one index: by meaning or by
// words.
type searched struct {
	*store.Collection[fact.Fact]
	index store.SearchIndex[fact.Fact]
	kind  *store.Index[fact.Fact, string]
	words *words // the embedder; nil of a text index
}

// searchable makes a collection in a backend.
type searchable func(tb testing.TB, b store.Backend) *searched

// newLibrary returns a collection that is searched by the meaning of the text of facts.
func newLibrary(tb testing.TB, b store.Backend) *searched {
	tb.Helper()
	return newLibraryOf(tb, b, textOf)
}

// newLibraryOf returns a collection that is searched by the meaning of texts.
func newLibraryOf(tb testing.TB, b store.Backend, texts func(*fact.Fact) []string) *searched {
	tb.Helper()
	w := new(words)
	index := store.NewVectorIndex("text", w.embedder(), texts)
	s := newSearched(tb, b, index)
	s.index, s.words = index, w
	return s
}

// newShelf returns a collection that is searched by the words of facts.
func newShelf(tb testing.TB, b store.Backend) *searched {
	tb.Helper()
	index := newTextIndex()
	s := newSearched(tb, b, index)
	s.index = index
	return s
}

// newTextIndex returns the index of newShelf.
func newTextIndex() *store.TextIndex[fact.Fact] {
	return store.NewTextIndex("text", func(f *fact.Fact) []string { return append([]string{f.Text}, f.Tags...) })
}

// newSearched returns a collection with an index of texts, and with one of kinds.
func newSearched(tb testing.TB, b store.Backend, index store.CollectionOption[fact.Fact]) *searched {
	tb.Helper()
	kind := store.NewIndex("kind", func(f *fact.Fact) string { return f.Kind })
	return &searched{Collection: collection[fact.Fact](tb, b, kind, index), kind: kind}
}

func textOf(f *fact.Fact) []string { return []string{f.Text} }

// put stores texts in a namespace by key.
func (s *searched) put(tb testing.TB, namespace string, texts map[string]string) {
	tb.Helper()
	for key, text := range texts {
		if _, err := s.In(namespace).Put(tb.Context(), key, fact.Fact{Text: text}); err != nil {
			tb.Fatal(err)
		}
	}
}

// want fails unless a search of a selection finds these keys, in order.
func (s *searched) want(
	tb testing.TB, in *store.Selection[fact.Fact], text string, opts []store.SearchOption, want ...string,
) []store.Match[fact.Fact] {
	tb.Helper()
	found, err := in.Search(tb.Context(), s.index, text, opts...)
	if err != nil {
		tb.Fatalf("search %.40q: %v", text, err)
	}
	keys := make([]string, len(found))
	for i, m := range found {
		keys[i] = m.Key
	}
	if !slices.Equal(keys, want) {
		tb.Errorf("search %.40q: got the keys %.80q, want %.80q", text, keys, want)
	}
	return found
}

func testTies(of searchable) func(tb testing.TB, place Storage) {
	return func(tb testing.TB, place Storage) {
		tb.Helper()
		s := of(tb, open(tb, place))
		var want []string
		for _, i := range []int{7, 2, 9, 4, 0, 11, 5} {
			s.put(tb, string(rune('a'+i%3)), map[string]string{fmt.Sprint(i): "same text"})
		}
		for _, it := range collect(tb, s.List(tb.Context())) {
			want = append(want, it.Key)
		}
		s.want(tb, s.Filter(), "same text", nil, want...)
		for limit := 1; limit < len(want); limit++ {
			s.want(tb, s.Filter(), "same text", []store.SearchOption{store.Limit(limit)}, want[:limit]...)
			s.want(tb, s.Filter(), "text", []store.SearchOption{store.Limit(2), store.Offset(limit)}, want[limit:min(limit+2, len(want))]...)
		}
		s.want(tb, s.Filter(s.kind.Equal("no")), "same", nil)
	}
}

func testSearchApart(tb testing.TB, place Storage) {
	tb.Helper()
	apart(tb, open(tb, place), newLibrary)
}

// apart searches in namespaces with similar names, and in scopes. It returns the collection, whose
// namespace a has an item, and one below.
func apart(tb testing.TB, b store.Backend, of searchable) *searched {
	tb.Helper()
	s, ctx := of(tb, b), tb.Context()
	names := []string{"a", "a/b", "a%", "a_", "%", "_", "ab", "A", "a\x00", "a\x00\x01", " a", "a ", "ä", "\xff"}
	for _, name := range names {
		s.put(tb, name, map[string]string{name: "same"})
	}
	for _, name := range names {
		s.want(tb, s.In(name).Filter(), "same", nil, name)
	}
	if _, err := s.In("a", "deep").Put(ctx, "below", fact.Fact{Text: "same"}); err != nil {
		tb.Fatal(err)
	}
	s.want(tb, s.In("a").Filter(), "same", nil, "a", "below")
	s.want(tb, s.In("a").Filter(), "same", []store.SearchOption{store.Exact()}, "a")

	user := "ada"
	scope := func(context.Context) (store.Namespace, error) { return store.Namespace{"users", user}, nil }
	scoped := of(tb, store.Scoped(b, scope))
	if _, err := scoped.In("x").Put(ctx, "mine", fact.Fact{Text: "same"}); err != nil {
		tb.Fatal(err)
	}
	for _, m := range scoped.want(tb, scoped.Filter(), "same", nil, "mine") {
		if m.Namespace.String() != "facts/x" {
			tb.Errorf("got the namespace %s, want facts/x, relative to the scope", m.Namespace)
		}
	}
	user = "bob"
	scoped.want(tb, scoped.Filter(), "same", nil)
	return s
}

func testReindexOf(of searchable) func(tb testing.TB, place Storage) {
	return func(tb testing.TB, place Storage) {
		tb.Helper()
		b := open(tb, place)
		ctx := tb.Context()
		plain := collection[fact.Fact](tb, b).In("a")
		const n = 120 // more than a page
		for i := range n {
			if _, err := plain.Put(ctx, fmt.Sprintf("%03d", i), fact.Fact{Text: fmt.Sprint("number ", i%60)}); err != nil {
				tb.Fatal(err)
			}
		}
		before, err := plain.Get(ctx, "007")
		if err != nil {
			tb.Fatal(err)
		}
		s := of(tb, b)
		s.want(tb, s.Filter(), "number", nil)
		if done, err := s.Reindex(ctx); err != nil || done != n {
			tb.Fatalf("reindex: got %d, %v, want %d items", done, err, n)
		}
		if s.words != nil {
			if _, texts := s.words.taken(); texts > n+1 {
				tb.Errorf("reindex embedded %d texts, want at most %d", texts, n)
			}
		}
		s.want(tb, s.In("a").Filter(), "number 7", []store.SearchOption{store.Limit(2)}, "007", "067")
		after, err := plain.Get(ctx, "007")
		if err != nil || after.Version != before.Version || !after.Updated.Equal(before.Updated) {
			tb.Errorf("reindex: got version %d of %v, %v, want them unchanged: %d, %v",
				after.Version, after.Updated, err, before.Version, before.Updated)
		}
	}
}

// testRare puts n items, to which add gives vectors or texts. Every hundredth has the kind rare.
// A search that selects those must return as many as each limit says, in the order of their keys.
// The result is the query, with a filter that has no ranges.
func testRare(
	tb testing.TB, b store.Backend, n int, limits []int,
	add func(op *store.Op, i int, rare bool), search func(q store.Query) ([]store.Hit, error),
) store.Query {
	tb.Helper()
	var ops []store.Op
	for i := range n {
		op := store.Op{
			Kind: store.OpPut, Namespace: store.Namespace{"bulk"}, Key: fmt.Sprintf("%06d", i), Index: []store.Entry{entry("kind", "common")},
		}
		if i%100 == 99 {
			op.Index = []store.Entry{entry("kind", "rare")}
		}
		add(&op, i, i%100 == 99)
		if ops = append(ops, op); len(ops) == store.MaxOps || i == n-1 {
			do(tb, b, ops...)
			ops = ops[:0]
		}
	}
	q := store.Query{
		Namespace: store.Namespace{"bulk"},
		Where:     []store.Condition{{Index: "kind", Ranges: []store.Range{{From: []byte("rare"), To: []byte("rare\x00")}}}},
	}
	for _, limit := range limits {
		q.Limit = limit
		hits, err := search(q)
		if err != nil {
			tb.Fatal(err)
		}
		var got, want []string
		for i := range hits {
			got = append(got, hits[i].Key)
		}
		for i := range limit {
			want = append(want, fmt.Sprintf("%06d", 100*i+99))
		}
		if !slices.Equal(got, want) {
			tb.Errorf("a filter that selects 1 %% of %d items: got %d items %.120q, want %.120q", n, len(got), got, want)
		}
	}
	q.Where[0].Ranges = nil
	if hits, err := search(q); err != nil || len(hits) != 0 {
		tb.Errorf("a filter without ranges: got %d items, %v, want none", len(hits), err)
	}
	return q
}

// testSearchFilter has rare items that are far from the query.
func testSearchFilter(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	n := 10_000
	if testing.Short() {
		n = 2000
	}
	spec := store.VectorSpec{Name: "bulk", Model: "m", Dims: 4}
	if got, err := b.Declare(tb.Context(), spec); err != nil || got != spec {
		tb.Fatalf("declare: got %+v, %v, want %+v", got, err, spec)
	}
	testRare(tb, b, n, []int{10, 20}, func(op *store.Op, i int, rare bool) {
		angle := 0.1 * float64(i) / float64(n)
		if rare {
			angle += 1.5
		}
		op.Vectors = []store.Vector{{Index: "bulk", Values: []float32{float32(math.Cos(angle)), float32(math.Sin(angle)), 0, 0}}}
	}, func(q store.Query) ([]store.Hit, error) {
		return b.Search(tb.Context(), store.VectorQuery{Query: q, Index: "bulk", Vector: []float32{1, 0, 0, 0}})
	})
}

// testTextFilter has rare items that rank lowest.
func testTextFilter(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	n := 3000
	if testing.Short() {
		n = 1000
	}
	search := func(q store.Query) ([]store.Hit, error) {
		return b.SearchText(tb.Context(), store.TextQuery{Query: q, Index: "text", Words: []string{"word"}})
	}
	q := testRare(tb, b, n, []int{1, n / 100}, func(op *store.Op, _ int, rare bool) {
		word := store.Word{Word: "word", Count: 5}
		if rare {
			word.Count = 1
		}
		op.Texts = []store.Text{{Index: "text", Words: []store.Word{word}}}
	}, search)
	q.Where[0].Ranges = []store.Range{{From: []byte("r")}}
	if hits, err := search(q); err != nil || len(hits) != n/100 {
		tb.Errorf("a filter with a range: got %d items, %v, want %d", len(hits), err, n/100)
	}
	q.Where = nil
	if hits, err := b.SearchText(tb.Context(), store.TextQuery{Query: q, Index: "text"}); err != nil || len(hits) != 0 {
		tb.Errorf("no words: got %d items, %v, want none", len(hits), err)
	}
}

// testTextApart also has the scores of other namespaces and the words of another index.
func testTextApart(tb testing.TB, place Storage) {
	tb.Helper()
	b, ctx := open(tb, place), tb.Context()
	s := apart(tb, b, newShelf)
	both := s.want(tb, s.In("a").Filter(), "same", []store.SearchOption{store.Exact()}, "a")
	s.put(tb, "b", map[string]string{"1": "same", "2": "same, the same", "3": "other"})
	if after := s.want(tb, s.In("a").Filter(), "same", []store.SearchOption{store.Exact()}, "a"); after[0].Score != both[0].Score {
		tb.Errorf("after puts in another namespace: got the score %v, want %v as before", after[0].Score, both[0].Score)
	}
	kinds := store.NewTextIndex("kinds", func(f *fact.Fact) []string { return []string{f.Kind} })
	two := collection[fact.Fact](tb, b, newTextIndex(), kinds)
	if _, err := two.In("two").Put(ctx, "k", fact.Fact{Kind: "red", Text: "blue"}); err != nil {
		tb.Fatal(err)
	}
	for text, finds := range map[string]bool{"red": true, "blue": false} {
		if found, err := two.In("two").Search(ctx, kinds, text); err != nil || len(found) == 1 != finds {
			tb.Errorf("search %q by the other index: got %d items, %v, want an item: %t", text, len(found), err, finds)
		}
	}
}
