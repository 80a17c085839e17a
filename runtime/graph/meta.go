package graph

import (
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
)

// meta returns the entries that a record stores in addition to the position of the run; nil for
// none.
func (r *run) meta() (map[string]string, error) {
	goesUp := r.call != nil && r.state.up().first.id != "" && r.plan.Ended()
	nests := r.call == nil && r.g.hash != r.g.fingerprint
	calls := r.g.callsDue(&r.plan)
	if len(r.memory) == 0 && len(r.log.Again) == 0 && !goesUp && !nests && !calls && len(r.opt.metadata) == 0 {
		return nil, nil
	}
	meta := make(map[string]string, len(r.memory)+len(r.opt.metadata)+1)
	for key, value := range r.opt.metadata {
		journal.SetMetadata(meta, key, value)
	}
	if nests {
		journal.SetSchemas(meta, r.g.hash)
	}
	if calls {
		journal.SetFormat(meta)
	}
	for node, m := range r.memory {
		journal.SetMemory(meta, node, m.Namespace)
	}
	for key, resume := range r.log.Again {
		journal.SetAgain(meta, key, resume)
	}
	if goesUp {
		targets, err := encodeTargets(*r.state.up())
		if err != nil {
			return nil, fmt.Errorf("%s: the choice for Parent cannot be stored: %w", where(r.g.name, r.thread, r.plan.Step), err)
		}
		journal.SetNext(meta, journal.AppendTargets(nil, targets))
	}
	return meta, nil
}

// callsDue reports whether a subgraph call is due.
func (g *core) callsDue(p *plan.Planner) bool {
	return g.nests && slices.ContainsFunc(p.Due, func(t plan.Task) bool { return g.nodes[t.Node].sub != nil })
}

// readMeta restores the entries of a record, except the choice of a call for Parent.
func (r *run) readMeta(meta map[string]string) {
	r.log.Again = journal.AllAgain(meta)
	r.memory = subgraph.ReadMemory(journal.Memory(meta), func(node string) string {
		if n, ok := r.g.former[ID(node)]; ok {
			return r.g.names.IDs[n]
		}
		return node
	})
}
