package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Change is a change of an item that a watch has found.
type Change[T any] struct {
	Item    Item[T] // as it is now; of a removed item only Namespace, Key, and Version, the last that the watch has yielded
	Removed bool    // the item was deleted, has expired, or no longer matches the filters
}

// Notifier is a [Backend] that can say that something may have changed. It makes a watch look
// earlier. A notification can be lost or be one too many.
type Notifier interface {
	// Notify calls changed after writes in the namespace n and those below it, until stop is
	// called. ctx limits only the call of Notify. changed returns immediately and does not call
	// the backend. It may be called on any goroutine, concurrently, and once more while stop
	// runs, but not after stop has returned. The caller calls stop once.
	Notify(ctx context.Context, n Namespace, changed func()) (stop func(), err error)
}

// WatchOption is an option of watches: [Every] and [MaxWatched].
type WatchOption interface{ watch(w *watchOptions) }

type watchOptions struct {
	every time.Duration
	most  int
	err   error
}

type every time.Duration

func (d every) watch(w *watchOptions) {
	if w.every = time.Duration(d); d <= 0 {
		w.err = &InvalidError{"every", w.every.String(), "more than 0"}
	}
}

// Every sets how often a watch looks for changes. The default is a second.
func Every(d time.Duration) WatchOption { return every(d) }

type maxWatched int

func (n maxWatched) watch(w *watchOptions) {
	if w.most = int(n); n < 1 {
		w.err = &InvalidError{"max watched", fmt.Sprint(int(n)), "at least 1"}
	}
}

// MaxWatched sets how many items a watch may have. The default is 10,000. A watch keeps the key
// and the version of each.
func MaxWatched(n int) WatchOption { return maxWatched(n) }

// Watch yields the items of c and of the namespaces below it, and then each change of them. See
// [Selection.Watch].
func (c *Collection[T]) Watch(ctx context.Context, opts ...WatchOption) iter.Seq2[Change[T], error] {
	return c.Filter().Watch(ctx, opts...)
}

// Watch yields the items of s, and then each change of them, until ctx ends. It lists the items in
// an interval, and earlier if the backend is a [Notifier], and compares their versions with those
// that it has yielded. Therefore:
//
//   - The newest state of each item is yielded sooner or later, also after lost connections.
//   - The versions of a key only grow, and no version is yielded twice.
//   - States of an item between two polls are missed. An item that was created and removed between
//     them is missed.
//   - Changes of different items are yielded by namespace and key, not in the order of the writes.
//
// A poll reads all items of s, with their values. Watch small namespaces. More items than
// [MaxWatched] are an [*InvalidError] that ends the sequence. A [*ValueError] stands for one item.
// Watch continues after [ErrUnavailable]; every other error ends it.
func (s *Selection[T]) Watch(ctx context.Context, opts ...WatchOption) iter.Seq2[Change[T], error] {
	return func(yield func(Change[T], error) bool) {
		w := watch[T]{s: s, seen: make(map[string]watched), options: watchOptions{every: time.Second, most: 10_000, err: s.err}}
		for _, opt := range opts {
			opt.watch(&w.options)
		}
		if w.options.err != nil {
			yield(Change[T]{}, w.options.err)
			return
		}
		w.run(ctx, yield)
	}
}

// watch is one loop of Watch.
type watch[T any] struct {
	s       *Selection[T]
	options watchOptions
	seen    map[string]watched // by Namespace.Append, 00 00 and key
	polls   int
}

// watched is an item that was yielded.
type watched struct {
	version int64
	poll    int // the last that found it
}

func (w *watch[T]) run(ctx context.Context, yield func(Change[T], error) bool) {
	hint := make(chan struct{}, 1)
	if n, can := w.s.c.core.backend.(Notifier); can {
		stop, err := n.Notify(ctx, w.s.c.Namespace(), func() {
			select {
			case hint <- struct{}{}:
			default: // the next poll is due already
			}
		})
		if err == nil {
			defer stop()
		} // without notifications, the interval remains
	}
	tick := time.NewTicker(w.options.every)
	defer tick.Stop()
	for {
		err := w.poll(ctx, yield)
		switch {
		case ctx.Err() != nil || errors.Is(err, errStopped):
			return
		case err != nil && !errors.Is(err, ErrUnavailable):
			yield(Change[T]{}, err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-hint:
		}
	}
}

// errStopped is the error of a loop that the caller has left.
var errStopped = errors.New("the caller left the loop")

// poll lists the items once, and yields what has changed.
func (w *watch[T]) poll(ctx context.Context, yield func(Change[T], error) bool) error {
	w.polls++
	l := listing{query: Query{Namespace: w.s.c.ns, Where: w.s.where}}
	count := 0
	for record, err := range l.records(ctx, w.s.c.core.backend) {
		if err != nil {
			return err
		}
		at := string(record.Namespace.Append(nil)) + "\x00\x00" + record.Key
		old, known := w.seen[at]
		w.seen[at] = watched{record.Version, w.polls}
		if count++; count > w.options.most {
			return &InvalidError{"watch", fmt.Sprintf("more than %d items", w.options.most), "a smaller namespace, a filter, or MaxWatched"}
		}
		if known && old.version == record.Version {
			continue
		}
		it, err := w.s.c.core.item(&record)
		if err != nil {
			it.Namespace, it.Key = record.Namespace, record.Key
		}
		if !yield(Change[T]{Item: it}, err) {
			return errStopped
		}
	}
	return w.removed(yield)
}

// removed yields the items that the last poll has not found.
func (w *watch[T]) removed(yield func(Change[T], error) bool) error {
	var gone []string
	for at, item := range w.seen {
		if item.poll != w.polls {
			gone = append(gone, at)
		}
	}
	slices.Sort(gone)
	for _, at := range gone {
		it, err := itemAt[T](at)
		if err != nil {
			return err
		}
		it.Version = w.seen[at].version
		delete(w.seen, at)
		if !yield(Change[T]{it, true}, nil) {
			return errStopped
		}
	}
	return nil
}

// itemAt returns the item with a namespace and a key as a watch keeps them.
func itemAt[T any](at string) (Item[T], error) {
	n, key, _ := strings.Cut(at, "\x00\x00") // a zero byte of a part is 00 ff
	namespace, err := ParseNamespace([]byte(n))
	return Item[T]{Namespace: namespace, Key: key}, err
}
