package example

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/state"
)

func TestUpdatesOfTheManual(t *testing.T) {
	s, err := state.Apply(StateSchema, State{}, question(Message{ID: "1"}))
	if err != nil {
		t.Fatal(err)
	}
	s.Cheapest = 3
	got, err := state.Apply(StateSchema, s, restart())
	if err != nil {
		t.Fatal(err)
	}
	want := State{
		Status: "asked", Log: []string{"new question"}, Messages: []Message{{ID: "1"}},
		Facts: map[string]Fact{"city": {Source: "the map"}}, Tags: []string{"restarted"}, Cheapest: 9.5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
