package runs

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestStateTravels(t *testing.T) { goldentest.State(t, StateSchema, StateDiffOf, nil) }

// written returns an update of every field, with the same negative number for each that has one.
func written(name string) StateUpdate {
	return state.Build(func(u *StateUpdate) {
		u.Set.Set(name)
		u.Last.Set(name)
		u.First.Set(name)
		u.Log.Append(name)
		for i := range 40 { // enough for an index of the keys
			u.Items.Upsert(Item{fmt.Sprint(name, i)})
		}
		u.Tags.Add(name)
		u.Facts.Put(name, 1)
		u.Sum.Add(-3)
		u.Min.Offer(3)
		u.Max.Offer(-3)
		u.And.And(true)
		u.Or.Or(true)
		u.Stack.Reduce(name)
		u.Kept.Append(name)
	})
}

// TestAnInputClearsEveryKindOfField writes all fields, begins an input and writes other values.
// The state is then as one without the first values, also where it is rebuilt from the deltas.
func TestAnInputClearsEveryKindOfField(t *testing.T) {
	live, replica := StateSchema.New(cell.Options{Record: true}), StateSchema.New(cell.Options{Record: true})
	want := StateSchema.New(cell.Options{Record: true})
	merge := func(l cell.Live[State, StateUpdate], u StateUpdate) {
		t.Helper()
		if err := l.Merge(0, &u); err != nil {
			t.Fatal(err)
		}
	}
	follow := func() {
		t.Helper()
		d, err := live.AppendDelta(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := replica.Apply(d); err != nil {
			t.Fatal(err)
		}
	}
	merge(live, written("one"))
	follow()
	live.NewInput()
	follow()
	if got := replica.View(); !reflect.DeepEqual(got, State{Kept: []string{"one"}}) {
		t.Errorf("after an input the state is %+v, want only Kept", got)
	}
	live.NewInput() // there is nothing to clear
	if d, err := live.AppendDelta(nil); err != nil || string(d) != "\x92\x00\x80" {
		t.Errorf("an input that clears nothing is stored as %x, %v; want the empty delta", d, err)
	}
	merge(live, written("two"))
	merge(want, state.Build(func(u *StateUpdate) { u.Kept.Append("one") }))
	merge(want, written("two"))
	follow()
	for name, l := range map[string]cell.Live[State, StateUpdate]{"state": live, "replica": replica} {
		if got, want := l.View(), want.View(); !reflect.DeepEqual(got, want) {
			t.Errorf("the %s is\n%+v, want\n%+v", name, got, want)
		}
		got, _ := l.Sizes()
		if size, _ := want.Sizes(); got != size {
			t.Errorf("the %s takes %d bytes, want %d", name, got, size)
		}
	}
}
