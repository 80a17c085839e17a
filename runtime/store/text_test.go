package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// FuzzWords splits texts, as put and as search.
func FuzzWords(f *testing.F) {
	for _, text := range []string{
		"", "Ada drinks tea, tea", "don't", "ÉCOLE", "東京タワー", "👨‍👩‍👧", "e\u0301", "\u0301", "a\x00b", "\xff", "x\u200dy",
		strings.Repeat("é", 40), strings.Repeat("x", 63) + "éy", "K\u212a ſs İi",
	} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		words := store.CountWords([]string{text})
		op := store.Op{Kind: store.OpPut, Namespace: store.Namespace{"n"}, Key: "k"}
		if len(words) > 0 {
			op.Texts = []store.Text{{Index: "text", Words: words}}
		}
		if err := store.CheckOps([]store.Op{op}); err != nil && len(words) <= store.MaxWords {
			t.Fatalf("words of %q: %v", text, err)
		}
		searched := store.SearchWords(text)
		q := store.TextQuery{Index: "text", Words: searched}
		q.Limit = 1
		if err := q.Check(); err != nil {
			t.Fatalf("search for %q: %v", text, err)
		}
		if len(searched) != min(len(words), store.MaxSearchWords) {
			t.Errorf("%q: a search has %d words, want those of the %d of the text", text, len(searched), len(words))
		}
		for _, w := range words {
			if !utf8.ValidString(w.Word) {
				t.Errorf("%q: the word %q is not UTF-8", text, w.Word)
			}
			if again := store.CountWords([]string{w.Word}); len(again) != 1 || again[0].Word != w.Word {
				t.Errorf("%q: the word %q becomes %v", text, w.Word, again)
			}
		}
		for _, word := range searched {
			if !slices.ContainsFunc(words, func(w store.Word) bool { return w.Word == word }) {
				t.Errorf("%q: a search has the word %q, which the text has not", text, word)
			}
		}
		if other := store.CountWords([]string{strings.Map(unicode.ToUpper, text)}); utf8.ValidString(text) && !slices.Equal(other, words) {
			t.Errorf("%q: got %v, in upper case %v", text, words, other)
		}
		if cut = min(max(cut, 0), len(text)); utf8.ValidString(text[:cut]) {
			spaced := store.CountWords([]string{text[:cut] + " " + text[cut:]})
			if apart := store.CountWords([]string{text[:cut], text[cut:]}); !slices.Equal(apart, spaced) {
				t.Errorf("%q, cut at %d: got %v, with a space %v", text, cut, apart, spaced)
			}
		}
	})
}

func TestRankingRefusesTooMany(t *testing.T) {
	q := &store.TextQuery{Index: "facts", Words: []string{"a", "b"}}
	q.Limit = 3
	r := store.NewRanking(q)
	for i := range store.MaxCompared {
		if err := r.Add(i%2, "ns", fmt.Sprint(i/2), 1+i%3, 4); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.Items(); len(got) != 3 {
		t.Errorf("got %d items, want 3", len(got))
	}
	err := r.Add(0, "ns", "k", 1, 1)
	var many *store.TooManyError
	if !errors.As(err, &many) || *many != (store.TooManyError{Index: "facts", Words: true}) {
		t.Errorf("after %d words: got %v, want a *TooManyError of the text index", store.MaxCompared, err)
	}
}

func TestASearchByWordsHasABound(t *testing.T) {
	b := memory.NewStore()
	ops := make([]store.Op, 0, store.MaxOps)
	for i := range store.MaxCompared + 1 {
		ops = append(ops, store.Op{
			Kind: store.OpPut, Namespace: store.Namespace{fmt.Sprint(i % 2)}, Key: fmt.Sprint(i),
			Texts: []store.Text{{Index: "x", Words: []store.Word{{Word: "a", Count: 1}}}},
		})
		if len(ops) == cap(ops) || i == store.MaxCompared {
			if _, err := b.Do(t.Context(), ops); err != nil {
				t.Fatal(err)
			}
			ops = ops[:0]
		}
	}
	q := store.TextQuery{Index: "x", Words: []string{"a"}}
	q.Limit = 1
	if _, err := b.SearchText(t.Context(), q); !errors.As(err, new(*store.TooManyError)) {
		t.Errorf("a search of all: got %v, want a *TooManyError", err)
	}
	q.Namespace = store.Namespace{"1"}
	if hits, err := b.SearchText(t.Context(), q); err != nil || len(hits) != 1 {
		t.Errorf("a search of one namespace: got %d items, %v, want 1", len(hits), err)
	}
}

func TestTextIndexesThatAreRefused(t *testing.T) {
	for _, names := range [][]string{{""}, {strings.Repeat("n", store.MaxIndexName+1)}, {"twice", "twice"}} {
		var opts []store.CollectionOption[Fact]
		for _, name := range names {
			opts = append(opts, store.NewTextIndex(name, textOf))
		}
		_, err := store.NewCollection[Fact](memory.NewStore(), store.Namespace{"facts"}, opts...)
		if !errors.As(err, new(*store.InvalidError)) {
			t.Errorf("%.20q: got %v, want an *InvalidError", names, err)
		}
	}
}

func TestTextsThatAreRefused(t *testing.T) {
	word := store.Word{Word: "w", Count: 1}
	for what, texts := range map[string][]store.Text{
		"no index":          {{Words: []store.Word{word}}},
		"no words":          {{Index: "x"}},
		"an index twice":    {{Index: "x", Words: []store.Word{word}}, {Index: "x", Words: []store.Word{word}}},
		"an empty word":     {{Index: "x", Words: []store.Word{{Count: 1}}}},
		"a long word":       {{Index: "x", Words: []store.Word{{Word: strings.Repeat("x", store.MaxWord+1), Count: 1}}}},
		"a word twice":      {{Index: "x", Words: []store.Word{word, word}}},
		"words in no order": {{Index: "x", Words: []store.Word{word, {Word: "a", Count: 1}}}},
		"a word no times":   {{Index: "x", Words: []store.Word{{Word: "w"}}}},
		"a negative count":  {{Index: "x", Words: []store.Word{{Word: "w", Count: -1}}}},
		"too often":         {{Index: "x", Words: []store.Word{{Word: "w", Count: 1 << 31}}}},
		"too often in all":  {{Index: "x", Words: []store.Word{{Word: "v", Count: 1<<31 - 1}, word}}},
		"too many indexes":  make([]store.Text, store.MaxEntries+1),
		"too many words":    {{Index: "x", Words: make([]store.Word, store.MaxWords)}, {Index: "y", Words: []store.Word{word}}},
	} {
		if what == "too many words" {
			for i := range texts[0].Words {
				texts[0].Words[i] = store.Word{Word: fmt.Sprintf("%06d", i), Count: 1}
			}
		}
		op := store.Op{Kind: store.OpPut, Namespace: store.Namespace{"n"}, Key: "k", Texts: texts}
		if err := store.CheckOps([]store.Op{op}); !errors.As(err, new(*store.InvalidError)) {
			t.Errorf("%s: got %v, want an *InvalidError", what, err)
		}
	}
}
