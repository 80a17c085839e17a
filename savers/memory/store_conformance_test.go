package memory_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestStoreConformance(t *testing.T) {
	storetest.Run(t, func(testing.TB) storetest.Storage {
		return storetest.Storage{Notifies: true, Open: func() (store.Backend, error) { return memory.NewStore(), nil }}
	})
}
