package diagram

import (
	"cmp"
	"slices"
)

// A layout follows Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical
// System Structures", 1981. Links that close a cycle are turned round, and boxes are put in
// layers. Each layer is ordered so that few links cross. Then the places within layers are chosen.
//
// The layers follow each other along one axis, down or to the right. The other axis is across.
// Boxes are in even layers. A link has a slot in each layer that it passes, also in an odd one
// between two boxes. So two links between the same boxes do not lie on each other.

// Distances in pixels.
const (
	slotSize = 14 // across, of a link that passes a layer
	spacing  = 26 // between boxes of a layer
	layerGap = 22 // between a layer of boxes and the next layer, which has slots only
	sweeps   = 16 // over all layers, for the order
	settling = 60 // sweeps over all layers, for the places
)

// slot is a box in a layer, or a place where a link passes it.
type slot struct {
	b             *box // nil for a link
	layer         int
	along, across float64 // the size
	at            float64 // the centre, across
	from, to      []*slot // the neighbours in the layers before and after
}

// route is a link with the slots that it passes, in the direction of the layers.
type route struct {
	link
	turned bool // the link leads against the direction of the layers
	slots  []*slot
}

// layout places the boxes of a graph.
type layout struct {
	layers [][]*slot
	routes []*route
	loops  []link // from a box to itself
	begin  []float64
	end    []float64 // of layers, along
	across float64
}

// newLayout places boxes. size returns the size of a box along and across.
func newLayout(g *group, size func(*box) (along, across float64)) *layout {
	l := new(layout)
	slots := make(map[*box]*slot, len(g.boxes))
	for _, b := range g.boxes {
		s := &slot{b: b}
		s.along, s.across = size(b)
		slots[b] = s
	}
	l.direct(g)
	l.assign(g, slots)
	l.thread(slots)
	l.order()
	l.spread()
	l.stack()
	return l
}

// direct turns round the links that close a cycle.
func (l *layout) direct(g *group) {
	out := make(map[*box][]*route)
	for _, k := range g.links {
		if k.from == k.to {
			l.loops = append(l.loops, k)
			continue
		}
		r := &route{link: k}
		l.routes = append(l.routes, r)
		out[k.from] = append(out[k.from], r)
	}
	const open, closed = 1, 2
	state := make(map[*box]int)
	type visit struct {
		b    *box
		next int
	}
	for _, first := range g.boxes {
		if state[first] != 0 {
			continue
		}
		state[first] = open
		for path := []visit{{b: first}}; len(path) > 0; {
			v := &path[len(path)-1]
			if v.next == len(out[v.b]) {
				state[v.b] = closed
				path = path[:len(path)-1]
				continue
			}
			r := out[v.b][v.next]
			v.next++
			switch state[r.link.to] {
			case open:
				r.turned = true
			case 0:
				state[r.link.to] = open
				path = append(path, visit{b: r.link.to})
			}
		}
	}
}

// ends returns the boxes of a link in the direction of the layers.
func (r *route) ends() (upper, lower *box) {
	if r.turned {
		return r.link.to, r.link.from
	}
	return r.link.from, r.link.to
}

// assign gives each box the first layer behind all boxes that lead to it. Layers of boxes have
// even numbers.
func (l *layout) assign(g *group, slots map[*box]*slot) {
	waits, next := make(map[*box]int), make(map[*box][]*box)
	for _, r := range l.routes {
		upper, lower := r.ends()
		waits[lower]++
		next[upper] = append(next[upper], lower)
	}
	var ready []*box
	for _, b := range g.boxes {
		if waits[b] == 0 {
			ready = append(ready, b)
		}
	}
	last := 0
	for ; len(ready) > 0; ready = ready[1:] {
		s := slots[ready[0]]
		last = max(last, s.layer)
		for _, b := range next[ready[0]] {
			slots[b].layer = max(slots[b].layer, s.layer+2)
			if waits[b]--; waits[b] == 0 {
				ready = append(ready, b)
			}
		}
	}
	l.layers = make([][]*slot, last+1)
	for _, b := range g.boxes {
		s := slots[b]
		if b.form == terminal && len(next[b]) == 0 && waits[b] == 0 && b != g.boxes[0] {
			s.layer = last // End
		}
		l.layers[s.layer] = append(l.layers[s.layer], s)
	}
}

// thread gives each link its slots.
func (l *layout) thread(slots map[*box]*slot) {
	for _, r := range l.routes {
		upper, lower := r.ends()
		before, end := slots[upper], slots[lower]
		r.slots = append(r.slots, before)
		for n := before.layer + 1; n <= end.layer; n++ {
			s := end
			if n < end.layer {
				s = &slot{layer: n, across: slotSize}
				l.layers[n] = append(l.layers[n], s)
			}
			before.to, s.from = append(before.to, s), append(s.from, before)
			r.slots = append(r.slots, s)
			before = s
		}
	}
}

// order orders the slots of each layer by the mean position of their neighbours, and keeps the
// order with the fewest crossings.
func (l *layout) order() {
	best, fewest := l.layers, -1
	for sweep := range sweeps {
		number(l.layers)
		if c := l.crossings(); fewest < 0 || c < fewest {
			best, fewest = make([][]*slot, len(l.layers)), c
			for i := range l.layers {
				best[i] = slices.Clone(l.layers[i])
			}
		}
		if fewest == 0 {
			break
		}
		for i := range l.layers {
			layer, neighbours := l.layers[i], func(s *slot) []*slot { return s.from }
			if sweep%2 == 1 {
				layer, neighbours = l.layers[len(l.layers)-1-i], func(s *slot) []*slot { return s.to }
			}
			means := make(map[*slot]float64, len(layer))
			for _, s := range layer {
				means[s] = mean(neighbours(s), s.at)
			}
			slices.SortStableFunc(layer, func(a, b *slot) int { return cmp.Compare(means[a], means[b]) })
			for n, s := range layer {
				s.at = float64(n)
			}
		}
	}
	l.layers = best
}

// number makes at the number of each slot in its layer.
func number(layers [][]*slot) {
	for _, layer := range layers {
		for n, s := range layer {
			s.at = float64(n)
		}
	}
}

// mean returns the mean place of slots, or otherwise for none.
func mean(slots []*slot, otherwise float64) float64 {
	if len(slots) == 0 {
		return otherwise
	}
	sum := 0.0
	for _, s := range slots {
		sum += s.at
	}
	return sum / float64(len(slots))
}

// crossings returns how often links cross, by the order of slots.
func (l *layout) crossings() (n int) {
	for _, layer := range l.layers {
		var ends []float64 // of the links out of the layer, in their order
		for _, s := range layer {
			start := len(ends)
			for _, t := range s.to {
				ends = append(ends, t.at)
			}
			slices.Sort(ends[start:])
		}
		n += inversions(ends)
	}
	return n
}

// inversions returns how many pairs of numbers are in the wrong order. It sorts them.
func inversions(ends []float64) (n int) {
	if len(ends) < 2 {
		return 0
	}
	left, right := slices.Clone(ends[:len(ends)/2]), slices.Clone(ends[len(ends)/2:])
	n = inversions(left) + inversions(right)
	for i, j, k := 0, 0, 0; k < len(ends); k++ {
		if j == len(right) || i < len(left) && left[i] <= right[j] {
			ends[k] = left[i]
			i++
			continue
		}
		ends[k] = right[j]
		n += len(left) - i
		j++
	}
	return n
}

// spread places the slots across, near the mean place of their neighbours, without overlaps.
func (l *layout) spread() {
	for _, layer := range l.layers {
		pack(layer, func(*slot) float64 { return 0 })
	}
	for sweep := range settling {
		for i := range l.layers {
			layer := l.layers[i]
			if sweep%2 == 1 {
				layer = l.layers[len(l.layers)-1-i]
			}
			pack(layer, func(s *slot) float64 {
				before, after := mean(s.from, s.at), mean(s.to, s.at)
				switch {
				case len(s.from) == 0:
					return after
				case len(s.to) == 0:
					return before
				}
				return (before + after) / 2
			})
		}
	}
	least := 0.0
	for _, layer := range l.layers {
		for _, s := range layer {
			least = min(least, s.at-s.across/2)
		}
	}
	for _, layer := range l.layers {
		for _, s := range layer {
			s.at -= least
			l.across = max(l.across, s.at+s.across/2)
		}
	}
}

// pack places the slots of a layer near the places that they want, in their order. The places are
// the mean of two that do not overlap: one pushed away from the first slot, and one from the last.
func pack(layer []*slot, want func(*slot) float64) {
	places := make([]float64, len(layer))
	for i, s := range layer {
		places[i] = want(s)
	}
	up, down := slices.Clone(places), places
	for i := 1; i < len(layer); i++ {
		up[i] = max(up[i], up[i-1]+distance(layer[i-1], layer[i]))
	}
	for i := len(layer) - 2; i >= 0; i-- {
		down[i] = min(down[i], down[i+1]-distance(layer[i], layer[i+1]))
	}
	for i, s := range layer {
		s.at = (up[i] + down[i]) / 2
	}
}

// distance returns the least distance of two neighbours in a layer.
func distance(a, b *slot) float64 {
	gap := float64(spacing)
	if a.b == nil || b.b == nil {
		gap = spacing / 2
	}
	return (a.across+b.across)/2 + gap
}

// stack places the layers along.
func (l *layout) stack() {
	at := 0.0
	for i, layer := range l.layers {
		size := 0.0
		for _, s := range layer {
			size = max(size, s.along)
		}
		if i > 0 {
			at += layerGap
		}
		l.begin, l.end = append(l.begin, at), append(l.end, at+size)
		at += size
	}
}
