package state_test

import (
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// A node builds its update by methods. Each field has the methods that its reducer allows.
func Example() {
	var u reference.StateUpdate
	u.Messages.Upsert(reference.Message{ID: "m1", Role: "user", Text: "Where is my order?"})
	u.Status.Set("open") // an untyped constant for a field of a named type
	u.Tokens.Add(42)
	u.Counts.Put("questions", 1)
	fmt.Println(u.Status.String(), u.Tokens.String(), u.Counts.String())
	// Output: set open add 42 put map[questions:1]
}

// A test can apply an update to a state without a graph.
func ExampleApply() {
	before := reference.State{Tokens: 100, Status: "open"}
	var u reference.StateUpdate
	u.Tokens.Add(42)
	u.Status.Set("answered")
	after, err := state.Apply(reference.StateSchema, before, u)
	fmt.Println(after.Tokens, after.Status, err)
	// Output: 142 answered <nil>
}

// Literals write in one expression what methods write in several statements. The type is named if
// it is not the type of the constant.
func ExampleSet() {
	u := reference.StateUpdate{
		Query:  state.Set("orders of this week"),
		Status: state.Set[reference.Status]("searching"),
		Tokens: state.Add[int64](7),
		Counts: state.Put("searches", int64(1)),
	}
	fmt.Println(u)
	// Output: StateUpdate{Query: set orders of this week, Status: set searching, Tokens: add 7, Counts: put map[searches:1]}
}

func ExampleAppend() {
	u := reference.EverythingUpdate{Log: state.Append("one", "two")}
	u.Log.Remove("one")
	after, err := state.Apply(reference.EverythingSchema, reference.Everything{Log: []string{"zero"}}, u)
	fmt.Println(after.Log, err)
	// Output: [zero two] <nil>
}

func ExampleMap() {
	var u reference.EverythingUpdate
	u.Ranks.Merge(map[int8]string{1: "gold", 2: "silver"})
	u.Ranks.Delete(2)
	u.Ranks.Put(3, "bronze")
	after, err := state.Apply(reference.EverythingSchema, reference.Everything{}, u)
	fmt.Println(after.Ranks, err)
	// Output: map[1:gold 3:bronze] <nil>
}

// Two tasks of one superstep must not both set a field that has no reducer.
func ExampleConflictError() {
	run := reference.StateSchema.New(cell.Options{})
	var err error
	for task := range 2 {
		var u reference.StateUpdate
		u.Query.Set("mine")
		err = errors.Join(err, run.Merge(task, &u))
	}
	var conflict *state.ConflictError
	fmt.Println(errors.As(err, &conflict), conflict.Field, conflict.Tasks)
	// Output: true Query [0 1]
}
