package enginetest_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

func TestHub(t *testing.T) {
	enginetest.Run(t, func(testing.TB) enginetest.Place {
		hub := new(worker.Hub)
		return enginetest.Place{Open: func(testing.TB) worker.Engine { return hub }}
	})
}
