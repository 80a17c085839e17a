package mysql_test

import (
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

// The variable timestamp of a session sets its clock.
func TestStoreHasTheClockOfTheServer(t *testing.T) {
	dsn := testenv.MySQL(t)
	open := func(dsn string) store.Backend {
		saver, err := mysql.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = saver.Close() })
		return saver.Store()
	}
	early := config(t, dsn)
	early.Params = map[string]string{"timestamp": "1000000000"}
	sqltest.StoreClock(t, open(early.FormatDSN()), open(dsn), time.Unix(1_000_000_000, 0))
}
