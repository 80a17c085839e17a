package generics_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/generics"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestStateTravels(t *testing.T) {
	goldentest.State(t, generics.StateSchema, generics.StateDiffOf, nil)
}
func TestLetterTravels(t *testing.T) { goldentest.Payload[generics.Letter](t, nil) }
