package mysql_test

import (
	"fmt"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

// TestStoreRoundTrips counts the round trips of batches through a proxy.
func TestStoreRoundTrips(t *testing.T) {
	config, err := driver.ParseDSN(testenv.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := testenv.NewProxy(t, config.Addr)
	config.Addr = proxy.Addr
	saver, err := mysql.Open(t.Context(), config.FormatDSN(), mysql.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer saver.Close()
	b := saver.Store()
	trips := func(kind store.OpKind, n int, once ...string) int {
		ops := make([]store.Op, n)
		for i := range ops {
			ops[i] = store.Op{Kind: kind, Namespace: store.Namespace{"n"}, Key: fmt.Sprint(i)}
			for _, key := range once {
				ops[i].Once = key
			}
		}
		before := proxy.RoundTrips()
		if _, err := b.Do(t.Context(), ops); err != nil {
			t.Fatal(err)
		}
		return proxy.RoundTrips() - before
	}
	for _, c := range []struct {
		name string
		kind store.OpKind
		want int
	}{
		{"put", store.OpPut, 2}, {"get", store.OpGet, 1}, {"delete", store.OpDelete, 2},
	} {
		trips(store.OpPut, 50) // there are items, and prepared statements
		trips(c.kind, 50)
		trips(store.OpPut, 50)
		if got := trips(c.kind, 50); got != c.want {
			t.Errorf("%s: 50 take %d round trips, want %d", c.name, got, c.want)
		}
	}
	trips(store.OpPut, 50, "task 1")
	if got, want := trips(store.OpPut, 50, "task 2"), 2; got != want {
		t.Errorf("50 puts that run once take %d round trips, want %d", got, want)
	}
	if got, want := trips(store.OpPut, 50, "task 2"), 1; got != want {
		t.Errorf("50 repeated puts take %d round trips, want %d", got, want)
	}
	for _, n := range []int{1, 1000} {
		op := store.Op{Kind: store.OpPut, Namespace: store.Namespace{"n"}, Key: fmt.Sprint("words", n)}
		op.Texts = []store.Text{{Index: "text", Words: make([]store.Word, n)}}
		for i := range n {
			op.Texts[0].Words[i] = store.Word{Word: fmt.Sprintf("%04d", i), Count: 1}
		}
		before := proxy.RoundTrips()
		if _, err := b.Do(t.Context(), []store.Op{op}); err != nil {
			t.Fatal(err)
		}
		if got, want := proxy.RoundTrips()-before, 2; got != want {
			t.Errorf("a put with %d words takes %d round trips, want %d", n, got, want)
		}
	}
	indexed := store.Op{
		Kind: store.OpPut, Namespace: store.Namespace{"n"}, Key: "indexed", Index: []store.Entry{{Index: "i", Value: []byte("7")}},
	}
	if _, err := b.Do(t.Context(), []store.Op{indexed}); err != nil {
		t.Fatal(err)
	}
	one := []store.Condition{{Index: "i", Ranges: []store.Range{{From: []byte("7"), To: []byte("7\x00")}}}}
	for name, where := range map[string][]store.Condition{"a page": nil, "a filter by one value": one} {
		before := proxy.RoundTrips()
		found, err := b.Find(t.Context(), store.Query{Where: where, Limit: 10})
		if trips := proxy.RoundTrips() - before; err != nil || len(found) == 0 || trips != 1 {
			t.Errorf("%s: got %d items, %v, %d round trips; want 1", name, len(found), err, trips)
		}
	}
	trips(store.OpGet, 1)
	if got := trips(store.OpGet, 1); got != 1 {
		t.Errorf("one get takes %d round trips, want 1", got)
	}
}
