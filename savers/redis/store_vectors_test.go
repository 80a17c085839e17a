package redis_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
)

// vectorPut returns a put with a random vector of two dimensions.
func vectorPut(key, kind string) store.Op {
	x := rand.Float32()
	return store.Op{
		Kind: store.OpPut, Namespace: store.Namespace{"n"}, Key: key,
		Index:   []store.Entry{{Index: "kind", Value: []byte(kind)}},
		Vectors: []store.Vector{{Index: "text", Values: []float32{x, 1 - x}}},
	}
}

// fill puts 100 items, of the kinds even and odd.
func fill(t *testing.T, b store.Backend) store.VectorQuery {
	t.Helper()
	if _, err := b.Declare(t.Context(), store.VectorSpec{Name: "text", Model: "m", Dims: 2}); err != nil {
		t.Fatal(err)
	}
	var ops []store.Op
	for i := range 100 {
		ops = append(ops, vectorPut(fmt.Sprint(i), [...]string{"even", "odd"}[i%2]))
	}
	if _, err := b.Do(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	q := store.VectorQuery{Index: "text", Vector: []float32{1, 0}}
	q.Limit = 10
	return q
}

func wantHits(t *testing.T, what string, b store.Backend, q store.VectorQuery, want int) {
	t.Helper()
	hits, err := b.Search(t.Context(), q)
	if err != nil || len(hits) != want {
		t.Errorf("%s: got %d items, %v, want %d", what, len(hits), err, want)
	}
}

// setOf returns the vector set of the index text.
func setOf(prefix string) string { return prefix + "{" + prefix + "items}:rows:sets:text" }

// TestSearchUsesTheVectorSet counts the round trips of searches: they do not depend on the number
// of vectors.
func TestSearchUsesTheVectorSet(t *testing.T) {
	addr, prefix := testenv.RedisVectorSets(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	b, err := openStore(client, prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	q := fill(t, b)
	card := func(want int64) {
		t.Helper()
		if got, err := client.VCard(t.Context(), setOf(prefix)).Result(); err != nil || got != want {
			t.Errorf("the vector set has %d elements, %v, want %d", got, err, want)
		}
	}
	card(100)
	for i := range 20 { // more vectors than a Read returns
		var ops []store.Op
		for j := range 100 {
			ops = append(ops, vectorPut(fmt.Sprint(1000+100*i+j), "more"))
		}
		if _, err := b.Do(t.Context(), ops); err != nil {
			t.Fatal(err)
		}
	}
	h := new(trips)
	client.AddHook(h)
	searched := func(what string, want int64) {
		t.Helper()
		h.n.Store(0)
		wantHits(t, what, b, q, 10)
		if got := h.n.Load(); got > want {
			t.Errorf("%s: got %d round trips, want at most %d", what, got, want)
		}
	}
	searched("a search of all", 4) // of the set, of the items, of their values and of their vectors
	q.Namespace = store.Namespace{"n"}
	searched("a search of a namespace", 4)
	var ops []store.Op
	for i := range 60 {
		ops = append(ops, store.Op{Kind: store.OpDelete, Namespace: store.Namespace{"n"}, Key: fmt.Sprint(i)})
	}
	ops = append(ops, vectorPut("60", "even"), vectorPut("60", "odd"), vectorPut("7", "odd"))
	ops[60].Vectors = append(ops[60].Vectors, ops[60].Vectors[0])
	if _, err := b.Do(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	card(2041)
	q.Exact, q.Where = true, []store.Condition{{Index: "kind", Ranges: []store.Range{{From: []byte("odd"), To: []byte("odd\x00")}}}}
	wantHits(t, "a search with a filter", b, q, 10)
}

// TestAnIndexWithoutAVectorSetStaysSo searches an index that an older server has declared.
func TestAnIndexWithoutAVectorSetStaysSo(t *testing.T) {
	addr, prefix := testenv.RedisVectorSets(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	b, err := openStore(client, prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := client.HSet(t.Context(), strings.TrimSuffix(setOf(prefix), ":text"), "text", "-").Err(); err != nil {
		t.Fatal(err)
	}
	wantHits(t, "a search", b, fill(t, b), 10)
	if n, err := client.Exists(t.Context(), setOf(prefix)).Result(); err != nil || n != 0 {
		t.Errorf("got %d vector sets, %v, want none", n, err)
	}
}
