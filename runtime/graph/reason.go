package graph

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
)

// Stop is a static stop that holds a run: InterruptBefore or InterruptAfter.
type Stop struct {
	Path  []PathElement // the subgraph calls around Node, outermost first; nil in the graph itself
	Node  ID
	After bool // the stop is after the node; else it is before
}

// String returns "before pay" or "after pay", and "before sub/pay" or "before read[2]/pay" in a
// subgraph.
func (s Stop) String() string {
	side := "before "
	if s.After {
		side = "after "
	}
	return side + nodePath(s.Path, s.Node)
}

// stopsAt returns the stops that hold r at its position, without those of its subgraph calls.
func stopsAt(r *run) []journal.Stop {
	var stops []journal.Stop
	after, before := r.plan.Holding()
	for _, n := range after {
		stops = append(stops, journal.Stop{Path: r.path(), Node: string(r.g.nodes[n].id), After: true})
	}
	for _, n := range before {
		stops = append(stops, journal.Stop{Path: r.path(), Node: string(r.g.nodes[n].id)})
	}
	return stops
}

// stopsOf returns the stops at which r ended, including those of its subgraph calls.
func stopsOf(r *run) []journal.Stop {
	var stops []journal.Stop
	if r.status == Paused {
		stops = stopsAt(r)
	}
	for i := range r.exec.Tasks {
		if r.g.nests && r.exec.Tasks[i].Progress == exec.Stopped {
			stops = append(stops, r.calls[i].Stops...)
		}
	}
	return stops
}

// shownStops converts stops to their public form.
func shownStops(stops []journal.Stop) []Stop {
	var all []Stop
	for _, s := range stops {
		all = append(all, Stop{Path: pathOf(s.Path), Node: ID(s.Node), After: s.After})
	}
	return all
}

// noteStops records in rec the stops at which a run ends with the given status.
func (r *run) noteStops(rec *checkpoint.Record, status Status) {
	if status != Paused {
		return
	}
	stops := stopsAt(r)
	if len(stops) == 0 {
		return
	}
	if rec.Meta == nil {
		rec.Meta = make(map[string]string, 1)
	}
	journal.SetStops(rec.Meta, stops)
}

// reasonWrite returns the write of the reason why the run ends with a status although tasks are
// due at base. The reason is the text of cause, of the cause of its context, or of a drain. There
// is none for a subgraph call, and if the status explains the end.
func (r *run) reasonWrite(base checkpoint.ID, status Status, cause error) []checkpoint.Write {
	var text string
	switch {
	case r.call != nil || status != Failed && status != Ready && status != Cancelled:
		return nil
	case status != Ready && cause != nil:
		text = cause.Error()
	case r.ctx.Err() != nil:
		text = context.Cause(r.ctx).Error()
	case r.sink != nil && r.sink.left():
		text = exec.ErrLeft.Error()
	case r.drains.stopping():
		text = ErrDraining.Error()
	default:
		return nil
	}
	return []checkpoint.Write{{Base: base, Task: journal.RunTask, Kind: checkpoint.Failure, Payload: failureText(r.redacted(text))}}
}

// reasonIn returns the stored reason why the newest run ended with the tasks of c due; empty for
// none.
func reasonIn(c *checkpoint.Chain) string {
	for i := range c.Writes {
		w := &c.Writes[i]
		if w.Task == journal.RunTask && w.Kind == checkpoint.Failure && w.Namespace == "" && w.Base == c.Last.Base {
			return string(w.Payload)
		}
	}
	return ""
}

// stopsIn returns the stops that hold a thread, or a call with the given namespace, at the last
// record of c.
func stopsIn(namespace string, c *checkpoint.Chain) ([]Stop, error) {
	stops, err := journal.ReadStops(journal.Stops(c.Last.Meta))
	if err != nil || c.Committed {
		return shownStops(stops), err
	}
	for _, q := range subgraph.Open(namespace, c) {
		if q.Task != journal.StopTask {
			continue
		}
		inner, err := journal.ReadStops(q.Payload)
		if err != nil {
			return nil, err
		}
		stops = append(stops, inner...)
	}
	return shownStops(stops), nil
}
