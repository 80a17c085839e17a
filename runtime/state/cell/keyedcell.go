package cell

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// scanMost is how long a list may be for its keys to be compared one by one.
const scanMost = 8

// indexed is a list whose elements are found by a key.
type indexed[K comparable, T any] struct {
	ListCell[T]
	key   func(v *T) K
	index map[K]int // nil when it has to be built again
	base  map[K]int // of a clone: the index of the original, which is only read. It counts while index is not nil
}

// find returns the index of the element that has key; -1 for none.
func (c *indexed[K, T]) find(key K) int {
	list := *c.p
	if c.index == nil {
		if len(list) <= scanMost {
			for i := range list {
				if c.key(&list[i]) == key {
					return i
				}
			}
			return -1
		}
		c.reindex()
	}
	if i, ok := c.index[key]; ok {
		return i
	}
	if i, ok := c.base[key]; ok {
		return i
	}
	return -1
}

func (c *indexed[K, T]) reindex() {
	list := *c.p
	c.index, c.base = make(map[K]int, len(list)), nil
	for i := range list {
		c.index[c.key(&list[i])] = i
	}
}

// put appends the elements whose keys are new. The others take the place of those that have their
// keys, or are left out when replace is false.
func (c *indexed[K, T]) put(vals []T, replace bool) {
	from := 0
	flush := func(to int) {
		if from < to {
			c.append(vals[from:to])
		}
		from = to
	}
	for i := range vals {
		key := c.key(&vals[i])
		at := c.find(key)
		if at < 0 && c.index == nil {
			flush(i + 1) // so that find sees it
			continue
		}
		if at < 0 {
			c.index[key] = len(*c.p) + i - from
			continue
		}
		flush(i)
		from = i + 1
		if replace {
			c.setAt(at, &vals[i])
		}
	}
	flush(len(vals))
}

// removeKeys removes the elements that have one of keys.
func (c *indexed[K, T]) removeKeys(keys []K) {
	var found []int
	for _, key := range keys {
		if i := c.find(key); i >= 0 {
			found = append(found, i)
		}
	}
	slices.Sort(found)
	c.removeAt(slices.Compact(found))
	if len(found) > 0 {
		c.index = nil
	}
}

func (c *indexed[K, T]) replaceAll(vals []T) {
	c.index = nil
	c.replace(c.distinct(vals))
}

// distinct returns vals without those whose key comes again later, at whose place the last one
// stands.
func (c *indexed[K, T]) distinct(vals []T) []T {
	seen := make(map[K]int, len(vals))
	for i := range vals {
		seen[c.key(&vals[i])] = i
	}
	if len(seen) == len(vals) {
		return vals
	}
	kept := make([]T, 0, len(seen))
	for i := range vals {
		key := c.key(&vals[i])
		if last, ok := seen[key]; ok {
			kept = append(kept, vals[last])
			delete(seen, key)
		}
	}
	return kept
}

func (c *indexed[K, T]) read(r *wire.Reader) {
	c.index = nil
	c.ListCell.read(r)
}

// apply keeps the index if it can: a Live that is cloned between deltas would be indexed each
// time.
func (c *indexed[K, T]) apply(r *wire.Reader, op delta.Op) bool {
	before := len(*c.p)
	switch {
	case c.index == nil:
		return c.ListCell.apply(r, op)
	case op == delta.SetAt:
		i := c.applySetAt(r)
		if i < 0 || c.find(c.key(&(*c.p)[i])) != i {
			c.index = nil
		}
		return true
	case !c.ListCell.apply(r, op):
		c.index = nil
		return false
	case op != delta.Append || !r.OK():
		c.index = nil
		return true
	}
	list := *c.p
	for i := before; i < len(list); i++ {
		c.index[c.key(&list[i])] = i
	}
	return true
}

func (c *indexed[K, T]) cloned(from cell) {
	c.ListCell.cloned(from)
	if other, ok := from.(interface{ keys() map[K]int }); ok {
		if c.base = other.keys(); c.base != nil {
			c.index = make(map[K]int)
		}
	}
}

// keys returns the index for a clone to read; nil for a short list.
func (c *indexed[K, T]) keys() map[K]int {
	if c.base != nil || c.index == nil && len(*c.p) > scanMost {
		c.reindex()
	}
	return c.index
}

func (c *indexed[K, T]) clear() {
	c.index = nil
	c.ListCell.clear()
}

func (c *indexed[K, T]) reset() {
	c.index = nil
	c.ListCell.reset()
}

func (c *indexed[K, T]) adopt() {
	c.index = nil
	c.ListCell.adopt()
}

// KeyedField describes a field whose update is a [Keyed].
type KeyedField[K comparable, T any] struct {
	shape.Field
	Elem Codec[T]
	Keys Codec[K]
	Key  func(v *T) K // of an element
}

// KeyedCell is the cell of a [KeyedField].
type KeyedCell[K comparable, T any] struct{ indexed[K, T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *KeyedCell[K, T]) Bind(core *Core, f *KeyedField[K, T], p *[]T) {
	c.bindList(core, &f.Field, f.Elem, p, c)
	c.key = f.Key
}

// Merge applies u, which is not zero.
func (c *KeyedCell[K, T]) Merge(u *state.Keyed[K, T]) {
	if runs := (*rep.Runs[rep.Elems[K, T]])(u); c.touch(runs.Rewrites()) {
		for i := range runs.Len() {
			c.merge(runs.At(i))
		}
	}
}

func (c *KeyedCell[K, T]) merge(run *rep.Run[rep.Elems[K, T]]) {
	switch run.Op {
	case rep.Upsert:
		c.put(c.settled(run.Arg.Vals), true)
	case rep.Delete:
		c.removeKeys(run.Arg.Keys)
	case rep.Replace:
		c.replaceAll(c.settledCopy(run.Arg.Vals))
	case rep.Clear:
		c.clear()
	}
}

// AppendUpdate writes u, if it changes anything.
func (f *KeyedField[K, T]) AppendUpdate(w *UpdateWriter, u *state.Keyed[K, T]) {
	writeRuns(w, &f.Field, (*rep.Runs[rep.Elems[K, T]])(u), func(run *rep.Run[rep.Elems[K, T]]) {
		if run.Op == rep.Delete {
			writeArray(w, &f.Field, run.Op, f.Keys, run.Arg.Keys)
			return
		}
		writeArray(w, &f.Field, run.Op, f.Elem, run.Arg.Vals)
	})
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *KeyedField[K, T]) ReadUpdate(r *wire.Reader, u *state.Keyed[K, T]) {
	readOps(r, func(o rep.Op) bool {
		switch o {
		case rep.Upsert:
			u.Upsert(readVals(r, f.Elem)...)
		case rep.Delete:
			u.Remove(readVals(r, f.Keys)...)
		case rep.Replace:
			u.Replace(readVals(r, f.Elem)...)
		case rep.Clear:
			r.Skip()
			u.Clear()
		default:
			return false
		}
		return true
	})
}

// UniqueField describes a field whose update is a [Unique].
type UniqueField[T comparable] struct {
	shape.Field
	Elem Codec[T]
}

// UniqueCell is the cell of a [UniqueField].
type UniqueCell[T comparable] struct{ indexed[T, T] }

// Bind makes c the cell of the field f, whose value is at p.
func (c *UniqueCell[T]) Bind(core *Core, f *UniqueField[T], p *[]T) {
	c.bindList(core, &f.Field, f.Elem, p, c)
	c.key = itself[T]
}

func itself[T any](v *T) T { return *v }

// Merge applies u, which is not zero.
func (c *UniqueCell[T]) Merge(u *state.Unique[T]) {
	if runs := (*rep.Runs[[]T])(u); c.touch(runs.Rewrites()) {
		for i := range runs.Len() {
			c.merge(runs.At(i))
		}
	}
}

func (c *UniqueCell[T]) merge(run *rep.Run[[]T]) {
	switch run.Op {
	case rep.Add:
		c.put(c.settled(run.Arg), false)
	case rep.Remove:
		c.removeKeys(run.Arg)
	case rep.Replace:
		c.replaceAll(c.settledCopy(run.Arg))
	case rep.Clear:
		c.clear()
	}
}

// AppendUpdate writes u, if it changes anything.
func (f *UniqueField[T]) AppendUpdate(w *UpdateWriter, u *state.Unique[T]) {
	writeVals(w, &f.Field, f.Elem, (*rep.Runs[[]T])(u))
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *UniqueField[T]) ReadUpdate(r *wire.Reader, u *state.Unique[T]) {
	readElems(r, rep.Add, f.Elem, (*rep.Runs[[]T])(u))
}
