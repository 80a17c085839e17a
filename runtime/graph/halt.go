package graph

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// A static stop in a subgraph is stored as a question of the subgraph itself, in the same act as
// its checkpoint. The Resume that passes the stop stores the answer in the act that opens its run.
// So the stop holds until somebody could see it, and never again after it was passed, even after a
// crash.
//
// The graph itself needs no such question. The act that stores its checkpoint sets the status
// Paused, and the record of a Resume lists the stops that it passes.

// stopQuestion returns the question for the stop of a subgraph call that ends with the given
// status, stored with base. It returns nothing without a stop.
func (r *run) stopQuestion(base checkpoint.ID, status Status) []checkpoint.Write {
	if r.call == nil || status != Paused || !r.plan.Stops() {
		return nil
	}
	return []checkpoint.Write{{
		Namespace: r.log.Namespace, Base: base, Task: journal.StopTask, Kind: checkpoint.Question,
		Payload: journal.AppendStops(nil, stopsAt(r)),
	}}
}

// holdAtStop sets the status Paused if a stop holds a subgraph that was restored. It stores the
// stop if it is not stored yet. A stop of this run, or one that the graph did not have before,
// holds nothing while every due task waits for answers.
func (r *run) holdAtStop() error {
	switch halt := r.pending.Stop(); {
	case halt != nil && !halt.Open():
		r.plan.Clear(true) // rule 13.16
	case halt != nil:
		r.status = Paused
		return r.restAt(halt)
	case r.plan.Stops():
		var questions []checkpoint.Write
		if r.g.nests {
			c, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, Namespace: checkpoint.NoCall})
			if err != nil {
				return err
			}
			questions = c.Thread.Questions
		}
		v, _, err := r.decideHeld(questions, nil)
		if err != nil || v.Held && v.Waits {
			return err
		}
		r.status = Paused
		return r.saving("put writes", r.log.Put(r.ctx, r.stopQuestion(r.log.Base, Paused), journal.Change{}))
	}
	return nil
}

// restAt sets, in the plan of a restored subgraph, the nodes of its open stop. The record does not
// have them.
func (r *run) restAt(halt *journal.Asked) error {
	var after []int
	own := plan.Stops{} // can be of an earlier call, or of an earlier release of the graph
	for _, payload := range halt.Questions {
		stops, err := journal.ReadStops(payload)
		if err != nil {
			return fmt.Errorf("%s: the stop of the call: %w", where(r.g.name, r.thread, r.plan.Step), err)
		}
		for _, s := range stops {
			switch n, ok := r.g.find(s.Node); {
			case ok && s.After:
				after = append(after, n)
			case ok:
				own.Before = append(own.Before, n)
			}
		}
	}
	r.plan.StopAt(&own) // the call rests here until the end of the run
	r.plan.RestAfter(after)
	return nil
}

// asksOrStops reports whether the run, or a subgraph in it, has asked or has stopped for people.
func (r *run) asksOrStops() bool {
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
