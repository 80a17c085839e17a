package kinds_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
	"github.com/graphgen-go/graphgen/testdata/golden/kinds"
	"github.com/graphgen-go/graphgen/testdata/golden/kinds/other"
)

func prepare(f *goldentest.Filler) {
	goldentest.Register(f, func(f *goldentest.Filler, _ int) other.Packed { return other.Pack(f.Rand.Uint32()) })
	goldentest.Register(f, func(f *goldentest.Filler, depth int) kinds.Text {
		var text kinds.Text
		_ = text.UnmarshalText([]byte(goldentest.Of[string](f, depth))) // it takes every text
		return text
	})
}

func TestDocTravels(t *testing.T) { goldentest.Payload[kinds.Doc](t, prepare) }
func TestStateTravels(t *testing.T) {
	goldentest.State(t, kinds.StateSchema, kinds.StateDiffOf, prepare)
}

func FuzzDoc(f *testing.F)   { goldentest.FuzzPayload[kinds.Doc](f, prepare) }
func FuzzState(f *testing.F) { goldentest.FuzzState(f, kinds.StateSchema, prepare) }
