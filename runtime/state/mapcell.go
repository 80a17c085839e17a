package state

import (
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// MapField describes a field whose update is a [Map].
type MapField[K comparable, V any] struct {
	Field
	Keys    Codec[K]
	Values  Codec[V]
	Compare func(a, b K) int // the order in which entries are written: cmp.Compare, or CompareBools
}

// MapCell is the cell of a [MapField].
type MapCell[K comparable, V any] struct {
	Cell
	def    *MapField[K, V]
	p      *map[K]V
	bytes  int       // encoded length of the entries, while recording
	owned  bool      // the map was made here, and no view that lasts has it: write in place
	sorter sorter[K] // nil when the keys' codec is none

	keys  []K          // to sort in
	pairs []pair[K, V] // to sort in
	entry pair[K, V]   // to point to, since a map's entries have no address
}

// Bind makes c the cell of the field f, whose value is at p.
func (c *MapCell[K, V]) Bind(core *Core, f *MapField[K, V], p *map[K]V) {
	c.bind(core, &f.Field, c)
	c.def, c.p = f, p
	c.sorter, _ = f.Keys.(sorter[K])
}

// Merge applies u, which is not zero.
func (c *MapCell[K, V]) Merge(u *Map[K, V]) {
	if !c.touch(u.rewrites()) {
		return
	}
	c.merge(&u.first)
	for i := range u.more {
		c.merge(&u.more[i])
	}
}

func (c *MapCell[K, V]) merge(run *mapRun[K, V]) {
	switch run.op {
	case opPut:
		c.put(run.pairs)
	case opDelete:
		c.delete(run.keys)
	case opReplace:
		c.replace(run.pairs)
	}
}

// own makes the map one that the cell may write to, by copying it once.
func (c *MapCell[K, V]) own() map[K]V {
	switch {
	case *c.p == nil:
		*c.p = make(map[K]V)
	case !c.owned:
		*c.p = maps.Clone(*c.p)
	}
	c.owned = true
	return *c.p
}

func (c *MapCell[K, V]) put(pairs []pair[K, V]) {
	m := c.own()
	c.written = true
	if !c.recording() {
		for i := range pairs {
			m[pairs[i].key] = pairs[i].value
		}
		return
	}
	pairs = c.sorted(pairs)
	b := wire.AppendMapLen(wire.AppendInt(c.log, int64(delta.Put)), len(pairs))
	from := len(b)
	for i := range pairs {
		p := &pairs[i]
		if old, ok := m[p.key]; ok {
			n := c.sizeOf(p.key, old)
			c.bytes -= n
			c.core.displace(n)
		}
		m[p.key] = p.value
		var err error
		if b, err = c.appendEntry(b, p); err != nil {
			c.failed(err)
			return
		}
	}
	c.bytes += len(b) - from
	c.log, c.ops = b, c.ops+1
	clear(c.pairs)
}

// sorted returns a copy of pairs in order of their keys; of those with one key, the last.
func (c *MapCell[K, V]) sorted(pairs []pair[K, V]) []pair[K, V] {
	c.pairs = sortPairs(append(c.pairs[:0], pairs...), c.def.Compare)
	return c.pairs
}

// sortPairs sorts pairs in place and keeps the last of those with one key.
func sortPairs[K comparable, V any](pairs []pair[K, V], compare func(a, b K) int) []pair[K, V] {
	if len(pairs) < 2 {
		return pairs
	}
	slices.SortStableFunc(pairs, func(a, b pair[K, V]) int { return compare(a.key, b.key) })
	n := 0
	for i := range pairs {
		if i > 0 && pairs[i].key == pairs[n-1].key {
			n--
		}
		pairs[n] = pairs[i]
		n++
	}
	clear(pairs[n:])
	return pairs[:n]
}

func (c *MapCell[K, V]) appendEntry(b []byte, p *pair[K, V]) ([]byte, error) {
	b, err := c.def.Keys.Append(b, &p.key)
	if err != nil {
		return b, err
	}
	return c.def.Values.Append(b, &p.value)
}

// sizeOf returns the encoded length of an entry.
func (c *MapCell[K, V]) sizeOf(key K, value V) int {
	c.entry = pair[K, V]{key, value}
	b, err := c.appendEntry(c.core.buf[:0], &c.entry)
	c.entry = pair[K, V]{}
	c.core.buf = b
	if err != nil {
		c.failed(err)
	}
	return len(b)
}

func (c *MapCell[K, V]) delete(keys []K) {
	present := c.keys[:0]
	for _, key := range keys {
		if _, ok := (*c.p)[key]; ok {
			present = append(present, key)
		}
	}
	c.keys = present
	if len(present) == 0 {
		return
	}
	c.sort(present)
	present = slices.Compact(present)
	m := c.own()
	if c.recording() {
		for _, key := range present {
			n := c.sizeOf(key, m[key])
			c.bytes -= n
			c.core.displace(n)
		}
		b, err := appendVals(wire.AppendInt(c.log, int64(delta.Delete)), c.def.Keys, present)
		if err != nil {
			c.failed(err)
			return
		}
		c.log, c.ops = b, c.ops+1
	}
	for _, key := range present {
		delete(m, key)
	}
	clear(c.keys)
}

func (c *MapCell[K, V]) replace(pairs []pair[K, V]) {
	if c.recording() {
		c.core.displace(c.size())
	}
	m := make(map[K]V, len(pairs))
	for i := range pairs {
		m[pairs[i].key] = pairs[i].value
	}
	*c.p = m
	c.written, c.owned = true, true
	if !c.recording() {
		return
	}
	b := wire.AppendInt(c.log, int64(delta.Set))
	from := len(b) + wire.SizeLen(len(m))
	b, err := c.appendTo(b)
	if err != nil {
		c.failed(err)
		return
	}
	c.bytes = len(b) - from
	c.log, c.ops = b, c.ops+1
}

func (c *MapCell[K, V]) appendTo(b []byte) ([]byte, error) {
	m := *c.p
	if m == nil {
		return wire.AppendNil(b), nil
	}
	b = wire.AppendMapLen(b, len(m))
	keys := c.keys[:0]
	for key := range m {
		keys = append(keys, key)
	}
	c.sort(keys)
	c.keys = keys
	for i := range keys {
		var err error
		if b, err = c.def.Keys.Append(b, &keys[i]); err != nil {
			return b, err
		}
		c.entry.value = m[keys[i]]
		if b, err = c.def.Values.Append(b, &c.entry.value); err != nil {
			return b, err
		}
	}
	c.entry = pair[K, V]{}
	clear(keys)
	return b, nil
}

func (c *MapCell[K, V]) sort(keys []K) {
	if c.sorter != nil {
		c.sorter.sort(keys)
		return
	}
	slices.SortFunc(keys, c.def.Compare)
}

func (c *MapCell[K, V]) size() int {
	switch {
	case !c.written:
		return 0
	case *c.p == nil:
		return 1
	}
	return wire.SizeLen(len(*c.p)) + c.bytes
}

func (c *MapCell[K, V]) read(r *wire.Reader) {
	*c.p, c.owned, c.bytes = nil, true, 0
	if r.Nil() {
		return
	}
	n := r.MapLen()
	m := wire.MakeMap[K, V](r, n)
	from := r.Offset()
	for range n {
		if !c.readEntry(r) {
			break
		}
		m[c.entry.key] = c.entry.value
	}
	c.entry = pair[K, V]{}
	*c.p = m
	c.bytes = r.Offset() - from
	if r.OK() && c.recording() && (c.core.opts.DropUnknown || len(m) < n) {
		c.measure()
	}
}

// readEntry reads one entry into c.entry and reports whether there was one.
func (c *MapCell[K, V]) readEntry(r *wire.Reader) bool {
	c.entry = pair[K, V]{}
	c.def.Keys.Read(r, &c.entry.key)
	c.def.Values.Read(r, &c.entry.value)
	return r.OK()
}

// measure counts the encoded length of all entries.
func (c *MapCell[K, V]) measure() {
	c.bytes = 0
	for key, value := range *c.p {
		c.bytes += c.sizeOf(key, value)
	}
}

func (c *MapCell[K, V]) apply(r *wire.Reader, op delta.Op) bool {
	switch op {
	case delta.Put:
		c.applyPut(r)
	case delta.Delete:
		keys := readVals(r, c.def.Keys)
		if !r.OK() || *c.p == nil {
			break
		}
		m := c.own()
		for _, key := range keys {
			if old, ok := m[key]; ok && c.recording() {
				c.bytes -= c.sizeOf(key, old)
			}
			delete(m, key)
		}
	default:
		return false
	}
	return true
}

func (c *MapCell[K, V]) applyPut(r *wire.Reader) {
	m := c.own()
	c.written = true
	for range wire.Reserve[pair[K, V]](r, r.MapLen()) {
		if !c.readEntry(r) {
			break
		}
		key, value := c.entry.key, c.entry.value
		if c.recording() {
			if old, ok := m[key]; ok {
				c.bytes -= c.sizeOf(key, old)
			}
			c.bytes += c.sizeOf(key, value)
		}
		m[key] = value
	}
	c.entry = pair[K, V]{}
}

func (c *MapCell[K, V]) reset() {
	*c.p = nil
	c.written, c.bytes, c.owned = false, 0, false
}

func (c *MapCell[K, V]) adopt() {
	c.owned, c.bytes = false, 0
	c.written = *c.p != nil
	if c.recording() {
		c.measure()
	}
}

func (c *MapCell[K, V]) mark() { c.written = true }

// share gives the map to a view that lasts.
func (c *MapCell[K, V]) share() { c.owned = false }

// AppendUpdate writes u, if it changes anything.
func (f *MapField[K, V]) AppendUpdate(w *UpdateWriter, u *Map[K, V]) {
	if u.IsZero() || !w.field(&f.Field, 1+len(u.more)) {
		return
	}
	f.writeRun(w, &u.first)
	for i := range u.more {
		f.writeRun(w, &u.more[i])
	}
}

func (f *MapField[K, V]) writeRun(w *UpdateWriter, run *mapRun[K, V]) {
	if run.op == opDelete {
		writeVals(w, &f.Field, run.op, f.Keys, run.keys)
		return
	}
	pairs := sortPairs(slices.Clone(run.pairs), f.Compare)
	w.b = wire.AppendMapLen(wire.AppendInt(w.b, int64(run.op)), len(pairs))
	for i := range pairs {
		b, err := f.Keys.Append(w.b, &pairs[i].key)
		if err == nil {
			b, err = f.Values.Append(b, &pairs[i].value)
		}
		w.b = b
		w.fail(&f.Field, err)
	}
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *MapField[K, V]) ReadUpdate(r *wire.Reader, u *Map[K, V]) {
	readOps(r, func(o op) bool {
		switch o {
		case opPut:
			u.putting()
			f.readPairs(r, u)
		case opReplace:
			u.Replace(nil)
			f.readPairs(r, u)
		case opDelete:
			u.Delete(readVals(r, f.Keys)...)
		default:
			return false
		}
		return true
	})
}

func (f *MapField[K, V]) readPairs(r *wire.Reader, u *Map[K, V]) {
	for range wire.Reserve[pair[K, V]](r, r.MapLen()) {
		p := new(pair[K, V])
		f.Keys.Read(r, &p.key)
		f.Values.Read(r, &p.value)
		if !r.OK() {
			return
		}
		u.Put(p.key, p.value)
	}
}

// EqualUpdate reports whether a and b do the same, by the same operations.
func (f *MapField[K, V]) EqualUpdate(a, b *Map[K, V]) bool {
	equal := func(x, y mapRun[K, V]) bool {
		return x.op == y.op && slices.Equal(x.keys, y.keys) && maps.EqualFunc(x.table(), y.table(), func(v, w V) bool {
			return f.Values.Equal(&v, &w)
		})
	}
	return equal(a.first, b.first) && slices.EqualFunc(a.more, b.more, equal)
}
