package graph

import (
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// What a subgraph asks is stored in its own namespace, and outlives the superstep of its node. When a call loses a
// race or is begun again by Rerun, its open questions are withdrawn: they get an answer that nobody reads.

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

// withdraw returns the writes that withdraw what subgraphs of this superstep asked that lost a race.
func (r *run) withdraw() ([]checkpoint.Write, error) {
	if len(r.silenced) == 0 {
		return nil, nil
	}
	beaten := r.silenced
	r.silenced = nil
	c, err := loadChain(r.ctx, r.g, r.log, checkpoint.Place{Thread: r.thread})
	if err != nil {
		return nil, err
	}
	lost := make(map[string]bool, len(beaten))
	for _, namespace := range beaten {
		lost[namespace] = true
	}
	return withdrawn(c.Thread.Questions, lost), nil
}
