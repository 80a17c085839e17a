package sqltest

import (
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// UnderSetting runs the cases of the two suites that depend most on what statements mean. place
// returns how to open a saver on an empty database with a setting that changes that.
func UnderSetting(t *testing.T, place func(tb testing.TB) func() (checkpoint.Saver, error)) {
	t.Helper()
	of := []string{
		"a record comes back as it was stored", "hostile names", "pending writes of a task", "one of many appends under a fence wins",
		"random calls match the memory saver",
	}
	ran := 0
	for _, c := range savertest.Cases() {
		if slices.Contains(of, c.Name) {
			ran++
			t.Run(c.Name, func(t *testing.T) { c.Test(t, savertest.Storage{Shared: true, Open: place(t)}) })
		}
	}
	ofStore := []string{"hostile names", "a search finds the nearest"}
	for _, c := range storetest.Cases() {
		if slices.Contains(ofStore, c.Name) {
			ran++
			t.Run("store: "+c.Name, func(t *testing.T) { c.Test(t, storetest.Storage{Shared: true, Open: storeOf(place(t))}) })
		}
	}
	if want := len(of) + len(ofStore); ran != want {
		t.Errorf("%d cases ran, want %d: %q, %q", ran, want, of, ofStore)
	}
}

// storeOf returns how to open the store of a saver, which closes the saver.
func storeOf(open func() (checkpoint.Saver, error)) func() (store.Backend, error) {
	return func() (store.Backend, error) {
		s, err := open()
		if err != nil {
			return nil, err
		}
		with, ok := s.(interface{ Store() store.Backend })
		if !ok {
			return nil, s.Close()
		}
		return closingStore{with.Store(), s}, nil
	}
}

type closingStore struct {
	store.Backend
	saver checkpoint.Saver
}

func (s closingStore) Close() error { return s.saver.Close() }
