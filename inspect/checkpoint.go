package inspect

import (
	"errors"
	"net/http"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// checkpointData is the page of a checkpoint.
type checkpointData struct {
	head
	Place    place
	Thread   checkpoint.Thread
	Snap     graph.Snapshot[[]byte]
	Record   checkpoint.Record
	IsHead   bool
	May      permits
	Parent   string // its address; empty for none
	Picture  string
	Expanded string
	State    valueTree
	Changes  []change
	Hidden   int
	Compared bool // Changes is the difference to the parent
	Calls    []callRow
	Tasks    []taskRow
	Due      []dueTask
}

// dueTask is a task that a checkpoint made due.
type dueTask struct {
	Name string
	Sent *valueTree // the payload of a send
}

// dueSize is the number of due tasks that a page shows.
const dueSize = 100

// checkpointPage shows a checkpoint: its state, and what changed since its parent.
func (in *Inspector) checkpointPage(w http.ResponseWriter, r *http.Request) error {
	p, err := threadPlaceOf(r.URL.Query())
	if err != nil {
		return err
	}
	v, state, err := in.stateAt(r, p)
	if err != nil {
		return err
	}
	if v.Chain.Empty() {
		return checkpoint.ErrNotFound
	}
	v.At = v.Snap.Checkpoint
	d := checkpointData{
		head: in.head(r, "Checkpoint "+shortID(v.At)), Place: v.place, Thread: v.thread, Snap: v.Snap, Record: v.Chain.Last,
		IsHead: v.At == v.Chain.Head, May: in.may(r, &v.thread), State: treeOf(&state),
	}
	if desc := in.describe(&v); desc != nil {
		d.Picture, d.Expanded = picturesOf(v.place, desc, "")
	}
	if v.Namespace != "" || v.Version != 0 {
		d.May = nil
	}
	if parent := v.Snap.Parent; !parent.IsZero() {
		d.Parent = v.at(parent).link("checkpoint")
		_, before, err := in.stateAt(r, v.at(parent))
		switch {
		case err == nil:
			d.Compared = true
			d.Changes, d.Hidden = changesOf(&before, &state)
		case errors.Is(err, checkpoint.ErrNotFound): // it was pruned
			d.Parent = ""
		default:
			return err
		}
	}
	if d.Calls, err = in.calls(r, &v); err != nil {
		return err
	}
	d.Tasks = tasksOf(&v)
	for _, task := range v.Chain.Due[:min(len(v.Chain.Due), dueSize)] {
		row := dueTask{Name: taskText(graph.ID(task.Node), int(task.Index))}
		if task.Payload != nil {
			t := payloadTree(nil, task.Payload)
			row.Sent = &t
		}
		d.Due = append(d.Due, row)
	}
	in.render(w, http.StatusOK, "checkpoint", d)
	return nil
}

// compareData is the page of the differences between two checkpoints.
type compareData struct {
	head
	Place   place
	Thread  checkpoint.Thread
	A, B    graph.Snapshot[[]byte]
	LinkA   string
	LinkB   string
	Swap    string
	Changes []change
	Hidden  int
}

// comparePage shows the differences between two checkpoints.
func (in *Inspector) comparePage(w http.ResponseWriter, r *http.Request) error {
	params := r.URL.Query()
	p, err := threadPlaceOf(params)
	if err != nil {
		return err
	}
	if _, err := in.find(r, View, p.Thread); err != nil {
		return err
	}
	var ids [2]checkpoint.ID // zero is the head
	for i, name := range []string{"a", "b"} {
		text := strings.TrimSpace(params.Get(name))
		if text == "" {
			return bad("choose two checkpoints to compare")
		}
		if ids[i], err = in.ops.Checkpoint(r.Context(), p.ref(), text); err != nil {
			return err
		}
	}
	a, before, err := in.stateAt(r, p.at(ids[0]))
	if err != nil {
		return err
	}
	b, after, err := in.stateAt(r, p.at(ids[1]))
	if err != nil {
		return err
	}
	if a.Chain.Empty() || b.Chain.Empty() {
		return bad("the thread has no checkpoint to compare")
	}
	d := compareData{
		head: in.head(r, "Compare checkpoints"), Place: p.at(checkpoint.ID{}), Thread: a.thread, A: a.Snap, B: b.Snap,
		LinkA: a.at(a.Snap.Checkpoint).link("checkpoint"), LinkB: b.at(b.Snap.Checkpoint).link("checkpoint"),
	}
	d.Swap = d.Place.Compare(b.Snap.Checkpoint.String(), a.Snap.Checkpoint)
	d.Changes, d.Hidden = changesOf(&before, &after)
	in.render(w, http.StatusOK, "compare", d)
	return nil
}
