package public

import (
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/asjson"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
	"github.com/graphgen-go/graphgen/testdata/golden/public/sdk"
)

func prepare(f *goldentest.Filler) {
	goldentest.Register(f, func(f *goldentest.Filler, _ int) asjson.Value[sdk.Schema] {
		return asjson.Of(sdk.Schema{Name: "n", Default: float64(f.Rand.IntN(1 << 20))})
	})
	goldentest.Register(f, func(f *goldentest.Filler, _ int) asjson.Value[any] {
		return asjson.Of[any]([]any{"x", f.Rand.Float64()})
	})
}

func TestStateTravels(t *testing.T) { goldentest.State(t, StateSchema, StateDiffOf, prepare) }

func TestAMergeSeesWhatJSONKeeps(t *testing.T) {
	var u StateUpdate
	u.Schema.Set(asjson.Of(sdk.Schema{Name: "n", Default: 7, Calls: func() {}}))
	s, err := state.Apply(StateSchema, State{}, u)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Schema.V; got.Name != "n" || got.Default != any(float64(7)) || got.Calls != nil {
		t.Errorf("got %+v, want the decoded form", got)
	}
	u.Schema.Set(asjson.Of(sdk.Schema{Default: uint64(1<<53 + 1)}))
	var lossy *wire.LossyError
	if _, err := state.Apply(StateSchema, State{}, u); !errors.As(err, &lossy) {
		t.Errorf("Apply of an integer that no float64 has = %v, want a *wire.LossyError", err)
	}
	u.Schema.Set(asjson.Of(sdk.Schema{Default: func() {}}))
	var merge *state.MergeError
	if _, err := state.Apply(StateSchema, State{}, u); !errors.As(err, &merge) {
		t.Errorf("Apply of a func = %v, want a *state.MergeError", err)
	}
}
