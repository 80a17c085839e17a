package postgres_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// TestStoreConformanceWithPgvector prepares statements. TestStoreConformance and the other tests
// of pgvector do not, so both kinds of statements run with both kinds of searches.
func TestStoreConformanceWithPgvector(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Storage {
		tb.Helper()
		url := testenv.Pgvector(tb)
		return storetest.Storage{
			Shared: true,
			Open:   func() (store.Backend, error) { return openItems(tb.Context(), url, postgres.PrepareStatements()) },
		}
	})
}

func openItems(ctx context.Context, url string, opts ...postgres.Option) (store.Backend, error) {
	saver, err := postgres.Open(ctx, url, opts...)
	if err != nil {
		return nil, err
	}
	return ofSaver{saver.Store(), saver}, nil
}

// items opens a store that the test closes.
func items(t *testing.T, url string, opts ...postgres.Option) store.Backend {
	t.Helper()
	b, err := openItems(t.Context(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// cloud stores n random vectors of items of an index, and returns them.
func cloud(t *testing.T, b store.Backend, spec store.VectorSpec, n int) [][]float32 {
	t.Helper()
	if got, err := b.Declare(t.Context(), spec); err != nil || got != spec {
		t.Fatalf("declare: got %+v, %v, want %+v", got, err, spec)
	}
	random := mathrand.New(mathrand.NewPCG(7, uint64(spec.Dims)))
	all := make([][]float32, n)
	var ops []store.Op
	for i := range all {
		all[i] = direction(random, spec.Dims)
		kind := "common"
		if i%100 == 0 {
			kind = "rare"
		}
		ops = append(ops, store.Op{
			Kind: store.OpPut, Namespace: store.Namespace{"cloud"}, Key: fmt.Sprintf("%05d", i),
			Index:   []store.Entry{{Index: "kind", Value: []byte(kind)}},
			Vectors: []store.Vector{{Index: spec.Name, Values: all[i]}},
		})
		if len(ops) == 500 || i == n-1 {
			if _, err := b.Do(t.Context(), ops); err != nil {
				t.Fatal(err)
			}
			ops = ops[:0]
		}
	}
	return all
}

func direction(random *mathrand.Rand, dims int) []float32 {
	v, sum := make([]float32, dims), 0.0
	for i := range v {
		v[i] = float32(random.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// nearestOf returns the keys of the n vectors nearest to v, among those that keep selects.
func nearestOf(all [][]float32, v []float32, n int, keep func(i int) bool) []string {
	type near struct {
		key   string
		score float64
	}
	var found []near
	for i, other := range all {
		score := 0.0
		for d := range v {
			score += float64(v[d]) * float64(other[d])
		}
		if keep(i) {
			found = append(found, near{fmt.Sprintf("%05d", i), score})
		}
	}
	slices.SortFunc(found, func(a, b near) int { return map[bool]int{true: -1, false: 1}[a.score > b.score] })
	keys := make([]string, n)
	for i := range keys {
		keys[i] = found[i].key
	}
	return keys
}

func keysOfHits(hits []store.Hit) []string {
	keys := make([]string, len(hits))
	for i := range hits {
		keys[i] = hits[i].Key
	}
	return keys
}

// indexes returns the definitions of the HNSW indexes, and how many rows scans found by them.
func indexes(t *testing.T, url string) (definitions []string, found int) {
	t.Helper()
	conn := connect(t, url)
	rows, err := conn.Query(t.Context(), `SELECT i.indexdef, s.idx_tup_read FROM pg_indexes i
		JOIN pg_stat_user_indexes s ON s.indexrelname = i.indexname AND s.schemaname = i.schemaname
		WHERE i.schemaname = current_schema() AND i.indexdef LIKE '%hnsw%'`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (n int, err error) {
		var definition string
		err = row.Scan(&definition, &n)
		definitions = append(definitions, definition)
		found += n
		return n, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return definitions, found
}

// TestSearchByHNSW compares what the index finds with what is nearest. An HNSW index finds nearly
// all.
func TestSearchByHNSW(t *testing.T) {
	for _, c := range []struct {
		dims, n int
		kind    string
		setting string
	}{
		{32, 6000, "vector_ip_ops", ""},
		{2100, 300, "halfvec_ip_ops", "&enable_sort=off"}, // sorting so few is faster than the index
	} {
		t.Run(c.kind, func(t *testing.T) {
			url := testenv.Pgvector(t)
			name := "searching " + rand.Text()
			b := items(t, named(t, url, name)+c.setting)
			spec := store.VectorSpec{Name: "c'loud\x00", Model: "m", Dims: c.dims}
			all := cloud(t, b, spec, c.n)
			exec(t, url, "VACUUM ANALYZE") //nolint:misspell // it is spelled so
			q := store.VectorQuery{Index: spec.Name, Vector: direction(mathrand.New(mathrand.NewPCG(1, 1)), c.dims)}
			q.Namespace, q.Limit = store.Namespace{"cloud"}, 10
			hits, err := b.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got, want := keysOfHits(hits), nearestOf(all, q.Vector, 10, func(int) bool { return true })
			both := 0
			for _, key := range got {
				if slices.Contains(want, key) {
					both++
				}
			}
			if len(got) != 10 || both < 8 || !slices.IsSortedFunc(hits, func(a, b store.Hit) int { return int(math.Copysign(1, b.Score-a.Score)) }) {
				t.Errorf("got %q, in order of scores, want at least 8 of %q", got, want)
			}
			q.Where = []store.Condition{{Index: "kind", Ranges: []store.Range{{From: []byte("rare"), To: []byte("rare\x00")}}}}
			q.Limit = 3
			if hits, err = b.Search(t.Context(), q); err != nil || len(hits) != 3 {
				t.Errorf("with a filter: got %d items, %v, want 3", len(hits), err)
			}
			if err := b.Close(); err != nil { // sessions report their counts when they end
				t.Fatal(err)
			}
			waitForEnd(t, connect(t, url), name)
			definitions, found := indexes(t, url)
			if len(definitions) != 1 || found < 10 || !strings.Contains(definitions[0], c.kind) {
				t.Errorf("got the HNSW indexes %q, by which searches found %d rows; want one, at least 10 rows", definitions, found)
			}
		})
	}
}

// A search by an index reads the keys of vectors, the items, and their vectors. With conditions,
// it first reads which items they select.
func TestRoundTripsOfSearchByHNSW(t *testing.T) {
	dsn := testenv.Pgvector(t)
	proxy := testenv.NewProxy(t, parse(t, dsn).Host)
	b := items(t, strings.Replace(dsn, parse(t, dsn).Host, proxy.Addr, 1))
	q := store.VectorQuery{Index: "x", Vector: cloud(t, b, store.VectorSpec{Name: "x", Model: "m", Dims: 4}, 50)[7]}
	q.Limit = 10
	common := []store.Condition{{Index: "kind", Ranges: []store.Range{{From: []byte("common"), To: []byte("common\x00")}}}}
	for i, c := range []struct {
		where []store.Condition
		want  int
	}{{want: 0}, {want: 4}, {common, 5}} { // the first time, the connection reads the descriptions of statements
		before := proxy.RoundTrips()
		q.Where = c.where
		if hits, err := b.Search(t.Context(), q); err != nil || len(hits) != 10 {
			t.Fatalf("search: got %d items, %v, want 10", len(hits), err)
		}
		if got := proxy.RoundTrips() - before; i > 0 && got != c.want {
			t.Errorf("a search with %d conditions: got %d round trips, want %d", len(c.where), got, c.want)
		}
	}
}

// An index of pgvector would keep the vectors of items that have others now, or are gone.
func TestVectorsForPgvectorAreThoseOfTheItems(t *testing.T) {
	url := testenv.Postgres(t)
	b, conn := items(t, url), connect(t, url)
	vector := func(values ...float32) store.Vector { return store.Vector{Index: "x", Values: values} }
	smallest := math.Float32frombits(1)
	op := store.Op{Kind: store.OpPut, Namespace: store.Namespace{"n"}, Key: "k"}
	for _, c := range []struct {
		name    string
		kind    store.OpKind
		vectors []store.Vector
		want    []string
	}{
		{"two", store.OpPut, []store.Vector{vector(0.1, -smallest), vector(0, 1)}, []string{"x {0.1,-1e-45}", "x {0,1}"}},
		{"one", store.OpIndex, []store.Vector{{Index: "y", Values: []float32{1. / 3, math.MaxFloat32}}}, []string{"y {0.33333334,3.4028235e+38}"}},
		{"none", store.OpDelete, nil, []string{}},
	} {
		op.Kind, op.Vectors = c.kind, c.vectors
		if _, err := b.Do(t.Context(), []store.Op{op}); err != nil {
			t.Fatal(err)
		}
		rows, err := conn.Query(t.Context(), `SELECT convert_from(v.name, 'UTF8') || ' ' || v.vec::text
			FROM graph_vector v JOIN graph_entry e ON e.pk = v.pk
			UNION ALL SELECT 'no row has it' FROM graph_vector v WHERE v.pk NOT IN (SELECT pk FROM graph_entry)`)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got the vectors %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// TestVerifySchemaMakesNoIndex searches tables that a program must not change.
func TestVerifySchemaMakesNoIndex(t *testing.T) {
	url := testenv.Pgvector(t)
	if _, err := items(t, url).Sweep(t.Context(), 1); err != nil { // makes its tables
		t.Fatal(err)
	}
	verified := items(t, url, postgres.VerifySchema())
	spec := store.VectorSpec{Name: "x", Model: "m", Dims: 4}
	all := cloud(t, verified, spec, 50)
	q := store.VectorQuery{Index: "x", Vector: all[7]}
	q.Limit = 1
	for range 2 {
		if hits, err := verified.Search(t.Context(), q); err != nil || len(hits) != 1 || hits[0].Key != "00007" {
			t.Errorf("search: got %+v, %v, want the item 00007", hits, err)
		}
		if definitions, _ := indexes(t, url); len(definitions) != 0 {
			t.Errorf("got the indexes %q, want none", definitions)
		}
	}
	if _, err := items(t, url).Declare(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if definitions, _ := indexes(t, url); len(definitions) != 1 {
		t.Errorf("after a program that changes tables: got the indexes %q, want one", definitions)
	}
	if _, err := verified.Declare(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if hits, err := verified.Search(t.Context(), q); err != nil || len(hits) != 1 || hits[0].Key != "00007" {
		t.Errorf("search by the index: got %+v, %v, want the item 00007", hits, err)
	}
}
