package postgres_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// The sessions of one store find a function clock_timestamp before that of the server.
func TestStoreHasTheClockOfTheServer(t *testing.T) {
	dsn := testenv.Postgres(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", q.Get("search_path")+",pg_catalog")
	u.RawQuery = q.Encode()
	then := time.Unix(1_000_000_000, 0)
	exec(t, dsn, `CREATE FUNCTION clock_timestamp() RETURNS timestamptz
		LANGUAGE sql STABLE AS 'SELECT to_timestamp(1000000000)'`)
	open := func(dsn string) store.Backend {
		saver, err := postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = saver.Close() })
		return saver.Store()
	}
	sqltest.StoreClock(t, open(u.String()), open(dsn), then)
}
