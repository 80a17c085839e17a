package lookalikes

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestAllStatesTravel(t *testing.T) {
	goldentest.State(t, StateSchema, StateDiffOf, nil)
	goldentest.State(t, StateFieldsSchema, StateFieldsDiffOf, nil)
	goldentest.State(t, StateNewSchema, StateNewDiffOf, nil)
	goldentest.State(t, stateSchema, stateDiffOf, nil)
	goldentest.State(t, CodecSchema, CodecDiffOf, nil)
	goldentest.State(t, CodecItemSchema, CodecItemDiffOf, nil)
	goldentest.State(t, StateUpdatedSchema, StateUpdatedDiffOf, nil)
	goldentest.State(t, StateChangesSchema, StateChangesDiffOf, nil)
	goldentest.State(t, DiffSchema, DiffDiffOf, nil)
}
