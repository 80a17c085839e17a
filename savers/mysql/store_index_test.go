package mysql_test

import (
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

// TestStoreReadsByIndex counts the rows that pages and filters read among 1,000 items.
func TestStoreReadsByIndex(t *testing.T) {
	_, dsn := start(t)
	s, err := mysql.Open(t.Context(), dsn, mysql.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, ns := s.Store(), store.Namespace{"facts"}
	for first := 0; first < 1000; first += 500 {
		ops := make([]store.Op, 500)
		for i := range ops {
			n := first + i
			ops[i] = store.Op{
				Kind: store.OpPut, Namespace: ns, Key: fmt.Sprintf("%05d", n), Value: []byte("value"),
				Index: []store.Entry{{Index: "kind", Value: fmt.Append(nil, n%100)}, {Index: "number", Value: fmt.Appendf(nil, "%05d", n)}},
			}
		}
		if _, err := b.Do(t.Context(), ops); err != nil {
			t.Fatal(err)
		}
	}
	db := database(t, dsn)
	own := -rowsRead(t, db)
	own += rowsRead(t, db) // asking reads, too
	where := func(index, from, to string) []store.Condition {
		return []store.Condition{{Index: index, Ranges: []store.Range{{From: []byte(from), To: []byte(to)}}}}
	}
	for name, c := range map[string]struct {
		q     store.Query
		found int
		most  int // rows and entries
	}{
		"a page":                    {store.Query{Namespace: ns, Limit: 10}, 10, 30},
		"a page near the end":       {store.Query{Namespace: ns, Limit: 10, After: &store.Position{Namespace: ns, Key: "00900"}}, 10, 30},
		"one value":                 {store.Query{Namespace: ns, Exact: true, Limit: 100, Where: where("kind", "7", "7\x00")}, 10, 60},
		"one value below":           {store.Query{Limit: 100, Where: where("kind", "7", "7\x00")}, 10, 60},
		"a range":                   {store.Query{Namespace: ns, Exact: true, Limit: 100, Where: where("number", "00500", "00510")}, 10, 60},
		"a range that is not there": {store.Query{Namespace: ns, Exact: true, Limit: 100, Where: where("number", "a", "b")}, 0, 10},
	} {
		find := func() (read int) {
			read = -rowsRead(t, db) - own
			page, err := b.Find(t.Context(), c.q)
			if err != nil || len(page) != c.found {
				t.Fatalf("%s: got %d items, %v, want %d", name, len(page), err, c.found)
			}
			return read + rowsRead(t, db)
		}
		find() // may prepare statements
		got := find()
		if t.Logf("%s: %d rows", name, got); got > c.most {
			t.Errorf("%s: %d rows and entries read, want at most %d", name, got, c.most)
		}
	}
}
