package graph

// ID names a node of a graph. Untyped constants convert; declare constants for the ids that routes, tests
// and tools name. Ids that begin with two underscores are reserved.
type ID string

// Start and End are where every run begins and where its branches end. Neither is a node: Start has only
// out-edges, End only in-edges.
const (
	Start ID = "__start__"
	End   ID = "__end__"
)

// String returns the id as people read it: Start and End by these names.
func (id ID) String() string {
	switch id {
	case Start:
		return "Start"
	case End:
		return "End"
	}
	return string(id)
}

// Next is what a route chose: the nodes to run in the next superstep. Make one with To. The zero Next is an
// error of the route that returned it, so that a forgotten case is never taken for the end.
type Next struct {
	first ID // inline, so that To with one target allocates nothing
	more  []ID
}

// To returns a Next of the given targets. To(End) ends the branch. A target named twice runs once.
func To(first ID, more ...ID) Next { return Next{first: first, more: more} }
