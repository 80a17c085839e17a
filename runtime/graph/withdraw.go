package graph

import (
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// What a subgraph asked is stored in its own namespace, and outlives the superstep of the node that it is. When its call
// counts for nothing any more, its open questions are withdrawn: they get an answer that nobody reads.

// withdrawn returns the writes that withdraw the open questions in the given namespaces and within them.
func withdrawn(open []checkpoint.Write, namespaces map[string]bool) []checkpoint.Write {
	var writes []checkpoint.Write
	for _, q := range open {
		for at := q.Namespace; at != ""; at = at[:max(strings.LastIndexByte(at, '/'), 0)] {
			if namespaces[at] {
				q.Kind, q.Payload = checkpoint.Answer, wire.AppendNil(nil)
				writes = append(writes, q)
				break
			}
		}
	}
	return writes
}

// withdrawnWithin returns the writes that withdraw the open questions within a namespace, but not those in it.
func withdrawnWithin(open []checkpoint.Write, namespace string) []checkpoint.Write {
	return withdrawn(slices.DeleteFunc(slices.Clone(open), func(q checkpoint.Write) bool { return q.Namespace == namespace }),
		map[string]bool{namespace: true})
}

// dueCalls returns a function that reports whether a namespace is of a subgraph that is due, or of one in it. Where a run began
// anew in vain, so that it does so again, that subgraph may have asked already: it is taken up there, and goes on asking.
func (r *run[S, U]) dueCalls() func(namespace string) bool {
	calls := make(map[string]bool)
	for _, d := range r.plan.Due {
		if r.g.nodes[d.Node].child != nil {
			calls[r.slotKey(&slot[U]{Task: d})] = true
		}
	}
	return func(namespace string) bool { return calls[callIn(r.ns, namespace)] }
}

// unsaid returns what the run of a subgraph has withdrawn and not stored: with OnExit nothing is stored of one that came to its
// end, so that the graph around it has to.
func (r *run[S, U]) unsaid() []checkpoint.Write {
	writes := r.log.along
	if r.held == nil {
		return writes
	}
	for _, w := range r.held.writes {
		if w.Kind == checkpoint.Answer {
			writes = append(slices.Clip(writes), w)
		}
	}
	return writes
}

// withdraw returns the writes that withdraw what subgraphs of this superstep asked whose calls lost a race or began anew.
func (r *run[S, U]) withdraw() ([]checkpoint.Write, error) {
	if !r.g.nests || r.log == nil {
		return nil, nil
	}
	var writes []checkpoint.Write
	for i := range r.slots {
		if c := r.slots[i].call; c != nil {
			writes = append(writes, c.along...)
		}
	}
	if len(r.silenced) == 0 {
		return writes, nil
	}
	beaten := r.silenced
	r.silenced = nil
	if err := r.log.settled(); err != nil {
		return nil, r.saving("load", err)
	}
	c, err := loadChain(r.ctx, r.g, r.log.saver, checkpoint.Place{Thread: r.thread})
	if err != nil {
		return nil, err
	}
	lost := make(map[string]bool, len(beaten))
	for _, namespace := range beaten {
		lost[namespace] = true
	}
	return append(writes, withdrawn(c.Thread.Questions, lost)...), nil
}
