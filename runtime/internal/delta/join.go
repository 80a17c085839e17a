package delta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Join returns one delta with the effect of deltas in order. It also returns a table, with which
// Cut restores the same deltas. Consecutive Append operations on a field become one, with the
// elements of all. So a list is read almost as fast from joined deltas as from a snapshot. ok is
// false if Cut could not restore the same bytes, because an argument is not a delta or is written
// in another form.
//
// The table has an entry for each delta. An entry consists of numbers of variable length: the
// displaced bytes, the number of fields, and two numbers for each field. These are the position of
// the field in the joined delta and the number of its operations. Each Append operation adds its
// number of elements.
func Join(deltas ...[]byte) (joined, table []byte, ok bool) {
	j := joining{fields: make(map[string]*field)}
	for _, d := range deltas {
		if err := j.read(d); err != nil {
			return nil, nil, false
		}
	}
	names := slices.Sorted(maps.Keys(j.fields))
	joined = j.delta(names)
	for i, name := range names {
		j.fields[name].place = i
	}
	for _, d := range deltas {
		table = j.appendRow(table, d)
	}
	cut, err := Cut(joined, table)
	same := err == nil && slices.EqualFunc(cut, deltas, func(a, b []byte) bool { return string(a) == string(b) })
	return joined, table, same
}

// joining is a joined delta in the making.
type joining struct {
	fields map[string]*field
	dead   int
	size   int // of the deltas
}

// field has the operations on a field, in order.
type field struct {
	place int
	ops   []operation
}

// operation is an operation with its encoded operand. The parts of the operand of an Append are
// the elements, without the head of their array.
type operation struct {
	op    string // encoded
	parts []string
}

// read adds the operations of a delta.
func (j *joining) read(d []byte) error {
	j.size += len(d)
	r := NewReader("", d)
	for {
		name, more := r.Next()
		if !more {
			break
		}
		f := j.fields[name]
		if f == nil {
			f = new(field)
			j.fields[name] = f
		}
		for range Ops(&r.Reader) {
			f.add(&r.Reader)
		}
	}
	if r.Dead > math.MaxInt-j.dead {
		return ErrNegative
	}
	j.dead += r.Dead
	return r.End()
}

// add reads an operation. It joins an Append with the Append before it, unless one of the two
// has no elements. Cut could not restore an operation without elements.
func (f *field) add(r *wire.Reader) {
	o := operation{op: r.Raw()}
	if o.op != opAppend {
		o.parts = []string{r.Raw()}
		f.ops = append(f.ops, o)
		return
	}
	n := r.ArrayLen()
	if last := len(f.ops) - 1; n > 0 && last >= 0 && f.ops[last].op == opAppend && len(f.ops[last].parts) > 0 {
		o, f.ops = f.ops[last], f.ops[:last]
	}
	for i := 0; i < n && r.OK(); i++ {
		o.parts = append(o.parts, r.Raw())
	}
	f.ops = append(f.ops, o)
}

// opAppend is the encoded operation Append.
const opAppend = "\x01"

// delta returns the joined delta.
func (j *joining) delta(names []string) []byte {
	b := wire.AppendInt(append(make([]byte, 0, j.size+16), 0x92), int64(j.dead))
	b = wire.AppendMapLen(b, len(names))
	for _, name := range names {
		ops := j.fields[name].ops
		b = wire.AppendArrayLen(wire.AppendString(b, name), 2*len(ops))
		for i := range ops {
			b = append(b, ops[i].op...)
			if ops[i].op == opAppend {
				b = wire.AppendArrayLen(b, len(ops[i].parts))
			}
			for _, part := range ops[i].parts {
				b = append(b, part...)
			}
		}
	}
	return b
}

// appendRow appends what the table has for a delta.
func (j *joining) appendRow(table, d []byte) []byte {
	r := NewReader("", d)
	table = binary.AppendUvarint(binary.AppendUvarint(table, uint64(r.Dead)), uint64(r.left))
	for {
		name, more := r.Next()
		if !more {
			return table
		}
		ops := Ops(&r.Reader)
		table = binary.AppendUvarint(binary.AppendUvarint(table, uint64(j.fields[name].place)), uint64(ops))
		for range ops {
			if r.Raw() != opAppend {
				r.Skip()
				continue
			}
			n := r.ArrayLen()
			table = binary.AppendUvarint(table, uint64(n))
			for range n {
				r.Skip()
			}
		}
	}
}

// Errors of tables.
var (
	errTable = errors.New("the table does not fit the joined delta")
	errEnd   = errors.New("a number runs past the end of the table")
)

// Cut takes apart a delta that Join returned.
func Cut(joined, table []byte) ([][]byte, error) {
	j := joining{fields: make(map[string]*field)}
	if err := j.read(joined); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(j.fields))
	var deltas [][]byte
	for t := (numbers{b: table}); len(t.b) > 0; {
		d, err := j.cut(&t, names)
		if err = errors.Join(err, t.err); err != nil {
			return nil, fmt.Errorf("delta %d: %w", len(deltas)+1, err)
		}
		deltas = append(deltas, d)
	}
	for name, f := range j.fields {
		if len(f.ops) > 0 {
			return nil, fmt.Errorf("field %.64q: %w", name, errTable)
		}
	}
	return deltas, nil
}

// cut returns the next delta, and removes its operations.
func (j *joining) cut(t *numbers, names []string) ([]byte, error) {
	b := wire.AppendInt([]byte{0x92}, int64(t.next(math.MaxInt64)))
	n := t.next(uint64(len(names)))
	b = wire.AppendMapLen(b, n)
	for range n {
		place := t.next(math.MaxInt32)
		ops := t.next(math.MaxInt32)
		if place >= len(names) {
			return nil, errTable
		}
		b = wire.AppendArrayLen(wire.AppendString(b, names[place]), 2*ops)
		for range ops {
			var found bool
			if b, found = j.fields[names[place]].cut(b, t); !found {
				return nil, errTable
			}
		}
	}
	return b, nil
}

// cut appends the next operation to b, and removes it. It reports whether there was one.
func (f *field) cut(b []byte, t *numbers) ([]byte, bool) {
	if len(f.ops) == 0 {
		return b, false
	}
	o := &f.ops[0]
	n := len(o.parts)
	b = append(b, o.op...)
	if o.op == opAppend {
		if n = t.next(uint64(n)); n == 0 && len(o.parts) > 0 {
			return b, false
		}
		b = wire.AppendArrayLen(b, n)
	}
	for _, part := range o.parts[:n] {
		b = append(b, part...)
	}
	if o.parts = o.parts[n:]; len(o.parts) == 0 {
		f.ops = f.ops[1:]
	}
	return b, true
}

// numbers reads a table. Its first error sticks.
type numbers struct {
	b   []byte
	err error
}

// next reads a number and fails if it exceeds most.
func (t *numbers) next(most uint64) int {
	n, size := binary.Uvarint(t.b)
	switch {
	case size <= 0:
		t.b, t.err = nil, errors.Join(t.err, errEnd)
		return 0
	case n > most:
		t.b, t.err = nil, errors.Join(t.err, errTable)
		return 0
	}
	t.b = t.b[size:]
	return int(n)
}
