package flow

import (
	"cmp"
	"slices"
)

// mostPairs is how many pairs of edges are examined. Which nodes meet is a matter of pairs, and a
// wide graph has too many pairs.
const mostPairs = 1 << 19

// Pair is two nodes, the lesser number first.
type Pair struct{ A, B int }

// key is a Pair as the key of a map: the nodes of a graph fit in 32 bits.
type key uint64

func keyOf(a, b int) key { return key(min(a, b))<<32 | key(max(a, b)) }

func (k key) pair() Pair { return Pair{int(k >> 32), int(k & (1<<32 - 1))} }

// Meetings are the pairs of nodes that are certain to run in one superstep: ways of one length
// lead to both from one node.
type Meetings struct {
	next   [][]int     // what is certain to run right after each node
	before map[key]key // by nodes that meet: the nodes before them on the shortest ways
	work   int         // pairs of edges looked at
}

// NewMeetings finds the nodes that meet, nearest first, among the first half a million pairs of
// edges. next is what is certain to run right after each node.
func NewMeetings(next [][]int) *Meetings {
	m := &Meetings{next: next, before: make(map[key]key)}
	queue := make([]key, 0, len(next))
	for i := range next {
		queue = append(queue, keyOf(i, i))
	}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0].pair()
		for _, a := range next[at.A] {
			for _, b := range next[at.B] {
				if m.work++; m.work > mostPairs {
					return m
				}
				to := keyOf(a, b)
				if _, met := m.before[to]; a != b && !met {
					m.before[to] = queue[0]
					queue = append(queue, to)
				}
			}
		}
	}
	return m
}

// Among returns the pairs that meet and that want says yes to, in order.
func (m *Meetings) Among(want func(a, b int) bool) []Pair {
	var pairs []Pair
	for k := range m.before {
		if p := k.pair(); want(p.A, p.B) {
			pairs = append(pairs, p)
		}
	}
	slices.SortFunc(pairs, func(x, y Pair) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	return pairs
}

// Ways returns a node from which ways lead to both nodes of a pair, so that they run in one
// superstep. It also returns the ways to A and to B.
func (m *Meetings) Ways(p Pair) (origin int, toA, toB []int) {
	a, b := p.A, p.B
	for a != b {
		toA, toB = append(toA, a), append(toB, b)
		before := m.before[keyOf(a, b)].pair()
		x, y := before.A, before.B
		if !slices.Contains(m.next[x], a) || !slices.Contains(m.next[y], b) {
			x, y = y, x // the two ways change sides in a pair
		}
		a, b = x, y
	}
	slices.Reverse(toA)
	slices.Reverse(toB)
	return a, toA, toB
}
