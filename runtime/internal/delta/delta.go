// Package delta reads and writes the stored form of a state and its changes, without any types.
//
// A snapshot is a MessagePack map from wire names to the fields that were ever written. The names
// are in bytewise order. A delta is an array of two elements: the number of bytes that it
// displaced, and a map from wire names to arrays. Such an array contains operations, each followed
// by its operand:
//
//	[dead, {name: [op, operand, op, operand ...]}]
//
// A renamed field also has a mark: an entry under "was," and its old name, with the new name as
// its value. No field can have such a name. This package treats marks as fields.
//
// The effect of an operation depends on the stored value only, never on the types or reducers of
// the code. So stored data can be folded without user code, and after the code changed.
package delta

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Op is an operation on a field's stored value.
type Op int

// The operations. Append and Put also make the list or map when the field has no value or is nil.
const (
	Set      Op = iota // the operand is the value
	Append             // an array of elements to append
	Put                // a map of entries to put
	Delete             // an array of keys to delete; those that are not there are ignored
	SetAt              // an array of an index and the new element there
	RemoveAt           // an array of ascending indexes of elements to remove
	Clear              // nil; the field becomes one that was never written
)

// Errors of operations that do not match the stored value.
var (
	ErrOp       = errors.New("no such operation; the data was written by a newer version")
	ErrOdd      = errors.New("an operation without an operand")
	ErrIndex    = errors.New("no element has this index")
	ErrNotList  = errors.New("an operation on a list, but the stored value is not a list")
	ErrNotMap   = errors.New("an operation on a map, but the stored value is not a map")
	ErrTwice    = errors.New("the same field a second time")
	ErrNegative = errors.New("a negative count of bytes")
)

// Reader reads one delta.
type Reader struct {
	wire.Reader
	Dead int // bytes of values that the delta displaced
	left int
}

// none is the empty delta.
const none = "\x92\x00\x80"

// Empty reports whether d is the empty delta, in the form that this package and states write.
func Empty(d []byte) bool { return string(d) == none }

// NewReader returns a Reader that has read the head of the delta b. The Reader shares the memory
// of b, which must never be modified after the call. Messages contain root.
func NewReader(root string, b []byte) Reader {
	r := Reader{Reader: wire.NewSharedReader(root, b)}
	r.FixedArray(2)
	at := r.Offset()
	r.Dead = r.Int()
	if r.Dead < 0 {
		r.Damage(at, ErrNegative)
	}
	r.left = r.MapLen()
	r.Framed()
	return r
}

// Next reads the wire name of the next field. The caller then reads the number of its operations
// with Ops, and the code and the operand of each operation. Next returns false at the end and
// after an error.
func (r *Reader) Next() (name string, ok bool) {
	if r.left == 0 || !r.OK() {
		return "", false
	}
	r.left--
	name = r.Key()
	return name, r.Framed()
}

// Ops reads the head of the operations of a field and returns their number.
func Ops(r *wire.Reader) int {
	at := r.Offset()
	n := r.ArrayLen()
	if n%2 != 0 {
		r.Damage(at, ErrOdd)
	}
	if !r.Framed() {
		return 0
	}
	return n / 2
}

// Fold applies deltas in order to a snapshot and returns the new snapshot. The result has the same
// bytes that the state would write. Without deltas it may share memory with snapshot. Fold does
// not modify its arguments. An error names the delta and wraps a *wire.Error.
func Fold(snapshot []byte, deltas ...[]byte) ([]byte, error) {
	if len(deltas) == 0 {
		return snapshot, nil
	}
	size := len(snapshot)
	fields, err := parse(snapshot)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	for i, d := range deltas {
		size += len(d)
		if err := fold(fields, d); err != nil {
			return nil, fmt.Errorf("delta %d of %d: %w", i+1, len(deltas), err)
		}
	}
	maps.DeleteFunc(fields, func(_ string, v *Value) bool { return v.Absent() })
	b := wire.AppendMapLen(make([]byte, 0, size), len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		b = fields[name].AppendTo(wire.AppendString(b, name))
	}
	return b, nil
}

// parse reads the fields of a snapshot.
func parse(snapshot []byte) (map[string]*Value, error) {
	r := wire.NewSharedReader("", snapshot)
	n := r.MapLen()
	fields := make(map[string]*Value, min(n, 64))
	for range n {
		at := r.Offset()
		name := r.Key()
		if _, twice := fields[name]; twice {
			r.Damage(at, ErrTwice)
		}
		fields[name] = NewValue(r.Raw())
		if !r.OK() {
			break
		}
	}
	return fields, r.End()
}

// fold applies one delta.
func fold(fields map[string]*Value, delta []byte) error {
	if Empty(delta) {
		return nil
	}
	r := NewReader("", delta)
	for {
		name, ok := r.Next()
		if !ok {
			return r.End()
		}
		v := fields[name]
		if v == nil {
			v = new(Value)
			fields[name] = v
		}
		for range Ops(&r.Reader) {
			v.Apply(&r.Reader)
		}
	}
}

// Concat returns one delta with the effect of deltas in order. It checks only their form. Without
// deltas it returns the empty delta. An error names the delta.
func Concat(deltas ...[]byte) ([]byte, error) {
	type change struct {
		ops  int
		raws []string
	}
	size, dead := 16, 0
	fields := make(map[string]*change)
	for i, d := range deltas {
		size += len(d) + 8
		r := NewReader("", d)
		for {
			name, ok := r.Next()
			if !ok {
				break
			}
			c := fields[name]
			if c == nil {
				c = new(change)
				fields[name] = c
			}
			for range Ops(&r.Reader) {
				c.ops++
				c.raws = append(c.raws, r.Raw(), r.Raw())
			}
		}
		if err := r.End(); err != nil {
			return nil, fmt.Errorf("delta %d of %d: %w", i+1, len(deltas), err)
		}
		if r.Dead > math.MaxInt-dead {
			return nil, fmt.Errorf("delta %d of %d: its %d displaced bytes do not fit in a sum", i+1, len(deltas), r.Dead)
		}
		dead += r.Dead
	}
	b := append(make([]byte, 0, size), 0x92)
	b = wire.AppendInt(b, int64(dead))
	b = wire.AppendMapLen(b, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		c := fields[name]
		b = wire.AppendArrayLen(wire.AppendString(b, name), 2*c.ops)
		for _, raw := range c.raws {
			b = append(b, raw...)
		}
	}
	return b, nil
}
