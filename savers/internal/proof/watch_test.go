//go:build unix

package proof_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/proof"
)

// notesOn returns a collection of notes.
func notesOn(t *testing.T, b store.Backend) *store.Collection[proof.Note] {
	t.Helper()
	notes, err := store.NewCollection[proof.Note](b, store.Namespace{"notes"})
	if err != nil {
		t.Fatal(err)
	}
	return notes
}

// proveWatchCuts cuts the connections of a watch while another connection writes and deletes. The
// watch must reach the last state, and never yield an older version of an item.
func proveWatchCuts(t *testing.T, b *bench, c *count) {
	t.Helper()
	proxy := testenv.NewProxy(t, b.front.Addr)
	watched, written := notesOn(t, b.openStore(t, b.via(proxy.Addr))), notesOn(t, b.openStore(t, b.url))
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var all sync.WaitGroup
	seen, versions := make(map[string]string), make(map[string]int64)
	all.Go(func() {
		for change, err := range watched.Watch(ctx, store.Every(5*time.Millisecond)) {
			mu.Lock()
			switch it := change.Item; {
			case err != nil:
				t.Errorf("watch: %v", err)
			case change.Removed:
				delete(seen, it.Key)
			case it.Version <= versions[it.Key]:
				t.Errorf("watch: %s: version %d follows %d", it.Key, it.Version, versions[it.Key])
			default:
				seen[it.Key], versions[it.Key] = it.Value.Text, it.Version
			}
			mu.Unlock()
		}
	})
	want := make(map[string]string)
	for n := range 60 {
		key, text := fmt.Sprint("note ", n%7), fmt.Sprint(n)
		if _, err := written.Put(t.Context(), key, proof.Note{Text: text}); err != nil {
			t.Fatal(err)
		}
		if want[key] = text; n%5 == 0 {
			if err := written.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			delete(want, key)
		}
		if n%6 == 0 {
			proxy.Cut()
			c.cuts++
		}
		rest(randomly(5 * time.Millisecond))
	}
	for begun := time.Now(); ; rest(time.Millisecond) {
		mu.Lock()
		done := maps.Equal(seen, want)
		mu.Unlock()
		if done {
			break
		}
		if time.Since(begun) > patience || t.Failed() {
			t.Fatalf("the watch sees %v, want %v", seen, want)
		}
	}
	cancel()
	all.Wait()
}
