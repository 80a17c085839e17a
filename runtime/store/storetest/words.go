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
			found, err := c.Search(ctx, s.index, word)
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
		found, err := c.Search(ctx, s.index, "red")
		if err != nil {
			tb.Fatal(err)
		}
		return len(found) == 0
	})
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
		found, err := s.Search(ctx, s.index, word)
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
