package collisions

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestStateTravels(t *testing.T) { goldentest.State(t, StateSchema, StateDiffOf, nil) }

func TestPayloadTravels(t *testing.T) { goldentest.Payload[b](t, nil) }

// TestFieldsKeepTheirNames checks that a field called like a method of updates wins over it.
func TestFieldsKeepTheirNames(t *testing.T) {
	var u StateUpdate
	u.String.Set("s")
	u.Equal.Append(e{"1", "2", "3"})
	u.End.Reduce(b{})
	live := StateSchema.New(stateOptions)
	if err := live.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	if got := live.View(); got.String != "s" || len(got.Equal) != 1 || len(got.End) != 1 {
		t.Errorf("got %+v, want String, Equal and End to be set", got)
	}
}
