package postgres_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// ofSaver is a store that closes its saver.
type ofSaver struct {
	store.Backend
	saver *postgres.Saver
}

func (s ofSaver) Close() error { return s.saver.Close() }

func TestStoreConformance(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Storage {
		tb.Helper()
		url := testenv.Postgres(tb)
		return storetest.Storage{
			Shared: true,
			Open: func() (store.Backend, error) {
				saver, err := postgres.Open(tb.Context(), url)
				if err != nil {
					return nil, err
				}
				return ofSaver{saver.Store(), saver}, nil
			},
		}
	})
}
