package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
)

func testTextTies(tb testing.TB, place Storage) {
	tb.Helper()
	s := newShelf(tb, open(tb, place))
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

func testWordsFollow(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	s, ctx := newShelf(tb, b), tb.Context()
	c := s.In("a")
	put := func(text string, opts ...store.PutOption) int64 {
		tb.Helper()
		version, err := c.Put(ctx, "k", fact.Fact{Text: text}, opts...)
		if err != nil {
			tb.Fatal(err)
		}
		return version
	}
	// finds says which of the colours are found.
	finds := func(what string, want ...string) {
		tb.Helper()
		var got []string
		for _, word := range []string{"red", "green", "blue"} {
			found, err := c.Search(ctx, s.text, word)
			if err != nil {
				tb.Fatal(err)
			}
			if len(found) == 1 {
				got = append(got, word)
			}
		}
		if !slices.Equal(got, want) {
			tb.Errorf("%s: got an item for %q, want %q", what, got, want)
		}
	}
	version := put("red", store.Once("task"))
	finds("a put", "red")
	_, err := c.Put(ctx, "k", fact.Fact{Text: "blue"}, store.IfAbsent())
	wantConflict(tb, "a put of an item that exists", err, 0, version)
	finds("a put that failed", "red")
	var batch store.Batch
	c.QueuePut(&batch, "k", fact.Fact{Text: "blue"})
	c.QueuePut(&batch, "k", fact.Fact{Text: "green"}, store.IfVersion(version))
	wantErr(tb, "a batch with a conflict", batch.Do(ctx), store.ErrConflict)
	finds("a batch that failed", "red")
	batch = store.Batch{}
	c.QueuePut(&batch, "k", fact.Fact{Text: "blue"})
	c.QueueDelete(&batch, "k")
	c.QueuePut(&batch, "k", fact.Fact{Text: "green blue green"})
	if err := batch.Do(ctx); err != nil {
		tb.Fatal(err)
	}
	finds("a batch of several puts", "green", "blue")
	put("red", store.Once("task"))
	finds("a put that ran before", "green", "blue")
	if _, err := c.Update(ctx, "k", func(f *fact.Fact) error { f.Count++; return nil }); err != nil {
		tb.Fatal(err)
	}
	finds("an update of another field", "green", "blue")
	version = put("green")
	finds("a word less", "green")
	if err := c.Delete(ctx, "k", store.IfVersion(version)); err != nil {
		tb.Fatal(err)
	}
	finds("a delete")
	put("")
	finds("a put without a word")
	put("red", store.ExpireAt(past))
	finds("an expired item")
	if _, err := b.Sweep(ctx, 10); err != nil {
		tb.Fatal(err)
	}
	put("blue")
	finds("a put after a sweep", "blue")
	plain := collection[fact.Fact](tb, b).In("a")
	if _, err := plain.Put(ctx, "k", fact.Fact{Text: "red"}); err != nil {
		tb.Fatal(err)
	}
	finds("a put by a program without the index")
	put("red", store.TTL(time.Hour))
	if _, err := c.Get(ctx, "k", store.Refresh()); err != nil {
		tb.Fatal(err)
	}
	finds("a refresh", "red")
	put("red", store.TTL(time.Millisecond))
	until(tb, "the item expires", func() bool {
		found, err := c.Search(ctx, s.text, "red")
		if err != nil {
			tb.Fatal(err)
		}
		return len(found) == 0
	})
}

func testReindexWords(tb testing.TB, place Storage) {
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
	s := newShelf(tb, b)
	s.want(tb, s.Filter(), "number", nil)
	if done, err := s.Reindex(ctx); err != nil || done != n {
		tb.Fatalf("reindex: got %d, %v, want %d items", done, err, n)
	}
	s.want(tb, s.In("a").Filter(), "number 7", []store.SearchOption{store.Limit(2)}, "007", "067")
	after, err := plain.Get(ctx, "007")
	if err != nil || after.Version != before.Version || !after.Updated.Equal(before.Updated) {
		tb.Errorf("reindex: got version %d of %v, %v, want them unchanged: %d, %v",
			after.Version, after.Updated, err, before.Version, before.Updated)
	}
}

func testWordWriters(tb testing.TB, place Storage) {
	tb.Helper()
	s, ctx := newShelf(tb, open(tb, place)), tb.Context()
	words := strings.Fields("red green blue black white")
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			for j := range 6 {
				text := strings.Join([]string{words[(i+j)%5], words[(i*j)%5], words[j%5]}, " ")
				if _, err := s.In("a").Put(ctx, fmt.Sprint(j%2), fact.Fact{Text: text}); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	done.Wait()
	items := collect(tb, s.List(ctx))
	for _, word := range words {
		var want []string
		for _, it := range items {
			if slices.Contains(strings.Fields(it.Value.Text), word) {
				want = append(want, it.Key)
			}
		}
		found, err := s.Search(ctx, s.text, word)
		if err != nil {
			tb.Fatal(err)
		}
		var got []string
		for _, m := range found {
			got = append(got, m.Key)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			tb.Errorf("search %q: got the keys %q, want %q, whose texts have it", word, got, want)
		}
	}
}
