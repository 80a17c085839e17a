package state

import (
	"errors"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Old is what a state's Migrate method gets: the stored fields that are not of the type that the code wants. Migrate
// reads them and sets the state's fields from them; an error it returns is what the run fails with. The other
// fields of the state are read already. When Migrate returns nil, every field it was offered counts as written. One that it
// did not read, or only tried to as something else than it is, is an error, so that nothing is lost that nobody thought of: who
// means to lose a field reads it by Raw.
//
// The methods take the name that a field is stored under: its wire name, or one of those that it had before. An Old is for
// Migrate to read; it must not be kept.
type Old struct {
	fields  []oldField
	changed bool // since Migrate saw them
}

type oldField struct {
	name  string
	cell  *Cell
	value *delta.Value
	read  bool // by Migrate, this time
}

// Names returns the names that the fields are stored under, in the order in which they were found.
func (o *Old) Names() []string {
	names := make([]string, len(o.fields))
	for i, f := range o.fields {
		names[i] = f.name
	}
	return names
}

// Raw returns what is stored under a name, as MessagePack, and whether there is anything. The bytes are the
// caller's.
func (o *Old) Raw(name string) ([]byte, bool) {
	if f := o.field(name); f != nil {
		f.read = true
		return f.value.AppendTo(nil), true
	}
	return nil, false
}

// Reader returns a Reader of what is stored under a name, and whether there is anything.
func (o *Old) Reader(name string) (wire.Reader, bool) {
	raw, ok := o.Raw(name)
	return wire.NewReader(name, raw), ok
}

// basic reads a basic value, which counts as read when it is one.
func basic[T any](o *Old, name string, read func(r *wire.Reader) T) (v T, ok bool) {
	f := o.field(name)
	if f == nil {
		return v, false
	}
	r := wire.NewReader(name, f.value.AppendTo(nil))
	v = read(&r)
	ok = r.End() == nil
	f.read = f.read || ok
	return v, ok
}

// String returns the string that is stored under a name; false when there is none, or it is no string.
func (o *Old) String(name string) (string, bool) {
	return basic(o, name, (*wire.Reader).Str)
}

// Int returns the integer that is stored under a name; false when there is none, or it is no integer that fits.
func (o *Old) Int(name string) (int64, bool) {
	return basic(o, name, (*wire.Reader).Int64)
}

// Float returns the number that is stored under a name; false when there is none, or it is no number that fits.
func (o *Old) Float(name string) (float64, bool) {
	return basic(o, name, (*wire.Reader).Float64)
}

// Bool returns the bool that is stored under a name; false when there is none, or it is no bool.
func (o *Old) Bool(name string) (value, ok bool) {
	return basic(o, name, (*wire.Reader).Bool)
}

func (o *Old) field(name string) *oldField {
	i := slices.IndexFunc(o.fields, func(f oldField) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &o.fields[i]
}

// has reports whether a field is an old one. A nil Old has none.
func (o *Old) has(name string) bool { return o != nil && o.field(name) != nil }

// of reports whether the field of a cell is an old one.
func (o *Old) of(h *Cell) bool {
	return o != nil && slices.ContainsFunc(o.fields, func(f oldField) bool { return f.cell == h })
}

// apply applies the operations of a delta on a field.
func (o *Old) apply(r *wire.Reader, name string) {
	f := o.field(name)
	o.changed = true
	for range delta.Ops(r) {
		f.value.Apply(r)
	}
}

// migratable reports whether r failed at a value that is not of the type that the code wants, and the state has a
// method Migrate.
func (c *Core) migratable(r *wire.Reader) bool {
	var err *wire.Error
	if c.migrate == nil || !errors.As(r.Err(), &err) {
		return false
	}
	return err.Kind == wire.Mismatch || err.Kind == wire.Range || err.Kind == wire.Invalid
}

// keepOld notes that the field of a cell is stored as something else than the code wants.
func (c *Core) keepOld(name string, h *Cell, value *delta.Value) {
	if c.old == nil {
		c.old = new(Old)
	}
	h.do.reset()
	c.old.changed = true
	c.old.fields = append(c.old.fields, oldField{name: strings.Clone(name), cell: h, value: value})
}

// migrated lets the state's Migrate method make what the code wants of old fields, if there are any that it has not
// seen yet.
func (c *Core) migrated() error {
	if c.old == nil || !c.old.changed {
		return nil
	}
	for _, f := range c.old.fields {
		f.cell.do.reset()
	}
	c.old.fields = slices.DeleteFunc(c.old.fields, func(f oldField) bool { return f.value.Absent() })
	c.old.changed = false
	if len(c.old.fields) == 0 {
		return nil
	}
	for i := range c.old.fields {
		c.old.fields[i].read = false
	}
	if err := c.migrate(c.old); err != nil {
		return &DecodeError{Field: c.old.fields[0].cell.field.Name, Err: err}
	}
	for _, f := range c.old.fields {
		if !f.read {
			return &DecodeError{Field: f.cell.field.Name, Err: &wire.Error{
				Kind: wire.Mismatch, Path: c.name + "." + f.name, Want: f.cell.field.Type, Found: "another type, and Migrate did not read it",
			}}
		}
	}
	for _, f := range c.old.fields {
		f.cell.do.adopt()
		h := f.cell
		h.written, h.aged = true, true
	}
	return nil
}
