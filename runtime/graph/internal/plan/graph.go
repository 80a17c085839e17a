package plan

// The numbers of what is not a node that the user declared. Start is a node of every Graph, the
// first one.
const (
	Start  = 0
	End    = -1 // a branch that ends there is over
	Parent = -2 // the graph that a subgraph is in
)

// Graph is a compiled graph, with its nodes by number: Start first, then in order of declaration.
// It must not be changed once a Planner uses it.
type Graph struct {
	Nodes       []Node
	Joins       []Join
	Races       int  // how many any-of joins there are
	Defers      bool // some node does
	BeforeRoute bool // a stop after a node comes before its route is asked
}

// Node is what the plan knows of a node.
type Node struct {
	Edges  []int     // the nodes that are due after it; End for nothing
	Joins  []Arrival // the joins that wait for it
	Route  bool      // a route is asked after it
	Defers bool      // it runs when nothing else is due
	Before bool      // a run stops when it is due
	After  bool      // a run stops when it has run
	Race   int       // the any-of join that it leads to, from 1; 0 for none
}

// Join makes To due when all of From have run since the join last fired.
type Join struct {
	To   int
	From []int
}

// Arrival says that a node is number Source among the sources of a join.
type Arrival struct{ Join, Source int }

// NewJoins returns the position of joins that no source has reached.
func (g *Graph) NewJoins() [][]bool {
	if len(g.Joins) == 0 {
		return nil
	}
	reached := make([][]bool, len(g.Joins))
	for i := range g.Joins {
		reached[i] = make([]bool, len(g.Joins[i].From))
	}
	return reached
}
