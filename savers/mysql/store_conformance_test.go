package mysql_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

// ofSaver is a store that closes its saver.
type ofSaver struct {
	store.Backend
	saver *mysql.Saver
}

func (s ofSaver) Close() error { return s.saver.Close() }

func TestStoreConformance(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Storage {
		tb.Helper()
		dsn := testenv.MySQL(tb)
		return storetest.Storage{
			Shared: true,
			Open: func() (store.Backend, error) {
				saver, err := mysql.Open(tb.Context(), dsn)
				if err != nil {
					return nil, err
				}
				return ofSaver{saver.Store(), saver}, nil
			},
		}
	})
}
