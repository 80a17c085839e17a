package graphmodel

import (
	"slices"
	"time"
)

// DrawWaiting returns the graph of a seed. It is that of Draw, but its nodes also sleep and
// receive signals, and waits for signals and answers expire.
func DrawWaiting(seed uint64) *Spec {
	s := Draw(seed)
	s.drawWaits()
	return s
}

// Times shorter and longer than a lease. A run that holds its thread sleeps for the former.
const (
	soon  = 4 * time.Second
	later = 3 * time.Hour
)

// drawWaits draws what nodes wait for, at any depth. It does not change what else is drawn for a
// seed. A crash can move the time of a run, which decides a race of tasks that wait. So such a
// graph is Exact.
func (s *Spec) drawWaits() {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Child != nil {
			n.Child.drawWaits()
			continue
		}
		choice := hash("waits", s.Seed, i)
		switch choice % 16 {
		case 0:
			n.Naps = []time.Duration{soon}
		case 1:
			n.Naps = []time.Duration{later}
		case 2:
			n.Naps = []time.Duration{later, 2 * soon}
		case 3, 4:
			n.Receives = 1
		case 5:
			n.Receives = 3
		case 6:
			n.Receives, n.Naps = 1, []time.Duration{2 * soon}
		}
		if n.Receives > 0 {
			n.Keyed, n.AtOnce = choice>>8%3 == 0, n.AtOnce || choice>>16%2 == 0
		}
		if n.Receives+n.Asks > 0 {
			n.Expires = []time.Duration{0, 0, 3 * soon, later, 2 * later}[choice>>24%5]
		}
		if n.Fails > 0 && n.Retry > 1 && !n.Panics && choice>>32%2 == 0 {
			n.Pause = later
		}
	}
	raced := func(f Fan) bool { return slices.ContainsFunc(f.From, func(i int) bool { return s.Nodes[i].waits() }) }
	s.Exact = s.Exact || slices.ContainsFunc(s.Races, raced)
}

// waits reports whether a node waits for more than answers.
func (n *Node) waits() bool {
	return len(n.Naps) > 0 || n.Receives > 0 || n.Expires > 0 || n.Pause > 0 || n.Child != nil && n.Child.waits()
}

// waits reports whether a node, at any depth, waits for more than answers.
func (s *Spec) waits() bool {
	return slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.waits() })
}

// receives returns the name and the key of the k-th signal that a node receives.
func (n *Node) receives(k int) (name, key string) {
	if n.Keyed {
		key = []string{"x", "y"}[k%2]
	}
	return signalNames[k/2%2], key
}
