package cell_test

import (
	"cmp"
	"errors"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// fieldKinds make a state that has one field, of each kind of cell.
var fieldKinds = map[string]func() *cell.Core{
	"string": func() *cell.Core {
		f := &cell.ValueField[string]{Field: theField, Codec: cell.Str[string]{}}
		return oneField(func(c *cell.Core) { new(cell.ValueCell[string]).Bind(c, f, new(string)) })
	},
	"bytes": func() *cell.Core {
		f := &cell.ValueField[[]byte]{Field: theField, Codec: cell.Bytes[[]byte]{}}
		return oneField(func(c *cell.Core) { new(cell.ValueCell[[]byte]).Bind(c, f, new([]byte)) })
	},
	"complex": func() *cell.Core {
		f := &cell.ValueField[complex128]{Field: theField, Codec: cell.Complex[complex128]{}}
		return oneField(func(c *cell.Core) { new(cell.ValueCell[complex128]).Bind(c, f, new(complex128)) })
	},
	"sum": func() *cell.Core {
		f := &cell.SumField[int8]{Field: theField, Codec: cell.Int[int8]{}}
		return oneField(func(c *cell.Core) { new(cell.SumCell[int8]).Bind(c, f, new(int8)) })
	},
	"or": func() *cell.Core {
		f := &cell.OrField[bool]{Field: theField}
		return oneField(func(c *cell.Core) { new(cell.OrCell[bool]).Bind(c, f, new(bool)) })
	},
	"list of strings": func() *cell.Core {
		f := &cell.ListField[string]{Field: theField, Elem: cell.Str[string]{}}
		return oneField(func(c *cell.Core) { new(cell.ListCell[string]).Bind(c, f, new([]string)) })
	},
	"list of numbers": func() *cell.Core {
		f := &cell.ListField[int]{Field: theField, Elem: cell.Int[int]{}}
		return oneField(func(c *cell.Core) { new(cell.ListCell[int]).Bind(c, f, new([]int)) })
	},
	"keyed list": func() *cell.Core {
		f := &cell.KeyedField[string, string]{Field: theField, Elem: cell.Str[string]{}, Keys: cell.Str[string]{}, Key: func(v *string) string { return *v }}
		return oneField(func(c *cell.Core) { new(cell.KeyedCell[string, string]).Bind(c, f, new([]string)) })
	},
	"unique list": func() *cell.Core {
		f := &cell.UniqueField[int]{Field: theField, Elem: cell.Int[int]{}}
		return oneField(func(c *cell.Core) { new(cell.UniqueCell[int]).Bind(c, f, new([]int)) })
	},
	"map by strings": func() *cell.Core {
		f := &cell.MapField[string, int]{Field: theField, Keys: cell.Str[string]{}, Values: cell.Int[int]{}, Compare: cmp.Compare[string]}
		return oneField(func(c *cell.Core) { new(cell.MapCell[string, int]).Bind(c, f, new(map[string]int)) })
	},
	"map by numbers": func() *cell.Core {
		f := &cell.MapField[int, string]{Field: theField, Keys: cell.Int[int]{}, Values: cell.Str[string]{}, Compare: cmp.Compare[int]}
		return oneField(func(c *cell.Core) { new(cell.MapCell[int, string]).Bind(c, f, new(map[int]string)) })
	},
}

var theField = shape.Field{Name: "F", Wire: "f", Type: "its type"}

func oneField(bind func(c *cell.Core)) *cell.Core {
	c := new(cell.Core)
	c.Init("S", cell.Options{Record: true}, 1)
	bind(c)
	return c
}

// TestAChangeOfAnotherKindOfFieldIsNeverMisread stores each kind of value, and then each operation
// of every kind of field on it. It reads both as each kind of field. The result must be the folded
// state, or an error.
func TestAChangeOfAnotherKindOfFieldIsNeverMisread(t *testing.T) {
	values := map[string]any{
		"nothing": nil, "a string": "s", "bytes": []byte("b"), "a number": 5, "a large number": 300, "a bool": true, "no list": array{}, "strings": array{"a", "b"},
		"numbers": array{1, 2}, "floats": array{1.5, 2.5}, "no map": object{}, "a map by strings": object{"a": 1}, "a map by numbers": map[int]string{1: "a"},
	}
	type change struct {
		op      delta.Op
		operand any
	}
	changes := []change{
		{delta.Clear, nil}, {delta.SetAt, array{0, "x"}}, {delta.SetAt, array{1, 7}}, {delta.SetAt, array{0, 2.5}}, {delta.SetAt, array{9, 7}}, {delta.SetAt, array{-1, 7}},
		{delta.RemoveAt, array{0}}, {delta.RemoveAt, array{}}, {delta.RemoveAt, array{0, 1}}, {delta.RemoveAt, array{5}},
		{delta.Delete, array{"a"}}, {delta.Delete, array{1}}, {delta.Delete, array{}},
	}
	for _, v := range values {
		changes = append(changes, change{delta.Set, v}, change{delta.Append, v}, change{delta.Put, v})
	}
	chained := make([][]byte, 0, len(changes)*2)
	for i, c := range changes {
		next := changes[(i*7+3)%len(changes)]
		chained = append(chained, pack(t, array{0, object{"f": array{c.op, c.operand}}}), pack(t, array{0, object{"f": array{c.op, c.operand, next.op, next.operand}}}))
	}
	cells, misread := 0, 0
	for stored, v := range values {
		for unset := range 2 {
			snapshot := pack(t, object{"f": v})
			if unset == 1 {
				snapshot, stored = []byte{0x80}, "nothing at all"
			}
			for kind, newCore := range fieldKinds {
				if readAs(newCore, snapshot) != nil {
					continue // found without the change
				}
				for _, d := range chained {
					cells++
					if problem := compareToFolded(newCore, snapshot, d); problem != "" {
						misread++
						t.Errorf("%s, then %x, read as %s: %s", stored, d, kind, problem)
					}
				}
			}
		}
	}
	if cells < 1000 {
		t.Errorf("only %d cells were tried", cells)
	}
}

// readAs reads a snapshot and the deltas that follow it, and returns what is wrong with them.
func readAs(newCore func() *cell.Core, snapshot []byte, deltas ...[]byte) error {
	_, err := rewritten(newCore, snapshot, deltas...)
	return err
}

// rewritten reads a snapshot and the deltas that follow it, and returns the state as it is
// written.
func rewritten(newCore func() *cell.Core, snapshot []byte, deltas ...[]byte) ([]byte, error) {
	c := newCore()
	if err := c.Decode(snapshot); err != nil {
		return nil, err
	}
	for _, d := range deltas {
		if err := c.Apply(d); err != nil {
			return nil, err
		}
	}
	return c.AppendSnapshot(nil)
}

// compareToFolded says how what is read by applying a delta differs from reading what both fold
// to; "" when it does not.
func compareToFolded(newCore func() *cell.Core, snapshot, d []byte) string {
	got, err := rewritten(newCore, snapshot, d)
	var at *wire.Error
	var dec *state.DecodeError
	if err != nil && (!errors.As(err, &at) || !errors.As(err, &dec) || dec.Field != "F") {
		return fmt.Sprintf("got %v, want a *DecodeError of F", err)
	}
	folded, foldErr := delta.Fold(snapshot, d)
	switch {
	case foldErr != nil && err == nil:
		return fmt.Sprintf("got %x, want an error as of folding it: %v", got, foldErr)
	case foldErr != nil:
		return ""
	}
	want, wantErr := rewritten(newCore, folded)
	switch {
	case err != nil && at.Malformed():
		return fmt.Sprintf("got damage where nothing is damaged: %v", err)
	case err == nil && wantErr != nil:
		return fmt.Sprintf("got %x, want an error: %v", got, wantErr)
	case err == nil && string(got) != string(want):
		return fmt.Sprintf("got %x, want %x", got, want)
	}
	return ""
}
