package storetest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// collection returns a collection of facts in a backend.
func collection[T any, P wire.Generated[T]](tb testing.TB, b store.Backend, opts ...store.CollectionOption[T]) *store.Collection[T] {
	tb.Helper()
	c, err := store.NewCollection[T, P](b, store.Namespace{"facts"}, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// keysOf returns the keys of the items that a selection lists.
func keysOf[T any](tb testing.TB, s *store.Selection[T], opts ...store.ListOption) (keys []string) {
	tb.Helper()
	for _, it := range collect(tb, s.List(tb.Context(), opts...)) {
		keys = append(keys, it.Key)
	}
	return keys
}

func testOperators(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	kind := store.NewIndex("kind", func(f *fact.Fact) string { return f.Kind })
	score := store.NewIndex("score", func(f *fact.Fact) float64 { return f.Score })
	count := store.NewIndex("count", func(f *fact.Fact) int { return f.Count })
	at := store.NewIndex("at", func(f *fact.Fact) time.Time { return f.At })
	tags := store.NewListIndex("tags", func(f *fact.Fact) []string { return f.Tags })
	sourced := store.NewIndex("sourced", func(f *fact.Fact) bool { return f.From != nil })
	facts := collection(tb, b, kind, score, count, at, tags, sourced)
	for i, f := range []fact.Fact{
		{Kind: "a", Score: math.Inf(-1), Count: math.MinInt, At: past.Add(-time.Hour), Tags: []string{"x", "x", "y"}},
		{Kind: "b", Score: -1.5, Count: -256, At: past},
		{Kind: "ab", Score: 0, Count: 0, At: past.Add(time.Microsecond), Tags: []string{"y"}, From: &fact.Source{}},
		{Kind: "", Score: 2, Count: 255, At: past.Add(time.Hour), Tags: []string{""}},
		{Kind: "a'; --", Score: math.Inf(1), Count: math.MaxInt, At: past.Add(1e6 * time.Hour)},
	} {
		if _, err := facts.Put(tb.Context(), fmt.Sprint(i), f); err != nil {
			tb.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		got  *store.Selection[fact.Fact]
		want string
	}{
		"kind = a":           {facts.Filter(kind.Equal("a")), "0"},
		"kind = injection":   {facts.Filter(kind.Equal("a'; --")), "4"},
		"kind in":            {facts.Filter(kind.In("a", "b", "zz")), "0,1"},
		"kind in none":       {facts.Filter(kind.In()), ""},
		"kind < ab":          {facts.Filter(kind.Less("ab")), "0,3,4"},
		"kind exists":        {facts.Filter(kind.Exists()), "0,1,2,3,4"},
		"score < 0":          {facts.Filter(score.Less(0)), "0,1"},
		"score <= 0":         {facts.Filter(score.AtMost(0)), "0,1,2"},
		"score > 0":          {facts.Filter(score.Greater(0)), "3,4"},
		"score = -0":         {facts.Filter(score.Equal(math.Copysign(0, -1))), "2"},
		"count >= -256":      {facts.Filter(count.AtLeast(-256)), "1,2,3,4"},
		"count = min":        {facts.Filter(count.Equal(math.MinInt)), "0"},
		"at > past":          {facts.Filter(at.Greater(past)), "2,3,4"},
		"at <= past":         {facts.Filter(at.AtMost(past)), "0,1"},
		"tags = y":           {facts.Filter(tags.Equal("y")), "0,2"},
		"tags exist":         {facts.Filter(tags.Exists()), "0,2,3"},
		"sourced":            {facts.Filter(sourced.Equal(true)), "2"},
		"between, and tags":  {facts.Filter(count.AtLeast(-300), count.Less(256), tags.Exists()), "2,3"},
		"no filter":          {facts.Filter(), "0,1,2,3,4"},
		"filters below a ns": {facts.In("x").Filter(kind.Exists()), ""},
	} {
		if got := strings.Join(keysOf(tb, c.got), ","); got != c.want {
			tb.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	wantNames(tb, "limit 2", keysOf(tb, facts.Filter(), store.Limit(2)), "0", "1")
	wantNames(tb, "after 1", keysOf(tb, facts.Filter(score.Exists()), store.Limit(2), store.After(facts.Namespace(), "1")), "2", "3")
	other := store.NewIndex("kind", func(f *fact.Fact) string { return f.Text })
	for _, err := range facts.Filter(other.Equal("a")).List(tb.Context()) {
		wantInvalid(tb, "a filter of an undeclared index", err)
	}
}

func testUpdates(tb testing.TB, place Storage) {
	tb.Helper()
	facts := collection[fact.Fact](tb, open(tb, place)).In("ada")
	var all sync.WaitGroup
	each := rounds(10)
	for range 8 {
		all.Go(func() {
			for range each {
				if _, err := facts.Update(tb.Context(), "n", func(f *fact.Fact) error { f.Count++; return nil }); err != nil {
					tb.Errorf("update: %v", err)
				}
			}
		})
	}
	all.Wait()
	got, err := facts.Get(tb.Context(), "n")
	if err != nil || got.Value.Count != 8*each {
		tb.Errorf("got %d, %v, want %d", got.Value.Count, err, 8*each)
	}
	stop := errors.New("stop")
	if _, err := facts.Update(tb.Context(), "n", func(*fact.Fact) error { return stop }); !errors.Is(err, stop) {
		tb.Errorf("an error of the change: got %v, want %v", err, stop)
	}
}
