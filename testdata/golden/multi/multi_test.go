package multi

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestAllTypesTravel(t *testing.T) {
	goldentest.State(t, FirstSchema, FirstDiffOf, nil)
	goldentest.State(t, SecondStateSchema, SecondStateDiffOf, nil)
	goldentest.State(t, MarkedSchema, MarkedDiffOf, nil)
	goldentest.Payload[Payload](t, nil)
}
