package graph

import (
	"fmt"
	"maps"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// Remember has a subgraph over a state of its own begin each call with what its last call in the thread came to, also in
// an earlier run, instead of an empty state; its input is merged into that. A fork or replay of the thread finds it as it
// was at that checkpoint. A thread's new version begins without. In a graph that is a subgraph itself the memory lasts as long as
// that one's: for one call, unless it remembers too.
//
// A call then costs one load, and one snapshot of the subgraph's state. With OnExit it stores what the call came to, too.
func Remember() NodeOption {
	return singleNodeOption("Remember", func(o *nodeOptions) { o.remembers = true })
}

// memory is what the newest finished call of a subgraph that remembers left.
type memory struct {
	namespace string        // of its checkpoints
	snapshot  []byte        // of its state, in a run that stores nothing
	inner     map[ID]memory // likewise, of what the subgraphs in it remember
}

// memorise takes note of the calls that the superstep just merged has in it.
func (r *run) memorise() {
	for i := range r.exec.Tasks {
		sl := &r.exec.Tasks[i]
		n := &r.g.nodes[sl.Node]
		if !n.remembers || sl.Progress == exec.Beaten || !sl.Stored && sl.Attempt == 0 {
			continue
		}
		if r.memory == nil {
			r.memory = make(map[ID]memory)
		}
		if r.log == nil {
			r.memory[n.id] = r.calls[i].memory
			continue
		}
		r.memory[n.id] = memory{namespace: journal.Within(r.log.Namespace, r.callName(r.taskKey(&sl.Task)))}
	}
}

// recollect gives a subgraph that begins the state that its last call came to.
func (r *run) recollect(i int, c *run) error {
	id := r.g.nodes[r.exec.Tasks[i].Node].id
	m, ok := r.memory[id]
	if !ok || !c.keeps {
		return nil
	}
	if c.log == nil {
		c.memory = maps.Clone(m.inner)
		return c.state.decode(m.snapshot)
	}
	chain, err := loadChain(r.ctx, c.g, c.log, checkpoint.Place{Thread: c.thread, Namespace: m.namespace})
	if err != nil {
		return err
	}
	if len(chain.Records) == 0 {
		return fmt.Errorf("%s: what subgraph %q remembers is not stored: %w", where(r.g.name, r.thread, r.plan.Step), string(id), checkpoint.ErrDamaged)
	}
	if err := c.g.owns(c.thread, &chain.Records[len(chain.Records)-1]); err != nil {
		return err
	}
	before, line := c.plan, c.line.id // where it begins
	if err := c.restore(&chain); err != nil {
		return err
	}
	c.plan, c.line.id = before, line
	c.log.Base, c.log.Chained, c.log.Stale = checkpoint.ID{}, 0, false
	return nil
}
