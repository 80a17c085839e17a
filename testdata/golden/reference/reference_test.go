package reference_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/testdata/golden/reference"
)

func TestStateRoundTrips(t *testing.T) {
	live := reference.StateSchema.New(cell.Options{Record: true})
	var u reference.StateUpdate
	u.ID.Set([16]byte{1, 2, 3})
	u.Messages.Upsert(
		reference.Message{ID: "m1", Role: "user", Text: "hello", At: time.Unix(1, 2)},
		reference.Message{ID: "m2", Role: "assistant", Text: "hi", Calls: []reference.ToolCall{{ID: "c1", Tool: "look", Args: []byte("{}")}}},
	)
	u.Status.Set("open")
	u.Tokens.Add(7)
	u.Facts.Put("k", reference.Fact{Source: "s", Score: 1.5})
	u.Vector.Set([]float64{1, 2.5})
	u.Plan.Set(&reference.Plan{Goal: "g", Next: &reference.Plan{Steps: []string{}}})
	if err := live.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	live.EndStep()
	delta, err := live.AppendDelta(nil)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := live.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}

	fromSnapshot := reference.StateSchema.New(cell.Options{})
	if err := fromSnapshot.Decode(snapshot); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live.View(), fromSnapshot.View()); diff != "" {
		t.Errorf("decoded snapshot differs (-live +decoded):\n%s", diff)
	}
	fromDelta := reference.StateSchema.New(cell.Options{})
	if err := fromDelta.Decode([]byte{0x80}); err != nil {
		t.Fatal(err)
	}
	if err := fromDelta.Apply(delta); err != nil {
		t.Fatal(err)
	}
	if len(reference.StateSchema.Diff(live.View(), fromDelta.View())) != 0 {
		t.Errorf("delta comes to %v in %v", fromDelta.View(), state.FieldNames(reference.StateSchema.Diff(live.View(), fromDelta.View())))
	}

	b, err := reference.StateSchema.AppendUpdate(nil, &u)
	if err != nil {
		t.Fatal(err)
	}
	var again reference.StateUpdate
	if err := reference.StateSchema.DecodeUpdate(b, &again); err != nil {
		t.Fatal(err)
	}
	if !u.Equal(again) {
		t.Errorf("decoded update: got %v, want %v", again, u)
	}
}
