package diagram

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// maxRead is the number of records that ReadPlace reads at most.
const maxRead = 2000

// ReadPlace reads the place of a thread at a checkpoint from its saver. d describes the graph of
// the thread, and ref names the checkpoint as for Saver.Load. If ref has the namespace of a
// subgraph call, d describes the subgraph.
//
// ReadPlace marks the nodes as PlaceOf does, also inside subgraphs, at any depth. The nodes that
// ran since the newest input are done. ReadPlace reads at most 2,000 records; nodes of older ones
// have no mark. It decodes no state.
//
// It returns checkpoint.ErrNotFound if the thread or the checkpoint does not exist, and otherwise
// the errors of the saver. Stored data that cannot be read is checkpoint.ErrDamaged.
func ReadPlace(ctx context.Context, s checkpoint.Saver, d *graph.Description, ref checkpoint.Ref) (Place, error) {
	r := reader{s: s, left: maxRead}
	var p Place
	found, err := r.read(ctx, &p, d, ref, false)
	if err == nil && !found {
		err = checkpoint.ErrNotFound
	}
	if err != nil {
		return Place{}, fmt.Errorf("diagram: the place of thread %q: %w", ref.Thread, err)
	}
	return p, nil
}

// reader reads the place of one thread.
type reader struct {
	s    checkpoint.Saver
	left int // the number of records that it may still read

	known     bool
	questions []checkpoint.Write // of the version, once they are known
}

// read marks the nodes of a thread, or of a call that ref names. If the call is finished, all of
// its nodes are done.
func (r *reader) read(ctx context.Context, p *Place, d *graph.Description, ref checkpoint.Ref, finished bool) (found bool, err error) {
	if r.left <= 0 {
		return true, nil
	}
	r.left--
	c, err := r.s.Load(ctx, ref)
	if err != nil || c.Empty() {
		return false, err
	}
	if !finished {
		if err := r.addQuestions(ctx, ref, &c); err != nil {
			return false, err
		}
	}
	snap, err := graph.Stored{Ref: ref}.Position(&c)
	if err != nil {
		return true, err
	}
	if finished {
		p.mark(Done, nil, snap.Ran...)
		return true, r.older(ctx, p, d, ref, &snap)
	}
	relative(&snap, ref.Namespace)
	place := PlaceOf(snap)
	p.merge(&place)
	if !c.Committed { // else the calls are of a later time
		if err := r.calls(ctx, p, d, &snap, false); err != nil {
			return true, err
		}
	}
	return true, r.older(ctx, p, d, ref, &snap)
}

// addQuestions sets the open questions of the version in a chain that ref names. A Load of a
// subgraph call has none.
func (r *reader) addQuestions(ctx context.Context, ref checkpoint.Ref, c *checkpoint.Chain) error {
	if !r.known {
		thread := *c
		if ref.Namespace != "" {
			var err error
			if thread, err = r.s.Load(ctx, checkpoint.Ref{Thread: ref.Thread, Version: ref.Version, Namespace: checkpoint.NoCall}); err != nil {
				return err
			}
		}
		r.known, r.questions = true, thread.Thread.Questions
	}
	c.Thread.Questions = r.questions
	return nil
}

// relative makes the paths of a snapshot begin in its namespace. They begin in the thread.
func relative(s *graph.Snapshot[[]byte], namespace string) {
	if namespace == "" {
		return
	}
	depth := strings.Count(namespace, "/") + 1
	cut := func(path *[]graph.PathElement) { *path = (*path)[min(depth, len(*path)):] }
	for i := range s.Questions {
		cut(&s.Questions[i].Path)
	}
	for i := range s.Timers {
		cut(&s.Timers[i].Path)
	}
	for i := range s.Signals {
		cut(&s.Signals[i].Path)
	}
	for i := range s.Stops {
		cut(&s.Stops[i].Path)
	}
}

// calls marks the nodes inside the calls of a snapshot. If finished is true, or the task of a call
// has finished, the nodes are done.
func (r *reader) calls(ctx context.Context, p *Place, d *graph.Description, snap *graph.Snapshot[[]byte], finished bool) error {
	ended := make(map[graph.PathElement]bool)
	for _, t := range snap.Tasks {
		ended[graph.PathElement{Node: t.Node, Index: t.Index}] = t.Finished
	}
	for _, call := range snap.Calls {
		sub := subgraphOf(d, call.Node)
		if sub == nil {
			continue
		}
		ref := checkpoint.Ref{Thread: snap.Thread, Version: snap.Version, Namespace: call.Namespace}
		over := finished || ended[graph.PathElement{Node: call.Node, Index: call.Index}]
		if _, err := r.read(ctx, p.inside(call.Node), sub, ref, over); err != nil {
			return err
		}
	}
	return nil
}

// subgraphOf returns the description of a subgraph, or nil if the node is none.
func subgraphOf(d *graph.Description, node graph.ID) *graph.Description {
	if d != nil {
		for i := range d.Nodes {
			if d.Nodes[i].ID == node {
				return d.Nodes[i].Subgraph
			}
		}
	}
	return nil
}

// older marks the nodes that ran before a snapshot, on its branch and since the newest input.
func (r *reader) older(ctx context.Context, p *Place, d *graph.Description, ref checkpoint.Ref, snap *graph.Snapshot[[]byte]) error {
	if snap.Source == checkpoint.Input {
		return nil
	}
	ref.At = checkpoint.ID{}
	var bases []graph.Snapshot[[]byte] // read later, because some savers allow one call at a time
	parent, ran := snap.Parent, snap.Ran
	q := checkpoint.Query{Before: snap.Checkpoint, Headers: true, Sources: tree.Sources()}
	for rec, err := range r.s.History(ctx, ref, q) {
		if err != nil {
			return err
		}
		if r.left--; r.left <= 0 {
			break
		}
		if rec.ID != parent {
			continue // of another branch
		}
		base, err := graph.Stored{Ref: ref}.Position(&checkpoint.Chain{Last: rec, Due: rec.Due, Committed: true})
		if err != nil {
			return err
		}
		p.mark(Done, nil, base.Ran...)
		if len(rec.Due) > 0 {
			base.Calls = slices.DeleteFunc(base.Calls, func(c graph.SubgraphCall) bool { return !slices.Contains(ran, c.Node) })
			bases = append(bases, base)
			ran = nil
		}
		parent, ran = rec.Parent, append(slices.Clip(ran), base.Ran...)
		if rec.Source == checkpoint.Input {
			break
		}
	}
	for i := range bases {
		if err := r.calls(ctx, p, d, &bases[i], true); err != nil {
			return err
		}
	}
	return nil
}
