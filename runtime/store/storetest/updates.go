package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
)

func increment(f *fact.Fact) error { f.Count++; return nil }

func testUpdateOnce(tb testing.TB, place Storage) {
	tb.Helper()
	c, ctx := collection[fact.Fact](tb, open(tb, place)).In("ada"), tb.Context()
	update := func(what string, change func(*fact.Fact) error, once string, want int) store.Item[fact.Fact] {
		tb.Helper()
		it, err := c.Update(ctx, "n", change, store.Once(once))
		if err != nil || it.Value.Count != want || it.Key != "n" || it.Namespace.String() != "facts/ada" {
			tb.Errorf("%s: got %+v, %v, want the count %d", what, it, err, want)
		}
		return it
	}
	first := update("an update that creates the item", increment, "task 1", 1)
	if got := update("the same again", increment, "task 1", 1); got.Version != first.Version {
		tb.Errorf("a repeated update: got version %d, want %d", got.Version, first.Version)
	}
	second := update("another key", increment, "task 2", 2)
	if second.Version <= first.Version {
		tb.Errorf("a second update: got version %d after %d, want a larger one", second.Version, first.Version)
	}
	update("the first key again", increment, "task 1", 2)
	refuse := func(*fact.Fact) error { return errEmbed }
	update("a change that fails the second time", refuse, "task 1", 2)
	_, err := c.Update(ctx, "n", refuse, store.Once("task 3"))
	wantErr(tb, "a change that fails the first time", err, errEmbed)
	update("the key of a change that failed", increment, "task 3", 3)
	if it, err := c.Get(ctx, "n"); err != nil || it.Value.Count != 3 {
		tb.Errorf("after three updates: got %+v, %v, want the count 3", it, err)
	}
	if err := c.Delete(ctx, "n"); err != nil {
		tb.Fatal(err)
	}
	if got := update("a repeated update of a deleted item", increment, "task 3", 0); got.Version != 0 {
		tb.Errorf("a repeated update of a deleted item: got version %d, want 0", got.Version)
	}
	if _, err := c.Get(ctx, "n"); !errors.Is(err, store.ErrNotFound) {
		tb.Errorf("after a repeated update: got %v, want no item", err)
	}
	_, err = c.Update(ctx, "n", increment, store.Once(""))
	wantInvalid(tb, "an empty key", err)
}

func testUpdateLife(tb testing.TB, place Storage) {
	tb.Helper()
	b, ctx := open(tb, place), tb.Context()
	c := collection(tb, b, store.DefaultTTL[fact.Fact](time.Hour)).In("ada")
	life := func(what string, opts ...store.UpdateOption) store.Item[fact.Fact] {
		tb.Helper()
		if _, err := c.Update(ctx, "n", increment, opts...); err != nil {
			tb.Fatalf("%s: %v", what, err)
		}
		it, err := c.Get(ctx, "n")
		if err != nil {
			tb.Fatalf("%s: %v", what, err)
		}
		return it
	}
	want := func(what string, it store.Item[fact.Fact], expires time.Time) {
		tb.Helper()
		if !it.Expires.Equal(expires) {
			tb.Errorf("%s: it expires at %v, want %v", what, it.Expires, expires)
		}
	}
	it := life("an update that creates the item")
	want("the default", it, it.Updated.Add(time.Hour))
	end := it.Expires
	want("an update keeps the end", life("a second update"), end)
	it = life("with a TTL", store.TTL(2*time.Hour))
	want("a TTL", it, it.Updated.Add(2*time.Hour))
	at := time.Now().Add(5 * time.Hour).Truncate(time.Microsecond)
	want("an end", life("with an end", store.ExpireAt(at)), at)
	want("the end is kept", life("without one"), at)
	want("no end", life("with no end", store.ExpireAt(time.Time{})), time.Time{})
	if _, err := c.Update(ctx, "n", increment, store.TTL(1)); err == nil {
		tb.Error("a TTL of a nanosecond: got no error, want an *InvalidError")
	}
}
