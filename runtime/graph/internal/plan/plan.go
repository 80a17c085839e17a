// Package plan decides what runs next in a graph. It finds the tasks that are due after a
// superstep, their order, and whether the run stops or ends there. It knows nodes by number, and
// nothing of states, contexts or storage.
//
// Invariants:
//   - Due holds tasks in the order in which their results merge: nodes by number, then sends by
//     index. Only sends repeat a node.
//   - A join in Position.Joins is never wholly reached: when its last source arrives, its target
//     becomes due and the join is empty again.
//   - Pending is empty unless a run stopped at the position.
//   - Between Begin or Reopen and Turn, only Joins changes. A superstep or a route that fails
//     leaves what was due due, and what was pending pending; the Planner is then only good for
//     reading.
//   - The Position decides what follows. A new Planner at the same Position goes the same way.
//
// A restored Position keeps the stored order of Due, which may be that of another declaration
// order. Each Turn sorts again.
//
// The tests are tables by the numbers of docs/rules.md. A Planner is for one goroutine.
package plan

import "slices"

// Payload is what a send carries. The plan hands it on and never looks into it.
type Payload interface {
	AppendWire(b []byte) ([]byte, error)
}

// Task is one execution of a node that is due.
type Task struct {
	Node  int
	Index int     // of a send, among those of one superstep
	Sent  Payload // to a task node, else nil
	Raw   []byte  // Sent, encoded; nil if nothing is stored
}

// Position is where a thread stands, except for its state.
type Position struct {
	Step    int      // of the newest checkpoint
	Due     []Task   // what the next superstep runs
	Pending []int    // nodes whose routes a resume asks; End alone at a stop after the last node
	Joins   [][]bool // by join and source: has run since the join last fired
	Cleared []int    // due nodes that run although a run stops before them, because the stop was answered
}

// Decision says what follows a superstep.
type Decision uint8

// The decisions of Turn.
const (
	Go   Decision = iota // there are tasks to run
	Stop                 // the run stops for people
	Done                 // nothing is due
)

// Planner moves a Position through a graph. New returns one.
type Planner struct {
	Position
	graph   *Graph
	stops   bool
	own     *Stops // of this run alone; nil for none
	next    []Task // Due in the making
	pending []int  // Pending in the making
	marked  []bool // by node: it is in next without being sent to
	left    []bool // by node that is due: Leave was called for it since Begin
	ready   []Task // scratch of Now
	after   []int  // the nodes with After that have run in the superstep, if stops apply
	merged  bool   // Turn ends a superstep, and not a Reopen
	open    []int  // by join: a source that had not run when the join was last looked at
}

// New returns a Planner of g at the zero Position. Enter or Place moves it, or what was stored is
// assigned to Position. stops says whether stops for people apply: not in a run that stores
// nothing, because nobody could resume it.
func New(g *Graph, stops bool) Planner {
	return Planner{Position: Position{Joins: g.NewJoins()}, graph: g, stops: stops}
}

// Stops are stops of one run, in addition to those of its Graph. They are not part of a Position.
type Stops struct {
	Before      []int // nodes: a run stops when one of them is due
	After       []int // nodes: a run stops when one of them has run
	BeforeRoute bool  // as Graph.BeforeRoute
}

// StopAt adds stops. s must not be changed while the Planner is in use. A Planner without stops
// ignores these, too.
func (p *Planner) StopAt(s *Stops) { p.own = s }

// stopsBefore reports whether a run stops when node is due.
func (p *Planner) stopsBefore(node int) bool {
	return p.graph.Nodes[node].Before || p.own != nil && slices.Contains(p.own.Before, node)
}

// Enter makes Start the only task that is due. step is that of the checkpoint before.
func (p *Planner) Enter(step int) { p.Place(step, Start) }

// Place makes a task of the given node the only one that is due, with all joins empty.
func (p *Planner) Place(step, node int) {
	room := make([]Task, 2) // for Due and next: most supersteps have one task
	room[0].Node = node
	p.Position = Position{Step: step, Due: room[:1:1], Joins: p.graph.NewJoins()}
	p.next = room[1:1]
}

// Now returns the tasks that run in the next superstep: the due ones without those of deferred
// nodes, unless nothing else is due. The result is valid until the next call.
func (p *Planner) Now() []Task {
	if !p.graph.Defers {
		return p.Due
	}
	clear(p.ready)
	p.ready = p.ready[:0]
	for _, t := range p.Due {
		if !p.graph.Nodes[t.Node].Defers {
			p.ready = append(p.ready, t)
		}
	}
	if len(p.ready) == 0 {
		return p.Due
	}
	return p.ready
}

// Input reports whether the only task is that of Start: the superstep merges a run's input.
func (p *Planner) Input() bool { return len(p.Due) > 0 && p.Due[0].Node == Start }

// Begin begins the transition after a superstep whose results have merged. For the node of each
// task, in order, Leave follows; Choose and Send for what routes and nodes chose; then Turn.
func (p *Planner) Begin() {
	p.after, p.merged = p.after[:0], true
	p.makeMarks()
	for i := range p.Due {
		p.left[p.Due[i].Node] = false
	}
	if len(p.Now()) == len(p.Due) {
		return
	}
	for _, t := range p.Due {
		if p.graph.Nodes[t.Node].Defers {
			p.keep(t)
		}
	}
}

// Reopen begins the transition that asks the pending routes. Choose and Send follow for each node
// of Pending except End, then Turn.
func (p *Planner) Reopen() {
	p.after, p.merged = p.after[:0], false
	for _, t := range p.Due {
		p.keep(t)
	}
}

// Leave follows the edges and joins of a node that ran. If the node had several tasks, only the
// first call for it does. It reports whether the node's route is asked now; else the node has
// none, or Turn leaves it in Pending.
func (p *Planner) Leave(node int) (asks bool) {
	if p.left[node] {
		return false
	}
	p.left[node] = true
	n := &p.graph.Nodes[node]
	if len(n.Edges) > cap(p.next)-len(p.next) {
		p.next = slices.Grow(p.next, len(n.Edges))
	}
	for _, to := range n.Edges {
		p.Choose(to)
	}
	for _, a := range n.Joins {
		p.arrive(a)
	}
	if p.stops && (n.After || p.own != nil && slices.Contains(p.own.After, node)) {
		p.after = append(p.after, node)
		if n.Route && (p.graph.BeforeRoute || p.own != nil && p.own.BeforeRoute) {
			p.pending = append(p.pending, node)
			return false
		}
	}
	return n.Route
}

// makeMarks makes marked and left, in one allocation, if they are missing.
func (p *Planner) makeMarks() {
	if p.marked == nil {
		n := len(p.graph.Nodes)
		both := make([]bool, 2*n)
		p.marked, p.left = both[:n:n], both[n:]
	}
}

// Choose makes a node due, once however often it is chosen. Choosing End changes nothing.
func (p *Planner) Choose(node int) {
	p.makeMarks()
	if node > End && !p.marked[node] {
		p.marked[node] = true
		p.next = append(p.next, Task{Node: node})
	}
}

// Send makes a task of its own due for what was sent to a node. raw is sent, encoded.
func (p *Planner) Send(node int, sent Payload, raw []byte) {
	p.next = append(p.next, Task{Node: node, Sent: sent, Raw: raw})
}

// Grow makes room for n more choices.
func (p *Planner) Grow(n int) { p.next = slices.Grow(p.next, n) }

// Chosen returns the nodes that Turn will leave due or pending, each once; nil for none.
func (p *Planner) Chosen() []int {
	var nodes []int
	for _, t := range p.next {
		nodes = append(nodes, t.Node)
	}
	nodes = append(nodes, p.pending...)
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// keep makes due next what is due now.
func (p *Planner) keep(t Task) {
	if t.Sent == nil {
		p.Choose(t.Node)
		return
	}
	p.next = append(p.next, t)
}

// arrive notes that a source of a join has run, and fires the join if all have.
func (p *Planner) arrive(a Arrival) {
	reached := p.Joins[a.Join]
	reached[a.Source] = true
	if p.open == nil {
		p.open = make([]int, len(p.graph.Joins))
	}
	from := p.open[a.Join]
	if !reached[from] {
		return
	}
	// All before from have run, as a rule: a join is read through once until it fires.
	i := slices.Index(reached[from:], false) + from
	if i < from {
		i = slices.Index(reached[:from], false)
	}
	p.open[a.Join] = max(i, 0)
	if i < 0 {
		clear(reached)
		p.Choose(p.graph.Joins[a.Join].To)
	}
}

// Turn makes due what was chosen and sent: nodes by number, then the sends in the order in which
// they were made. It returns what the run does next. Turn reuses the memory of what was due.
func (p *Planner) Turn() Decision {
	if len(p.next) > 1 {
		slices.SortStableFunc(p.next, func(a, b Task) int { return p.rank(&a) - p.rank(&b) })
	}
	sends := 0
	for i := range p.next {
		t := &p.next[i]
		if t.Sent == nil {
			p.marked[t.Node] = false
			continue
		}
		t.Index = sends
		sends++
	}
	for i := range p.Due {
		if p.Due[i].Sent != nil {
			p.Due[i] = Task{} // what was sent can be large
		}
	}
	p.Due, p.next = p.next, p.Due[:0]
	p.Pending, p.pending = p.pending, nil
	if p.merged {
		p.Step++
		p.Cleared = nil
	}
	switch {
	case p.Stops():
		return Stop
	case p.Done():
		return Done
	}
	return Go
}

// rank returns the place of a task among those that are due. That of all sends is the last.
func (p *Planner) rank(t *Task) int {
	if t.Sent != nil {
		return len(p.graph.Nodes)
	}
	return t.Node
}

// StopHere makes the run stop where Turn returned Stop. If nothing is due there, Pending becomes
// End, so that the run does not end before the stop is answered.
func (p *Planner) StopHere() {
	if p.Done() {
		p.Pending = []int{End}
	}
}

// Done reports whether nothing is due or pending.
func (p *Planner) Done() bool { return len(p.Due)+len(p.Pending) == 0 }

// Ended reports whether nothing is left to run, at most a stop to be cleared.
func (p *Planner) Ended() bool {
	return len(p.Due) == 0 && (len(p.Pending) == 0 || p.Pending[0] == End)
}

// Stops reports whether a stop for people holds the run where it stands.
func (p *Planner) Stops() bool {
	if !p.stops || len(p.after) > 0 {
		return p.stops
	}
	const few = 16 // are found faster one by one
	var cleared map[int]bool
	if len(p.Cleared) > few {
		cleared = make(map[int]bool, len(p.Cleared))
		for _, n := range p.Cleared {
			cleared[n] = true
		}
	}
	return slices.ContainsFunc(p.Now(), func(t Task) bool {
		return p.stopsBefore(t.Node) && !cleared[t.Node] && (cleared != nil || !slices.Contains(p.Cleared, t.Node))
	})
}

// RestAfter sets the nodes that have run and whose stops hold a run that was restored.
func (p *Planner) RestAfter(nodes []int) { p.after = append(p.after[:0], nodes...) }

// Holding returns the nodes whose stops hold the run where it stands: those that have run, and
// those that are due. A Planner that was placed knows only the latter until RestAfter.
func (p *Planner) Holding() (after, before []int) {
	if !p.stops {
		return nil, nil
	}
	before = slices.DeleteFunc(p.stopping(false), func(n int) bool { return slices.Contains(p.Cleared, n) })
	return p.after, before
}

// Clear clears the stops that hold the run where it stands: they have been answered. With all it
// also clears the stops that a later run adds before the due nodes.
func (p *Planner) Clear(all bool) {
	p.Cleared, p.after = p.stopping(all), p.after[:0]
}

// stopping returns the nodes of the next superstep before which a run stops, each once. With all
// it returns all its nodes.
func (p *Planner) stopping(all bool) (nodes []int) {
	seen := make(map[int]bool)
	for _, t := range p.Now() {
		if (all || p.stopsBefore(t.Node)) && !seen[t.Node] {
			seen[t.Node] = true
			nodes = append(nodes, t.Node)
		}
	}
	return nodes
}

// Unjoined calls yield with the target of each join that only some of its sources have reached.
func (p *Planner) Unjoined(yield func(node int) bool) {
	for i, reached := range p.Joins {
		if slices.Contains(reached, true) && !yield(p.graph.Joins[i].To) {
			return
		}
	}
}
