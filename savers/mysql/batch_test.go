package mysql_test

import (
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/mysql"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// A change whose second check does not hold stores nothing, and leaves its connection without a
// transaction.
func TestABatchThatFailsStoresNothing(t *testing.T) {
	dsn := testenv.MySQL(t)
	s, err := mysql.Open(t.Context(), dsn, mysql.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	post := func(thread, id string) {
		t.Helper()
		p := checkpoint.Post{Thread: thread, Messages: []checkpoint.Message{{ID: id, Kind: checkpoint.InputMessage}}}
		if _, err := s.Post(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	post("a", "1")
	post("b", "1")
	store := sqlsaver.RowsOf(s.Saver)
	at := func(table rows.Table, key string) rows.Range {
		return rows.Range{Key: rows.Key{Table: table, Bytes: []byte(key)}}
	}
	found, _, err := store.Read(t.Context(), at(rows.Threads, "a"), at(rows.Threads, "b"))
	if err != nil || len(found[0]) != 1 || len(found[1]) != 1 {
		t.Fatalf("got %d and %d rows, %v; want the two threads", len(found[0]), len(found[1]), err)
	}
	for stale, want := range []error{nil, rows.ErrChanged} {
		c := &rows.Change{
			Checks: []rows.Check{{Thread: "a", Rev: found[0][0].Rev}, {Thread: "b", Rev: found[1][0].Rev + uint64(stale)}},
			Puts:   []rows.Put{{Key: rows.Key{Table: rows.Index, Bytes: []byte{'k', byte(stale)}}}},
		}
		if _, _, err := store.Apply(t.Context(), c); !errors.Is(err, want) {
			t.Fatalf("got %v, want %v", err, want)
		}
	}
	post("a", "2") // would be part of the transaction
	var n int
	if err := database(t, dsn).QueryRow("SELECT COUNT(*) FROM graph_index WHERE pk IN (x'6b00', x'6b01')").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d of the rows are stored, %v; want the one whose checks hold", n, err)
	}
	if news, err := s.News(t.Context(), []string{"a"}); err != nil || news[0].Posted != 2 {
		t.Errorf("got %v, %v; want 2 messages", news, err)
	}
}
