package value_test

import (
	"encoding/json"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/shape/value"
	"github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// A tool shows a stored state, and what changed in it.
func Example() {
	state := reference.StateSchema.Describe() // Saver.Schemas returns it without the type
	before, err := value.State(&state, stored(reference.State{Status: "asked"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := value.State(&state, stored(reference.State{Status: "answered", Facts: map[string]reference.Fact{"city": {Text: "Oslo"}}}))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range value.Diff(&before, &after) {
		text, err := json.Marshal(c.After)
		fmt.Println(c.Path, "is now", string(text), err)
	}
	// Output:
	// Status is now "answered" <nil>
	// Facts is now {"city":{"Source":"","Text":"Oslo","Score":0}} <nil>
}

// An input is made from JSON.
func ExampleEncodeUpdate() {
	state := reference.StateSchema.Describe()
	input, err := value.EncodeUpdate(&state, []byte(`{"Query": "weather", "Tokens": 12}`))
	fmt.Printf("%q %v\n", input, err)
	_, err = value.EncodeUpdate(&state, []byte(`{"Tokens": "many"}`))
	fmt.Println(err)
	// Output:
	// "\x82\xa5Query\x92\x01\xa7weather\xa6Tokens\x92\t\f" <nil>
	// Tokens: want an integer that fits in an int64, found the string "many"
}

// stored returns the snapshot of a state.
func stored(s reference.State) []byte {
	run := reference.StateSchema.New(cell.Options{})
	run.Load(s)
	b, err := run.AppendSnapshot(nil)
	if err != nil {
		return nil
	}
	return b
}
