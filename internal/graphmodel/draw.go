package graphmodel

import (
	"math/rand/v2"
	"slices"
)

// Draw returns the graph of a seed.
func Draw(seed uint64) *Spec {
	d := &drawing{rand: rand.New(rand.NewPCG(seed, 0)), Spec: &Spec{Seed: seed}}
	d.draw(2 + d.rand.IntN(8))
	return d.Spec
}

// drawing is a Spec in the making.
type drawing struct {
	*Spec
	rand  *rand.Rand
	depth int
	same  bool // over the state of the parent
}

func (d *drawing) chance(percent int) bool { return d.rand.IntN(100) < percent }

func (d *drawing) draw(n int) {
	d.Limit = int64(3 + d.rand.IntN(12))
	for i := range n {
		d.Nodes = append(d.Nodes, d.node(i))
	}
	d.enter()
	for i := 1; i < n; i++ {
		d.reach(i)
	}
	for i := range n {
		d.link(i)
	}
	d.fans()
	d.stops()
	d.faults()
	for i := range d.Nodes {
		d.leave(i)
	}
	d.extras()
}

// extras draws which nodes make durable calls, retry panics, mask cancellations and keep updates
// of failed attempts. It does not change what else is drawn for a seed. A crash can lose a kept
// update, so that such a graph is Exact.
func (d *drawing) extras() {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Kind == Sub {
			continue
		}
		n.Insists = n.Panics && hash("insists", d.Seed, i)%2 == 0
		n.Calls = max(int(hash("calls", d.Seed, i)%8)-4, 0)
		n.Masks = hash("masks", d.Seed, i)%2 == 0
		if n.Fails > 0 && !n.Panics && hash("keeps", d.Seed, i)%3 == 0 {
			n.Keeps, d.Exact = true, true
		}
	}
}

// node draws what a node is.
func (d *drawing) node(i int) Node {
	n := Node{Name: string(rune('a' + i))}
	switch p := d.rand.IntN(100); {
	case i > 0 && p < 12:
		n.Kind = Task
	case i > 0 && p < 22:
		n.Kind = RoutingTask
	case p < 34:
		n.Kind = Routing
	case p < 46 && d.depth < 2:
		d.sub(&n, i)
	}
	n.Deferred = d.chance(10)
	n.Before = d.chance(10)
	n.After = d.chance(10)
	n.Retry = d.rand.IntN(3)
	return n
}

// sub draws a subgraph.
func (d *drawing) sub(n *Node, i int) {
	n.Kind, n.Same, n.Up = Sub, d.chance(35), d.chance(30)
	n.Recalls = !n.Same && d.chance(35)
	if i > 0 && !n.Same && d.chance(60) {
		n.Kind, n.Recalls = SubTask, false // rule 18.25
	}
	child := &drawing{Spec: &Spec{Seed: d.rand.Uint64() >> 8}, depth: d.depth + 1, same: n.Same}
	child.rand = rand.New(rand.NewPCG(child.Seed, uint64(child.depth)))
	if n.Up {
		child.parent, child.place = d.Spec, i
		child.drawChain(1 + child.rand.IntN(3))
	} else {
		child.draw(1 + child.rand.IntN(3))
	}
	n.Child = child.Spec
	d.Exact, d.Patient = d.Exact || child.Exact, d.Patient || child.Patient
}

// drawChain draws a subgraph in which nothing else is due when its last node chooses for the
// parent (rule 18.14).
func (d *drawing) drawChain(n int) {
	d.Limit = int64(3 + d.rand.IntN(12))
	for i := range n {
		link := Node{Name: string(rune('a' + i))}
		link.Before, link.After, link.Retry = d.chance(15), d.chance(15), d.rand.IntN(3)
		d.Nodes = append(d.Nodes, link)
		if i < n-1 {
			d.Nodes[i].Edges = []int{i + 1}
		}
	}
	last := &d.Nodes[n-1]
	if d.chance(50) {
		last.Kind = Routing
	}
	last.Targets = []int{Parent, End}
	d.Entry = []int{0}
	d.stops()
	d.faults()
	d.extras()
}

// enter draws what follows Start.
func (d *drawing) enter() {
	d.Entry = []int{0}
	if d.chance(20) {
		d.Entry, d.EntryRoute = nil, []int{0}
	}
}

// reach draws a way to node i from one declared before it.
func (d *drawing) reach(i int) {
	if d.chance(20) {
		switch {
		case d.EntryRoute != nil:
			d.EntryRoute = append(d.EntryRoute, i)
			return
		case !d.Nodes[i].takes():
			d.Entry = append(d.Entry, i)
			return
		}
	}
	from := &d.Nodes[d.rand.IntN(i)]
	if from.Up && (d.Nodes[i].takes() || d.chance(50)) {
		from.Ups = append(from.Ups, i)
		return
	}
	if d.Nodes[i].takes() || !from.Up && d.chance(40) {
		from.Targets = append(from.Targets, i)
		return
	}
	from.Edges = append(from.Edges, i)
}

// link draws more edges forward, and more targets in all directions.
func (d *drawing) link(i int) {
	n := &d.Nodes[i]
	for to := i + 1; to < len(d.Nodes); to++ {
		if d.chance(10) && !d.Nodes[to].takes() && !slices.Contains(n.Edges, to) {
			n.Edges = append(n.Edges, to)
		}
	}
	for to := i + 1; n.Up && to < len(d.Nodes); to++ {
		if d.chance(20) && !slices.Contains(n.Ups, to) {
			n.Ups = append(n.Ups, to)
		}
	}
	if len(n.Targets) == 0 && !n.routes() {
		return
	}
	for to := range d.Nodes {
		if d.chance(20) && !slices.Contains(n.Targets, to) {
			n.Targets = append(n.Targets, to)
		}
	}
}

// leave draws a way from node i to End, for when loops have to end.
func (d *drawing) leave(i int) {
	n := &d.Nodes[i]
	if n.Up {
		n.Ups = append(n.Ups, End)
		return
	}
	if len(n.Targets) > 0 || n.routes() {
		n.Targets = append(n.Targets, End)
		return
	}
	if len(n.Edges) == 0 {
		n.Edges = append(n.Edges, End)
	}
}

// fans draws joins and any-of joins.
func (d *drawing) fans() {
	if d.chance(35) {
		if f, ok := d.fan(2, func(int) bool { return true }); ok {
			d.Joins = append(d.Joins, f)
		}
	}
	raced := func(i int) bool {
		return slices.ContainsFunc(d.Races, func(f Fan) bool { return slices.Contains(f.From, i) })
	}
	for d.chance(20) {
		f, ok := d.fan(1, func(i int) bool { return !raced(i) })
		if !ok {
			return
		}
		d.Races = append(d.Races, f)
		for _, i := range f.From { // an edge to the same node is one edge
			n := &d.Nodes[i]
			n.Edges = slices.DeleteFunc(n.Edges, func(to int) bool { return to == f.To })
		}
	}
}

// fan draws sources, and a destination declared after all of them.
func (d *drawing) fan(least int, free func(int) bool) (f Fan, ok bool) {
	f.To = d.rand.IntN(len(d.Nodes))
	if d.Nodes[f.To].takes() {
		return f, false
	}
	for i := range f.To {
		if free(i) && d.chance(60) {
			f.From = append(f.From, i)
		}
	}
	return f, len(f.From) >= least
}

// stops draws whether routes wait for stops.
func (d *drawing) stops() {
	after := false
	for i := range d.Nodes {
		after = after || d.Nodes[i].After
	}
	d.BeforeRoute = after && d.chance(50)
}

// faults draws which nodes ask and fail.
func (d *drawing) faults() {
	patient := len(d.Races) > 0 && d.chance(40)
	wild := patient && d.chance(50)
	d.Exact, d.Patient = d.Exact || wild, d.Patient || patient
	clashes := 0
	owns := func(n Node) bool { return n.Owner }
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Kind == Plain && !d.same && d.chance(25) && !slices.ContainsFunc(d.Nodes[:i], owns) {
			n.Owner = true
		}
		if d.depth == 0 && d.chance(12) && len(n.Targets) > 0 && !n.routes() {
			n.Astray = 1 + d.rand.IntN(2)
		}
		if d.depth == 0 && n.Kind == Plain && d.chance(25) && clashes < 2 {
			clashes++
			n.Clashes = clashes
		}
		n.Booms = d.depth == 0 && n.Child == nil && d.chance(3)
		raced := slices.ContainsFunc(d.Races, func(f Fan) bool { return slices.Contains(f.From, i) })
		if raced && n.Child != nil && !wild {
			n.Child.tame(patient)
		}
		if raced && !patient {
			continue
		}
		n.Lets = d.chance(15)
		if n.Child != nil {
			d.fallBack(n, raced && !wild)
			continue
		}
		if d.chance(18) {
			n.Asks, n.AtOnce, n.Named = 1+d.rand.IntN(3), d.chance(50), d.chance(30)
		}
		if d.chance(18) && (wild || !raced) {
			n.Fails, n.Panics, n.Late = 1+d.rand.IntN(2), d.chance(30), d.chance(50)
			if n.Falls = d.chance(30); n.Falls {
				n.Fails = always // so that a crash does not decide whether it falls back
			}
		}
	}
}

// always is how many attempts fail of a task that never succeeds.
const always = 1 << 30

// fallBack draws whether the failure of a subgraph is handled. Whether the subgraph fails can
// depend on crashes, which use up attempts, and a race on the subgraph then does, too.
func (d *drawing) fallBack(n *Node, steady bool) {
	if n.Recalls || steady || !n.Child.fails() || !d.chance(30) {
		return
	}
	n.Falls, d.Exact = true, true
}

// fails reports whether a node, at any depth, can fail permanently.
func (s *Spec) fails() bool {
	return slices.ContainsFunc(s.Nodes, func(n Node) bool {
		return n.Fails > 0 && !n.Falls || n.Child != nil && !n.Falls && n.Child.fails()
	})
}

// tame removes what would decide a race that the graph is in: failures and, unless it is patient,
// stops and questions.
func (s *Spec) tame(patient bool) {
	s.BeforeRoute = s.BeforeRoute && patient
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Fails, n.Falls = 0, false
		if !patient {
			n.Before, n.After, n.Asks = false, false, 0
		}
		if n.Child != nil {
			n.Child.tame(patient)
		}
	}
}
