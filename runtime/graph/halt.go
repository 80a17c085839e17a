package graph

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// A stop for people in a subgraph is stored as a question of the subgraph's own, in the same act as the checkpoint at which it
// stops: the Resume that lets it pass answers it, in the act that opens its run. So a stop is made until somebody could see it, and
// never again once it was let pass, wherever the process dies. At the top there is no need: the act that stores the checkpoint
// says that the thread is paused, and the record of the Resume which stops it passes.

// stopQuestion returns the question of a subgraph whose stop is stored with base; none where there is no stop.
func (r recorder) stopQuestion(base checkpoint.ID, o journal.Outcome) []checkpoint.Write {
	if r.call == nil || o.Status != checkpoint.Paused || !r.plan.Stops() {
		return nil
	}
	return []checkpoint.Write{{
		Namespace: r.log.Namespace, Base: base, Task: journal.StopTask, Kind: checkpoint.Question,
		Payload: journal.AppendStops(nil, stopsAt(r.run)),
	}}
}

// resume finds out whether a stop holds a subgraph that was restored.
func (r callee) resume() error {
	o := journal.Outcome{Status: checkpoint.Paused}
	switch halt := r.pending.Stop(); {
	case halt != nil && !halt.Open():
		r.plan.Clear()
	case halt != nil:
		r.status = o.Status
		return r.restAt(halt)
	case r.plan.Stops(): // the graph had no such stop before
		r.status = o.Status
		return r.saving("put writes", r.log.Put(r.ctx, r.storing().stopQuestion(r.log.Base, o), journal.Outcome{}))
	}
	return nil
}

// restAt tells the plan of a restored subgraph after which nodes its open stop is: the record does not have them.
func (r callee) restAt(halt *journal.Asked) error {
	var after []int
	for _, payload := range halt.Questions {
		stops, err := journal.ReadStops(payload)
		if err != nil {
			return fmt.Errorf("%s: the stop of the call: %w", where(r.g.name, r.thread, r.plan.Step), err)
		}
		for _, s := range stops {
			if n, ok := r.g.find(s.Node); ok && s.After {
				after = append(after, n)
			}
		}
	}
	r.plan.RestAfter(after)
	return nil
}

// open reports whether the run, or a subgraph in it, has asked or stopped for people.
func (r callee) open() bool {
	if r.status == checkpoint.Paused && r.plan.Stops() {
		return true
	}
	for i := range r.exec.Tasks {
		if sl := &r.exec.Tasks[i]; sl.Progress == exec.Asking || sl.Progress == exec.Stopped || r.g.nests && sl.Progress != exec.Beaten && r.calls[i].Open {
			return true
		}
	}
	return false
}
