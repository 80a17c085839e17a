package redis_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// storeOn opens a store with a prefix of its own, and returns its client and the prefix.
func storeOn(tb testing.TB) (store.Backend, *goredis.Client, string) {
	tb.Helper()
	addr, prefix := testenv.Redis(tb)
	client := goredis.NewClient(&goredis.Options{Addr: addr, ReadTimeout: time.Minute})
	b, err := openStore(client, prefix)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Error(err)
		}
	})
	return b, client, prefix
}

func TestStoreNamesADamagedValue(t *testing.T) {
	b, client, prefix := storeOn(t)
	op := store.Op{Kind: store.OpPut, Namespace: store.Namespace{"n"}, Key: "k", Value: []byte("value")}
	if _, err := b.Do(t.Context(), []store.Op{op}); err != nil {
		t.Fatal(err)
	}
	if n := alterRows(t, goredis.NewClient(client.Options()), prefix, []byte("value"), []byte("valve")); n != 1 {
		t.Fatalf("altered %d places, want 1", n)
	}
	op.Kind, op.Value = store.OpGet, nil
	if _, err := b.Do(t.Context(), []store.Op{op}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("get: got %v, want an ErrDamaged", err)
	}
	if _, err := b.Find(t.Context(), store.Query{Limit: 1}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("find: got %v, want an ErrDamaged", err)
	}
}

// trips counts the round trips of a client, and the rows that scripts return.
type trips struct{ n, rows atomic.Int64 }

func (h *trips) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h *trips) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		h.n.Add(1)
		err := next(ctx, cmd)
		if c, is := cmd.(interface{ Slice() ([]any, error) }); is {
			lists, _ := c.Slice() // an error has no rows
			for _, list := range lists {
				if rows, is := list.([]any); is {
					h.rows.Add(int64(len(rows)))
				}
			}
		}
		return err
	}
}

func (h *trips) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		h.n.Add(1)
		return next(ctx, cmds)
	}
}

// many are puts of n items in 10 namespaces. The index "number" has their numbers, "mod" the
// numbers modulo 100, and "all" one value. The text index has the words mod7 and all.
func many(n int) []store.Op {
	ops := make([]store.Op, n)
	for i := range ops {
		ops[i] = store.Op{
			Kind: store.OpPut, Namespace: store.Namespace{"users", fmt.Sprint(i % 10)}, Key: fmt.Sprintf("%06d", i), Value: fmt.Append(nil, "value ", i),
			Index: []store.Entry{
				{Index: "number", Value: fmt.Appendf(nil, "%06d", i)}, {Index: "mod", Value: fmt.Append(nil, i%100)}, {Index: "all", Value: []byte("x")},
			},
			Texts: []store.Text{{Index: "text", Words: []store.Word{{Word: "all", Count: 1}, {Word: fmt.Sprint("mod", i%100), Count: 2}}}},
		}
	}
	return ops
}

func putAll(tb testing.TB, b store.Backend, ops []store.Op) {
	tb.Helper()
	for len(ops) > 0 {
		n := min(len(ops), store.MaxOps)
		if _, err := b.Do(tb.Context(), ops[:n]); err != nil {
			tb.Fatal(err)
		}
		ops = ops[n:]
	}
}

func only(index, value string) []store.Condition {
	return []store.Condition{{Index: index, Ranges: []store.Range{{From: []byte(value), To: []byte(value + "\x00")}}}}
}

func inRange(index, from, to string) []store.Condition {
	return []store.Condition{{Index: index, Ranges: []store.Range{{From: []byte(from), To: []byte(to)}}}}
}

// TestStoreRoundTripsAndReads counts the commands of a client, and the rows that scripts return.
func TestStoreRoundTripsAndReads(t *testing.T) {
	b, client, _ := storeOn(t)
	putAll(t, b, many(3000))
	h := new(trips)
	client.AddHook(h)
	gets := many(1000)
	for i := range gets {
		gets[i] = store.Op{Kind: store.OpGet, Namespace: gets[i].Namespace, Key: gets[i].Key}
	}
	one := store.Namespace{"users", "7"}
	for _, c := range []struct {
		name         string
		trips, reads int64 // an item is a row; so are all its words, each of its entries, and each of its words
		call         func() (int, error)
		found        int
	}{
		{"a batch of 1000 puts", 2, 2000, func() (int, error) { r, err := b.Do(t.Context(), many(1000)); return len(r), err }, 1000},
		{"a batch of 1000 gets", 1, 1000, func() (int, error) { r, err := b.Do(t.Context(), gets); return len(r), err }, 1000},
		{"a page", 1, 100, finds(t, b, store.Query{Limit: 100}), 100},
		{"a page of a namespace", 1, 100, finds(t, b, store.Query{Namespace: one, Limit: 100}), 100},
		{"one value", 1, 30, finds(t, b, store.Query{Where: only("mod", "7"), Limit: 100}), 30},
		{"one value in a namespace", 1, 30, finds(t, b, store.Query{Namespace: one, Exact: true, Where: only("mod", "7"), Limit: 100}), 30},
		{"one value in a namespace without it", 1, 0, finds(t, b, store.Query{Namespace: one, Where: only("mod", "8"), Limit: 100}), 0},
		{"a page of a common value", 1, 10, finds(t, b, store.Query{Where: only("all", "x"), Limit: 10}), 10},
		{"a range", 2, 128 + 20, finds(t, b, store.Query{Where: inRange("number", "000100", "000110"), Limit: 100}), 10},
		{"a range in a namespace", 2, 128 + 10 + 1, finds(t, b, store.Query{Namespace: one, Exact: true, Where: inRange("number", "000100", "000110"), Limit: 100}), 1},
		{"a search for a word", 3, 90, searches(b, nil, "mod7"), 30},
		{"a search for a word of a namespace", 3, 90, searches(b, one, "mod7"), 30},
		{"a search for a word that is not there", 1, 0, searches(b, one, "mod8"), 0},
		{"a search for three words", 3, 60 + 60 + 30, searches(b, nil, "mod7", "mod8", "none"), 30},
		{"a page of a range of all", 2, 2*128 + 10, finds(t, b, store.Query{Where: inRange("number", "", "9"), Limit: 10}), 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.call(); err != nil { // a client may open a connection first
				t.Fatal(err)
			}
			h.n.Store(0)
			h.rows.Store(0)
			n, err := c.call()
			if trips, reads := h.n.Load(), h.rows.Load(); err != nil || n != c.found || trips != c.trips || reads != c.reads {
				t.Errorf("got %d items, %v, %d round trips, %d reads; want %d, no error, %d and %d", n, err, trips, reads, c.found, c.trips, c.reads)
			}
		})
	}
}

func finds(t *testing.T, b store.Backend, q store.Query) func() (int, error) {
	t.Helper()
	return func() (int, error) { r, err := b.Find(t.Context(), q); return len(r), err }
}

// searches returns a search for words, with a limit of 30.
func searches(b store.Backend, n store.Namespace, words ...string) func() (int, error) {
	q := store.TextQuery{Index: "text", Words: words}
	q.Namespace, q.Limit = n, 30
	return func() (int, error) { r, err := b.SearchText(context.Background(), q); return len(r), err }
}

// TestStoreFindsAsTheMemoryStoreDoes asks for pages among so many items that scripts stop early,
// and that entries are read in parts.
func TestStoreFindsAsTheMemoryStoreDoes(t *testing.T) {
	b, _, _ := storeOn(t)
	want := memory.NewStore()
	n := 7000
	if testing.Short() {
		n = 2500
	}
	ops := many(n)
	for i := range ops {
		if i%3 == 0 { // an expired item is there, and is not found
			ops[i].ExpireAt = ops[i].ExpireAt.AddDate(2000, 0, 0)
		}
	}
	putAll(t, b, ops)
	putAll(t, want, ops)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	for range 150 {
		q := store.Query{Limit: 1 + random.IntN(store.MaxPage), Exact: random.IntN(2) == 0}
		if q.Exact || random.IntN(2) == 0 {
			q.Namespace = store.Namespace{"users", fmt.Sprint(random.IntN(11))}
		}
		for range random.IntN(3) {
			q.Where = append(q.Where, randomCondition(random, n))
		}
		if random.IntN(2) == 0 {
			q.After = &store.Position{Namespace: store.Namespace{"users", fmt.Sprint(random.IntN(10))}, Key: fmt.Sprintf("%06d", random.IntN(n))}
		}
		if got, want := foundBy(t, b, q), foundBy(t, want, q); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v: got %d items %.200q, want %d items %.200q", q, len(got), got, len(want), want)
		}
	}
}

func randomCondition(random *rand.Rand, n int) store.Condition {
	one := func(v string) store.Range { return store.Range{From: []byte(v), To: []byte(v + "\x00")} }
	switch random.IntN(5) {
	case 0:
		return store.Condition{Index: "all", Ranges: []store.Range{{}}}
	case 1:
		return store.Condition{Index: "mod", Ranges: []store.Range{one(fmt.Sprint(random.IntN(100)))}}
	case 2:
		return store.Condition{Index: "mod", Ranges: []store.Range{one("7"), one("9"), one("7"), one("missing")}}
	case 3:
		return store.Condition{Index: "number", Ranges: []store.Range{{From: fmt.Appendf(nil, "%06d", random.IntN(n))}}}
	}
	from := random.IntN(n)
	return store.Condition{Index: "number", Ranges: []store.Range{{From: fmt.Appendf(nil, "%06d", from), To: fmt.Appendf(nil, "%06d", from+random.IntN(n))}}}
}

func foundBy(t *testing.T, b store.Backend, q store.Query) (keys []string) {
	t.Helper()
	page, err := b.Find(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for i := range page {
		keys = append(keys, page[i].Namespace.String()+":"+page[i].Key+"="+string(page[i].Value))
	}
	return keys
}

// TestAPutWhoseReplyIsLostIsNotMadeTwice loses the reply of a put. If another put follows before
// the client repeats the first, a second effect of the first would undo it.
func TestAPutWhoseReplyIsLostIsNotMadeTwice(t *testing.T) {
	other, client, prefix := storeOn(t)
	cut := goredis.NewClient(client.Options())
	hook := &losing{lost: true}
	cut.AddHook(hook)
	b, err := openStore(cut, prefix)
	if err != nil {
		t.Fatal(err)
	}
	op := store.Op{Kind: store.OpPut, Namespace: store.Namespace{"n"}, Key: "k"}
	put := func(b store.Backend, value string) error {
		op.Value = []byte(value)
		_, err := b.Do(t.Context(), []store.Op{op})
		return err
	}
	if err := errors.Join(put(b, "0"), put(other, "0")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		follows bool
		want    error
		value   string
	}{{false, nil, "first"}, {true, store.ErrUnavailable, "second"}} {
		scripts := 0
		*hook = losing{stored: func() bool {
			t.Helper()
			if scripts++; scripts == 1 {
				return false // the read; the change follows
			}
			if c.follows {
				if err := put(other, "second"); err != nil {
					t.Error(err)
				}
			}
			return true
		}}
		if err := put(b, "first"); !errors.Is(err, c.want) || !hook.lost {
			t.Errorf("a put that another follows (%t): got %v, want %v", c.follows, err, c.want)
		}
		got, err := other.Do(t.Context(), []store.Op{{Kind: store.OpGet, Namespace: op.Namespace, Key: "k"}})
		if err != nil || string(got[0].Record.Value) != c.value {
			t.Errorf("a put that another follows (%t): got %q, %v, want %q", c.follows, got[0].Record.Value, err, c.value)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
