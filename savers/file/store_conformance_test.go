package file_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/file"
)

// ofSaver is a store that closes its saver.
type ofSaver struct {
	store.Backend
	saver *file.Saver
}

func (s ofSaver) Close() error { return s.saver.Close() }

func TestStoreConformance(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Storage {
		tb.Helper()
		dir := tb.TempDir()
		return storetest.Storage{Shared: true, Open: func() (store.Backend, error) {
			saver, err := file.Open(dir)
			if err != nil {
				return nil, err
			}
			return ofSaver{saver.Store(), saver}, nil
		}}
	})
}
