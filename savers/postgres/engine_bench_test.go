package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// BenchmarkEngine has a server that syncs every commit to disk. The baseline is the insertion of
// one row by the bare driver.
func BenchmarkEngine(b *testing.B) {
	dsn := testenv.StartPostgres(b, true).DSN
	s, err := postgres.Open(context.Background(), dsn, postgres.PrepareStatements())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	b.Run("baseline row", func(b *testing.B) {
		conn, err := pgx.Connect(b.Context(), dsn)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(b.Context(), "create table if not exists bare (id bigserial primary key, data bytea)"); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := conn.Exec(b.Context(), "insert into bare (data) values ($1)", make([]byte, 100)); err != nil {
				b.Fatal(err)
			}
		}
	})
	enginetest.Benchmark(b, enginetest.Place{Open: func(testing.TB) worker.Engine { return postgres.NewEngine(s) }}, s)
}
