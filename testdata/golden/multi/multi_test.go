package multi

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestAllTypesTravel(t *testing.T) {
	goldentest.State(t, FirstSchema, nil)
	goldentest.State(t, SecondStateSchema, nil)
	goldentest.State(t, MarkedSchema, nil)
	goldentest.Payload[Payload](t, nil)
}
