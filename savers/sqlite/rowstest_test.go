package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/rows/rowstest"
)

func TestRowStore(t *testing.T) {
	rowstest.Run(t, func(tb testing.TB) rows.Store {
		tb.Helper()
		s, err := Open(filepath.Join(tb.TempDir(), "threads.db"))
		if err != nil {
			tb.Fatal(err)
		}
		return sqlsaver.RowsOf(s.Saver)
	})
}
