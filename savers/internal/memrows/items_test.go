package memrows_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/internal/memrows/strict"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// ofSaver is a store that closes its saver.
type ofSaver struct {
	store.Backend
	saver *rows.Saver
}

func (s ofSaver) Close() error { return s.saver.Close() }

func TestStoreConformance(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Storage {
		tb.Helper()
		rowStore := memrows.New()
		return storetest.Storage{Shared: true, Open: func() (store.Backend, error) {
			saver := rows.New("memrows", strict.Store{Store: rowStore}, rows.Options{})
			return ofSaver{saver.Store(), saver}, nil
		}}
	})
}
