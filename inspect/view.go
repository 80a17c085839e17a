package inspect

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// view is a checkpoint of a thread, or of a subgraph call in it, as it was loaded.
type view struct {
	place
	operate.Position
	thread checkpoint.Thread
}

// find returns the description of a thread, and checks that the request may do a with it. It
// returns an absentError if the thread does not exist, or if the request must not see it.
func (in *Inspector) find(r *http.Request, a Action, id string) (checkpoint.Thread, error) {
	t, err := in.ops.Find(r.Context(), id)
	known := &t
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return t, in.absent(r, id, false)
	case err != nil && t.ID == "" && !errors.Is(err, checkpoint.ErrDamaged):
		return t, err
	case err != nil: // it has data of the thread, whose labels are unknown
		known = &checkpoint.Thread{ID: id}
	}
	if in.sees(r, View, known) != nil {
		return t, in.absent(r, id, true)
	}
	if denied := in.sees(r, a, known); denied != nil {
		return t, denied
	}
	return t, err
}

// absentError is the error of a thread that does not exist, or that the request must not see. Both
// have one text, so that nobody learns which threads others have.
type absentError struct {
	error
	exists bool
}

func (e *absentError) Unwrap() error { return e.error }

// absent returns an absentError. A reader who must not see any thread gets the reason.
func (in *Inspector) absent(r *http.Request, id string, exists bool) error {
	if err := in.check(r, Access{Action: View}); err != nil {
		return &absentError{err, exists}
	}
	return &absentError{fmt.Errorf("thread %q: %w", id, checkpoint.ErrNotFound), exists}
}

// load reads the checkpoint of a place. If the open version does not have it, the released ones
// are searched. Without state, the snapshot has no State.
func (in *Inspector) load(r *http.Request, p place, state bool) (v view, err error) {
	ctx := r.Context()
	if v.thread, err = in.find(r, View, p.Thread); err != nil {
		return v, err
	}
	if p.Version == 0 && v.thread.Version == 0 && p.At.IsZero() && v.thread.Versions > 0 {
		p.Version = v.thread.Versions // the newest released one
	}
	v.place = p
	v.Position, err = in.ops.Read(ctx, p.ref(), state)
	v.Version = v.Ref.Version
	return v, err
}

// describe returns the description of the graph of a view: that of the app, or of the subgraph
// that wrote the records of a call. It is nil without an app.
func (in *Inspector) describe(v *view) *graph.Description {
	app := in.apps[v.thread.Graph]
	if app == nil {
		return nil
	}
	d := app.Describe()
	if v.Namespace == "" {
		return d
	}
	return subgraph(d, v.Chain.Last.Graph)
}

// subgraph returns the description of a subgraph by its name, or nil.
func subgraph(d *graph.Description, name string) *graph.Description {
	seen := map[*graph.Description]bool{}
	next := []*graph.Description{d}
	for len(next) > 0 {
		d := next[0]
		next = next[1:]
		for i := range d.Nodes {
			sub := d.Nodes[i].Subgraph
			if sub == nil || seen[sub] {
				continue
			}
			if sub.Graph == name {
				return sub
			}
			seen[sub] = true
			next = append(next, sub)
		}
	}
	return nil
}

// pathText returns the path to a node, such as "ship/pack[2]".
func pathText(path []graph.PathElement, node graph.ID, index int) string {
	var b strings.Builder
	for _, e := range path {
		b.WriteString(taskText(e.Node, e.Index) + "/")
	}
	return b.String() + taskText(node, index)
}

func taskText(node graph.ID, index int) string {
	if index > 0 {
		return fmt.Sprintf("%s[%d]", node, index)
	}
	return nodeText(string(node))
}

// nodeText returns the name of a node, with the beginning as pictures name it.
func nodeText(node string) string {
	if node == string(graph.Start) {
		return "Start"
	}
	return node
}
