package open_test

import (
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/open"
)

// TestStoreByURL runs a case of the suite that uses one connection, one that uses several, and the
// one of notifications. The packages of the savers run all cases.
func TestStoreByURL(t *testing.T) {
	names := []string{"a put is read", "versions grow under concurrent creates and deletes", "a watch is notified"}
	for _, scheme := range []string{"memory:", "file:", "sqlite:", "redis:"} {
		ran := 0
		for _, c := range storetest.Cases() {
			if slices.Contains(names, c.Name) {
				ran++
				t.Run(scheme+" "+c.Name, func(t *testing.T) { c.Test(t, storeAt(t, scheme)) })
			}
		}
		if ran != len(names) {
			t.Errorf("%s: %d cases ran, want %q", scheme, ran, names)
		}
	}
}

// storeAt returns the store at a URL with the given scheme.
func storeAt(t *testing.T, scheme string) storetest.Storage {
	t.Helper()
	at := scheme
	switch scheme {
	case "sqlite:":
		at += filepath.Join(t.TempDir(), "store.db")
	case "file:":
		at += t.TempDir()
	case "redis:":
		addr, prefix := testenv.Redis(t)
		at += "//" + addr + "/0?allow_unsafe_settings=true&prefix=" + url.QueryEscape(prefix)
	}
	return storetest.Storage{
		Shared:   scheme != "memory:",
		Notifies: scheme == "memory:" || scheme == "redis:",
		Open:     func() (store.Backend, error) { return open.Store(t.Context(), at) },
	}
}

func TestStoreRefusesURLsWithoutAStore(t *testing.T) {
	for _, at := range []string{"memory:x", "threads.db", "nosuch:x"} {
		b, err := open.Store(t.Context(), at)
		var bad *open.URLError
		if b != nil || !errors.As(err, &bad) {
			t.Errorf("%s: got %v, %v, want a *URLError", at, b, err)
		}
	}
}
