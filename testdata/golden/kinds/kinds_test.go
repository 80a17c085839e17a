package kinds

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
	"github.com/graphgen-go/graphgen/testdata/golden/kinds/other"
)

func prepare(f *goldentest.Filler) {
	goldentest.Register(f, func(f *goldentest.Filler, _ int) other.Packed { return other.Pack(f.Rand.Uint32()) })
	goldentest.Register(f, func(f *goldentest.Filler, depth int) Text { return Text{value: goldentest.Of[string](f, depth)} })
}

func TestDocTravels(t *testing.T)   { goldentest.Payload[Doc](t, prepare) }
func TestStateTravels(t *testing.T) { goldentest.State(t, StateSchema, StateDiffOf, prepare) }

func FuzzDoc(f *testing.F)   { goldentest.FuzzPayload[Doc](f, prepare) }
func FuzzState(f *testing.F) { goldentest.FuzzState(f, StateSchema, prepare) }
