package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/savertest"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// alter replaces bytes in all records and pending writes of a file.
func alter(tb testing.TB, path string, stored, altered []byte) int {
	tb.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	return sqltest.Alter(tb, db, "UPDATE %s SET data = unhex(replace(hex(data), hex(?1), hex(?2))) WHERE instr(data, ?1) > 0", stored, altered)
}

func TestConformance(t *testing.T) { conform(t, nil) }

// TestConformancePacked packs every record but the head as soon as it is stored.
func TestConformancePacked(t *testing.T) {
	if testing.Short() {
		t.Skip("a second site of the suite")
	}
	conform(t, []savertest.Option{sqltest.Packed()}, sqlite.Packing(pack.Policy{Every: 2, Keep: 1, AtOnce: true}))
}

func conform(t *testing.T, suite []savertest.Option, opts ...sqlite.Option) {
	t.Helper()
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		path := filepath.Join(tb.TempDir(), "threads.db")
		return savertest.Storage{
			Shared: true,
			Open:   func() (checkpoint.Saver, error) { return sqlite.Open(path, opts...) },
			Damage: func(string) error { return execute(path, "UPDATE graph_write SET data = x'7f'") },
			Alter: func(tb testing.TB, stored, altered []byte) int {
				tb.Helper()
				return alter(tb, path, stored, altered)
			},
		}
	}, suite...)
}
