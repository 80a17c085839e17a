package delta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Join returns the delta that does what deltas do one after the other, as Concat does, and a table with which Cut takes
// it apart again. ok is false if it cannot be cut into the very same bytes: something is not a delta, or not written
// as this package and states write it.
//
// The table has for each delta, as numbers of variable length: the displaced bytes, the number of fields, and for each
// field its place among those of the joined delta and the number of operations.
func Join(deltas ...[]byte) (joined, table []byte, ok bool) {
	joined, err := Concat(deltas...)
	if err != nil {
		return nil, nil, false
	}
	names := make(map[string]int)
	for r := NewReader("", joined); ; {
		name, more := r.Next()
		if !more {
			break
		}
		names[name] = len(names)
		for range 2 * Ops(&r.Reader) {
			r.Skip()
		}
	}
	for _, d := range deltas {
		r := NewReader("", d)
		table = binary.AppendUvarint(binary.AppendUvarint(table, uint64(r.Dead)), uint64(r.left))
		for {
			name, more := r.Next()
			if !more {
				break
			}
			ops := Ops(&r.Reader)
			table = binary.AppendUvarint(binary.AppendUvarint(table, uint64(names[name])), uint64(ops))
			for range 2 * ops {
				r.Skip()
			}
		}
	}
	cut, err := Cut(joined, table)
	same := err == nil && slices.EqualFunc(cut, deltas, func(a, b []byte) bool { return string(a) == string(b) })
	return joined, table, same
}

// Errors of tables.
var (
	errTable = errors.New("the table does not fit the joined delta")
	errEnd   = errors.New("a number runs past the end of the table")
)

// Cut takes apart what Join returned.
func Cut(joined, table []byte) ([][]byte, error) {
	fields, err := operations(joined)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(fields))
	var deltas [][]byte
	for t := (numbers{b: table}); len(t.b) > 0; {
		b := wire.AppendInt([]byte{0x92}, int64(t.next(math.MaxInt64)))
		n := t.next(uint64(len(names)))
		b = wire.AppendMapLen(b, n)
		for range n {
			name := ""
			if i := t.next(math.MaxInt32); i < len(names) {
				name = names[i]
			}
			ops := fields[name]
			if ops == nil {
				return nil, fmt.Errorf("delta %d: %w", len(deltas)+1, errors.Join(errTable, t.err))
			}
			count := t.next(uint64(len(ops.raws) / 2))
			b = wire.AppendArrayLen(wire.AppendString(b, name), 2*count)
			for _, raw := range ops.raws[:2*count] {
				b = append(b, raw...)
			}
			ops.raws = ops.raws[2*count:]
		}
		if t.err != nil {
			return nil, fmt.Errorf("delta %d: %w", len(deltas)+1, t.err)
		}
		deltas = append(deltas, b)
	}
	for name, ops := range fields {
		if len(ops.raws) > 0 {
			return nil, fmt.Errorf("field %.64q: %w", name, errTable)
		}
	}
	return deltas, nil
}

// left are the operations of a field that are left: each an operation and its operand, encoded.
type left struct{ raws []string }

// operations returns the operations of a delta by field.
func operations(delta []byte) (map[string]*left, error) {
	fields := make(map[string]*left)
	r := NewReader("", delta)
	for {
		name, more := r.Next()
		if !more {
			return fields, r.End()
		}
		ops := new(left)
		for range 2 * Ops(&r.Reader) {
			ops.raws = append(ops.raws, strings.Clone(r.Raw()))
		}
		fields[strings.Clone(name)] = ops
	}
}

// numbers reads a table. Its first error sticks.
type numbers struct {
	b   []byte
	err error
}

// next reads a number of at most most.
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
