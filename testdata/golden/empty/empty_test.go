package empty

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestStatesTravel(t *testing.T) {
	goldentest.State(t, StateSchema, StateDiffOf, nil)
	goldentest.State(t, UntrackedSchema, UntrackedDiffOf, nil)
	goldentest.State(t, BlankSchema, BlankDiffOf, nil)
}

func TestPayloadsTravel(t *testing.T) {
	goldentest.Payload[Payload](t, nil)
	goldentest.Payload[Text](t, nil)
	goldentest.Payload[List](t, nil)
}

func TestUntrackedFieldStaysInMemory(t *testing.T) {
	live := UntrackedSchema.New(cell.Options{Record: true})
	var u UntrackedUpdate
	u.F.Set(func() {})
	b, err := UntrackedSchema.AppendUpdate(nil, &u)
	if err != nil || string(b) != "\x80" {
		t.Errorf("AppendUpdate of an untracked field = %x, %v; want an empty map", b, err)
	}
	if err := live.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	if live.View().F == nil {
		t.Error("the untracked field was not set")
	}
	if b, err := live.AppendSnapshot(nil); err != nil || string(b) != "\x80" {
		t.Errorf("AppendSnapshot = %x, %v; want an empty map", b, err)
	}
}
