package generics

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestStateTravels(t *testing.T)  { goldentest.State(t, StateSchema, StateDiffOf, nil) }
func TestLetterTravels(t *testing.T) { goldentest.Payload[Letter](t, nil) }
