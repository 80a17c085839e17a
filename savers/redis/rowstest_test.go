package redis

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/rows/rowstest"
)

func TestRowStore(t *testing.T) {
	rowstest.Run(t, func(tb testing.TB) rows.Store {
		tb.Helper()
		addr, prefix := testenv.Redis(tb)
		client := goredis.NewClient(&goredis.Options{Addr: addr})
		s := newRowStore(&server{client: client, owned: true, readTimeout: client.Options().ReadTimeout}, prefix, 0)
		if err := s.open(tb.Context()); err != nil {
			tb.Fatal(err)
		}
		return s
	})
}
