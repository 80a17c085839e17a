package graphmodel

import (
	"fmt"
	"slices"
	"time"
)

// Spec is a random graph. Nodes are given by their number; End stands for graph.End, and Start for
// graph.Start.
type Spec struct {
	Seed        uint64
	Nodes       []Node
	Entry       []int // edges out of Start
	EntryRoute  []int // the targets of the route from Start; nil for no route
	Joins       []Fan
	Races       []Fan // any-of joins
	BeforeRoute bool
	Limit       int64 // loops end when State.Count has reached this

	Below  *Spec // the graph of the children that its nodes begin; nil for none
	parent *Spec // of a subgraph that chooses for its parent
	place  int   // the node that it is there

	// Exact says that the outcome depends on which attempts fail: a crash that uses up an attempt
	// changes it.
	Exact bool

	// Replies says that nodes reply to the signals of the second name. Such a graph does not run
	// with OnExit (rule 27.4).
	Replies bool

	// Patient says that the outcome depends on when questions are answered and stops are cleared,
	// because tasks in a race ask or stop. Answers then have to wait until all tasks of the race
	// have run.
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
	SubTask // a call for each send (rule 18.23)
)

// Node is one node of a Spec.
type Node struct {
	Name     string
	Kind     Kind
	Edges    []int
	Targets  []int // of its route, or of the node that chooses for itself
	Deferred bool
	Before   bool // a run stops before it
	After    bool

	Asks   int  // how many questions
	AtOnce bool // it asks all of them before it looks at an answer
	Named  bool // each question has a name, and each durable call
	Calls  int  // how many durable calls it makes, before it waits
	Queued bool // workers of a queue run it
	Begins bool // it begins a child after its calls, and waits for its end

	Naps     []time.Duration // it sleeps, one after another, before it receives
	Receives int             // how many signals, before it asks
	Keyed    bool            // the signals have keys
	Expires  time.Duration   // the end of each wait for a signal or an answer; zero for never

	Fails   int           // how many attempts of each task fail
	Panics  bool          // when it fails
	Late    bool          // it fails after it has its answers
	Retry   int           // attempts
	Insists bool          // its Retry is for panics, too
	Pause   time.Duration // before each further attempt, longer than a lease; zero for none
	Falls   bool          // it has a fallback
	Keeps   bool          // the updates of its failed attempts count
	Lets    bool          // its failure does not cancel its siblings
	Masks   bool          // after the end of its context it returns an error of its own
	Astray  int           // how often its route fails in one state
	Owner   bool          // only this node changes Notes in all ways, and sets Draft
	Clashes int           // 1, 2: the nodes that set Text, both of them until the World is mended
	Booms   bool          // its update makes the reducer panic until the World is mended
	Child   *Spec
	Same    bool  // the child is over the same state
	Recalls bool  // it remembers
	Up      bool  // the child chooses for its parent
	Ups     []int // the targets of that
}

// takes reports whether the node is a task node.
func (n *Node) takes() bool { return n.Kind == Task || n.Kind == RoutingTask || n.Kind == SubTask }

// routes reports whether the node chooses for itself.
func (n *Node) routes() bool { return n.Kind == Routing || n.Kind == RoutingTask }

// name is the id of node i.
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

// shown is the display name of node i.
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

// targets are the targets of node i, or of Start.
func (s *Spec) targets(i int) []int {
	if i == Start {
		return s.EntryRoute
	}
	return s.Nodes[i].Targets
}

// Stormy reports whether the outcome is the same whatever happens in a Storm. It is not if the
// Spec is Exact. With lost, a storm may lose supersteps that were committed, and nodes that were
// mended since run in them again.
func (s *Spec) Stormy(lost bool) bool {
	if lost && slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Clashes == 2 || n.Booms }) {
		return false
	}
	return !s.Exact && !slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Child != nil && !n.Child.Stormy(lost) })
}

// Rivals reports whether a subgraph, or a node with durable calls, takes part in a race, at any
// depth. Then a failed call of the saver, MaxSteps or a drain may change the winner.
func (s *Spec) Rivals() bool {
	return s.races(func(n *Node) bool { return n.Child != nil || n.Calls > 0 })
}

// RivalSubgraphs reports whether a subgraph takes part in a race, at any depth.
func (s *Spec) RivalSubgraphs() bool {
	return s.races(func(n *Node) bool { return n.Child != nil })
}

// races reports whether a node for which is holds takes part in a race, at any depth.
func (s *Spec) races(is func(*Node) bool) bool {
	return slices.ContainsFunc(s.Races, func(f Fan) bool {
		return slices.ContainsFunc(f.From, func(i int) bool { return is(&s.Nodes[i]) })
	}) || slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Child != nil && n.Child.races(is) })
}

// racy reports whether the graph has an any-of join, at any depth. Tasks then have to run one at a
// time, in order.
func (s *Spec) racy() bool {
	return len(s.Races) > 0 || slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Child != nil && n.Child.racy() })
}

// abandons reports whether a subgraph that fails is replaced by a fallback, at any depth. Its
// tasks then never end.
func (s *Spec) abandons() bool {
	return slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Child != nil && (n.Falls || n.Child.abandons()) })
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
	out := fmt.Sprintf("%sseed %d: entry %v route %v, joins %v, races %v, before route %t, ",
		indent, s.Seed, s.Entry, s.EntryRoute, s.Joins, s.Races, s.BeforeRoute)
	out += fmt.Sprintf("limit %d, exact %t, patient %t\n", s.Limit, s.Exact, s.Patient)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		out += fmt.Sprintf("%s  %s %s -> %v, chooses %v,", indent, n.Name, n.Kind, n.Edges, n.Targets)
		for _, f := range []struct {
			is   bool
			name string
		}{
			{n.Deferred, "deferred"}, {n.Before, "before"}, {n.After, "after"}, {n.AtOnce, "at once"},
			{n.Named, "named"}, {n.Panics, "panics"}, {n.Insists, "retries panics"}, {n.Late, "late"}, {n.Owner, "owner"}, {n.Booms, "booms"},
			{n.Same, "same state"}, {n.Recalls, "remembers"}, {n.Falls, "falls back"}, {n.Keeps, "keeps updates"}, {n.Lets, "continues on error"},
			{n.Masks, "masks cancellations"}, {n.Queued, "on the queue"}, {n.Begins, "begins a child"},
		} {
			if f.is {
				out += " " + f.name
			}
		}
		out += fmt.Sprintf(" calls %d, asks %d, fails %d, attempts %d, astray %d, clashes %d, ups %v\n",
			n.Calls, n.Asks, n.Fails, n.Retry, n.Astray, n.Clashes, n.Ups)
		if n.Child == nil && n.waits() {
			out += fmt.Sprintf("%s    sleeps %v, receives %d (keys %t), expires %v, pauses %v\n",
				indent, n.Naps, n.Receives, n.Keyed, n.Expires, n.Pause)
		}
		if n.Child != nil {
			out += n.Child.text(indent + "    ")
		}
	}
	if s.Below != nil {
		out += indent + "  children are of " + s.Below.text(indent+"  ")
	}
	return out
}

// String names the kind.
func (k Kind) String() string {
	return [...]string{"plain", "routing", "task", "routing task", "subgraph", "subgraph task"}[k]
}
