package graph

import (
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// What a subgraph asked is stored in its own namespace, and outlives the superstep of the node that it is. When its call
// counts for nothing any more, its open questions are withdrawn: they get an answer that nobody reads.

// withdrawn returns the writes that withdraw the open questions within a namespace, and with whole those in it.
func withdrawn(open []checkpoint.Write, namespace string, whole bool) []checkpoint.Write {
	var writes []checkpoint.Write
	for _, q := range open {
		if strings.HasPrefix(q.Namespace, namespace+"/") || whole && q.Namespace == namespace {
			q.Kind, q.Payload = checkpoint.Answer, wire.AppendNil(nil)
			writes = append(writes, q)
		}
	}
	return writes
}

// isDue reports whether a namespace is of a subgraph that is due, or of one in it. Where a run began anew in vain, so that it
// does so again, that subgraph may have asked already: it is taken up there, and goes on asking.
func (r *run[S, U]) isDue(namespace string) bool {
	return slices.ContainsFunc(r.due, func(d due) bool {
		if r.g.nodes[d.node].child == nil {
			return false
		}
		call := childNamespace(r.ns, r.slotKey(&slot[U]{due: d}))
		return namespace == call || strings.HasPrefix(namespace, call+"/")
	})
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
	for _, namespace := range beaten {
		writes = append(writes, withdrawn(c.Thread.Questions, namespace, true)...)
	}
	return writes, nil
}
