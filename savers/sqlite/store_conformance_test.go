package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// ofSaver is a store that closes its saver.
type ofSaver struct {
	store.Backend
	saver *sqlite.Saver
}

func (s ofSaver) Close() error { return s.saver.Close() }

func TestStoreConformance(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Storage {
		tb.Helper()
		path := filepath.Join(tb.TempDir(), "store.db")
		return storetest.Storage{
			Shared: true,
			Open: func() (store.Backend, error) {
				saver, err := sqlite.Open(path)
				if err != nil {
					return nil, err
				}
				return ofSaver{saver.Store(), saver}, nil
			},
		}
	})
}
