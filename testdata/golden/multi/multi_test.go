package multi_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
	"github.com/graphgen-go/graphgen/testdata/golden/multi"
)

func TestAllTypesTravel(t *testing.T) {
	goldentest.State(t, multi.FirstSchema, multi.FirstDiffOf, nil)
	goldentest.State(t, multi.SecondStateSchema, multi.SecondStateDiffOf, nil)
	goldentest.State(t, multi.MarkedSchema, multi.MarkedDiffOf, nil)
	goldentest.Payload[multi.Payload](t, nil)
}
