package memrows_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/rows"
	"github.com/graphgen-go/graphgen/savers/internal/rows/memrows"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

func TestConformance(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		store := memrows.New()
		return savertest.Storage{Shared: true, Open: func() (checkpoint.Saver, error) { return rows.New("rows", store), nil }}
	})
}
