package memrows_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/rows/rowstest"
)

func TestStore(t *testing.T) {
	rowstest.Run(t, func(testing.TB) rows.Store { return memrows.New() })
}
