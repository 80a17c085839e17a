package rows_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/rows/rowstest"
)

// The Store of the example keeps the contract.
func TestExampleStore(t *testing.T) {
	rowstest.Run(t, func(testing.TB) rows.Store { return NewMap() })
}
