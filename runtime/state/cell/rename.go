package cell

import (
	"cmp"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// A renamed field (was=old) is stored under its new name, together with a mark. The mark is an
// entry under "was," and the old name, with the new name as its value. No field can have such a
// name. Code that knows only the old name finds the mark and refuses the state. Without the mark
// it would take the field for one that was never written. Code that knows neither name keeps the
// mark.
const markPrefix = "was,"

// mark says that a field of the code is stored under another name than before.
type mark struct {
	name  string // in stored data
	cell  *head
	value *delta.Value
	told  bool // it is in what is stored
}

// addMark makes the mark of a name that the field of h had.
func (c *Core) addMark(was string, h *head) {
	m := mark{name: markPrefix + was, cell: h, value: delta.NewValue(string(wire.AppendString(nil, h.field.Wire)))}
	i, _ := c.findMark(m.name)
	c.marks = slices.Insert(c.marks, i, m)
}

func (c *Core) findMark(name string) (int, bool) {
	return slices.BinarySearchFunc(c.marks, name, func(m mark, name string) int { return cmp.Compare(m.name, name) })
}

// changed reports whether a delta has to tell the mark: it stands as long as its field does.
func (m *mark) changed() bool { return m.told != m.cell.stored() }

func (m *mark) appendChange(b []byte) []byte {
	switch {
	case !m.changed():
		return b
	case m.told:
		return append(wire.AppendString(b, m.name), 0x92, byte(delta.Clear), 0xc0)
	}
	return m.value.AppendTo(append(wire.AppendString(b, m.name), 0x92, byte(delta.Set)))
}

// unknownEntries returns the entries of a snapshot other than the fields of the code, in order of
// wire name.
func (c *Core) unknownEntries() []unknown {
	if len(c.marks) == 0 {
		return c.unknown
	}
	all := slices.Clone(c.unknown)
	for _, m := range c.marks {
		if m.cell.stored() {
			all = append(all, unknown{m.name, m.value})
		}
	}
	slices.SortFunc(all, func(a, b unknown) int { return cmp.Compare(a.name, b.name) })
	return all
}

// readMark reads a mark in stored data, which starts at byte at. It reports whether the mark must
// be kept, because the code knows neither name.
func (c *Core) readMark(r *wire.Reader, at int, name, now string) (carry bool) {
	if i, ok := c.findMark(name); ok && c.marks[i].cell.field.Wire == now {
		c.marks[i].told = true
		return false
	}
	next := 0
	was := strings.TrimPrefix(name, markPrefix)
	h := c.find(was, &next)
	if h == nil {
		return true
	}
	if next = 0; c.find(now, &next) == nil {
		r.Fail(at, &state.RenameError{Field: h.field.Name, Was: was, Now: strings.Clone(now)})
	}
	return false
}

// markOf returns the name that the value of a mark says.
func markOf(r *wire.Reader, at int, raw string) string {
	in := wire.NewStringReader("", raw)
	now := in.Str()
	if err := in.End(); err != nil {
		r.Damage(at, err)
	}
	return now
}

// claim notes under which of its names a field is stored. It fails, and reports false, when that
// is not the only one.
func (c *Core) claim(r *wire.Reader, at int, name string, h *head) bool {
	switch {
	case h.from == name:
	case h.from != "" && (h.written || c.isOld(h)):
		r.Fail(at, &state.RenameError{Field: h.field.Name, Was: h.from, Now: strings.Clone(name), Both: true})
		return false
	case name == h.field.Wire:
		h.from = h.field.Wire
	default:
		h.from = h.field.Was[slices.Index(h.field.Was, name)]
	}
	return true
}
