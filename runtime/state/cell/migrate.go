package cell

import (
	"errors"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// migratable reports whether r failed at a value that is not of the type that the code wants, and
// the state has a method Migrate.
func (c *Core) migratable(r *wire.Reader) bool {
	var err *wire.Error
	if c.migrate == nil || !errors.As(r.Err(), &err) {
		return false
	}
	return err.Kind == wire.Mismatch || err.Kind == wire.Range || err.Kind == wire.Invalid
}

// keepOld notes that the field of a cell is stored as something else than the code wants.
func (c *Core) keepOld(name string, h *head, value *delta.Value) {
	h.do.reset()
	c.newOld = true
	c.old.Add(rep.OldField{Name: name, Cell: h.index, Value: value})
}

// isOld reports whether the field of a cell is an old one.
func (c *Core) isOld(h *head) bool {
	return slices.ContainsFunc(c.old.Fields(), func(f rep.OldField) bool { return f.Cell == h.index })
}

// applyOld applies the operations of a delta on an old field.
func (c *Core) applyOld(r *wire.Reader, f *rep.OldField) {
	c.newOld = true
	for range delta.Ops(r) {
		f.Value.Apply(r)
	}
}

// migrated lets the state's Migrate method make what the code wants of old fields, if there are
// any that it has not seen yet.
func (c *Core) migrated() error {
	if !c.newOld {
		return nil
	}
	for _, f := range c.old.Fields() {
		c.cells[f.Cell].do.reset()
	}
	c.newOld = false
	c.old.DropAbsent()
	fields := c.old.Fields()
	if len(fields) == 0 {
		return nil
	}
	for i := range fields {
		fields[i].Read = false
	}
	if err := c.migrate((*state.Old)(&c.old)); err != nil {
		return &state.DecodeError{Field: c.cells[fields[0].Cell].field.Name, Err: err}
	}
	for _, f := range fields {
		if field := c.cells[f.Cell].field; !f.Read {
			return &state.DecodeError{Field: field.Name, Err: &wire.Error{
				Kind: wire.Mismatch, Path: c.name + "." + f.Name, Want: field.Type, Found: "another type, and Migrate did not read it",
			}}
		}
	}
	for _, f := range fields {
		h := c.cells[f.Cell]
		h.do.adopt()
		h.written, h.aged = true, true
	}
	return nil
}
