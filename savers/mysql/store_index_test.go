package mysql_test

import (
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

// TestStoreReadsByIndex counts the rows that pages and filters read among 1,000 items.
func TestStoreReadsByIndex(t *testing.T) {
	dsn := testenv.MySQL(t)
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
	const inOrder = 128 // items that a filter by a range looks at, in case most are selected
	for name, c := range map[string]struct {
		q     store.Query
		found int
		most  int // rows and entries
	}{
		"a page":                    {store.Query{Namespace: ns, Limit: 10}, 10, 30},
		"a page near the end":       {store.Query{Namespace: ns, Limit: 10, After: &store.Position{Namespace: ns, Key: "00900"}}, 10, 30},
		"one value":                 {store.Query{Namespace: ns, Exact: true, Limit: 100, Where: where("kind", "7", "7\x00")}, 10, 60},
		"one value below":           {store.Query{Limit: 100, Where: where("kind", "7", "7\x00")}, 10, 60},
		"a range":                   {store.Query{Namespace: ns, Exact: true, Limit: 100, Where: where("number", "00500", "00510")}, 10, 40 + inOrder},
		"a range that is not there": {store.Query{Namespace: ns, Exact: true, Limit: 100, Where: where("number", "a", "b")}, 0, 10 + inOrder},
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
	batch := func() int {
		read := -rowsRead(t, db) - own
		if _, err := b.Do(t.Context(), []store.Op{
			{Kind: store.OpPut, Namespace: ns, Key: "00500", Value: []byte("new"), Once: fmt.Sprint(read)},
			{Kind: store.OpDelete, Namespace: ns, Key: "none"}, {Kind: store.OpGet, Namespace: ns, Key: "00999"},
		}); err != nil {
			t.Fatal(err)
		}
		return read + rowsRead(t, db)
	}
	batch() // may prepare statements
	got := batch()
	if t.Logf("a batch: %d rows", got); got > 60 {
		t.Errorf("a batch of three operations reads %d rows and entries, want at most 60", got)
	}
}

// TestSearchByWordsReadsByIndex counts the rows that searches read among 1,000 items of 10
// namespaces.
func TestSearchByWordsReadsByIndex(t *testing.T) {
	dsn := testenv.MySQL(t)
	s, err := mysql.Open(t.Context(), dsn, mysql.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := s.Store()
	ops := make([]store.Op, 1000)
	for i := range ops {
		words := []store.Word{{Word: "all", Count: 1}, {Word: fmt.Sprintf("x%03d", i%100), Count: 1}}
		ops[i] = store.Op{
			Kind: store.OpPut, Namespace: store.Namespace{"facts", fmt.Sprint(i % 10)}, Key: fmt.Sprint(i),
			Texts: []store.Text{{Index: "text", Words: words}},
		}
	}
	if _, err := b.Do(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	db := database(t, dsn)
	own := -rowsRead(t, db)
	own += rowsRead(t, db) // asking reads, too
	for name, c := range map[string]struct {
		namespace store.Namespace
		words     []string
		found     int
		most      int // rows and entries
	}{
		"a rare word":                  {store.Namespace{"facts"}, []string{"x007"}, 10, 60},
		"a word that is not there":     {store.Namespace{"facts"}, []string{"none"}, 0, 10},
		"a common word of a namespace": {store.Namespace{"facts", "7"}, []string{"all"}, 20, 300},
		"two words of a namespace":     {store.Namespace{"facts", "7"}, []string{"x007", "x008"}, 10, 60},
	} {
		q := store.TextQuery{Index: "text", Words: c.words}
		q.Namespace, q.Limit = c.namespace, 20
		search := func() (read int) {
			read = -rowsRead(t, db) - own
			hits, err := b.SearchText(t.Context(), q)
			if err != nil || len(hits) != c.found {
				t.Fatalf("%s: got %d items, %v, want %d", name, len(hits), err, c.found)
			}
			return read + rowsRead(t, db)
		}
		search() // may prepare statements
		got := search()
		if t.Logf("%s: %d rows", name, got); got > c.most {
			t.Errorf("%s: %d rows and entries read, want at most %d", name, got, c.most)
		}
	}
}
