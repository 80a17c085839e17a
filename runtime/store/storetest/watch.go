package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
)

// watcher collects what a watch yields.
type watcher struct {
	mu       sync.Mutex
	versions map[string]int64 // the last of each key
	text     map[string]string
	err      error
}

// watchAll starts a watch, which ends with the test or by stop.
func watchAll(tb testing.TB, facts *store.Collection[fact.Fact], opts ...store.WatchOption) (w *watcher, stop func()) {
	tb.Helper()
	w = &watcher{versions: make(map[string]int64), text: make(map[string]string)}
	ctx, cancel := context.WithCancel(tb.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for change, err := range facts.Watch(ctx, opts...) {
			w.add(change, err)
		}
	})
	stop = func() {
		cancel()
		done.Wait()
	}
	tb.Cleanup(stop)
	return w, stop
}

func (w *watcher) add(change store.Change[fact.Fact], err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	it := change.Item
	name := it.Namespace.String() + ":" + it.Key
	switch last := w.versions[name]; {
	case err != nil:
		w.err = errors.Join(w.err, err)
	case change.Removed && it.Version != last:
		w.err = errors.Join(w.err, fmt.Errorf("%s is removed with version %d, want %d, the last that was yielded", name, it.Version, last))
	case change.Removed:
		delete(w.text, name)
	case it.Version <= last:
		w.err = errors.Join(w.err, fmt.Errorf("%s: version %d follows %d, want a larger one", name, it.Version, last))
	default:
		w.versions[name], w.text[name] = it.Version, it.Value.Text
	}
}

// failed returns the first errors of a watch.
func (w *watcher) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// sees waits until the watch knows these texts by name, and no others.
func (w *watcher) sees(tb testing.TB, what string, want map[string]string) {
	tb.Helper()
	until(tb, what, func() bool {
		if err := w.failed(); err != nil {
			tb.Fatalf("%s: %v", what, err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.text) != len(want) {
			return false
		}
		for name, text := range want {
			if got, is := w.text[name]; !is || got != text {
				return false
			}
		}
		return true
	})
}

func testWatch(tb testing.TB, place Storage) {
	tb.Helper()
	facts := collection[fact.Fact](tb, open(tb, place))
	ada, ctx := facts.In("ada"), tb.Context()
	set := func(c *store.Collection[fact.Fact], key, text string, opts ...store.PutOption) {
		tb.Helper()
		if _, err := c.Put(ctx, key, fact.Fact{Text: text}, opts...); err != nil {
			tb.Fatal(err)
		}
	}
	set(ada, "old", "1")
	w, stop := watchAll(tb, facts, store.Every(5*time.Millisecond))
	w.sees(tb, "what there is", map[string]string{"facts/ada:old": "1"})
	set(ada, "new", "1")
	set(facts.In("bob"), "x", "1")
	set(ada, "short", "1", store.TTL(30*time.Millisecond))
	w.sees(tb, "new items, without one that expires", map[string]string{"facts/ada:old": "1", "facts/ada:new": "1", "facts/bob:x": "1"})
	set(ada, "old", "2")
	if err := ada.Delete(ctx, "new"); err != nil {
		tb.Fatal(err)
	}
	w.sees(tb, "a change and a delete", map[string]string{"facts/ada:old": "2", "facts/bob:x": "1"})
	stop()
	set(ada, "late", "1")
	w.sees(tb, "nothing after the context has ended", map[string]string{"facts/ada:old": "2", "facts/bob:x": "1"})

	var all sync.WaitGroup
	one, _ := watchAll(tb, ada, store.Every(5*time.Millisecond))
	for n := range 8 {
		all.Go(func() {
			for i := range rounds(20) {
				key := fmt.Sprint(n % 4)
				_, err := ada.Put(ctx, key, fact.Fact{Text: fmt.Sprint(n, " ", i)})
				if err == nil && i%5 == 4 {
					err = ada.Delete(ctx, key)
				}
				if err != nil {
					tb.Errorf("writer %d: %v", n, err)
				}
			}
		})
	}
	all.Wait()
	want := make(map[string]string)
	for it, err := range ada.List(ctx) {
		if err != nil {
			tb.Fatal(err)
		}
		want["facts/ada:"+it.Key] = it.Value.Text
	}
	one.sees(tb, "the last state after many writers", want)
}

func testWatchLimit(tb testing.TB, place Storage) {
	tb.Helper()
	facts := collection[fact.Fact](tb, open(tb, place)).In("ada")
	for i := range 3 {
		if _, err := facts.Put(tb.Context(), fmt.Sprint(i), fact.Fact{}); err != nil {
			tb.Fatal(err)
		}
	}
	for name, opt := range map[string]store.WatchOption{"2 of 3 items": store.MaxWatched(2), "0 items": store.MaxWatched(0), "no time": store.Every(0)} {
		var last error
		for _, err := range facts.Watch(tb.Context(), opt) {
			last = err
		}
		wantInvalid(tb, name, last)
	}
	// Two items are one too many with a third that has gone since the look before.
	pair := facts.In("pair")
	var first, second store.Batch
	pair.QueuePut(&first, "a", fact.Fact{Text: "a"})
	pair.QueuePut(&first, "b", fact.Fact{Text: "b"})
	pair.QueueDelete(&second, "a")
	pair.QueuePut(&second, "c", fact.Fact{Text: "c"})
	if err := first.Do(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	w, stop := watchAll(tb, pair, store.Every(5*time.Millisecond), store.MaxWatched(2))
	w.sees(tb, "two items", map[string]string{"facts/ada/pair:a": "a", "facts/ada/pair:b": "b"})
	if err := second.Do(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	w.sees(tb, "one for another", map[string]string{"facts/ada/pair:b": "b", "facts/ada/pair:c": "c"})
	stop()
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	for change, err := range facts.Watch(ctx) {
		tb.Errorf("a watch with a cancelled context: got %+v, %v, want nothing", change, err)
	}
	for _, err := range facts.Watch(tb.Context()) {
		if err != nil {
			tb.Errorf("the first change: %v", err)
		}
		break // leaves the loop
	}
}

// testNotify watches without an interval, so that only notifications make the watch look.
func testNotify(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	n, can := b.(store.Notifier)
	if can != place.Notifies {
		tb.Fatalf("the backend is a store.Notifier: got %v, want %v, as Storage.Notifies says", can, place.Notifies)
	}
	scoped := store.Scoped(b, func(context.Context) (store.Namespace, error) { return users, nil })
	if _, is := scoped.(store.Notifier); is != can {
		tb.Errorf("a scope of the backend is a store.Notifier: got %v, want %v", is, can)
	}
	if !can {
		return
	}
	stop, err := n.Notify(tb.Context(), users, func() {})
	if err != nil {
		tb.Fatalf("notify: %v", err)
	}
	stop()
	facts := collection[fact.Fact](tb, b)
	ada, ctx := facts.In("ada"), tb.Context()
	write := func(c *store.Collection[fact.Fact], key, text string) {
		tb.Helper()
		if _, err := c.Put(ctx, key, fact.Fact{Text: text}); err != nil {
			tb.Fatal(err)
		}
	}
	write(ada, "k", "0")
	w, _ := watchAll(tb, ada, store.Every(1000*time.Hour))
	w.sees(tb, "what there is", map[string]string{"facts/ada:k": "0"})
	write(facts.In("bob"), "k", "x")
	write(ada, "k", "1")
	w.sees(tb, "a put", map[string]string{"facts/ada:k": "1"})
	write(ada.In("below"), "l", "2")
	w.sees(tb, "a put below", map[string]string{"facts/ada:k": "1", "facts/ada/below:l": "2"})
	var batch store.Batch
	facts.In("bob").QueueDelete(&batch, "k")
	ada.QueueDelete(&batch, "k")
	if err := batch.Do(ctx); err != nil {
		tb.Fatal(err)
	}
	w.sees(tb, "a delete in a batch of two namespaces", map[string]string{"facts/ada/below:l": "2"})
}
