package foreign_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/foreign"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
	"github.com/graphgen-go/graphgen/testdata/golden/kinds"
	"github.com/graphgen-go/graphgen/testdata/golden/kinds/other"
	"github.com/graphgen-go/graphgen/testdata/golden/unions"
)

func prepare(f *goldentest.Filler) {
	goldentest.Register(f, func(f *goldentest.Filler, _ int) other.Packed { return other.Pack(f.Rand.Uint32()) })
	goldentest.Register(f, func(*goldentest.Filler, int) kinds.Text { return kinds.Text{} })
	goldentest.Register(f, func(*goldentest.Filler, int) unions.Message { return &unions.User{Key: "k"} })
}

func TestStateTravels(t *testing.T) {
	goldentest.State(t, foreign.StateSchema, foreign.StateDiffOf, prepare)
}
