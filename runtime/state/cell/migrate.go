package cell

import (
	"errors"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// migration is a method Migrate of a state, or of an embedded struct whose fields are fields of
// the state.
type migration struct {
	call  func(*state.OldFields) error
	wires []string // the wire names of the fields that it migrates; nil for all
}

// OnMigrate sets the function to call if a stored field does not have the type of the code. Only
// the fields with the wire names in wires count, or all fields without any. A later call of
// OnMigrate is for the fields that earlier ones did not read.
func (c *Core) OnMigrate(migrate func(*state.OldFields) error, wires ...string) {
	c.moves = append(c.moves, migration{migrate, wires})
}

// migrates reports whether m migrates the field of h.
func (m *migration) migrates(h *head) bool {
	return m.wires == nil || slices.Contains(m.wires, h.field.Wire)
}

// migratable reports whether r failed at a value of the field of h, because the value has another
// type than the code wants. It returns false if the field has no method Migrate.
func (c *Core) migratable(r *wire.Reader, h *head) bool {
	var err *wire.Error
	if !errors.As(r.Err(), &err) || !slices.ContainsFunc(c.moves, func(m migration) bool { return m.migrates(h) }) {
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
	for i := range c.moves {
		if err := c.move(&c.moves[i], fields); err != nil {
			return err
		}
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
		h.do.settle()
		h.do.adopt()
		h.written, h.aged = true, true
	}
	return c.err
}

// move calls a method Migrate with those of fields that are its to migrate and not read yet.
func (c *Core) move(m *migration, fields []rep.OldField) error {
	var old rep.Old
	var at []int
	for i, f := range fields {
		if !f.Read && m.migrates(c.cells[f.Cell]) {
			old.Add(f)
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return nil
	}
	if err := m.call((*state.OldFields)(&old)); err != nil {
		return &state.DecodeError{Field: c.cells[fields[at[0]].Cell].field.Name, Err: err}
	}
	for i, f := range old.Fields() {
		fields[at[i]].Read = f.Read
	}
	return nil
}
