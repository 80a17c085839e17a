package graph

import (
	"errors"
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// InterruptOption is an option of Compile, for every run, and of Invoke, Stream, Resume and
// ResumeStream, for one run.
//
// The stops of one run are in addition to those of Compile. They are not stored, so they do not
// apply to another call, such as the Resume after a crash. They apply to nodes of the graph
// itself, not to nodes of its subgraphs.
type InterruptOption interface {
	Option
	InvokeOption
	ResumeOption
}

// stops are places where a run stops for people. It is an InterruptOption.
type stops struct {
	before, after []ID
	beforeRoute   bool
}

// InterruptBefore pauses a run before a superstep in which one of nodes would run. Nothing of that
// superstep runs. Resume then runs the superstep. If the Resume has the same InterruptBefore among
// its options, it pauses when the node is next due.
func InterruptBefore(nodes ...ID) InterruptOption { return &stops{before: nodes} }

// InterruptAfter pauses a run after the commit of a superstep in which one of nodes ran. The
// successors are decided by then, unless BeforeRoute is given. A run also pauses after its last
// node, so that a person can edit the result. Resume then finishes the run without running a node.
func InterruptAfter(nodes ...ID) InterruptOption { return &stops{after: nodes} }

// BeforeRoute makes InterruptAfter pause before the route of the node is called. Resume calls the
// route on the state at that time, which a person may have edited.
func BeforeRoute() InterruptOption { return &stops{beforeRoute: true} }

func (s *stops) compile(o *options)         { o.stops.add(s, &o.given) }
func (s *stops) invoke(o *runOptions)       { s.once(o) }
func (s *stops) stream(o *runOptions)       { s.once(o) }
func (s *stops) resume(o *runOptions)       { s.once(o) }
func (s *stops) resumeStream(o *runOptions) { s.once(o) }

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
}

// none reports whether no node is named.
func (s *stops) none() bool { return len(s.before)+len(s.after) == 0 }

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
func (c *compiler[S, U]) addStops() {
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

// numberStops sets the stops of one run by the numbers of the nodes.
func (g *core) numberStops(o *runOptions) error {
	if o.stops == nil {
		return nil
	}
	s, faults := o.stops.byNumber(g.index)
	if s.BeforeRoute && len(o.stops.after)+len(g.opt.stops.after) == 0 {
		faults = append(faults, "BeforeRoute without InterruptAfter has nothing to stop")
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	o.stopAt = &s
	return nil
}
