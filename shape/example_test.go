package shape_test

import (
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// A tool shows a snapshot with the names of fields in Go. It needs only stored data: the
// description and the snapshot.
func Example() {
	description, snapshot, err := stored()
	if err != nil {
		fmt.Println(err)
		return
	}

	var state shape.State
	if err := state.DecodeWire(description); err != nil {
		fmt.Println(err)
		return
	}
	var values map[string]any
	if err := msgpack.Unmarshal(snapshot, &values); err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range state.Fields {
		if v, ok := values[f.Wire]; ok {
			fmt.Printf("%s %s (%s) = %v\n", f.Name, f.Type, f.Reducer, v)
		}
	}
	for _, f := range state.Types.Find("Fact").Fields {
		fmt.Println("Fact has", f.Name, f.Type)
	}
	// Output:
	// Status Status (last) = answered
	// Tokens int64 (sum) = 42
	// Facts map[string]Fact (merge) = map[city:map[Score:0 Source: Text:]]
	// Fact has Source string
	// Fact has Text string
	// Fact has Score float64
}

// stored returns the data that a program stored.
func stored() (description, snapshot []byte, err error) {
	d := reference.StateSchema.Describe()
	if description, err = d.AppendWire(nil); err != nil {
		return nil, nil, err
	}
	run := reference.StateSchema.New(cell.Options{})
	run.Load(reference.State{Status: "answered", Tokens: 42, Facts: map[string]reference.Fact{"city": {}}})
	snapshot, err = run.AppendSnapshot(nil)
	return description, snapshot, err
}
