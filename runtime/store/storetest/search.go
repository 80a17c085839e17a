package storetest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
)

// words is an embedder that counts words: each word has a dimension. It counts what it is asked.
type words struct {
	calls, texts atomic.Int64
}

const wordDims = 509

func (w *words) embedder() store.Embedder {
	return store.Embedder{Model: "words", Dims: wordDims, Embed: w.embed}
}

func (w *words) embed(_ context.Context, texts []string) ([][]float32, error) {
	w.calls.Add(1)
	w.texts.Add(int64(len(texts)))
	all := make([][]float32, len(texts))
	for i, text := range texts {
		all[i] = wordVector(text)
	}
	return all, nil
}

func wordVector(text string) []float32 {
	v := make([]float32, wordDims)
	for _, word := range strings.Fields(text) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word)) // it never fails
		v[h.Sum32()%wordDims]++
	}
	if len(strings.Fields(text)) == 0 {
		v[0] = 1
	}
	return v
}

// taken returns the calls and texts since it was called last.
func (w *words) taken() (calls, texts int64) { return w.calls.Swap(0), w.texts.Swap(0) }

// library is a collection that is searched by the text of facts.
type library struct {
	*store.Collection[fact.Fact]
	words *words
	text  *store.VectorIndex[fact.Fact]
	kind  *store.Index[fact.Fact, string]
}

func textOf(f *fact.Fact) []string { return []string{f.Text} }

func newLibrary(tb testing.TB, b store.Backend, texts func(*fact.Fact) []string) *library {
	tb.Helper()
	l := &library{words: new(words), kind: store.NewIndex("kind", func(f *fact.Fact) string { return f.Kind })}
	l.text = store.NewVectorIndex("text", l.words.embedder(), texts)
	l.Collection = collection[fact.Fact](tb, b, store.CollectionOption[fact.Fact](l.kind), l.text)
	return l
}

// put stores facts in a namespace by key.
func (l *library) put(tb testing.TB, namespace string, facts map[string]fact.Fact) {
	tb.Helper()
	for key, f := range facts {
		if _, err := l.In(namespace).Put(tb.Context(), key, f); err != nil {
			tb.Fatal(err)
		}
	}
}

// wantFound fails unless a search of s finds these keys, in order.
func (l *library) wantFound(
	tb testing.TB, s *store.Selection[fact.Fact], text string, opts []store.SearchOption, want ...string,
) []store.Match[fact.Fact] {
	tb.Helper()
	found, err := s.Search(tb.Context(), l.text, text, opts...)
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

func testSearch(tb testing.TB, place Storage) {
	tb.Helper()
	l := newLibrary(tb, open(tb, place), textOf)
	l.put(tb, "ada", map[string]fact.Fact{
		"rome":  {Text: "ada lives in rome"},
		"tea":   {Text: "ada drinks tea"},
		"tea2":  {Text: "tea"},
		"empty": {Text: ""},
		"cats":  {Text: "two black cats"},
	})
	ada := l.In("ada").Filter()
	found := l.wantFound(tb, ada, "drinks tea", []store.SearchOption{store.Limit(3)}, "tea", "tea2", "cats")
	want := []float64{2 / math.Sqrt(6), 1 / math.Sqrt(2), 0}
	for i, m := range found {
		if math.Abs(m.Score-want[i]) > 1e-5 || m.Version == 0 || m.Value.Text == "" || m.Namespace.String() != "facts/ada" {
			tb.Errorf("got %+v, want the item %s whole, with the score %v", m, m.Key, want[i])
		}
	}
	l.wantFound(tb, ada, "drinks tea", []store.SearchOption{store.Limit(1), store.Offset(1)}, "tea2")
	l.wantFound(tb, ada, "drinks tea", []store.SearchOption{store.Offset(4)})
	l.wantFound(tb, ada, "rome", []store.SearchOption{store.Limit(1)}, "rome")
	for i := range 12 {
		l.put(tb, "many", map[string]fact.Fact{fmt.Sprintf("%02d", i): {Text: "many"}})
	}
	found, err := l.In("many").Search(tb.Context(), l.text, "many")
	if err != nil || len(found) != 10 {
		tb.Errorf("a search without a limit: got %d items, %v, want 10", len(found), err)
	}
}

func testSearchTexts(tb testing.TB, place Storage) {
	tb.Helper()
	l := newLibrary(tb, open(tb, place), func(f *fact.Fact) []string { return append([]string{f.Kind, f.Text}, f.Tags...) })
	l.put(tb, "a", map[string]fact.Fact{
		"both":  {Kind: "red", Text: "green"},
		"mixed": {Text: "red green"},
		"tags":  {Tags: []string{"blue", "", "blue", "green"}},
	})
	all := l.In("a").Filter()
	for _, m := range l.wantFound(tb, all, "green", nil, "both", "tags", "mixed")[:2] {
		if math.Abs(m.Score-1) > 1e-5 {
			tb.Errorf("%s: got the score %v, want 1, that of the nearest text", m.Key, m.Score)
		}
	}
	l.wantFound(tb, all, "red", []store.SearchOption{store.Limit(2)}, "both", "mixed")
	l.wantFound(tb, all, "blue", []store.SearchOption{store.Limit(1)}, "tags")
}

// bulk puts n items. Every hundredth has the kind rare and is far from the query.
func bulk(tb testing.TB, b store.Backend, n int) {
	tb.Helper()
	spec := store.VectorSpec{Name: "bulk", Model: "m", Dims: 4}
	if got, err := b.Declare(tb.Context(), spec); err != nil || got != spec {
		tb.Fatalf("declare: got %+v, %v, want %+v", got, err, spec)
	}
	var ops []store.Op
	for i := range n {
		kind, angle := "common", 0.1*float64(i)/float64(n)
		if i%100 == 99 {
			kind, angle = "rare", 1.5+angle
		}
		ops = append(ops, store.Op{
			Kind: store.OpPut, Namespace: store.Namespace{"bulk"}, Key: fmt.Sprintf("%06d", i),
			Index:   []store.Entry{entry("kind", kind)},
			Vectors: []store.Vector{{Index: "bulk", Values: []float32{float32(math.Cos(angle)), float32(math.Sin(angle)), 0, 0}}},
		})
		if len(ops) == store.MaxOps || i == n-1 {
			do(tb, b, ops...)
			ops = ops[:0]
		}
	}
}

func testSearchFilter(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	n := 10_000
	if testing.Short() {
		n = 2000
	}
	bulk(tb, b, n)
	q := store.VectorQuery{Index: "bulk", Vector: []float32{1, 0, 0, 0}}
	q.Namespace = store.Namespace{"bulk"}
	q.Where = []store.Condition{{Index: "kind", Ranges: []store.Range{{From: []byte("rare"), To: []byte("rare\x00")}}}}
	for _, limit := range []int{10, 20} {
		q.Limit = limit
		hits, err := b.Search(tb.Context(), q)
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
	if hits, err := b.Search(tb.Context(), q); err != nil || len(hits) != 0 {
		tb.Errorf("a filter without ranges: got %d items, %v, want none", len(hits), err)
	}
}

func testSearchApart(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	l := newLibrary(tb, b, textOf)
	ctx := tb.Context()
	names := []string{"a", "a/b", "a%", "a_", "%", "_", "ab", "A", "a\x00", "a\x00\x01", " a", "a ", "ä", "\xff"}
	for _, name := range names {
		l.put(tb, name, map[string]fact.Fact{name: {Text: "same"}})
	}
	for _, name := range names {
		l.wantFound(tb, l.In(name).Filter(), "same", nil, name)
	}
	if _, err := l.In("a", "deep").Put(ctx, "below", fact.Fact{Text: "same"}); err != nil {
		tb.Fatal(err)
	}
	l.wantFound(tb, l.In("a").Filter(), "same", nil, "a", "below")
	l.wantFound(tb, l.In("a").Filter(), "same", []store.SearchOption{store.Exact()}, "a")

	user := "ada"
	scoped := newLibrary(tb, store.Scoped(b, func(context.Context) (store.Namespace, error) {
		return store.Namespace{"users", user}, nil
	}), textOf)
	if _, err := scoped.In("x").Put(ctx, "mine", fact.Fact{Text: "same"}); err != nil {
		tb.Fatal(err)
	}
	for _, m := range scoped.wantFound(tb, scoped.Filter(), "same", nil, "mine") {
		if m.Namespace.String() != "facts/x" {
			tb.Errorf("got the namespace %s, want facts/x, relative to the scope", m.Namespace)
		}
	}
	user = "bob"
	scoped.wantFound(tb, scoped.Filter(), "same", nil)
}

func testSearchTies(tb testing.TB, place Storage) {
	tb.Helper()
	l := newLibrary(tb, open(tb, place), textOf)
	var want []string
	for _, i := range []int{7, 2, 9, 4, 0, 11, 5} {
		l.put(tb, string(rune('a'+i%3)), map[string]fact.Fact{fmt.Sprint(i): {Text: "same"}})
	}
	for _, it := range collect(tb, l.List(tb.Context())) {
		want = append(want, it.Key)
	}
	l.wantFound(tb, l.Filter(), "same text", nil, want...)
	for limit := 1; limit < len(want); limit++ {
		l.wantFound(tb, l.Filter(), "same text", []store.SearchOption{store.Limit(limit)}, want[:limit]...)
	}
	if both, err := l.Filter(l.kind.Equal("no")).Search(tb.Context(), l.text, "same"); err != nil || len(both) != 0 {
		tb.Errorf("a filter that selects nothing: got %d items, %v, want none", len(both), err)
	}
}

func testHostileTexts(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	ctx := tb.Context()
	for _, name := range []string{"'; DROP TABLE graph_store_item; --", "x\x00", "x", "\xff\xfe", strings.Repeat("n", store.MaxIndexName)} {
		w := new(words)
		index := store.NewVectorIndex(name, w.embedder(), textOf)
		c := collection[fact.Fact](tb, b, index)
		for i, text := range []string{"\x00", "\xff\xfe", "' OR 1=1 --", "\\", "%", strings.Repeat("long ", 1<<16), "\u202e", "{1,2}"} {
			key := fmt.Sprintf("%q %d", name, i)
			if _, err := c.In("texts", key).Put(ctx, key, fact.Fact{Text: text}); err != nil {
				tb.Errorf("put of the text %.20q, index %q: %v", text, name, err)
			}
			found, err := c.In("texts", key).Search(ctx, index, text)
			if err != nil || len(found) != 1 || found[0].Key != key || math.Abs(found[0].Score-1) > 1e-5 {
				tb.Errorf("search of the text %.20q, index %q: got %d items, %v, want the item with the score 1", text, name, len(found), err)
			}
		}
	}
	l := newLibrary(tb, b, textOf)
	for what, call := range map[string]func() error{
		"no text":        func() error { _, err := l.Search(ctx, l.text, ""); return err },
		"a limit of 0":   func() error { _, err := l.Search(ctx, l.text, "x", store.Limit(0)); return err },
		"a page too far": func() error { _, err := l.Search(ctx, l.text, "x", store.Offset(store.MaxPage)); return err },
		"a foreign index": func() error {
			_, err := l.Search(ctx, store.NewVectorIndex("text", l.words.embedder(), textOf), "x")
			return err
		},
		"too many texts": func() error {
			tags := store.NewVectorIndex("tags", l.words.embedder(), func(f *fact.Fact) []string { return f.Tags })
			_, err := collection[fact.Fact](tb, b, tags).In("x").Put(ctx, "k", fact.Fact{
				Tags: strings.Split(strings.Repeat("x", store.MaxVectors+1), ""),
			})
			return err
		},
	} {
		wantInvalid(tb, what, call())
	}
	if calls, _ := l.words.taken(); calls != 0 {
		tb.Errorf("invalid calls embedded %d times, want 0", calls)
	}
}

var errEmbed = errors.New("the embedder is down")

func testEmbedFaults(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	l := newLibrary(tb, b, textOf)
	l.put(tb, "a", map[string]fact.Fact{"k": {Text: "old"}})
	made, fails := []float32(nil), error(nil)
	index := store.NewVectorIndex("text", store.Embedder{
		Model: "words", Dims: wordDims,
		Embed: func(_ context.Context, texts []string) ([][]float32, error) {
			if made == nil {
				return nil, fails
			}
			return [][]float32{made}, nil
		},
	}, textOf)
	c := collection[fact.Fact](tb, b, index).In("a")
	bad := func(x float64) []float32 { return append(make([]float32, wordDims-1), float32(x)) }
	for what, vector := range map[string][]float32{
		"an error": nil, "no vectors": nil, "too few dimensions": make([]float32, wordDims-1), "too many dimensions": make([]float32, wordDims+1),
		"zero": bad(0), "NaN": bad(math.NaN()), "Inf": bad(math.Inf(1)), "-Inf": bad(math.Inf(-1)),
	} {
		made, fails = vector, nil
		if what == "an error" {
			fails = errEmbed
		}
		_, err := c.Put(tb.Context(), "k", fact.Fact{Text: "new"})
		var fault *store.EmbedError
		if !errors.As(err, &fault) || fault.Index != "text" || fault.Model != "words" || errors.Is(err, errEmbed) != (fails != nil) {
			tb.Errorf("put, %s: got %v, want an *EmbedError", what, err)
		}
		var batch store.Batch
		c.QueuePut(&batch, "other", fact.Fact{})
		c.QueuePut(&batch, "k", fact.Fact{Text: "new"})
		wantEmbedError(tb, "a batch, "+what, batch.Do(tb.Context()))
		_, err = c.Search(tb.Context(), index, "new")
		wantEmbedError(tb, "a search, "+what, err)
	}
	if it, err := c.Get(tb.Context(), "k"); err != nil || it.Value.Text != "old" {
		tb.Errorf("after calls that failed: got %+v, %v, want the old item", it, err)
	}
	if _, err := c.Get(tb.Context(), "other"); !errors.Is(err, store.ErrNotFound) {
		tb.Errorf("after a batch that failed: got %v, want no item", err)
	}
	l.wantFound(tb, l.In("a").Filter(), "old", nil, "k")
	made = bad(1e-40) // a direction without a length
	if _, err := c.Put(tb.Context(), "small", fact.Fact{Text: "small"}); err != nil {
		tb.Errorf("a very short vector: %v", err)
	}
}

func wantEmbedError(tb testing.TB, what string, err error) {
	tb.Helper()
	if !errors.As(err, new(*store.EmbedError)) {
		tb.Errorf("%s: got %v, want an *EmbedError", what, err)
	}
}
