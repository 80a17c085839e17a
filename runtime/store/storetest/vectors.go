package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
)

func testEmbedsChanges(tb testing.TB, place Storage) {
	tb.Helper()
	l := newLibraryOf(tb, open(tb, place), func(f *fact.Fact) []string { return []string{f.Kind, f.Text} })
	ctx, c := tb.Context(), l.In("a")
	want := func(what string, calls, texts int64) {
		tb.Helper()
		if gotCalls, gotTexts := l.words.taken(); gotCalls != calls || gotTexts != texts {
			tb.Errorf("%s: embedded %d texts in %d calls, want %d in %d", what, gotTexts, gotCalls, texts, calls)
		}
	}
	put := func(what string, f fact.Fact, calls, texts int64) {
		tb.Helper()
		if _, err := c.Put(ctx, "k", f); err != nil {
			tb.Fatal(err)
		}
		want(what, calls, texts)
	}
	put("a new item", fact.Fact{Kind: "red", Text: "green"}, 1, 2)
	put("the same texts", fact.Fact{Kind: "red", Text: "green", Count: 7}, 0, 0)
	put("one other text", fact.Fact{Kind: "red", Text: "blue"}, 1, 1)
	put("the texts in the other order", fact.Fact{Kind: "blue", Text: "red"}, 0, 0)
	put("one text less", fact.Fact{Text: "red"}, 0, 0)
	l.want(tb, c.Filter(), "red", nil, "k")
	l.want(tb, c.Filter(), "gone", nil, "k")
	l.words.taken()

	if _, err := c.Update(ctx, "k", func(f *fact.Fact) error { f.Count++; return nil }); err != nil {
		tb.Fatal(err)
	}
	want("an update of another field", 0, 0)
	if _, err := c.Update(ctx, "k", func(f *fact.Fact) error { f.Kind = "new"; return nil }); err != nil {
		tb.Fatal(err)
	}
	want("an update of a text", 1, 1)
	var batch store.Batch
	for i := range 5 {
		c.QueuePut(&batch, fmt.Sprint(i), fact.Fact{Kind: "shared", Text: fmt.Sprint("text", i)})
	}
	c.QueuePut(&batch, "k", fact.Fact{Text: "red"})
	c.QueueDelete(&batch, "none")
	if err := batch.Do(ctx); err != nil {
		tb.Fatal(err)
	}
	want("a batch", 1, 6)
	l.want(tb, c.Filter(), "text3", []store.SearchOption{store.Limit(1)}, "3")
	l.words.taken()
	if _, err := c.Reindex(ctx); err != nil {
		tb.Fatal(err)
	}
	want("a reindex of what has vectors", 0, 0)
}

func testVectorsFollow(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	l := newLibrary(tb, b)
	ctx, c := tb.Context(), l.In("a")
	put := func(text string, opts ...store.PutOption) (int64, error) {
		return c.Put(ctx, "k", fact.Fact{Text: text}, opts...)
	}
	score := func(what, text string, want float64) {
		tb.Helper()
		found, err := c.Search(ctx, l.index, text)
		if err != nil {
			tb.Fatal(err)
		}
		got := math.Inf(-1)
		if len(found) > 0 {
			got = found[0].Score
		}
		if got != want && math.Abs(got-want) > 1e-5 {
			tb.Errorf("%s: got the score %v, want %v", what, got, want)
		}
	}
	none := math.Inf(-1)
	version, err := put("red", store.Once("task"))
	if err != nil {
		tb.Fatal(err)
	}
	score("a put", "red", 1)
	_, err = put("blue", store.IfAbsent())
	wantConflict(tb, "a put of an item that exists", err, 0, version)
	score("a put that failed", "red", 1)
	if version, err = put("green"); err != nil {
		tb.Fatal(err)
	}
	score("another text", "red", 0)
	score("another text", "green", 1)
	if _, err := put("red", store.Once("task")); err != nil {
		tb.Fatal(err)
	}
	score("a put that ran before", "green", 1)
	if err := c.Delete(ctx, "k", store.IfVersion(version)); err != nil {
		tb.Fatal(err)
	}
	score("a delete", "green", none)
	if _, err := put(""); err != nil {
		tb.Fatal(err)
	}
	score("a put without a text", "green", none)

	if _, err := put("red", store.ExpireAt(past)); err != nil {
		tb.Fatal(err)
	}
	score("an expired item", "red", none)
	if _, err := b.Sweep(ctx, 10); err != nil {
		tb.Fatal(err)
	}
	if _, err := put("blue"); err != nil {
		tb.Fatal(err)
	}
	score("a put after a sweep", "red", 0)
	plain := collection[fact.Fact](tb, b).In("a")
	if _, err := plain.Put(ctx, "k", fact.Fact{Text: "red"}); err != nil {
		tb.Fatal(err)
	}
	score("a put by a program without the index", "blue", none)
	got := one(tb, b, store.Op{Kind: store.OpVectors, Namespace: store.Namespace{"facts", "a"}, Key: "k"})
	if got.Found || len(got.Record.Vectors) != 0 {
		tb.Errorf("vectors of an item without any: got %+v, want none", got)
	}
	if _, err := put("red", store.TTL(time.Millisecond)); err != nil {
		tb.Fatal(err)
	}
	until(tb, "the item expires", func() bool {
		found, err := c.Search(ctx, l.index, "red")
		if err != nil {
			tb.Fatal(err)
		}
		return len(found) == 0
	})
}

// testReindexWriter lets the embedder of a Reindex change items, as another program does.
func testReindexWriter(tb testing.TB, place Storage) {
	tb.Helper()
	b, ctx, w := open(tb, place), tb.Context(), new(words)
	plain := collection[fact.Fact](tb, b).In("a")
	put := func(key, text string) error {
		_, err := plain.Put(ctx, key, fact.Fact{Text: text})
		return err
	}
	for i := range 4 {
		if err := put(fmt.Sprint(i), "old"); err != nil {
			tb.Fatal(err)
		}
	}
	writes := [][]func() error{ // in each call of the embedder
		{func() error { return put("1", "newer") }, func() error { return plain.Delete(ctx, "2") }},
		{func() error { return put("1", "newest") }},
	}
	e := w.embedder()
	e.Embed = func(ctx context.Context, texts []string) ([][]float32, error) {
		if len(writes) > 0 {
			now := writes[0]
			writes = writes[1:]
			for _, write := range now {
				if err := write(); err != nil {
					return nil, err
				}
			}
		}
		return w.embed(ctx, texts)
	}
	index, text := store.NewVectorIndex("text", e, textOf), store.NewTextIndex("text", textOf)
	c := collection[fact.Fact](tb, b, index, text)
	if n, err := c.Reindex(ctx); err != nil || n != 4 {
		tb.Fatalf("reindex: got %d, %v, want 4 items", n, err)
	}
	if len(writes) > 0 {
		tb.Errorf("the embedder was not called for %d further writes", len(writes))
	}
	for query, want := range map[string][]string{"old": {"0", "3"}, "newer": nil, "newest": {"1"}} {
		found, err := c.Search(ctx, text, query)
		var keys []string
		for _, m := range found {
			keys = append(keys, m.Key)
		}
		if err != nil || !slices.Equal(keys, want) {
			tb.Errorf("search of the word %q: got the keys %q, %v, want %q", query, keys, err, want)
		}
	}
	found, err := c.Search(ctx, index, "newest")
	if err != nil || len(found) != 3 || found[0].Key != "1" || math.Abs(found[0].Score-1) > 1e-5 {
		tb.Errorf("search: got %+v, %v, want 3 items, and first the newest with the score 1", found, err)
	}
}

func testModel(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	l := newLibrary(tb, b)
	ctx := tb.Context()
	for range 2 {
		if err := l.Declare(ctx); err != nil {
			tb.Errorf("declare: %v", err)
		}
	}
	wantModel := func(what string, err error, e store.Embedder) {
		tb.Helper()
		var fault *store.ModelError
		want := store.ModelError{
			Index: "text", Want: store.VectorSpec{Name: "text", Model: e.Model, Dims: e.Dims},
			Stored: store.VectorSpec{Name: "text", Model: "words", Dims: wordDims},
		}
		if !errors.As(err, &fault) || *fault != want {
			tb.Errorf("%s: got %v, want %v", what, err, &want)
		}
	}
	early := store.Embedder{Model: "early", Dims: wordDims, Embed: l.words.embed}
	wantModel("declare before the first item", collection[fact.Fact](tb, b, store.NewVectorIndex("text", early, textOf)).Declare(ctx), early)
	if err := collection[fact.Fact](tb, b).Declare(ctx); err != nil {
		tb.Errorf("declare of a collection without vector indexes: %v", err)
	}
	l.put(tb, "a", map[string]string{"k": "old"})
	for what, e := range map[string]store.Embedder{
		"another model":            {Model: "other", Dims: wordDims},
		"other dimensions":         {Model: "words", Dims: wordDims + 1},
		"a model with a zero byte": {Model: "words\x00", Dims: wordDims},
	} {
		asked := 0
		e.Embed = func(context.Context, []string) ([][]float32, error) { asked++; return nil, errEmbed }
		index := store.NewVectorIndex("text", e, textOf)
		c := collection[fact.Fact](tb, b, index).In("a")
		_, put := c.Put(ctx, "k", fact.Fact{Text: "new"})
		_, search := c.Search(ctx, index, "new")
		_, again := c.Reindex(ctx)
		for call, err := range map[string]error{"declare": c.Declare(ctx), "put": put, "search": search, "reindex": again} {
			wantModel(what+", "+call, err, e)
		}
		if asked != 0 {
			tb.Errorf("%s: the embedder was called %d times, want 0", what, asked)
		}
	}
	l.want(tb, l.In("a").Filter(), "old", nil, "k")
	if it, err := l.In("a").Get(ctx, "k"); err != nil || it.Value.Text != "old" {
		tb.Errorf("after puts by another model: got %+v, %v, want the old item", it, err)
	}
}

// testVectorWriters also lets the embedder write to the store, which would wait for ever if the
// store held a lock.
func testVectorWriters(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	ctx := tb.Context()
	plain := collection[fact.Fact](tb, b).In("other")
	w := new(words)
	e := w.embedder()
	e.Embed = func(ctx context.Context, texts []string) ([][]float32, error) {
		if _, err := plain.Put(ctx, "k", fact.Fact{}); err != nil {
			return nil, err
		}
		return w.embed(ctx, texts)
	}
	index := store.NewVectorIndex("text", e, func(f *fact.Fact) []string { return append([]string{f.Text}, f.Tags...) })
	c := collection[fact.Fact](tb, b, index).In("a")
	texts := []string{"red", "green", "blue", "black"}
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			for j := range 6 {
				f := fact.Fact{Text: texts[(i+j)%len(texts)], Tags: texts[:j%3]}
				if _, err := c.Put(ctx, "k", f); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	done.Wait()
	it, err := c.Get(ctx, "k")
	if err != nil {
		tb.Fatal(err)
	}
	want := append([]string{it.Value.Text}, it.Value.Tags...)
	got := one(tb, b, store.Op{Kind: store.OpVectors, Namespace: it.Namespace, Key: "k"}).Record.Vectors
	if len(got) != len(want) {
		tb.Fatalf("got %d vectors, want %d, those of %q", len(got), len(want), want)
	}
	for i, text := range want {
		vector, score := wordVector(text), float32(0)
		for d := range vector {
			score += vector[d] * got[i].Values[d]
		}
		if got[i].Index != "text" || math.Abs(float64(score)-1) > 1e-5 {
			tb.Errorf("vector %d: got the score %v in %q, want that of %q", i, score, got[i].Index, text)
		}
	}
	found, err := c.Search(ctx, index, it.Value.Text)
	if err != nil || len(found) != 1 || found[0].Version != it.Version || math.Abs(found[0].Score-1) > 1e-5 {
		tb.Errorf("search: got %+v, %v, want the item once, with the score 1", found, err)
	}
}
