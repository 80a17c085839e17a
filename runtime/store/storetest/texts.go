package storetest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
)

func testText(tb testing.TB, place Storage) {
	tb.Helper()
	s := newShelf(tb, open(tb, place))
	s.put(tb, "ada", map[string]string{
		"rome": "Ada lives in Rome", "tea": "Ada drinks green tea", "both": "tea: green, green TEA", "none": "", "cats": "two black cats",
	})
	ada := s.In("ada").Filter()
	found := s.want(tb, ada, "Green tea in a pot?", nil, "both", "rome", "tea")
	// Three items have one of the words. Their texts have 4 words.
	score := func(having, count float64) float64 {
		return math.Log(1+(3-having+0.5)/(having+0.5)) * count * 2.2 / (count + 1.2)
	}
	for i, want := range []float64{2 * score(2, 2), score(1, 1), 2 * score(2, 1)} {
		if m := found[i]; math.Abs(m.Score-want) > 1e-9 || m.Version == 0 || m.Value.Text == "" || m.Namespace.String() != "facts/ada" {
			tb.Errorf("got %+v, want the item %s whole, with the score %v", m, m.Key, want)
		}
	}
	s.want(tb, ada, "tea", []store.SearchOption{store.Limit(1)}, "both")
	s.want(tb, ada, "tea", []store.SearchOption{store.Limit(1), store.Offset(1)}, "tea")
	s.want(tb, ada, "tea", []store.SearchOption{store.Offset(2)})
	s.want(tb, ada, "coffee", nil)
	if _, err := s.In("tags").Put(tb.Context(), "k", fact.Fact{Text: "one", Tags: []string{"two", "", "three one"}}); err != nil {
		tb.Fatal(err)
	}
	s.want(tb, s.In("tags").Filter(), "three", nil, "k")
	for i := range 12 {
		s.put(tb, "many", map[string]string{fmt.Sprintf("%02d", i): "many"})
	}
	if found, err := s.In("many").Search(tb.Context(), s.index, "many"); err != nil || len(found) != 10 {
		tb.Errorf("a search without a limit: got %d items, %v, want 10", len(found), err)
	}
}

func testWords(tb testing.TB, place Storage) {
	tb.Helper()
	s := newShelf(tb, open(tb, place))
	for i, c := range []struct {
		text  string
		finds []string // each of them finds the text
		not   []string
	}{
		{"The well-known WORD, again", []string{"known", "word", "Again!", "x well y", "the"}, []string{"wellknown", "kno", "words", "", "-"}},
		{"don't stop_me at 3.14 or a@b.example", []string{"don", "t", "me", "14", "example", "a@b"}, []string{"dont", "stopme", "314"}},
		{"ÉCOLE Straße ΣΊΣΥΦΟΣ ǅ", []string{"école", "STRASSE straße", "σίσυφος", "ǆ", "Ǆ"}, []string{"ecole", "strasse"}},
		{"東京タワー と กา", []string{"京", "東", "タ", "京都", "ก"}, []string{"都", "tokyo"}},
		{"한국어 हिन्दी עברית العربية", []string{"한국어", "हिन्दी", "עברית", "العربية"}, []string{"한", "ह", "ع"}},
		{"nice 😀❤️ 👨‍👩‍👧", []string{"😀", "❤", "👩"}, []string{"😁", "\ufe0f", "\u200d"}},
		{"e\u0301t soft\u00adhyphen", []string{"e\u0301t", "softhyphen", "soft\u200dhyphen"}, []string{"et", "soft", "\u0301"}},
		{"zero\x00byte \xffinvalid\xfe", []string{"zero", "byte", "invalid"}, []string{"zerobyte", "\xff", "\x00", "\ufffd"}},
		{strings.Repeat("l", store.MaxWord) + "xyz", []string{strings.Repeat("L", store.MaxWord), strings.Repeat("l", store.MaxWord+1)}, []string{strings.Repeat("l", store.MaxWord-1), "xyz"}},
	} {
		in := s.In(fmt.Sprint("case", i))
		if _, err := in.Put(tb.Context(), "k", fact.Fact{Text: c.text}); err != nil {
			tb.Fatal(err)
		}
		for _, text := range c.finds {
			s.want(tb, in.Filter(), text, nil, "k")
		}
		for _, text := range c.not {
			if text != "" {
				s.want(tb, in.Filter(), text, nil)
			}
		}
	}
}

func testHostileWords(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	s, ctx := newShelf(tb, b), tb.Context()
	s.put(tb, "a", map[string]string{"k": "red or blue", "other": "green"})
	in := s.In("a").Filter()
	for _, text := range []string{
		"+red -blue", `"red blue"x`, "red*", "red~2 (", "NEAR(red blue)", "red & !blue", "red <-> blue", "text:red", "'red", "red'; DROP TABLE graph_item; --",
		`red\`, "red%", "red_", "{red}", "@@red", "red\x00", "\xffred\xff", "red OR 1=1", strings.Repeat("red ", 1<<18), "red " + strings.Repeat("x", 1<<20),
	} {
		if found, err := in.Search(ctx, s.index, text); err != nil || len(found) == 0 || found[0].Key != "k" {
			tb.Errorf("search %.40q: got %d items, %v, want the item with the word red first", text, len(found), err)
		}
	}
	for _, text := range []string{
		"the of and", "%", "_", "*", `"`, `""`, "'", `\`, "\x00", "()", "+-", "--", "&|!", ":*", "@", "😀", "漢字", "\u202e", "\xff", " \t\n",
		strings.Repeat("(", 1<<20), strings.Repeat("x", 1<<20), strings.Repeat(`" AND `, 1<<17),
	} {
		s.want(tb, in, text, nil)
	}
	var many strings.Builder
	for i := range store.MaxSearchWords {
		fmt.Fprintf(&many, "w%d ", i)
	}
	s.want(tb, in, many.String()+"red", nil) // a word too many
	s.want(tb, in, many.String()[3:]+"red", nil, "k")
	for _, name := range []string{"'; DROP TABLE graph_item; --", "x\x00", "x", "\xff\xfe", strings.Repeat("n", store.MaxIndexName)} {
		index := store.NewTextIndex(name, textOf)
		c := collection[fact.Fact](tb, b, index).In("names")
		if _, err := c.Put(ctx, name, fact.Fact{Text: "same"}); err != nil {
			tb.Errorf("put, index %q: %v", name, err)
		}
		if found, err := c.Search(ctx, index, "same"); err != nil || len(found) != 1 || found[0].Key != name {
			tb.Errorf("search, index %q: got %d items, %v, want one", name, len(found), err)
		}
	}
	for what, call := range map[string]func() error{
		"no text":         func() error { _, err := s.Search(ctx, s.index, ""); return err },
		"no index":        func() error { _, err := s.Search(ctx, nil, "x"); return err },
		"a limit of 0":    func() error { _, err := s.Search(ctx, s.index, "x", store.Limit(0)); return err },
		"a page too far":  func() error { _, err := s.Search(ctx, s.index, "x", store.Offset(store.MaxPage)); return err },
		"a foreign index": func() error { _, err := s.Search(ctx, store.NewTextIndex("text", textOf), "x"); return err },
		"too many words": func() error {
			var text strings.Builder
			for i := range store.MaxWords + 1 {
				fmt.Fprintf(&text, "%d ", i)
			}
			_, err := s.Put(ctx, "k", fact.Fact{Text: text.String()})
			return err
		},
		"a word that is too long": func() error {
			q := store.TextQuery{Index: "text", Words: []string{strings.Repeat("x", store.MaxWord+1)}}
			q.Limit = 1
			_, err := b.SearchText(ctx, q)
			return err
		},
	} {
		wantInvalid(tb, what, call())
	}
}

func testLongTexts(tb testing.TB, place Storage) {
	tb.Helper()
	s := newShelf(tb, open(tb, place))
	var text strings.Builder
	for i := range store.MaxWords {
		fmt.Fprintf(&text, "%d ", i)
	}
	long := text.String() + strings.Repeat("77 ", 100_000)
	s.put(tb, "a", map[string]string{"long": long, "short": "77", "shorter": ""})
	in := s.In("a").Filter()
	s.want(tb, in, "4095", nil, "long")
	s.want(tb, in, "77", nil, "long", "short")
	s.put(tb, "a", map[string]string{"long": "brief", "short": long})
	s.want(tb, in, "4095", nil, "short")
	s.want(tb, in, "77 brief", nil, "short", "long")
}

// testTextModel compares searches with a plain program that knows the formula.
func testTextModel(tb testing.TB, place Storage) {
	tb.Helper()
	s, random := newShelf(tb, open(tb, place)), rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a test
	vocabulary := strings.Fields("ada bob tea rome cat dog red blue one two")
	text := func(most int) string {
		var words []string
		for range random.IntN(most + 1) {
			words = append(words, vocabulary[min(random.IntN(len(vocabulary)), random.IntN(len(vocabulary)))])
		}
		return strings.Join(words, " ")
	}
	texts := make(map[string]string)
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		key := fmt.Sprint(random.IntN(25))
		texts[key] = text(12)
		s.put(tb, "a", map[string]string{key: texts[key]})
		query := text(4)
		if query == "" {
			continue
		}
		want := ranked(texts, query)
		offset, limit := random.IntN(3), 1+random.IntN(20)
		found, err := s.In("a").Search(tb.Context(), s.index, query, store.Limit(limit), store.Offset(offset))
		if err != nil {
			tb.Fatal(err)
		}
		want = want[min(offset, len(want)):min(offset+limit, len(want))]
		ok := len(found) == len(want)
		for i := 0; ok && i < len(found); i++ {
			ok = found[i].Key == want[i].key && math.Abs(found[i].Score-want[i].score) < 1e-9
		}
		if !ok {
			tb.Fatalf("search %q, offset %d, limit %d: got %v, want %v", query, offset, limit, found, want)
		}
	}
}

type scored struct {
	key   string
	score float64
}

// ranked returns the texts with one of the words of a query, the best first.
func ranked(texts map[string]string, query string) (all []scored) {
	words := strings.Fields(query)
	slices.Sort(words)
	words = slices.Compact(words)
	count := func(text, word string) (n float64) {
		for _, w := range strings.Fields(text) {
			if w == word {
				n++
			}
		}
		return n
	}
	matching := make(map[string]string)
	total := 0.0
	for key, text := range texts {
		if slices.ContainsFunc(words, func(w string) bool { return count(text, w) > 0 }) {
			matching[key] = text
			total += float64(len(strings.Fields(text)))
		}
	}
	n := float64(len(matching))
	for key, text := range matching {
		score := 0.0
		for _, word := range words {
			having := 0.0
			for _, other := range matching {
				having += min(count(other, word), 1)
			}
			tf := count(text, word)
			score += math.Log(1+(n-having+0.5)/(having+0.5)) * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(len(strings.Fields(text)))/(total/n)))
		}
		all = append(all, scored{key, score})
	}
	slices.SortFunc(all, func(a, b scored) int {
		if math.Abs(a.score-b.score) > 1e-9 {
			return cmp.Compare(b.score, a.score)
		}
		return strings.Compare(a.key, b.key)
	})
	return all
}
