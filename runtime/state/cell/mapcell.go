package cell

import (
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// MapCell is the cell of a [MapField].
type MapCell[K comparable, V any] struct {
	head
	def    *MapField[K, V]
	p      *map[K]V
	owned  bool      // the map was made here, and no view that lasts has it: write in place
	sorter sorter[K] // nil when the keys' codec is none

	keySettler   Settler[K] // nil if a key always is its decoded form
	valueSettler Settler[V]
	settling     []rep.Pair[K, V] // to settle in

	keys  []K              // to sort in
	pairs []rep.Pair[K, V] // to sort in
	entry rep.Pair[K, V]   // to point to, since a map's entries have no address
}

// Bind makes c the cell of the field f, whose value is at p.
func (c *MapCell[K, V]) Bind(core *Core, f *MapField[K, V], p *map[K]V) {
	c.bind(core, &f.Field, c)
	c.def, c.p = f, p
	c.sorter, _ = f.Keys.(sorter[K])
	c.keySettler, _ = f.Keys.(Settler[K])
	c.valueSettler, _ = f.Values.(Settler[V])
}

// Merge applies u, which is not zero.
func (c *MapCell[K, V]) Merge(u *state.Map[K, V]) {
	if runs := (*rep.Runs[rep.Entries[K, V]])(u); c.touch(runs.Rewrites()) {
		for i := range runs.Len() {
			c.merge(runs.At(i))
		}
	}
}

func (c *MapCell[K, V]) merge(run *rep.Run[rep.Entries[K, V]]) {
	switch run.Op {
	case rep.Put:
		c.put(c.settled(run.Arg.Pairs))
	case rep.Delete:
		c.delete(run.Arg.Keys)
	case rep.Replace:
		c.replace(c.settled(run.Arg.Pairs))
	case rep.Clear:
		c.clear()
	}
}

// settled returns the decoded forms of pairs, to which it does not write. The result is valid
// until the next call.
func (c *MapCell[K, V]) settled(pairs []rep.Pair[K, V]) []rep.Pair[K, V] {
	if c.keySettler == nil && c.valueSettler == nil {
		return pairs
	}
	clear(c.settling)
	c.settling = append(c.settling[:0], pairs...)
	for i := range c.settling {
		settle(&c.head, c.keySettler, &c.settling[i].Key)
		settle(&c.head, c.valueSettler, &c.settling[i].Value)
	}
	return c.settling
}

func (c *MapCell[K, V]) settle() {
	if *c.p == nil || c.keySettler == nil && c.valueSettler == nil {
		return
	}
	m := make(map[K]V, len(*c.p))
	for key, value := range *c.p {
		c.entry = rep.Pair[K, V]{Key: key, Value: value}
		settle(&c.head, c.keySettler, &c.entry.Key)
		settle(&c.head, c.valueSettler, &c.entry.Value)
		m[c.entry.Key] = c.entry.Value
	}
	c.entry = rep.Pair[K, V]{}
	*c.p = m
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

func (c *MapCell[K, V]) put(pairs []rep.Pair[K, V]) {
	m := c.own()
	c.written = true
	if !c.recording() {
		for i := range pairs {
			m[pairs[i].Key] = pairs[i].Value
		}
		return
	}
	pairs = c.sorted(pairs)
	b := wire.AppendMapLen(wire.AppendInt(c.log, int64(delta.Put)), len(pairs))
	from := len(b)
	for i := range pairs {
		p := &pairs[i]
		if old, ok := m[p.Key]; ok {
			n := c.sizeOf(p.Key, old)
			c.bytes -= n
			c.core.displace(n)
		}
		m[p.Key] = p.Value
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
func (c *MapCell[K, V]) sorted(pairs []rep.Pair[K, V]) []rep.Pair[K, V] {
	c.pairs = c.def.sortPairs(append(c.pairs[:0], pairs...))
	return c.pairs
}

// sortPairs sorts pairs in place and keeps the last of those with one key.
func (f *MapField[K, V]) sortPairs(pairs []rep.Pair[K, V]) []rep.Pair[K, V] {
	if len(pairs) < 2 {
		return pairs
	}
	if f.Compare == nil {
		sortEncoded(pairs, func(b []byte, p *rep.Pair[K, V]) ([]byte, error) { return f.Keys.Append(b, &p.Key) })
	} else {
		slices.SortStableFunc(pairs, func(a, b rep.Pair[K, V]) int { return f.Compare(a.Key, b.Key) })
	}
	n := 0
	for i := range pairs {
		if i > 0 && pairs[i].Key == pairs[n-1].Key {
			n--
		}
		pairs[n] = pairs[i]
		n++
	}
	clear(pairs[n:])
	return pairs[:n]
}

func (c *MapCell[K, V]) appendEntry(b []byte, p *rep.Pair[K, V]) ([]byte, error) {
	b, err := c.def.Keys.Append(b, &p.Key)
	if err != nil {
		return b, err
	}
	return c.def.Values.Append(b, &p.Value)
}

// sizeOf returns the encoded length of an entry.
func (c *MapCell[K, V]) sizeOf(key K, value V) int {
	c.entry = rep.Pair[K, V]{Key: key, Value: value}
	b, err := c.appendEntry(c.core.buf[:0], &c.entry)
	c.entry = rep.Pair[K, V]{}
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

func (c *MapCell[K, V]) replace(pairs []rep.Pair[K, V]) {
	if c.recording() {
		c.core.displace(c.size())
	}
	m := make(map[K]V, len(pairs))
	for i := range pairs {
		m[pairs[i].Key] = pairs[i].Value
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

// clear makes the field one that was never written.
func (c *MapCell[K, V]) clear() {
	if c.recording() {
		c.core.displace(c.size())
		c.log, c.ops = append(c.log, byte(delta.Clear), 0xc0), c.ops+1
	}
	c.reset()
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
		c.entry.Value = m[keys[i]]
		if b, err = c.def.Values.Append(b, &c.entry.Value); err != nil {
			return b, err
		}
	}
	c.entry = rep.Pair[K, V]{}
	clear(keys)
	return b, nil
}

func (c *MapCell[K, V]) sort(keys []K) {
	switch {
	case c.sorter != nil:
		c.sorter.sort(keys)
	case c.def.Compare == nil:
		sortEncoded(keys, c.def.Keys.Append)
	default:
		slices.SortFunc(keys, c.def.Compare)
	}
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
		m[c.entry.Key] = c.entry.Value
	}
	c.entry = rep.Pair[K, V]{}
	*c.p = m
	c.bytes = r.Offset() - from
	if r.OK() && c.recording() && (c.core.opts.DropUnknown || len(m) < n) {
		c.measure()
	}
}

// readEntry reads one entry into c.entry and reports whether there was one.
func (c *MapCell[K, V]) readEntry(r *wire.Reader) bool {
	c.entry = rep.Pair[K, V]{}
	c.def.Keys.Read(r, &c.entry.Key)
	c.def.Values.Read(r, &c.entry.Value)
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
	for range wire.Reserve[rep.Pair[K, V]](r, r.MapLen()) {
		if !c.readEntry(r) {
			break
		}
		key, value := c.entry.Key, c.entry.Value
		if c.recording() {
			if old, ok := m[key]; ok {
				c.bytes -= c.sizeOf(key, old)
			}
			c.bytes += c.sizeOf(key, value)
		}
		m[key] = value
	}
	c.entry = rep.Pair[K, V]{}
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

func (c *MapCell[K, V]) cloned(cell) { c.owned = true }
