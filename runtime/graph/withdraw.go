package graph

import (
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
)

// withdraw returns the writes that withdraw the questions of subgraphs that lost a race in this
// superstep, or whose failure a fallback handled.
func (r caller) withdraw() ([]checkpoint.Write, error) {
	if r.log == nil || !r.g.nests || r.g.plan.Races == 0 && !r.g.fallsBack {
		return nil, nil
	}
	lost := make(map[string]bool)
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		if (t.Progress == exec.Beaten || r.g.exec[t.Node].Fallback) && r.g.nodes[t.Node].sub != nil && (r.log.Resumed || r.calls[i].Open) {
			lost[journal.Within(r.log.Namespace, r.log.Call(r.taskKey(&t.Task)))] = true
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	c, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread})
	return subgraph.Withdrawals(c.Thread.Questions, lost), err
}
