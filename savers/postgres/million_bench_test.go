package postgres_test

import (
	"iter"
	"os"
	"strconv"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// BenchmarkManyThreads reads what pages and metrics show of many threads of 200 graphs. One of a
// hundred waits, and the others are done. GRAPHGEN_THREADS is how many; the default is 10,000.
func BenchmarkManyThreads(b *testing.B) {
	n := 10_000
	if many := os.Getenv("GRAPHGEN_THREADS"); many != "" {
		var err error
		if n, err = strconv.Atoi(many); err != nil {
			b.Fatal(err)
		}
	}
	s, err := postgres.Open(b.Context(), testenv.StartPostgres(b, true).DSN)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	sqltest.Fill(b, sqlsaver.RowsOf(s.Saver), n)
	o := &operate.Operator{Saver: s}
	count := func(all iter.Seq2[checkpoint.Thread, error]) (found int, err error) {
		for _, err := range all {
			if err != nil {
				return found, err
			}
			found++
		}
		return found, nil
	}
	page := func(q checkpoint.ThreadQuery) func() (int, error) {
		q.Order, q.Limit = checkpoint.NewestFirst, 100
		return func() (int, error) { return count(s.Threads(b.Context(), q)) }
	}
	for _, c := range []struct {
		name  string
		least int
		read  func() (found int, err error)
	}{
		{"page of all", 100, page(checkpoint.ThreadQuery{})},
		{"page of a status", 100, page(checkpoint.ThreadQuery{Status: checkpoint.Waiting})},
		{"page of a graph", 50, page(checkpoint.ThreadQuery{Graph: sqltest.GraphOf(7)})},
		{"page of a label", 10, page(checkpoint.ThreadQuery{Labels: map[string]string{"user": sqltest.UserOf(7)}})},
		{"counts by status and graph", 1, func() (int, error) {
			all, err := o.Tallies(b.Context(), 10_000)
			return len(all), err
		}},
		{"scrape of 20 graphs", 20, func() (int, error) {
			var names []string
			for i := range 20 {
				names = append(names, sqltest.GraphOf(i))
			}
			f, err := o.Fleet(b.Context(), 0, names...)
			return len(f.Graphs), err
		}},
		{"ready", 0, func() (int, error) {
			found, err := s.Ready(b.Context(), checkpoint.ReadyQuery{Graphs: []string{sqltest.GraphOf(7)}, Limit: 10})
			return len(found.Threads), err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if found, err := c.read(); err != nil || found < c.least {
					b.Fatalf("got %d, %v; want %d at least", found, err, c.least)
				}
			}
		})
	}
}
