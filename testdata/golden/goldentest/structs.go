package goldentest

import (
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
)

// Structs checks that an independent library reads a snapshot into the user's own struct. It also
// checks that a snapshot by that library can be read. The library must support the types, and the
// wire names must be the Go names.
func Structs[S, U any](t *testing.T, schema *state.Schema[S, U]) {
	t.Helper()
	each(t, nil, func(f *Filler) {
		var s S
		Fill(f, &s)
		live := schema.New(cell.Options{})
		live.Load(s)
		b, err := live.AppendSnapshot(nil)
		if err != nil {
			t.Fatalf("%s: %v", schema.Name, err)
		}
		var theirs S
		if err := msgpack.Unmarshal(b, &theirs); err != nil {
			t.Fatalf("%s: the other library cannot read %x: %v", schema.Name, b, err)
		}
		if changed := state.FieldNames(schema.Diff(s, theirs)); changed != nil {
			t.Errorf("%s: the other library reads %q as\n%+v\nwant\n%+v", schema.Name, changed, theirs, s)
		}
		if b, err = msgpack.Marshal(s); err != nil {
			t.Fatalf("%s: the other library cannot write %+v: %v", schema.Name, s, err)
		}
		if err := live.Decode(b); err != nil {
			t.Fatalf("%s: decode what the other library wrote: %v", schema.Name, err)
		}
		if changed := state.FieldNames(schema.Diff(s, live.View())); changed != nil {
			t.Errorf("%s: %q differ after the other library wrote them:\n%+v\nwant\n%+v", schema.Name, changed, live.View(), s)
		}
	})
}
