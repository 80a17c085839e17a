package storetest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
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

func testSearch(tb testing.TB, place Storage) {
	tb.Helper()
	l := newLibrary(tb, open(tb, place))
	l.put(tb, "ada", map[string]string{
		"rome":  "ada lives in rome",
		"tea":   "ada drinks tea",
		"tea2":  "tea",
		"empty": "",
		"cats":  "two black cats",
	})
	ada := l.In("ada").Filter()
	found := l.want(tb, ada, "drinks tea", []store.SearchOption{store.Limit(3)}, "tea", "tea2", "cats")
	want := []float64{2 / math.Sqrt(6), 1 / math.Sqrt(2), 0}
	for i, m := range found {
		if math.Abs(m.Score-want[i]) > 1e-5 || m.Version == 0 || m.Value.Text == "" || m.Namespace.String() != "facts/ada" {
			tb.Errorf("got %+v, want the item %s whole, with the score %v", m, m.Key, want[i])
		}
	}
	l.want(tb, ada, "drinks tea", []store.SearchOption{store.Limit(1), store.Offset(1)}, "tea2")
	l.want(tb, ada, "drinks tea", []store.SearchOption{store.Offset(4)})
	l.want(tb, ada, "rome", []store.SearchOption{store.Limit(1)}, "rome")
	for i := range 12 {
		l.put(tb, "many", map[string]string{fmt.Sprintf("%02d", i): "many"})
	}
	found, err := l.In("many").Search(tb.Context(), l.index, "many")
	if err != nil || len(found) != 10 {
		tb.Errorf("a search without a limit: got %d items, %v, want 10", len(found), err)
	}
}

func testSearchTexts(tb testing.TB, place Storage) {
	tb.Helper()
	l := newLibraryOf(tb, open(tb, place), func(f *fact.Fact) []string { return append([]string{f.Kind, f.Text}, f.Tags...) })
	for key, f := range map[string]fact.Fact{
		"both":  {Kind: "red", Text: "green"},
		"mixed": {Text: "red green"},
		"tags":  {Tags: []string{"blue", "", "blue", "green"}},
	} {
		if _, err := l.In("a").Put(tb.Context(), key, f); err != nil {
			tb.Fatal(err)
		}
	}
	all := l.In("a").Filter()
	for _, m := range l.want(tb, all, "green", nil, "both", "tags", "mixed")[:2] {
		if math.Abs(m.Score-1) > 1e-5 {
			tb.Errorf("%s: got the score %v, want 1, that of the nearest text", m.Key, m.Score)
		}
	}
	l.want(tb, all, "red", []store.SearchOption{store.Limit(2)}, "both", "mixed")
	l.want(tb, all, "blue", []store.SearchOption{store.Limit(1)}, "tags")
}

func testHostileTexts(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	ctx := tb.Context()
	for _, name := range []string{"'; DROP TABLE graph_item; --", "x\x00", "x", "\xff\xfe", strings.Repeat("n", store.MaxIndexName)} {
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
	l := newLibrary(tb, b)
	for what, call := range map[string]func() error{
		"no text":        func() error { _, err := l.Search(ctx, l.index, ""); return err },
		"a limit of 0":   func() error { _, err := l.Search(ctx, l.index, "x", store.Limit(0)); return err },
		"a page too far": func() error { _, err := l.Search(ctx, l.index, "x", store.Offset(store.MaxPage)); return err },
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
	l := newLibrary(tb, b)
	l.put(tb, "a", map[string]string{"k": "old"})
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
	l.want(tb, l.In("a").Filter(), "old", nil, "k")
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
