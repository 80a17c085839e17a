package graph

import (
	"fmt"
	"maps"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
)

// Stateful makes a subgraph over a state of its own keep its state between calls. Each call starts
// with the final state of the last call in the thread, also of an earlier run. Its input merges
// into that state. The first call of a thread or version starts with an empty state.
//
// A fork or replay of the thread starts with the state at that checkpoint. In a graph that is a
// subgraph itself, the state lasts for one call of that graph, unless that graph is Stateful too.
//
// A call costs one load and one snapshot of the subgraph's state. With OnExit it also stores the
// outcome of the call.
func Stateful() NodeOption {
	return singleNodeOption("Stateful", func(o *nodeOptions) { o.remembers = true })
}

// remember records the subgraph calls of the superstep that was just merged.
func (r *run) remember() {
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

// restoreMemory gives a starting subgraph the final state of its last call.
func (r *run) restoreMemory(i int, c *run) error {
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
		return fmt.Errorf("%s: the last state of subgraph %q is not stored: %w", where(r.g.name, r.thread, r.plan.Step), string(id), checkpoint.ErrDamaged)
	}
	if err := c.g.owns(c.thread, &chain.Last); err != nil {
		return err
	}
	before, line := c.plan, c.keys.Line() // the position of the new call
	if err := c.restore(&chain); err != nil {
		return err
	}
	c.plan = before
	c.keys.SetLine(line)
	c.log.Base, c.log.Chained, c.log.Stale = checkpoint.ID{}, 0, false
	return nil
}
