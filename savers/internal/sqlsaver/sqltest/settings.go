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
	Some(t, of, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		return savertest.Storage{Shared: true, Open: place(tb)}
	})
	ran := 0
	ofStore := []string{"hostile names", "a search finds the nearest"}
	for _, c := range storetest.Cases() {
		if slices.Contains(ofStore, c.Name) {
			ran++
			t.Run("store: "+c.Name, func(t *testing.T) { c.Test(t, storetest.Storage{Shared: true, Open: storeOf(place(t))}) })
		}
	}
	if ran != len(ofStore) {
		t.Errorf("the suite of stores has %d cases of these names, want %d: %q", ran, len(ofStore), ofStore)
	}
}

// Some runs the cases of savertest that have the names.
func Some(t *testing.T, names []string, place func(tb testing.TB) savertest.Storage) {
	t.Helper()
	ran := 0
	for _, c := range savertest.Cases() {
		if slices.Contains(names, c.Name) {
			ran++
			t.Run(c.Name, func(t *testing.T) { c.Test(t, place(t)) })
		}
	}
	if ran != len(names) {
		t.Errorf("the suite has %d cases of these names, want %d: %q", ran, len(names), names)
	}
}

// Packs are the cases that a server runs with each record packed: those that read or move what is
// in packs. The others run on memrows, SQLite and Redis. Package rows packs for all of them, by a
// Read and a Change. Package rowstest shows that those mean the same on each server.
var Packs = []string{
	"random calls match the memory saver", "every checkpoint loads by its id", "an append of many records is whole", "history in pages",
	"pending writes go with the commit", "prune keeps what loads", "prune folds what it cuts", "a copy resumes",
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

// closingStore is a store whose Close also closes its saver.
type closingStore struct {
	store.Backend
	saver checkpoint.Saver
}

func (s closingStore) Close() error { return s.saver.Close() }
