package graphmodel

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Spec is a random graph. Nodes are given by their number; End stands for graph.End, and Start for graph.Start.
type Spec struct {
	Seed        uint64
	Nodes       []Node
	Entry       []int // edges out of Start
	EntryRoute  []int // what the route from Start chooses among; nil for no route
	Joins       []Fan
	Races       []Fan // any-of joins
	BeforeRoute bool
	Limit       int64 // loops end when State.Count has come to this

	outer *Spec // of a subgraph that sends it on: where it is a node
	place int   // and which

	// Exact says that what a run comes to depends on which attempts fail: a crash that uses one up changes the result.
	Exact bool

	// Patient says that what a run comes to depends on when questions are answered and stops let pass, since what races with
	// others asks or stops: that has to wait until all that races had its turn.
	Patient bool
}

// End, Start and Parent stand for those of package graph.
const (
	End    = -1
	Start  = -2
	Parent = -3
)

// Fan is a join or any-of join.
type Fan struct {
	From []int
	To   int
}

// Kind is how a node is declared.
type Kind int

// The kinds of nodes.
const (
	Plain Kind = iota
	Routing
	Task
	RoutingTask
	Sub
)

// Node is one node of a Spec.
type Node struct {
	Name     string
	Kind     Kind
	Edges    []int
	Targets  []int // what its route, or it itself, chooses among
	Deferred bool
	Before   bool // a run stops before it
	After    bool

	Asks    int  // how many questions
	AtOnce  bool // it asks them all before it looks at an answer
	Named   bool // each has a name of its own
	Fails   int  // how many attempts of each of its tasks fail
	Panics  bool // when it fails
	Late    bool // it fails once it has its answers
	Retry   int  // attempts
	Astray  int  // how often its route fails in one state
	Owner   bool // it is the one that changes Notes in all ways, and sets Draft
	Clashes int  // 1, 2: they set Text, both of them until the world is mended
	Booms   bool // it breaks the reducer until the world is mended
	Child   *Spec
	Same    bool  // the child is over the same state
	Recalls bool  // it remembers
	Up      bool  // the child chooses what follows, among
	Ups     []int // these
}

// takes reports whether the node takes what is sent.
func (n *Node) takes() bool { return n.Kind == Task || n.Kind == RoutingTask }

// routes reports whether the node chooses itself what follows.
func (n *Node) routes() bool { return n.Kind == Routing || n.Kind == RoutingTask }

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
	same  bool // as the state of the graph around it
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
	child := &drawing{Spec: &Spec{Seed: d.rand.Uint64() >> 8}, depth: d.depth + 1, same: n.Same}
	child.rand = rand.New(rand.NewPCG(child.Seed, uint64(child.depth)))
	if n.Up {
		child.outer, child.place = d.Spec, i
		child.drawChain(1 + child.rand.IntN(3))
	} else {
		child.draw(1 + child.rand.IntN(3))
	}
	n.Child = child.Spec
	d.Exact, d.Patient = d.Exact || child.Exact, d.Patient || child.Patient
}

// drawChain draws a subgraph of which nothing is due when its last node chooses what the graph around it is to do.
func (d *drawing) drawChain(n int) {
	d.Limit = int64(3 + d.rand.IntN(12))
	for i := range n {
		d.Nodes = append(d.Nodes, Node{Name: string(rune('a' + i)), Before: d.chance(15), After: d.chance(15), Retry: d.rand.IntN(3)})
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
}

// enter draws what leaves Start.
func (d *drawing) enter() {
	d.Entry = []int{0}
	if d.chance(20) {
		d.Entry, d.EntryRoute = nil, []int{0}
	}
}

// reach gives node i a way to it from one before it.
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

// link draws more edges forward, and more choices in all directions.
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

// leave gives node i a way to the end that is open when loops have to end.
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

// fan draws sources and a target behind all of them.
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

func (d *drawing) stops() {
	after := false
	for i := range d.Nodes {
		after = after || d.Nodes[i].After
	}
	d.BeforeRoute = after && d.chance(50)
}

// faults draws who asks and fails.
func (d *drawing) faults() {
	patient := len(d.Races) > 0 && d.chance(40)
	wild := patient && d.chance(50)
	d.Exact, d.Patient = d.Exact || wild, d.Patient || patient
	clashes := 0
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Kind == Plain && !d.same && d.chance(25) && !slices.ContainsFunc(d.Nodes[:i], func(o Node) bool { return o.Owner }) {
			n.Owner = true
		}
		if d.depth == 0 && d.chance(12) && len(n.Targets) > 0 && !n.routes() {
			n.Astray = 1 + d.rand.IntN(2)
		}
		if d.depth == 0 && n.Kind == Plain && d.chance(25) && clashes < 2 {
			clashes++
			n.Clashes = clashes
		}
		n.Booms = d.depth == 0 && n.Kind != Sub && d.chance(3)
		raced := slices.ContainsFunc(d.Races, func(f Fan) bool { return slices.Contains(f.From, i) })
		if raced && n.Child != nil && !wild {
			n.Child.tame(patient)
		}
		if raced && !patient {
			continue
		}
		if n.Kind == Sub {
			continue
		}
		if d.chance(18) {
			n.Asks, n.AtOnce, n.Named = 1+d.rand.IntN(3), d.chance(50), d.chance(30)
		}
		if d.chance(18) && (wild || !raced) {
			n.Fails, n.Panics, n.Late = 1+d.rand.IntN(2), d.chance(30), d.chance(50)
		}
	}
}

// tame takes out what makes a difference to a race that the graph is in: failures, and unless it is patient stops and questions.
func (s *Spec) tame(patient bool) {
	s.BeforeRoute = s.BeforeRoute && patient
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Fails = 0
		if !patient {
			n.Before, n.After, n.Asks = false, false, 0
		}
		if n.Child != nil {
			n.Child.tame(patient)
		}
	}
}

// name is how people and package graph call node i.
func (s *Spec) name(i int) string {
	switch i {
	case End:
		return "__end__"
	case Start:
		return "__start__"
	case Parent:
		return "__parent__"
	}
	return s.Nodes[i].Name
}

// shown is how an ID prints.
func (s *Spec) shown(i int) string {
	switch i {
	case Start:
		return "Start"
	case End:
		return "End"
	case Parent:
		return "Parent"
	}
	return s.name(i)
}

// targets are what node i, or Start, chooses among.
func (s *Spec) targets(i int) []int {
	if i == Start {
		return s.EntryRoute
	}
	return s.Nodes[i].Targets
}

// Stormy reports whether the graph comes to the same whatever happens on the way, of what happens in a Storm. Those that are
// Exact do not. With lost supersteps may be taken back, so that nodes which were mended since run in them.
func (s *Spec) Stormy(lost bool) bool {
	if lost && slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Clashes == 2 || n.Booms }) {
		return false
	}
	return !s.Exact && !slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Child != nil && !n.Child.Stormy(lost) })
}

// Rivals reports whether a subgraph takes part in a race, in the graph or in one in it. Whatever keeps it from going on, and not
// the tasks that it races with, makes it lose: a call of the saver that fails alone, the end of its steps, a drain.
func (s *Spec) Rivals() bool {
	return slices.ContainsFunc(s.Races, func(f Fan) bool {
		return slices.ContainsFunc(f.From, func(i int) bool { return s.Nodes[i].Kind == Sub })
	}) || slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Child != nil && n.Child.Rivals() })
}

// racy reports whether the graph, or one in it, has an any-of join: then tasks must run in order.
func (s *Spec) racy() bool {
	return len(s.Races) > 0 || slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Child != nil && n.Child.racy() })
}

// joinsBelow reports whether a subgraph has joins.
func (s *Spec) joinsBelow() bool {
	return slices.ContainsFunc(s.Nodes, func(n Node) bool {
		return n.Child != nil && (len(n.Child.Joins) > 0 || n.Child.joinsBelow())
	})
}

// String prints the graph, a line for each node.
func (s *Spec) String() string { return s.text("") }

func (s *Spec) text(indent string) string {
	out := fmt.Sprintf("%sseed %d: entry %v route %v, joins %v, races %v, before route %t, limit %d, exact %t, patient %t\n",
		indent, s.Seed, s.Entry, s.EntryRoute, s.Joins, s.Races, s.BeforeRoute, s.Limit, s.Exact, s.Patient)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		out += fmt.Sprintf("%s  %s %s -> %v, chooses %v,", indent, n.Name, n.Kind, n.Edges, n.Targets)
		for _, f := range []struct {
			is   bool
			name string
		}{
			{n.Deferred, "deferred"}, {n.Before, "before"}, {n.After, "after"}, {n.AtOnce, "at once"}, {n.Named, "named"},
			{n.Panics, "panics"}, {n.Late, "late"}, {n.Owner, "owner"}, {n.Booms, "booms"}, {n.Same, "same state"}, {n.Recalls, "remembers"},
		} {
			if f.is {
				out += " " + f.name
			}
		}
		out += fmt.Sprintf(" asks %d, fails %d, attempts %d, astray %d, clashes %d, ups %v\n", n.Asks, n.Fails, n.Retry, n.Astray, n.Clashes, n.Ups)
		if n.Child != nil {
			out += n.Child.text(indent + "    ")
		}
	}
	return out
}

// String names the kind.
func (k Kind) String() string {
	return [...]string{"plain", "routing", "task", "routing task", "subgraph"}[k]
}
