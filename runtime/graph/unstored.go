package graph

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// Unstored makes the calls of a subgraph store nothing: no checkpoints, no results of its tasks
// and no durable calls. Only the result of the call is stored, like that of any node. So a call
// costs what Graph.Run costs, and leaves no log in the thread.
//
// If the run ends before this result is stored, the whole call runs again, for example after a
// crash or a failure. Its tasks keep their keys (CurrentTask), by which their effects can be
// idempotent. A drain waits for the end of the call. Sleep in it waits in memory, and Inside finds
// no checkpoints.
//
// Nothing in the call can wait outside the process. So Compile reports a question, a signal, a
// Queue or a stop in the subgraph, or in a subgraph of it. It also reports Stateful at the same
// node. InSubgraph with a stop in the call is an error of the run.
func Unstored() NodeOption {
	return singleNodeOption("Unstored", func(o *nodeOptions) { o.unstored = true })
}

// checkUnstored reports what cannot be in the calls of a subgraph that store nothing.
func (c *compiler) checkUnstored(n *nodeDecl) {
	if !n.opts.unstored || n.kind.sub == nil {
		return
	}
	if n.opts.remembers {
		c.fault("subgraph %q is Unstored and Stateful; its state can last only if it is stored", string(n.id))
	}
	if what := waitsOutside(n.kind.sub); what != "" {
		c.fault("subgraph %q is Unstored, and %s; leave out one of the two", string(n.id), what)
	}
}

// waitsOutside says what in a graph, or in a subgraph of it, waits for people or other processes;
// empty for nothing.
func waitsOutside(g *core) string {
	if !g.opt.stops.nodeless() {
		return fmt.Sprintf("graph %q has InterruptBefore or InterruptAfter", g.name)
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		what := ""
		switch {
		case len(n.questions) > 0:
			what = "asks questions"
		case len(n.signals) > 0:
			what = "receives signals"
		case n.queue != "":
			what = "has a Queue"
		case n.sub != nil:
			if inner := waitsOutside(n.sub); inner != "" {
				return inner
			}
		}
		if what != "" {
			return fmt.Sprintf("node %q of graph %q %s", string(n.id), g.name, what)
		}
	}
	return ""
}

// nameTasks gives the tasks of a call that stores nothing the keys that they would have if it did.
func (r *run) nameTasks(c *run, t *plan.Task) {
	line, key := r.keys.Line(), r.taskKey(t)
	if r.log != nil {
		line = r.log.CallLine(key, line)
	}
	c.keys.SetLine(line)
	c.keys.Scope = journal.ScopeWithin(r.keys.Scope, key)
}
