package graph

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// InterruptOption is an option of Invoke, Stream, Resume and ResumeStream that stops one run.
// InterruptBefore, InterruptAfter and BeforeRoute are also options of Compile, for every run.
//
// The stops of one run are in addition to those of Compile. They are not stored, so they do not
// apply to another call, such as the Resume after a crash. They apply to nodes of the graph
// itself; InSubgraph applies them to nodes of a subgraph.
type InterruptOption interface {
	InvokeOption
	ResumeOption
	interrupt() *stops
}

// stops are places where a run stops for people. It is an InterruptOption.
type stops struct {
	before, after []ID
	beforeRoute   bool
	inside        map[ID][]InterruptOption // by subgraph node
}

// InterruptBefore pauses a run before a superstep in which one of nodes would run. Nothing of that
// superstep runs. Resume then runs the superstep. If the Resume has the same InterruptBefore among
// its options, it pauses when the node is next due.
func InterruptBefore(nodes ...ID) interface {
	Option
	InterruptOption
} {
	return &stops{before: nodes}
}

// InterruptAfter pauses a run after the commit of a superstep in which one of nodes ran. The
// successors are decided by then, unless BeforeRoute is given. A run also pauses after its last
// node, so that a person can edit the result. Resume then finishes the run without running a node.
func InterruptAfter(nodes ...ID) interface {
	Option
	InterruptOption
} {
	return &stops{after: nodes}
}

// BeforeRoute makes InterruptAfter pause before the route of the node is called. Resume then calls
// the route on its current state, which a person may have edited.
func BeforeRoute() interface {
	Option
	InterruptOption
} {
	return &stops{beforeRoute: true}
}

// InSubgraph applies stops to the nodes of a subgraph, in every call of it that the run makes.
// node is the node of the subgraph. For a subgraph in a subgraph, nest InSubgraph.
//
// If a crash follows a stop in a subgraph before the thread is Paused, the next Resume stops
// there, too.
func InSubgraph(node ID, opts ...InterruptOption) InterruptOption {
	return &stops{inside: map[ID][]InterruptOption{node: opts}}
}

func (s *stops) interrupt() *stops    { return s }
func (s *stops) compile(o *options)   { o.stops.add(s, &o.given) }
func (s *stops) invoke(o *runOptions) { s.once(o) }
func (s *stops) resume(o *runOptions) { s.once(o) }

// once adds the stops to those of one run.
func (s *stops) once(o *runOptions) {
	if o.stops == nil {
		o.stops = new(stops)
	}
	o.stops.add(s, &o.given)
}

func (s *stops) add(more *stops, given *given) {
	s.before, s.after = append(s.before, more.before...), append(s.after, more.after...)
	if more.beforeRoute {
		s.beforeRoute = true
		given.set("BeforeRoute")
	}
	for node, opts := range more.inside {
		if s.inside == nil {
			s.inside = make(map[ID][]InterruptOption)
		}
		s.inside[node] = append(slices.Clip(s.inside[node]), opts...)
	}
}

// nodeless reports whether no node is named.
func (s *stops) nodeless() bool { return len(s.before)+len(s.after) == 0 }

// byNumber returns the stops with the numbers of the nodes, and faults.
func (s *stops) byNumber(index map[ID]int) (numbered plan.Stops, faults []string) {
	find := func(option string, ids []ID) (nodes []int) {
		for _, id := range ids {
			switch n, ok := index[id]; {
			case !ok:
				faults = append(faults, fmt.Sprintf("%s: no node %q", option, string(id)))
			case n <= start:
				faults = append(faults, fmt.Sprintf("%s: %s is not a node", option, id))
			default:
				nodes = append(nodes, n)
			}
		}
		return nodes
	}
	return plan.Stops{
		Before: find("InterruptBefore", s.before), After: find("InterruptAfter", s.after), BeforeRoute: s.beforeRoute,
	}, faults
}

// addStops adds the stops of every run to the plan.
func (c *compiler) addStops() {
	s, faults := c.g.opt.stops.byNumber(c.g.index)
	c.faults = append(c.faults, faults...)
	for _, n := range s.Before {
		c.g.plan.Nodes[n].Before = true
	}
	for _, n := range s.After {
		c.g.plan.Nodes[n].After = true
	}
	c.g.plan.BeforeRoute = s.BeforeRoute
}

// numberedStops are the stops of one run in a graph and in its subgraphs, by the numbers of nodes.
// Nil is none.
type numberedStops struct {
	plan.Stops
	inside map[int]*numberedStops // by subgraph node
}

// in returns the stops in the calls of a subgraph node.
func (s *numberedStops) in(node int) *numberedStops {
	if s == nil {
		return nil
	}
	return s.inside[node]
}

// addTo adds the stops of one call to those of the graph.
func (s *numberedStops) addTo(p *plan.Planner) {
	if s != nil {
		p.StopAt(&s.Stops)
	}
}

// numberStops sets the stops of one run by the numbers of the nodes.
func (g *core) numberStops(o *runOptions) error {
	if o.stops == nil {
		return nil
	}
	s, faults := g.numbered(o.stops)
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	o.stopAt = s
	return nil
}

// numbered returns stops by the numbers of the nodes, and faults.
func (g *core) numbered(s *stops) (_ *numberedStops, faults []string) {
	numbered := &numberedStops{inside: make(map[int]*numberedStops, len(s.inside))}
	numbered.Stops, faults = s.byNumber(g.index)
	if s.beforeRoute && len(s.after)+len(g.opt.stops.after) == 0 {
		faults = append(faults, "BeforeRoute without InterruptAfter has nothing to stop")
	}
	for _, id := range slices.Sorted(maps.Keys(s.inside)) {
		n, ok := g.index[id]
		if !ok || n <= start || g.nodes[n].sub == nil {
			faults = append(faults, fmt.Sprintf("InSubgraph: no subgraph %q", string(id)))
			continue
		}
		if g.nodes[n].unstored {
			faults = append(faults, fmt.Sprintf("InSubgraph: subgraph %q is Unstored, so its calls cannot stop", string(id)))
			continue
		}
		inner, wrong := g.nodes[n].sub.insideOf(s.inside[id])
		for _, fault := range wrong {
			faults = append(faults, fmt.Sprintf("InSubgraph %q: %s", string(id), fault))
		}
		numbered.inside[n] = inner
	}
	return numbered, faults
}

// insideOf returns the stops of a subgraph by the numbers of its nodes, and faults.
func (g *core) insideOf(opts []InterruptOption) (*numberedStops, []string) {
	var sum stops
	var given given
	for _, o := range opts {
		if o != nil {
			sum.add(o.interrupt(), &given)
		}
	}
	numbered, faults := g.numbered(&sum)
	if sum.nodeless() && !sum.beforeRoute && len(sum.inside) == 0 {
		faults = append(faults, "it has no stops; add InterruptBefore or InterruptAfter")
	}
	for _, name := range given.twice {
		faults = append(faults, name+" is given twice; give it once")
	}
	return numbered, faults
}
