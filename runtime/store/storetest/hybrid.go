package storetest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
)

// testHybrid searches by two indexes that have different opinions: the vectors are of tags, and
// the words of texts.
func testHybrid(tb testing.TB, place Storage) {
	tb.Helper()
	b, w, ctx := open(tb, place), new(words), tb.Context()
	meaning := store.NewVectorIndex("tags", w.embedder(), func(f *fact.Fact) []string { return f.Tags })
	text := store.NewTextIndex("text", textOf)
	kind := store.NewIndex("kind", func(f *fact.Fact) string { return f.Kind })
	c := collection[fact.Fact](tb, b, store.CollectionOption[fact.Fact](kind), meaning, text)
	for key, f := range map[string]fact.Fact{
		"both":    {Kind: "a", Text: "tea", Tags: []string{"tea time"}},
		"meaning": {Kind: "b", Text: "coffee", Tags: []string{"tea"}},
		"words":   {Kind: "b", Text: "Tea: tea!"},
		"far":     {Kind: "a", Text: "coffee", Tags: []string{"coffee"}},
		"none":    {Kind: "b", Text: "water"},
		"expired": {Kind: "a", Text: "tea", Tags: []string{"tea"}},
	} {
		var opts []store.PutOption
		if key == "expired" {
			opts = append(opts, store.ExpireAt(past))
		}
		if _, err := c.In("x").Put(ctx, key, f, opts...); err != nil {
			tb.Fatal(err)
		}
	}
	want := func(what string, s *store.Selection[fact.Fact], opts []store.SearchOption, keys []string, scores ...float64) {
		tb.Helper()
		found, err := s.Search(ctx, store.Hybrid(meaning, text), "tea", opts...)
		var got []string
		for i, m := range found {
			got = append(got, m.Key)
			if i < len(scores) && math.Abs(m.Score-scores[i]) > 1e-12 {
				tb.Errorf("%s: %s has the score %v, want %v", what, m.Key, m.Score, scores[i])
			}
		}
		if err != nil || !slices.Equal(got, keys) {
			tb.Errorf("%s: got the keys %q, %v, want %q", what, got, err, keys)
		}
	}
	all := c.In("x").Filter()
	keys := []string{"both", "meaning", "words", "far"}
	want("a search", all, nil, keys, 2.0/62, 1.0/61, 1.0/61, 1.0/63)
	for i := range keys {
		want("a page", all, []store.SearchOption{store.Limit(1), store.Offset(i)}, keys[i:i+1])
	}
	want("a page after the last", all, []store.SearchOption{store.Offset(4)}, nil)
	want("a filter", c.In("x").Filter(kind.Equal("b")), nil, []string{"meaning", "words"}, 1.0/61, 1.0/61)
	want("another namespace", c.In("y").Filter(), nil, nil)
	for what, opts := range map[string][]store.SearchOption{
		"a limit too large": {store.Limit(store.MaxFused + 1)}, "a page too far": {store.Limit(1), store.Offset(store.MaxFused)},
		"a negative offset": {store.Offset(-1)},
	} {
		_, err := all.Search(ctx, store.Hybrid(meaning, text), "tea", opts...)
		wantInvalid(tb, what, err)
	}
	_, err := all.Search(ctx, store.Hybrid(meaning, store.NewTextIndex("text", textOf)), "tea")
	wantInvalid(tb, "a foreign index", err)
	var batch store.Batch
	for i := range store.MaxFused + 20 {
		c.In("many").QueuePut(&batch, fmt.Sprintf("%03d", i), fact.Fact{Text: "tea", Tags: []string{"tea"}})
	}
	if err := batch.Do(ctx); err != nil {
		tb.Fatal(err)
	}
	found, err := c.In("many").Search(ctx, store.Hybrid(meaning, text), "tea", store.Limit(store.MaxFused))
	if err != nil || len(found) != store.MaxFused {
		tb.Errorf("a search of many: got %d items, %v, want %d", len(found), err, store.MaxFused)
	}
}
