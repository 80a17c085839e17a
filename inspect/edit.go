package inspect

import (
	"errors"
	"net/http"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/shape/value"
)

// editData is the page on which a state is edited.
type editData struct {
	head
	Place  place
	Thread checkpoint.Thread
	At     checkpoint.ID // the checkpoint from which the edit continues
	Fork   bool          // the edit begins a new branch at At
	Moved  bool          // the head has moved since the form was made
	JSON   string
	Nodes  []graph.ID
	Node   string
	Error  string
}

// editPage shows the state of a checkpoint as JSON that can be changed.
func (in *Inspector) editPage(w http.ResponseWriter, r *http.Request) error {
	p, err := threadPlaceOf(r.URL.Query())
	if err != nil {
		return err
	}
	d, _, err := in.editOf(r, p)
	if err != nil {
		return err
	}
	in.render(w, http.StatusOK, "edit", d)
	return nil
}

// editOf returns the page of an edit, and the state before it.
func (in *Inspector) editOf(r *http.Request, p place) (d editData, before value.Value, err error) {
	if p.Namespace != "" || p.Version != 0 {
		return d, before, bad("only the open version of a thread can be edited, not a subgraph call")
	}
	v, before, err := in.stateAt(r, p)
	if err != nil {
		return d, before, err
	}
	if err := in.check(r, accessTo(Edit, &v.thread)); err != nil {
		return d, before, err
	}
	app, err := in.app(&v.thread)
	if err != nil {
		return d, before, err
	}
	// The form has the names of the program, which may be newer than those of the thread.
	today := app.Shape().State
	if before, err = value.State(&today, v.Snap.State); err != nil {
		return d, before, err
	}
	d = editData{
		head: in.head(r, "Edit "+v.Thread), Place: v.at(p.At), Thread: v.thread, At: v.Snap.Checkpoint,
		Fork: v.Snap.Checkpoint != v.Chain.Head, JSON: string(indented(&before)),
	}
	if desc := in.describe(&v); desc != nil {
		for i := range desc.Nodes {
			d.Nodes = append(d.Nodes, desc.Nodes[i].ID)
		}
	}
	return d, before, nil
}

// edit stores the changes of a state.
func (in *Inspector) edit(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(r); err != nil {
		return err
	}
	p, err := threadPlaceOf(r.PostForm)
	if err != nil {
		return err
	}
	if p.At, err = checkpoint.ParseID(r.PostForm.Get("from")); err != nil {
		return bad("the form has no checkpoint: %v", err)
	}
	d, before, err := in.editOf(r, p)
	if err != nil {
		return err
	}
	d.Moved, d.Fork = d.Fork, r.PostForm.Get("fork") != ""
	d.JSON, d.Node = r.PostForm.Get("json"), r.PostForm.Get("node")
	e := &operate.Edit{At: d.At, Fork: d.Fork, Node: graph.ID(d.Node), Before: before, JSON: []byte(d.JSON)}
	if err := in.ops.Edit(r.Context(), &d.Thread, e, graph.Metadata(in.actor(r))); err != nil {
		if statusOf(err) == http.StatusForbidden {
			return err
		}
		d.Moved = d.Moved || errors.Is(err, checkpoint.ErrConflict)
		d.Error = err.Error()
		in.render(w, max(statusOf(err), http.StatusBadRequest), "edit", d)
		return nil
	}
	redirect(w, d.Place.root().link("thread", "note", "edited"))
	return nil
}
