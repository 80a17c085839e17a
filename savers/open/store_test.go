package open_test

import (
	"errors"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/open"
)

func TestStoreByURLPassesTheSuite(t *testing.T) {
	for _, scheme := range []string{"memory:", "sqlite:", "redis:"} {
		t.Run(scheme, func(t *testing.T) {
			storetest.Run(t, func(tb testing.TB) storetest.Storage {
				tb.Helper()
				at := scheme
				switch scheme {
				case "sqlite:":
					at += filepath.Join(tb.TempDir(), "store.db")
				case "redis:":
					addr, prefix := testenv.Redis(tb)
					at += "//" + addr + "/0?allow_unsafe_settings=true&prefix=" + url.QueryEscape(prefix)
				}
				return storetest.Storage{
					Shared: scheme != "memory:",
					Open:   func() (store.Backend, error) { return open.Store(tb.Context(), at) },
				}
			})
		})
	}
}

func TestStoreRefusesURLsWithoutAStore(t *testing.T) {
	for _, at := range []string{"file:threads", "memory:x", "threads.db", "nosuch:x"} {
		b, err := open.Store(t.Context(), at)
		var bad *open.URLError
		if b != nil || !errors.As(err, &bad) {
			t.Errorf("%s: got %v, %v, want a *URLError", at, b, err)
		}
	}
}
