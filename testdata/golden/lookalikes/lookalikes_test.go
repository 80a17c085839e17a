package lookalikes

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestAllStatesTravel(t *testing.T) {
	goldentest.State(t, StateSchema, nil)
	goldentest.State(t, StateFieldsSchema, nil)
	goldentest.State(t, StateNewSchema, nil)
	goldentest.State(t, stateSchema, nil)
	goldentest.State(t, CodecSchema, nil)
	goldentest.State(t, CodecItemSchema, nil)
	goldentest.State(t, StateUpdatedSchema, nil)
}
