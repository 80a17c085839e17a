package storetest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// wantCached fails unless a cache has a value for a key, or none if want is nil.
func wantCached(tb testing.TB, c store.Cache, key string, want []byte) {
	tb.Helper()
	got, ok, err := c.Get(tb.Context(), key)
	if err != nil || ok != (want != nil) || !bytes.Equal(got, want) {
		tb.Errorf("the cache in %s for the key %.20q: got %.20q, %v, %v; want %.20q", c.Namespace, key, got, ok, err, want)
	}
}

// fillCache puts a value into a cache.
func fillCache(tb testing.TB, c store.Cache, key string, value []byte, ttl time.Duration) {
	tb.Helper()
	if err := c.Put(tb.Context(), key, value, ttl); err != nil {
		tb.Errorf("a put of the key %.20q into a cache: %v", key, err)
	}
}

func testCache(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	c, other := store.Cache{Backend: b, Namespace: store.Namespace{"cache"}}, store.Cache{Backend: b, Namespace: store.Namespace{"cache", "other"}}
	wantCached(tb, c, "k", nil)
	fillCache(tb, c, "k", []byte("for ever"), 0)
	fillCache(tb, c, "\xff\x00%", []byte("an hour"), time.Hour)
	fillCache(tb, c, "empty", []byte{}, 0)
	fillCache(tb, other, "k", []byte("of another cache"), 0)
	wantCached(tb, c, "k", []byte("for ever"))
	wantCached(tb, c, "\xff\x00%", []byte("an hour"))
	wantCached(tb, c, "empty", []byte{})
	wantCached(tb, other, "k", []byte("of another cache"))
	wantCached(tb, other, "empty", nil)
	if r := one(tb, b, get(c.Namespace, "\xff\x00%")).Record; r.Expires.Sub(r.Updated) != time.Hour {
		tb.Fatalf("a value that was cached for an hour expires at %v, want an hour after %v", r.Expires, r.Updated)
	}

	fillCache(tb, c, "k", []byte("for some milliseconds"), 20*time.Millisecond)
	until(tb, "the value expires", func() bool {
		_, ok, err := c.Get(tb.Context(), "k")
		return !ok || err != nil
	})
	wantCached(tb, c, "k", nil)
	wantCached(tb, other, "k", []byte("of another cache"))
	fillCache(tb, c, "k", []byte("again"), time.Hour)
	wantCached(tb, c, "k", []byte("again"))
	wantCached(tb, c, "empty", []byte{})
}

// testCacheFills lets many tasks miss the same keys and fill them.
func testCacheFills(tb testing.TB, place Storage) {
	tb.Helper()
	c := store.Cache{Backend: open(tb, place), Namespace: store.Namespace{"cache"}}
	value := func(n int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d,", n), 100) }
	var tasks sync.WaitGroup
	for task := range 20 {
		tasks.Go(func() {
			for i := range rounds(20) {
				n := (task + i) % 5
				got, ok, err := c.Get(tb.Context(), fmt.Sprint(n))
				switch {
				case err != nil:
					tb.Errorf("a get of the key %d: %v", n, err)
				case !ok || i%3 == 0: // another process missed it, too
					fillCache(tb, c, fmt.Sprint(n), value(n), time.Hour)
				case !bytes.Equal(got, value(n)):
					tb.Errorf("the key %d: got %.20q, want %.20q", n, got, value(n))
				}
			}
		})
	}
	tasks.Wait()
	for n := range 5 {
		wantCached(tb, c, fmt.Sprint(n), value(n))
	}
}
