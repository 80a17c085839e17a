package storetest_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// The test of a backend whose items are in memory.
func ExampleRun() { //nolint:testableexamples // it is the body of a test
	test := func(t *testing.T) { //nolint:thelper // it is the body of a test
		storetest.Run(t, func(testing.TB) storetest.Storage {
			return storetest.Storage{Open: func() (store.Backend, error) { return memory.NewStore(), nil }}
		})
	}
	_ = test
}
