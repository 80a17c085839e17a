// Package delta knows the form in which a state and its changes are stored, without knowing any types.
//
// A snapshot is a MessagePack map of the fields that were ever written, by wire name, in bytewise order of
// the names. A delta is an array of two: how many bytes of values it displaced, and a map from wire names to
// arrays in which each operation is followed by its one operand:
//
//	[dead, {name: [op, operand, op, operand ...]}]
//
// A field that was renamed has a mark beside it, under a name that no field has: "was," and its old name, with the new name
// for its value. Nothing here treats it in a special way.
//
// What an operation does follows from the value that is stored, never from the code's types or reducers.
// So what is stored can be brought up to date where no user code is at hand, and after that code changed.
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

// Errors of operations that do not fit what is stored.
var (
	ErrOp       = errors.New("no such operation; the data was written by a newer version")
	ErrOdd      = errors.New("an operation without an operand")
	ErrIndex    = errors.New("no element has this index")
	ErrNotList  = errors.New("an operation on a list, but what is stored is none")
	ErrNotMap   = errors.New("an operation on a map, but what is stored is none")
	ErrTwice    = errors.New("the same field a second time")
	ErrNegative = errors.New("a negative count of bytes")
)

// Reader reads one delta.
type Reader struct {
	wire.Reader
	Dead int // bytes of values that the delta displaced
	left int
}

// none is the delta that changes nothing.
const none = "\x92\x00\x80"

// Empty reports whether d is the delta that changes nothing, as this package and states write it.
func Empty(d []byte) bool { return string(d) == none }

// NewReader returns a Reader of b that has read the delta's head. b must never be modified after the call,
// because what is read shares its memory. root is for messages.
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

// Next reads the wire name of the next field. Its operations are to be read next: their number with Ops,
// and each by its code and then its operand. Next reports false at the end and after an error.
func (r *Reader) Next() (name string, ok bool) {
	if r.left == 0 || !r.OK() {
		return "", false
	}
	r.left--
	name = r.Key()
	return name, r.Framed()
}

// Ops reads the head of a field's operations and returns how many there are.
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

// Fold returns the snapshot that a snapshot and the deltas that follow it come to, in order: the same bytes that
// the state would be written as. The result may share memory with snapshot when there are no deltas; the arguments
// are not modified. Errors name the delta and have a *wire.Error in them.
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

// Concat returns one delta that does what deltas do one after the other, which it does not check beyond their
// form. Without any it returns the delta that changes nothing. Errors name the delta.
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
			return nil, fmt.Errorf("delta %d of %d: it says that %d bytes are dead, too many to add up", i+1, len(deltas), r.Dead)
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
