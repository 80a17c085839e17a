package open_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/open"
)

func TestStoreByURLPassesTheSuite(t *testing.T) {
	for _, scheme := range []string{"memory:", "sqlite:"} {
		t.Run(scheme, func(t *testing.T) {
			storetest.Run(t, func(tb testing.TB) storetest.Storage {
				tb.Helper()
				url := scheme
				if scheme == "sqlite:" {
					url += filepath.Join(tb.TempDir(), "store.db")
				}
				return storetest.Storage{
					Shared: scheme != "memory:",
					Open:   func() (store.Backend, error) { return open.Store(tb.Context(), url) },
				}
			})
		})
	}
}

func TestStoreRefusesURLsWithoutAStore(t *testing.T) {
	for _, url := range []string{"file:threads", "redis://localhost:6379", "memory:x", "threads.db", "nosuch:x"} {
		b, err := open.Store(t.Context(), url)
		var at *open.URLError
		if b != nil || !errors.As(err, &at) {
			t.Errorf("%s: got %v, %v, want a *URLError", url, b, err)
		}
	}
}
