package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
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
	if before, err = value.State(&today, v.snap.State); err != nil {
		return d, before, err
	}
	d = editData{
		head: in.head(r, "Edit "+v.Thread), Place: v.at(p.At), Thread: v.thread, At: v.snap.Checkpoint,
		Fork: v.snap.Checkpoint != v.chain.Head, JSON: string(indented(&before)),
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
	if err := in.storeEdit(r, &d, &before); err != nil {
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

// storeEdit stores an edit of the state at a checkpoint.
// Only a fork may begin at a checkpoint that is no longer the head.
func (in *Inspector) storeEdit(r *http.Request, d *editData, before *value.Value) error {
	app, err := in.app(&d.Thread)
	if err != nil {
		return err
	}
	text, err := changedFields(before, []byte(d.JSON))
	if err != nil {
		return err
	}
	s := app.Shape().State
	update, err := encoded(value.EncodeSet(&s, text))
	if err != nil {
		return err
	}
	opts := in.updateOptions(r)
	if d.Node != "" {
		opts = append(opts, graph.AsNode(graph.ID(d.Node)))
	}
	at := d.At
	if !d.Fork {
		at = checkpoint.ID{}
		opts = append(opts, graph.IfHead(d.At))
	}
	if _, err = app.Update(r.Context(), d.Place.Thread, at, update, opts...); err != nil {
		return err
	}
	if d.Fork || d.Node != "" {
		return in.post(r.Context(), &d.Thread, checkpoint.Message{Kind: checkpoint.WakeMessage})
	}
	return nil
}

// changedFields returns a JSON object with the fields of edited that differ from before. A field
// that edited lacks is null.
func changedFields(before *value.Value, edited []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(edited, &fields); err != nil || fields == nil {
		if err == nil {
			err = fmt.Errorf("found %s", clip(20, string(edited)))
		}
		return nil, bad("the state must be a JSON object: %v", err)
	}
	changed := make(map[string]json.RawMessage)
	for _, f := range before.Fields {
		text, ok := fields[f.Name]
		if !ok {
			changed[f.Name] = json.RawMessage("null")
			continue
		}
		old, err := f.Value.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if compacted(old) == compacted(text) {
			delete(fields, f.Name)
		}
	}
	for name, text := range fields {
		changed[name] = text
	}
	if len(changed) == 0 {
		return nil, bad("nothing was changed")
	}
	return json.Marshal(changed)
}

// compacted returns JSON without spaces.
func compacted(text []byte) string {
	b, err := json.Marshal(json.RawMessage(text))
	if err != nil {
		return string(text)
	}
	return string(b)
}

// submitData is the page on which an input is submitted.
type submitData struct {
	head
	Graphs  []string
	Graph   string
	ID      string // of the thread
	From    string // the thread whose input the form has
	JSON    string
	Name    string // the title of the thread
	Fields  []fieldHelp
	Error   string
	Request string
}

// fieldHelp describes a field of an input.
type fieldHelp struct{ Name, Type, Reducer string }

// submitPage shows the form of an input.
func (in *Inspector) submitPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	d := submitData{Graph: q.Get("graph"), ID: q.Get("id"), From: q.Get("from")}
	if d.From != "" {
		t, err := in.find(r, View, d.From)
		if err != nil {
			return err
		}
		if d.JSON, err = in.inputOf(r, &t); err != nil {
			return err
		}
		d.Graph, d.Name = t.Graph, t.Title
	}
	if err := in.fillSubmit(r, &d); err != nil {
		return err
	}
	in.render(w, http.StatusOK, "submit", d)
	return nil
}

// maySubmit returns an error if a request must not submit an input to a thread of a graph. The
// thread may exist. Its own graph and labels decide then.
func (in *Inspector) maySubmit(r *http.Request, name, id string) error {
	a := Access{Action: Submit, Thread: id, Graph: name}
	if id == "" {
		return in.check(r, a)
	}
	t, err := in.find(r, Submit, id)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		a.New = true
		return in.check(r, a)
	case err != nil:
		return err
	case t.Graph != "" && in.apps[t.Graph] != in.apps[name]:
		return bad("thread %q belongs to the graph %q, not to %q", id, t.Graph, name)
	}
	return nil
}

// fillSubmit adds what the form of an input shows.
func (in *Inspector) fillSubmit(r *http.Request, d *submitData) error {
	if len(in.names) == 0 {
		return bad("the pages have no graph to submit to; give the graphs to inspect.New")
	}
	d.head, d.Graphs = in.head(r, "Submit an input"), in.namesFor(r, Submit)
	if d.Graph == "" {
		d.Graph = append(d.Graphs, in.names[0])[0]
	}
	if err := in.maySubmit(r, d.Graph, d.ID); err != nil {
		return err
	}
	app, err := in.app(&checkpoint.Thread{Graph: d.Graph})
	if err != nil {
		return err
	}
	if d.Request == "" { // so that a form that is sent twice stores one input
		id, err := checkpoint.NewID()
		if err != nil {
			return err
		}
		d.Request = id.String()
	}
	for _, f := range app.Shape().State.Fields {
		if f.Stored() {
			d.Fields = append(d.Fields, fieldHelp{f.Name, f.Type, f.Reducer})
		}
	}
	if d.JSON == "" {
		d.JSON = "{\n  \n}"
	}
	return nil
}

// inputOf returns the last input of a thread as JSON: the change of its newest input record.
func (in *Inspector) inputOf(r *http.Request, t *checkpoint.Thread) (string, error) {
	v := view{place: place{Thread: t.ID}, thread: *t}
	if t.Version == 0 {
		v.Version = t.Versions
	}
	var err error
	if v.schemas, err = in.schemas(r.Context(), v.place); err != nil {
		return "", err
	}
	q := checkpoint.Query{Limit: 2, Sources: []checkpoint.Source{checkpoint.Input}, Headers: true}
	for rec, err := range in.saver.History(r.Context(), v.ref(), q) {
		if err != nil {
			return "", err
		}
		if rec.Parent.IsZero() {
			continue // the empty checkpoint before the first input
		}
		_, after, err := in.stateAt(r, v.at(rec.ID))
		if err != nil {
			return "", err
		}
		_, before, err := in.stateAt(r, v.at(rec.Parent))
		if err != nil {
			return "", err
		}
		input := value.Value{Kind: value.Struct}
		for _, f := range after.Fields {
			if old := before.Field(f.Name); old == nil || !value.Equal(old, &f.Value) {
				input.Fields = append(input.Fields, added(old, f))
			}
		}
		return string(indented(&input)), nil
	}
	return "", nil
}

// added returns the field of an input that led from old to f: of a list, the elements at its end.
func added(old *value.Value, f value.Field) value.Field {
	if old == nil || old.Kind != value.List || f.Value.Kind != value.List || len(old.Items) > len(f.Value.Items) {
		return f
	}
	for i := range old.Items {
		if !value.Equal(&old.Items[i], &f.Value.Items[i]) {
			return f
		}
	}
	f.Value.Items = f.Value.Items[len(old.Items):]
	return f
}

// submit stores an input.
func (in *Inspector) submit(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(r); err != nil {
		return err
	}
	form := r.PostForm
	d := submitData{
		Graph: form.Get("graph"), ID: strings.TrimSpace(form.Get("id")), JSON: form.Get("json"), Name: form.Get("title"),
		Request: form.Get("request"),
	}
	if err := in.fillSubmit(r, &d); err != nil {
		return err
	}
	if err := in.storeInput(r, &d); err != nil {
		if statusOf(err) == http.StatusForbidden {
			return err
		}
		d.Error = err.Error()
		in.render(w, statusOf(err), "submit", d)
		return nil
	}
	redirect(w, place{Thread: d.ID}.link("thread", "note", "submitted"))
	return nil
}

// storeInput stores the input of a form.
func (in *Inspector) storeInput(r *http.Request, d *submitData) error {
	if d.ID == "" {
		return bad("the thread has no id; choose one")
	}
	app, err := in.app(&checkpoint.Thread{Graph: d.Graph})
	if err != nil {
		return err
	}
	s := app.Shape().State
	update, err := encoded(value.EncodeUpdate(&s, []byte(d.JSON)))
	if err != nil {
		return err
	}
	opts := []graph.SubmitOption{graph.RequestID(d.Request)}
	if d.Name != "" {
		opts = append(opts, graph.Title(d.Name))
	}
	if actor := in.actor(r); actor != nil {
		opts = append(opts, actor)
	}
	_, err = app.Submit(r.Context(), d.ID, update, opts...)
	return err
}
