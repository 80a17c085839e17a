package graph

import (
	"fmt"
	"maps"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
)

// Stateful has a subgraph over a state of its own begin each call with what its last call in the thread came to, also in
// an earlier run, instead of an empty state; its input is merged into that. A fork or replay of the thread finds it as it
// was at that checkpoint. A thread's new version begins without. In a graph that is a subgraph itself the memory lasts as long as
// that one's: for one call, unless it remembers too.
//
// A call then costs one load, and one snapshot of the subgraph's state. With OnExit it stores what the call came to, too.
func Stateful() MapSubgraphOption {
	return singleNodeOption("Stateful", func(o *nodeOptions) { o.remembers = true })
}

// remember takes note of the calls that the superstep just merged has in it.
func (r caller) remember() {
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		n := &r.g.nodes[t.Node]
		if !n.remembers || t.Progress == exec.Beaten || !t.Stored && t.Attempt == 0 {
			continue
		}
		if r.memory == nil {
			r.memory = make(subgraph.Memory)
		}
		if r.log == nil {
			r.memory[string(n.id)] = r.calls[i].Memory
			continue
		}
		r.memory[string(n.id)] = subgraph.Remembered{Namespace: journal.Within(r.log.Namespace, r.log.Call(r.taskKey(&t.Task)))}
	}
}

// restoreMemory gives a subgraph that begins the state that its last call came to.
func (r caller) restoreMemory(i int, c *run) error {
	id := r.g.nodes[r.exec.Tasks[i].Node].id
	m, ok := r.memory[string(id)]
	if !ok || !c.call.Remembers {
		return nil
	}
	if c.log == nil {
		c.memory = maps.Clone(m.Inner)
		return c.state.decode(m.Snapshot)
	}
	chain, err := loadChain(r.ctx, c.g, c.log, checkpoint.Ref{Thread: c.thread, Namespace: m.Namespace})
	if err != nil {
		return err
	}
	if chain.Empty() {
		return fmt.Errorf("%s: what subgraph %q remembers is not stored: %w", where(r.g.name, r.thread, r.plan.Step), string(id), checkpoint.ErrDamaged)
	}
	if err := c.g.owns(c.thread, &chain.Last); err != nil {
		return err
	}
	before, line := c.plan, c.keys.Line() // where it begins
	if err := c.restoring().restore(&chain); err != nil {
		return err
	}
	c.plan = before
	c.keys.SetLine(line)
	c.log.Base, c.log.Chained, c.log.Stale = checkpoint.ID{}, 0, false
	return nil
}
