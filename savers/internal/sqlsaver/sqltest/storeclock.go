package sqltest

import (
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// StoreClock tests that the times of a store are those of the server. The sessions of early have a
// clock that says then, years ago. Those of late have the true clock, and the same tables.
func StoreClock(t *testing.T, early, late store.Backend, then time.Time) {
	t.Helper()
	do := func(b store.Backend, op store.Op) store.Result {
		t.Helper()
		op.Namespace = store.Namespace{"n"}
		results, err := b.Do(t.Context(), []store.Op{op})
		if err != nil {
			t.Fatal(err)
		}
		return results[0]
	}
	near := func(what string, got, want time.Time) {
		t.Helper()
		if diff := got.Sub(want).Abs(); diff > 24*time.Hour { // the clock may run
			t.Errorf("%s: got %v, want about %v, on the clock of the server", what, got, want)
		}
	}
	do(early, store.Op{Kind: store.OpPut, Key: "ttl", TTL: 1000 * time.Hour})
	do(early, store.Op{Kind: store.OpPut, Key: "end", ExpireAt: then.Add(1000 * time.Hour)})
	do(early, store.Op{Kind: store.OpPut, Key: "ever"})
	r := do(early, store.Op{Kind: store.OpGet, Key: "ttl"})
	near("created", r.Record.Created, then)
	near("updated", r.Record.Updated, then)
	near("expires", r.Record.Expires, then.Add(1000*time.Hour))
	for b, want := range map[store.Backend]int{early: 3, late: 1} {
		page, err := b.Find(t.Context(), store.Query{Limit: 10})
		if err != nil || len(page) != want {
			t.Errorf("find: got %d items, %v, want %d that live on the clock of the session", len(page), err, want)
		}
		for _, key := range []string{"ttl", "end"} {
			if got := do(b, store.Op{Kind: store.OpGet, Key: key}); got.Found != (b == early) {
				t.Errorf("get %s: got found %v, want %v", key, got.Found, b == early)
			}
		}
	}
	if n, err := early.Sweep(t.Context(), 10); err != nil || n != 0 {
		t.Errorf("a sweep before the end of the items: got %d, %v, want 0", n, err)
	}
	if n, err := late.Sweep(t.Context(), 10); err != nil || n != 2 {
		t.Errorf("a sweep after it: got %d, %v, want 2", n, err)
	}
}
