package mysql_test

import (
	"database/sql"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/mysql"
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
		return place(tb, mysql.Packing(pack.Policy{Every: 2, Keep: 1, AtOnce: true}))
	})
}

func TestRowStore(t *testing.T) {
	rowstest.Run(t, func(tb testing.TB) rows.Store {
		tb.Helper()
		s, err := mysql.Open(tb.Context(), testenv.MySQL(tb))
		if err != nil {
			tb.Fatal(err)
		}
		return sqlsaver.RowsOf(s.Saver)
	})
}

// place is an empty place for threads.
func place(tb testing.TB, opts ...mysql.Option) savertest.Storage {
	tb.Helper()
	dsn := testenv.MySQL(tb)
	return savertest.Storage{
		Shared: true,
		Open:   func() (checkpoint.Saver, error) { return mysql.Open(tb.Context(), dsn, opts...) },
		Damage: func(string) error {
			_, err := database(tb, dsn).ExecContext(tb.Context(), "UPDATE graph_write SET data = x'7f'")
			return err
		},
		Alter: func(tb testing.TB, stored, altered []byte) int {
			tb.Helper()
			db, err := sql.Open("mysql", dsn)
			if err != nil {
				tb.Fatal(err)
			}
			defer db.Close()
			return sqltest.Alter(tb, db, "UPDATE %s SET data = REPLACE(data, ?, ?) WHERE INSTR(data, ?) > 0", stored, altered, stored)
		},
	}
}
