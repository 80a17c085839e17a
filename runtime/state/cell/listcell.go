package cell

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// ListField describes a field whose update is a [List].
type ListField[T any] struct {
	shape.Field
	Elem Codec[T]
}

// ListCell is the cell of a [ListField].
type ListCell[T any] struct {
	head
	elem    Codec[T]
	settler Settler[T] // nil if an element always is its decoded form
	scratch []T        // to settle in
	p       *[]T
	room    bool // capacity past the length was allocated here, and no view has it: append in place
	owned   bool // the elements were allocated here, and no view that lasts has them: write in place
}

// Bind makes c the cell of the field f, whose value is at p.
func (c *ListCell[T]) Bind(core *Core, f *ListField[T], p *[]T) {
	c.bindList(core, &f.Field, f.Elem, p, c)
}

func (c *ListCell[T]) bindList(core *Core, f *shape.Field, elem Codec[T], p *[]T, x cell) {
	c.bind(core, f, x)
	c.elem, c.p = elem, p
	c.settler, _ = elem.(Settler[T])
}

// Merge applies u, which is not zero.
func (c *ListCell[T]) Merge(u *state.List[T]) {
	if runs := (*rep.Runs[[]T])(u); c.touch(runs.Rewrites()) {
		for i := range runs.Len() {
			c.merge(runs.At(i))
		}
	}
}

func (c *ListCell[T]) merge(run *rep.Run[[]T]) {
	switch run.Op {
	case rep.Append:
		c.append(c.settled(run.Arg))
	case rep.Replace:
		c.replace(c.settledCopy(run.Arg))
	case rep.Clear:
		c.clear()
	case rep.Remove:
		c.removeAt(c.findEqual(run.Arg))
	}
}

// settled returns the decoded forms of vals, to which it does not write. The result is valid until
// the next call.
func (c *ListCell[T]) settled(vals []T) []T {
	if c.settler == nil {
		return vals
	}
	clear(c.scratch)
	c.scratch = append(c.scratch[:0], vals...)
	for i := range c.scratch {
		settle(&c.head, c.settler, &c.scratch[i])
	}
	return c.scratch
}

// settledCopy is settled for elements that the list keeps.
func (c *ListCell[T]) settledCopy(vals []T) []T {
	if c.settler == nil {
		return vals
	}
	vals = slices.Clone(vals)
	for i := range vals {
		settle(&c.head, c.settler, &vals[i])
	}
	return vals
}

func (c *ListCell[T]) settle() {
	if *c.p != nil {
		*c.p = c.settledCopy(*c.p)
	}
}

// append appends vals, in place if there is room. vals must not be empty.
func (c *ListCell[T]) append(vals []T) {
	list := c.spare()
	before := cap(list)
	list = append(list, vals...)
	if cap(list) != before {
		c.owned, c.room = true, true
	}
	*c.p = list
	c.written = true
	if !c.recording() {
		return
	}
	b := wire.AppendArrayLen(wire.AppendInt(c.log, int64(delta.Append)), len(vals))
	from := len(b)
	for i := range vals {
		var err error
		if b, err = c.elem.Append(b, &vals[i]); err != nil {
			c.failed(err)
			return
		}
	}
	c.bytes += len(b) - from
	c.log, c.ops = b, c.ops+1
}

// spare returns the list with only as much capacity as may be appended into.
func (c *ListCell[T]) spare() []T {
	if c.room {
		return *c.p
	}
	return slices.Clip(*c.p)
}

// own makes the elements the cell's to write to, by copying them once.
func (c *ListCell[T]) own() []T {
	if !c.owned {
		*c.p = slices.Clone(*c.p)
		c.owned, c.room = true, true
	}
	return *c.p
}

// setAt gives an element a new value.
func (c *ListCell[T]) setAt(i int, v *T) {
	list := c.own()
	if !c.recording() {
		list[i] = *v
		return
	}
	old := encodedSize(&c.head, c.elem, &list[i])
	c.core.displace(old)
	list[i] = *v
	b := wire.AppendInt(append(wire.AppendInt(c.log, int64(delta.SetAt)), 0x92), int64(i))
	from := len(b)
	b, err := c.elem.Append(b, v)
	if err != nil {
		c.failed(err)
		return
	}
	c.bytes += len(b) - from - old
	c.log, c.ops = b, c.ops+1
}

// replace makes the list vals, which it does not write to.
func (c *ListCell[T]) replace(vals []T) {
	if c.recording() {
		c.core.displace(c.size())
	}
	*c.p = vals
	c.written, c.owned, c.room = true, false, false
	if !c.recording() {
		return
	}
	b := wire.AppendInt(c.log, int64(delta.Set))
	from := len(b) + wire.SizeLen(len(vals))
	b, err := appendVals(b, c.elem, vals)
	if err != nil {
		c.failed(err)
		return
	}
	c.bytes = len(b) - from
	c.log, c.ops = b, c.ops+1
}

// clear makes the field one that was never written.
func (c *ListCell[T]) clear() {
	if c.recording() {
		c.core.displace(c.size())
		c.log, c.ops = append(c.log, byte(delta.Clear), 0xc0), c.ops+1
	}
	c.reset()
}

// findEqual returns the ascending indexes of the elements that are equal to one of vals.
func (c *ListCell[T]) findEqual(vals []T) []int {
	var found []int
	list := *c.p
	for i := range list {
		for j := range vals {
			if c.elem.Equal(&list[i], &vals[j]) {
				found = append(found, i)
				break
			}
		}
	}
	return found
}

// removeAt removes the elements at ascending indexes. The others move to a new array, because
// views have the old one.
func (c *ListCell[T]) removeAt(indexes []int) {
	if len(indexes) == 0 {
		return
	}
	if c.recording() {
		n := c.sizeAt(indexes)
		c.bytes -= n
		c.core.displace(n)
		b := wire.AppendArrayLen(wire.AppendInt(c.log, int64(delta.RemoveAt)), len(indexes))
		for _, i := range indexes {
			b = wire.AppendInt(b, int64(i))
		}
		c.log, c.ops = b, c.ops+1
	}
	c.drop(indexes)
}

func (c *ListCell[T]) sizeAt(indexes []int) int {
	n := 0
	for _, i := range indexes {
		n += encodedSize(&c.head, c.elem, &(*c.p)[i])
	}
	return n
}

func (c *ListCell[T]) drop(indexes []int) {
	list := *c.p
	*c.p = delta.Without(make([]T, 0, len(list)-len(indexes)), list, indexes)
	c.owned, c.room = true, true
}

func (c *ListCell[T]) appendTo(b []byte) ([]byte, error) {
	if *c.p == nil {
		return wire.AppendNil(b), nil
	}
	return appendVals(b, c.elem, *c.p)
}

func (c *ListCell[T]) size() int {
	switch {
	case !c.written:
		return 0
	case *c.p == nil:
		return 1
	}
	return wire.SizeLen(len(*c.p)) + c.bytes
}

func (c *ListCell[T]) read(r *wire.Reader) {
	c.bytes = 0
	c.owned, c.room = true, true
	if r.Nil() {
		*c.p = nil
		return
	}
	*c.p = c.readMore(r, nil)
}

// readMore reads an array and appends its elements to list.
func (c *ListCell[T]) readMore(r *wire.Reader, list []T) []T {
	n := r.ArrayLen()
	from := r.Offset()
	before := len(list)
	if list == nil {
		list = wire.MakeSlice[T](r, n)
		for i := 0; i < cap(list) && i < n && r.OK(); i++ {
			list = list[:i+1] // new memory, which is zero
			c.elem.Read(r, &list[i])
		}
	} else {
		n = wire.Reserve[T](r, n)
		list = slices.Grow(list, n)
	}
	for len(list)-before < n && r.OK() {
		list = append(list, *new(T))
		c.elem.Read(r, &list[len(list)-1])
	}
	switch {
	case !r.OK():
	case c.core.opts.DropUnknown && c.recording():
		for i := range list[before:] {
			c.bytes += encodedSize(&c.head, c.elem, &list[before+i])
		}
	default:
		c.bytes += r.Offset() - from
	}
	return list
}

func (c *ListCell[T]) apply(r *wire.Reader, op delta.Op) bool {
	switch op {
	case delta.Append:
		list := c.spare()
		before := cap(list)
		if more := c.readMore(r, list); r.OK() {
			c.owned = c.owned || cap(more) != before
			c.written, c.room = true, true
			*c.p = more
		}
	case delta.SetAt:
		c.applySetAt(r)
	case delta.RemoveAt:
		c.applyRemoveAt(r)
	default:
		return false
	}
	return true
}

func (c *ListCell[T]) applyRemoveAt(r *wire.Reader) {
	if *c.p == nil {
		r.Damage(r.Offset(), delta.ErrNotList)
	}
	indexes := delta.Indexes(r, len(*c.p))
	if !r.OK() || len(indexes) == 0 {
		return
	}
	if c.recording() {
		c.bytes -= c.sizeAt(indexes)
	}
	c.drop(indexes)
}

// applySetAt returns the index of the element that it replaced; -1 after an error.
func (c *ListCell[T]) applySetAt(r *wire.Reader) int {
	at := r.Offset()
	r.FixedArray(2)
	i := r.Int()
	if !r.Framed() {
		return -1
	}
	if i < 0 || i >= len(*c.p) {
		r.Damage(at, delta.ErrIndex)
		return -1
	}
	elem := &c.own()[i]
	if c.recording() {
		c.bytes -= encodedSize(&c.head, c.elem, elem)
	}
	*elem = *new(T)
	from := r.Offset()
	c.elem.Read(r, elem)
	if n := r.Offset() - from; c.core.opts.DropUnknown && c.recording() {
		c.bytes += encodedSize(&c.head, c.elem, elem)
	} else {
		c.bytes += n
	}
	if !r.OK() {
		return -1
	}
	return i
}

func (c *ListCell[T]) reset() {
	*c.p = nil
	c.written, c.bytes, c.owned, c.room = false, 0, false, false
}

func (c *ListCell[T]) adopt() {
	c.owned, c.room, c.bytes = false, false, 0
	c.written = *c.p != nil
	if c.recording() {
		for i := range *c.p {
			c.bytes += encodedSize(&c.head, c.elem, &(*c.p)[i])
		}
	}
}

func (c *ListCell[T]) mark() { c.written = true }

// share gives the elements to a view that lasts. Appended elements are past its end.
func (c *ListCell[T]) share() { c.owned = false }

func (c *ListCell[T]) cloned(cell) { c.owned, c.room = true, true }

// AppendUpdate writes u, if it changes anything.
func (f *ListField[T]) AppendUpdate(w *UpdateWriter, u *state.List[T]) {
	writeVals(w, &f.Field, f.Elem, (*rep.Runs[[]T])(u))
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *ListField[T]) ReadUpdate(r *wire.Reader, u *state.List[T]) {
	readElems(r, rep.Append, f.Elem, (*rep.Runs[[]T])(u))
}
