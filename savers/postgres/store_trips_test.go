package postgres_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// TestStoreRoundTrips counts the round trips of batches through a proxy.
func TestStoreRoundTrips(t *testing.T) {
	dsn := testenv.Postgres(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	proxy := testenv.NewProxy(t, u.Host)
	saver, err := postgres.Open(t.Context(), strings.Replace(dsn, u.Host, proxy.Addr, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer saver.Close()
	b := saver.Store()
	ops := func(kind store.OpKind, n int) []store.Op {
		ops := make([]store.Op, n)
		for i := range ops {
			ops[i] = store.Op{Kind: kind, Namespace: store.Namespace{"n"}, Key: fmt.Sprint(i)}
			if kind == store.OpPut {
				ops[i].Once = fmt.Sprint(proxy.RoundTrips())
				ops[i].Index = []store.Entry{{Index: "i", Value: fmt.Append(nil, i)}}
				word := store.Word{Word: fmt.Sprint(proxy.RoundTrips()), Count: 1}
				ops[i].Texts = []store.Text{{Index: "text", Words: []store.Word{word, {Word: "word", Count: 1}}}}
			}
		}
		return ops
	}
	for _, c := range []struct {
		name string
		kind store.OpKind
		n    int
		want int
	}{
		{"one put", store.OpPut, 1, 2}, {"50 puts", store.OpPut, 50, 2}, {"50 puts again", store.OpPut, 50, 2},
		{"one get", store.OpGet, 1, 1}, {"50 gets", store.OpGet, 50, 1}, {"200 gets", store.OpGet, 200, 1},
		{"one delete", store.OpDelete, 1, 1}, {"50 deletes", store.OpDelete, 50, 1}, // of items that are deleted
	} {
		// A connection reads the descriptions of statements once.
		if _, err := b.Do(t.Context(), ops(c.kind, c.n)); err != nil {
			t.Fatal(err)
		}
		before := proxy.RoundTrips()
		if _, err := b.Do(t.Context(), ops(c.kind, c.n)); err != nil {
			t.Fatal(err)
		}
		if got := proxy.RoundTrips() - before; got != c.want {
			t.Errorf("%s: got %d round trips, want %d", c.name, got, c.want)
		}
	}
	if _, err := b.Do(t.Context(), ops(store.OpPut, 50)); err != nil {
		t.Fatal(err)
	}
	one := []store.Condition{{Index: "i", Ranges: []store.Range{{From: []byte("7"), To: []byte("7\x00")}}}}
	for name, where := range map[string][]store.Condition{"a page": nil, "a filter by one value": one} {
		find := func() int {
			before := proxy.RoundTrips()
			found, err := b.Find(t.Context(), store.Query{Where: where, Limit: 10})
			if err != nil || len(found) == 0 {
				t.Fatalf("%s: got %d items, %v", name, len(found), err)
			}
			return proxy.RoundTrips() - before
		}
		find() // reads descriptions
		if got := find(); got != 1 {
			t.Errorf("%s: got %d round trips, want 1", name, got)
		}
	}
	q := store.TextQuery{Index: "text", Words: []string{"word", "other", "words"}}
	q.Limit = 10
	for i, want := range []int{0, 3} { // the second time, the connection has read the descriptions
		before := proxy.RoundTrips()
		if _, err := b.SearchText(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if got := proxy.RoundTrips() - before; i > 0 && got != want {
			t.Errorf("a search for three words: got %d round trips, want %d", got, want)
		}
	}
}
