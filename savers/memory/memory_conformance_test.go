package memory_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

func TestConformance(t *testing.T) {
	savertest.Run(t, func(testing.TB) savertest.Storage {
		return savertest.Storage{Open: func() (checkpoint.Saver, error) { return memory.New(), nil }}
	})
}
