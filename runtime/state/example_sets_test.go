package state_test

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/state"
)

// Literals write one operation in an expression. Name the type if it is not the type of the
// argument.
func ExampleSet() {
	type Priority string
	fmt.Println(state.Set("draft"), "|", state.Set[Priority]("high"), "|", state.Add[int64](7))
	// Output: set draft | set high | add 7
}

func ExampleAppend() {
	u := state.Append("one", "two")
	u.Remove("one")
	u.Append("three")
	fmt.Println(u)
	// Output: append [one two]; remove [one]; append [three]
}

// The type of the key comes first, because Go cannot infer it.
func ExampleUpsert() {
	type Message struct{ ID, Text string }
	u := state.Upsert[string](Message{"m1", "hello"})
	u.Remove("m0")
	fmt.Println(u)
	// Output: upsert [{ID:m1 Text:hello}]; remove [m0]
}

func ExampleMap() {
	var u state.Map[int, string]
	u.Merge(map[int]string{1: "gold", 2: "silver"})
	u.Delete(2)
	u.Put(3, "bronze")
	fmt.Println(u)
	// Output: put map[1:gold 2:silver]; delete [2]; put map[3:bronze]
}

// Build makes any update in one expression. graphgen generates the type of the update.
func ExampleBuild() {
	type TicketUpdate struct {
		Tags   state.Unique[string]
		Tokens state.Sum[int64]
	}
	u := state.Build(func(u *TicketUpdate) {
		u.Tags.Replace("new")
		u.Tokens.Clear()
		u.Tokens.Add(3)
	})
	fmt.Println(u.Tags, "|", u.Tokens)
	// Output: replace [new] | clear; add 3
}
