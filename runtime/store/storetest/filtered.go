package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
)

// testSearchOperators searches by meaning and by words with the filters that a list has. All items
// have the text of the search, so the filters alone decide.
func testSearchOperators(tb testing.TB, place Storage) {
	tb.Helper()
	b, ctx, w := open(tb, place), tb.Context(), new(words)
	kind := store.NewIndex("kind", func(f *fact.Fact) string { return f.Kind })
	count := store.NewIndex("count", func(f *fact.Fact) int { return f.Count })
	tags := store.NewListIndex("tags", func(f *fact.Fact) []string { return f.Tags })
	meaning, text := store.NewVectorIndex("text", w.embedder(), textOf), store.NewTextIndex("text", textOf)
	facts := collection(tb, b, store.CollectionOption[fact.Fact](kind), count, tags, meaning, text)
	for i, f := range []fact.Fact{
		{Kind: "a", Count: -7, Tags: []string{"x", "y"}},
		{Kind: "b", Count: 0},
		{Kind: "ab", Count: 7, Tags: []string{"y"}},
		{Kind: "", Count: 300, Tags: []string{""}},
		{Kind: "a' OR 'b", Count: 301, Tags: []string{"x\x00"}},
	} {
		for _, in := range []string{"n", "other"} { // items of another namespace never count
			f.Text = "same"
			if _, err := facts.In(in).Put(ctx, fmt.Sprint(i), f); err != nil {
				tb.Fatal(err)
			}
		}
	}
	in := facts.In("n")
	for what, c := range map[string]struct {
		in   *store.Selection[fact.Fact]
		want []string
	}{
		"equal":                     {in.Filter(kind.Equal("a")), []string{"0"}},
		"equal to the empty value":  {in.Filter(kind.Equal("")), []string{"3"}},
		"equal to an injection":     {in.Filter(kind.Equal("a' OR 'b")), []string{"4"}},
		"in":                        {in.Filter(kind.In("a", "b", "zz")), []string{"0", "1"}},
		"in, of tags":               {in.Filter(tags.In("x", "y")), []string{"0", "2"}},
		"in nothing":                {in.Filter(kind.In()), nil},
		"less":                      {in.Filter(count.Less(7)), []string{"0", "1"}},
		"at most":                   {in.Filter(count.AtMost(7)), []string{"0", "1", "2"}},
		"greater":                   {in.Filter(count.Greater(-7)), []string{"1", "2", "3", "4"}},
		"exists":                    {in.Filter(tags.Exists()), []string{"0", "2", "3", "4"}},
		"two values":                {in.Filter(kind.Equal("a"), tags.Equal("y")), []string{"0"}},
		"two values of one index":   {in.Filter(tags.Equal("y"), tags.Equal("x")), []string{"0"}},
		"two that exclude":          {in.Filter(kind.Equal("a"), kind.Equal("b")), nil},
		"in, and in":                {in.Filter(kind.In("a", "b", "ab"), tags.In("y", "")), []string{"0", "2"}},
		"a range":                   {in.Filter(count.AtLeast(0), count.Less(301)), []string{"1", "2", "3"}},
		"a value, and a range":      {in.Filter(tags.Equal("y"), count.Greater(0)), []string{"2"}},
		"exists, in, and less":      {in.Filter(tags.Exists(), kind.In("a", "b", ""), count.Less(300)), []string{"0"}},
		"a value of nothing":        {in.Filter(tags.Equal("z")), nil},
		"below, of both namespaces": {facts.Filter(kind.Equal("b")), []string{"1", "1"}},
	} {
		for _, index := range []store.SearchIndex[fact.Fact]{meaning, text} {
			found, err := c.in.Search(ctx, index, "same", store.Limit(20))
			var keys []string
			for _, m := range found {
				keys = append(keys, m.Key)
			}
			if err != nil || !slices.Equal(keys, c.want) {
				tb.Errorf("%T, %s: got the keys %q, %v, want %q", index, what, keys, err, c.want)
			}
		}
	}
}
