package delta

import (
	"cmp"
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Value is the stored value of one field. It is decoded only as far as operations need. So many
// operations on a long list cost as much as the list and the operands. The zero Value is that of a
// field that was never written.
type Value struct {
	shape shape
	raw   string            // of shape whole
	list  []string          // encoded elements
	table map[string]string // encoded values by encoded keys
}

type shape int

const (
	absent shape = iota
	whole        // not decoded
	list
	table
)

// NewValue returns the Value that raw encodes.
func NewValue(raw string) *Value { return &Value{shape: whole, raw: raw} }

// Absent reports whether there is no value.
func (v *Value) Absent() bool { return v.shape == absent }

// Apply reads an operation and its operand and applies it. A fault becomes an error of r.
func (v *Value) Apply(r *wire.Reader) {
	if !r.OK() {
		return
	}
	at := r.Offset()
	op := Op(r.Int())
	if !r.Framed() {
		return
	}
	switch op {
	case Set:
		*v = Value{shape: whole, raw: r.Raw()}
	case Append:
		v.append(r, at)
	case Put:
		v.put(r, at)
	case Delete:
		v.delete(r, at)
	case SetAt:
		v.setAt(r, at)
	case RemoveAt:
		v.removeAt(r, at)
	case Clear:
		r.Skip()
		*v = Value{}
	default:
		r.Fail(at, ErrOp)
	}
}

func (v *Value) append(r *wire.Reader, at int) {
	v.toList(r, at)
	n := r.ArrayLen()
	r.Framed()
	for range n {
		v.list = append(v.list, r.Raw())
	}
}

func (v *Value) setAt(r *wire.Reader, at int) {
	v.mustList(r, at)
	r.FixedArray(2)
	i := r.Int()
	raw := r.Raw()
	switch {
	case !r.Framed():
	case i < 0 || i >= len(v.list):
		r.Damage(at, ErrIndex)
	default:
		v.list[i] = raw
	}
}

func (v *Value) removeAt(r *wire.Reader, at int) {
	v.mustList(r, at)
	indexes := Indexes(r, len(v.list))
	if r.OK() {
		v.list = slices.Delete(v.list, len(Without(v.list[:0], v.list, indexes)), len(v.list))
	}
}

// Indexes reads the operand of RemoveAt on a list of n elements.
func Indexes(r *wire.Reader, n int) []int {
	at := r.Offset()
	count := r.ArrayLen()
	r.Framed()
	indexes := wire.MakeSlice[int](r, count)
	last := -1
	for range count {
		i := r.Int()
		if r.OK() && (i <= last || i >= n) {
			r.Damage(at, ErrIndex)
		}
		if !r.Framed() {
			return nil
		}
		indexes = append(indexes, i)
		last = i
	}
	return indexes
}

// Without appends to dst the elements of list except those at the ascending indexes. dst may be
// list[:0].
func Without[T any](dst, list []T, indexes []int) []T {
	from := 0
	for _, i := range indexes {
		dst = append(dst, list[from:i]...)
		from = i + 1
	}
	return append(dst, list[from:]...)
}

func (v *Value) put(r *wire.Reader, at int) {
	v.toTable(r, at)
	n := r.MapLen()
	r.Framed()
	for range n {
		key := canonical(r.Raw())
		raw := r.Raw()
		if !r.OK() {
			return
		}
		v.table[key] = raw
	}
}

func (v *Value) delete(r *wire.Reader, at int) {
	if !v.empty() {
		v.toTable(r, at)
	}
	n := r.ArrayLen()
	r.Framed()
	for range n {
		key := r.Raw()
		if r.OK() {
			delete(v.table, canonical(key))
		}
	}
}

// empty reports whether there is no value, or nil.
func (v *Value) empty() bool { return v.shape == absent || v.shape == whole && v.raw == "\xc0" }

// mustList is toList for operations on existing elements.
func (v *Value) mustList(r *wire.Reader, at int) {
	if v.empty() {
		r.Damage(at, ErrNotList)
	}
	v.toList(r, at)
}

// toList decodes an array into its elements.
func (v *Value) toList(r *wire.Reader, at int) {
	switch {
	case v.shape == list || !r.OK():
		return
	case v.empty():
		*v = Value{shape: list}
		return
	case v.shape == table || !wire.IsArray(v.raw[0]):
		r.Damage(at, ErrNotList)
		return
	}
	in := wire.NewStringReader("", v.raw)
	elems := wire.MakeSlice[string](&in, in.ArrayLen())
	for in.Left() > 0 {
		elems = append(elems, in.Raw())
	}
	*v = Value{shape: list, list: elems}
}

// toTable decodes a map into its entries.
func (v *Value) toTable(r *wire.Reader, at int) {
	switch {
	case v.shape == table || !r.OK():
		return
	case v.empty():
		*v = Value{shape: table, table: make(map[string]string)}
		return
	case v.shape == list || !wire.IsMap(v.raw[0]):
		r.Damage(at, ErrNotMap)
		return
	}
	in := wire.NewStringReader("", v.raw)
	entries := wire.MakeMap[string, string](&in, in.MapLen())
	for in.Left() > 0 {
		key := canonical(in.Raw())
		entries[key] = in.Raw()
	}
	*v = Value{shape: table, table: entries}
}

// AppendTo appends the stored form of the value, or nothing if the value is absent.
func (v *Value) AppendTo(b []byte) []byte {
	switch v.shape {
	case list:
		b = wire.AppendArrayLen(b, len(v.list))
		for _, raw := range v.list {
			b = append(b, raw...)
		}
	case table:
		b = wire.AppendMapLen(b, len(v.table))
		for _, key := range slices.SortedFunc(maps.Keys(v.table), CompareKeys) {
			b = append(append(b, key...), v.table[key]...)
		}
	default:
		b = append(b, v.raw...)
	}
	return b
}

// Size returns the length of what AppendTo appends.
func (v *Value) Size() int {
	switch v.shape {
	case list:
		n := wire.SizeLen(len(v.list))
		for _, raw := range v.list {
			n += len(raw)
		}
		return n
	case table:
		n := wire.SizeLen(len(v.table))
		for key, raw := range v.table {
			n += len(key) + len(raw)
		}
		return n
	}
	return len(v.raw)
}

// canonical returns a key in its shortest form, so that each key has one encoding.
func canonical(key string) string {
	if key == "" {
		return key
	}
	r := wire.NewStringReader("", key)
	var room [16]byte
	switch c := key[0]; {
	case wire.IsString(c):
		if v := r.Str(); wire.SizeString(v) != len(key) {
			return string(wire.AppendString(nil, v))
		}
	case c == 0xcf:
		return string(wire.AppendUint(room[:0], r.Uint64()))
	case c >= 0xcc && c <= 0xd3:
		return string(wire.AppendInt(room[:0], r.Int64()))
	}
	return key
}

// CompareKeys orders encoded keys by their values: integers, then strings, and others by their
// bytes.
func CompareKeys(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(a, b)
	}
	switch x, y := a[0], b[0]; {
	case wire.IsInt(x) && wire.IsInt(y):
		return compareInts(a, b)
	case wire.IsString(x) && wire.IsString(y):
		p, q := wire.NewStringReader("", a), wire.NewStringReader("", b)
		return cmp.Compare(p.Str(), q.Str())
	}
	return cmp.Compare(a, b)
}

func compareInts(a, b string) int {
	p, q := wire.NewStringReader("", a), wire.NewStringReader("", b)
	if a[0] == 0xcf || b[0] == 0xcf {
		// One of them does not fit in an int64. A negative one is less than it.
		x, y := p.Uint64(), q.Uint64()
		if !p.OK() || !q.OK() {
			return cmp.Compare(boolToInt(p.OK()), boolToInt(q.OK()))
		}
		return cmp.Compare(x, y)
	}
	return cmp.Compare(p.Int64(), q.Int64())
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
