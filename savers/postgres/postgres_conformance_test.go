package postgres_test

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/rows/rowstest"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

func TestConformance(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		return place(tb)
	})
}

// TestConformancePacked packs every record but the head as soon as it is stored.
func TestConformancePacked(t *testing.T) {
	sqltest.Some(t, sqltest.Packs, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		return place(tb, postgres.Packing(pack.Policy{Every: 2, Keep: 1, AtOnce: true}))
	})
}

func TestRowStore(t *testing.T) {
	rowstest.Run(t, func(tb testing.TB) rows.Store {
		tb.Helper()
		s, err := postgres.Open(tb.Context(), testenv.Postgres(tb))
		if err != nil {
			tb.Fatal(err)
		}
		return sqlsaver.RowsOf(s.Saver)
	})
}

// place is an empty place for threads.
func place(tb testing.TB, opts ...postgres.Option) savertest.Storage {
	tb.Helper()
	url := testenv.Postgres(tb)
	return savertest.Storage{
		Shared: true,
		Open:   func() (checkpoint.Saver, error) { return postgres.Open(tb.Context(), url, opts...) },
		Damage: func(string) error {
			_, err := connect(tb, url).Exec(tb.Context(), `UPDATE graph_write SET data = '\x7f'`)
			return err
		},
		Alter: func(tb testing.TB, stored, altered []byte) int {
			tb.Helper()
			db, err := sql.Open("pgx", url)
			if err != nil {
				tb.Fatal(err)
			}
			defer db.Close()
			return sqltest.Alter(tb, db, "UPDATE %s SET data = overlay(data placing $2::bytea from position($1::bytea in data)) "+
				"WHERE position($1::bytea in data) > 0", stored, altered)
		},
	}
}
