package savers_test

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// items is the number of items in a store. Ten of them have each kind.
var items = flag.Int("items", 10_000, "the items in a store of BenchmarkStore")

var facts = store.Namespace{"facts"}

func factKey(n int) string { return fmt.Sprintf("%07d", n%*items) }

func factKind(n int) []byte { return []byte(strconv.Itoa(n % (*items / 10))) }

// bareStore are the operations of a store by the driver alone, on a table or keys of its own.
type bareStore struct {
	fill   func(ctx context.Context, from, n int) error // stores items in one transaction or pipeline
	put    func(ctx context.Context, n int, value []byte) error
	get    func(ctx context.Context, n int) (found int, err error)
	page   func(ctx context.Context, n int) (found int, err error) // 100 items after item n
	filter func(ctx context.Context, n int) (found int, err error) // the items of the kind of item n
}

// stores are the backends on servers that sync every commit.
var stores = []struct {
	name string
	open func(tb testing.TB) (store.Backend, *bareStore)
}{
	{"sqlite", storeOnSQLite}, {"postgres", storeOnPostgres}, {"mysql", storeOnMySQL}, {"redis", storeOnRedis},
}

// BenchmarkStore measures calls on stores of many items, next to the same by the driver alone. The
// calls alternate.
func BenchmarkStore(b *testing.B) {
	for _, where := range stores {
		b.Run(where.name, func(b *testing.B) {
			backend, bare := where.open(b)
			fillStore(b, backend, bare)
			calls := storeCalls(backend, bare)
			ours, base := make([][]time.Duration, len(calls)), make([][]time.Duration, len(calls))
			for n := 0; b.Loop(); {
				for i, c := range calls {
					for range turn {
						n = (n + 7919) % (*items / 2)
						ours[i] = append(ours[i], timed(b, c.want, n, c.call))
						base[i] = append(base[i], timed(b, c.want, n, c.bare))
					}
				}
			}
			for i, c := range calls {
				table = append(table, row{
					saver: where.name, what: fmt.Sprintf("store of %d items: %s, compared with the bare driver", *items, c.name),
					figure: least(ours[i]), base: least(base[i]), format: micros,
				})
			}
		})
	}
}

// storeCall is a call on a store, and the same by the driver alone. Both return the number of
// items.
type storeCall struct {
	name       string
	want       int
	call, bare func(ctx context.Context, n int) (found int, err error)
}

func storeCalls(backend store.Backend, bare *bareStore) []storeCall {
	one := func(ctx context.Context, op store.Op) (int, error) {
		results, err := backend.Do(ctx, []store.Op{op})
		if err != nil || !results[0].Found {
			return 0, err
		}
		return 1, nil
	}
	find := func(ctx context.Context, q store.Query) (int, error) {
		q.Namespace, q.Exact, q.Limit = facts, true, 100
		found, err := backend.Find(ctx, q)
		return len(found), err
	}
	writes := 0
	value := func() []byte { // SQLite writes nothing if the value stays
		writes++
		return fmt.Appendf(make([]byte, 0, 200), "%0200d", writes)
	}
	return []storeCall{
		{"get", 1, func(ctx context.Context, n int) (int, error) {
			return one(ctx, store.Op{Kind: store.OpGet, Namespace: facts, Key: factKey(n)})
		}, bare.get},
		{"a page of 100", 100, func(ctx context.Context, n int) (int, error) {
			return find(ctx, store.Query{After: &store.Position{Namespace: facts, Key: factKey(n)}})
		}, bare.page},
		{"10 items by an index", 10, func(ctx context.Context, n int) (int, error) {
			equal := store.Range{From: factKind(n), To: append(factKind(n), 0)}
			return find(ctx, store.Query{Where: []store.Condition{{Index: "kind", Ranges: []store.Range{equal}}}})
		}, bare.filter},
		{"put", 1, func(ctx context.Context, n int) (int, error) {
			op := storedFact(n)
			op.Value = value()
			return one(ctx, op)
		}, func(ctx context.Context, n int) (int, error) { return 1, bare.put(ctx, n, value()) }},
	}
}

// storedFact is the put of item n.
func storedFact(n int) store.Op {
	return store.Op{
		Kind: store.OpPut, Namespace: facts, Key: factKey(n), Value: fmt.Appendf(nil, "%0200d", n),
		Index: []store.Entry{{Index: "kind", Value: factKind(n)}},
	}
}

// fillStore stores the items on both sides.
func fillStore(b *testing.B, backend store.Backend, bare *bareStore) {
	b.Helper()
	for from := 0; from < *items; from += store.MaxOps {
		ops := make([]store.Op, store.MaxOps)
		for i := range ops {
			ops[i] = storedFact(from + i)
		}
		must(backend.Do(b.Context(), ops))(b)
		if err := bare.fill(b.Context(), from, len(ops)); err != nil {
			b.Fatal(err)
		}
	}
}

// timed returns the time of a call that finds want items.
func timed(b *testing.B, want, n int, call func(ctx context.Context, n int) (int, error)) time.Duration {
	b.Helper()
	start := time.Now()
	found, err := call(b.Context(), n)
	took := time.Since(start)
	if err != nil || found != want {
		b.Fatalf("item %d: got %d items, %v; want %d", n, found, err, want)
	}
	return took
}
