package redis_test

import (
	"errors"
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

// TestSearchUsesTheVectorSet removes the vectors that a search compares without a vector set.
func TestSearchUsesTheVectorSet(t *testing.T) {
	addr, prefix := testenv.RedisVectorSets(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	b, err := openStore(client, prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	q, tag := fill(t, b), prefix+"{"+prefix+"store}:"
	card := func(want int64) {
		t.Helper()
		if got, err := client.VCard(t.Context(), tag+"near:text").Result(); err != nil || got != want {
			t.Errorf("the vector set has %d elements, %v, want %d", got, err, want)
		}
	}
	card(100)
	if err := client.Rename(t.Context(), tag+"vectors", tag+"elsewhere").Err(); err != nil {
		t.Fatal(err)
	}
	wantHits(t, "a search of all", b, q, 10)
	q.Namespace = store.Namespace{"n"}
	wantHits(t, "a search of a namespace", b, q, 10)
	q.Exact = true
	q.Where = []store.Condition{{Index: "kind", Ranges: []store.Range{{From: []byte("odd"), To: []byte("odd\x00")}}}}
	wantHits(t, "a search with a filter by a value", b, q, 10)
	q.Where[0].Ranges[0] = store.Range{From: []byte("o")}
	wantHits(t, "a search with a filter by a range, which compares vectors", b, q, 0)
	if err := client.Rename(t.Context(), tag+"elsewhere", tag+"vectors").Err(); err != nil {
		t.Fatal(err)
	}
	wantHits(t, "a search with a filter by a range", b, q, 10)
	var ops []store.Op
	for i := range 60 {
		ops = append(ops, store.Op{Kind: store.OpDelete, Namespace: store.Namespace{"n"}, Key: fmt.Sprint(i)})
	}
	ops = append(ops, vectorPut("60", "even"), vectorPut("60", "odd"), vectorPut("7", "odd"))
	ops[60].Vectors = append(ops[60].Vectors, ops[60].Vectors[0])
	if _, err := b.Do(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	card(41)
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
	tag := prefix + "{" + prefix + "store}:"
	if err := client.HSet(t.Context(), tag+"specs", "text", "2 m").Err(); err != nil {
		t.Fatal(err)
	}
	wantHits(t, "a search", b, fill(t, b), 10)
	if n, err := client.Exists(t.Context(), tag+"near:text").Result(); err != nil || n != 0 {
		t.Errorf("got %d vector sets, %v, want none", n, err)
	}
}

func TestSearchNamesDamagedVectors(t *testing.T) {
	b, client, prefix := storeOn(t)
	q, key := fill(t, b), prefix+"{"+prefix+"store}:vectors"
	fields, err := client.HKeys(t.Context(), key).Result()
	if err != nil || len(fields) == 0 {
		t.Fatalf("got %d fields, %v", len(fields), err)
	}
	whole, err := client.HGet(t.Context(), key, fields[0]).Result()
	if err != nil {
		t.Fatal(err)
	}
	for size := 1; size < len(whole); size++ {
		if err := client.HSet(t.Context(), key, fields[0], whole[:size]).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Search(t.Context(), q); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%d of %d bytes: got %v, want ErrDamaged", size, len(whole), err)
		}
	}
	if err := client.HSet(t.Context(), strings.TrimSuffix(key, "vectors")+"specs", "text", "many m").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Declare(t.Context(), store.VectorSpec{Name: "text", Model: "m", Dims: 2}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("declare: got %v, want ErrDamaged", err)
	}
}
