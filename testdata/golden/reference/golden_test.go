package reference_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
	. "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

func TestStatesTravel(t *testing.T) {
	goldentest.State(t, StateSchema, StateDiffOf, nil)
	goldentest.State(t, EverythingSchema, EverythingDiffOf, nil)
}

func TestStateIsAStructToOtherLibraries(t *testing.T) { goldentest.Structs(t, StateSchema) }

func TestPayloadTravels(t *testing.T) { goldentest.Payload[Doc](t, nil) }

func FuzzEverything(f *testing.F) { goldentest.FuzzState(f, EverythingSchema, nil) }
