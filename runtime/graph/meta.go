package graph

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// meta returns what a record stores in addition to where the run stands; nil for nothing.
func (r *run) meta() (map[string]string, error) {
	goesUp := r.outer != nil && r.outer.next.first.id != "" && r.plan.Ended()
	if len(r.memory) == 0 && len(r.again) == 0 && !goesUp {
		return nil, nil
	}
	meta := make(map[string]string, len(r.memory)+1)
	for id, m := range r.memory {
		journal.SetMemory(meta, string(id), m.namespace)
	}
	for key, resume := range r.again {
		journal.SetAgain(meta, key, resume)
	}
	if goesUp {
		targets, err := encodeTargets(r.outer.next)
		if err != nil {
			return nil, fmt.Errorf("%s: what it has Parent do cannot be stored: %w", where(r.g.name, r.thread, r.plan.Step), err)
		}
		journal.SetNext(meta, journal.AppendTargets(nil, targets))
	}
	return meta, nil
}

// readMeta restores what meta stored, except where a call sends its Parent.
func (r *run) readMeta(meta map[string]string) {
	r.memory, r.again = nil, journal.AllAgain(meta)
	stored := journal.Memory(meta)
	for _, id := range slices.Sorted(maps.Keys(stored)) {
		namespace := stored[id]
		if n, ok := r.g.former[ID(id)]; ok {
			id = string(r.g.nodes[n].id)
			if _, own := stored[id]; own {
				continue // it became another node, which has a memory of its own
			}
		}
		if r.memory == nil {
			r.memory = make(map[ID]memory)
		}
		r.memory[ID(id)] = memory{namespace: namespace}
	}
}

// callName returns the name of the subgraph call of a task of this run.
func (r *run) callName(key string) string {
	return journal.CallName(key, r.log.Base, r.again[key])
}

// callLine returns the run line of the tasks in that call.
func (r *run) callLine(key string) checkpoint.ID {
	if resume, ok := r.again[key]; ok {
		return resume
	}
	return r.line.id
}
