package inspect

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/shape/value"
)

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
	New     bool // only for a thread that does not exist
}

// fieldHelp describes a field of an input.
type fieldHelp struct{ Name, Type, Reducer string }

// submitPage shows the form of an input.
func (in *Inspector) submitPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	d := submitData{Graph: q.Get("graph"), ID: q.Get("id"), From: q.Get("from"), New: q.Get("id") == ""}
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
func (in *Inspector) maySubmit(r *http.Request, d *submitData) error {
	a := Access{Action: Submit, Thread: d.ID, Graph: d.Graph}
	if d.ID == "" {
		return in.check(r, a)
	}
	t, err := in.find(r, Submit, d.ID)
	var absent *absentError
	switch {
	case errors.As(err, &absent):
		a.New = true
		if err := in.check(r, a); err != nil || !absent.exists {
			return err
		}
		return existsError(d.ID)
	case err != nil:
		return err
	case t.Graph != "" && t.Graph != d.Graph && (in.apps[t.Graph] == nil || in.apps[t.Graph] != in.apps[d.Graph]):
		return bad("thread %q belongs to the graph %q, not to %q", d.ID, t.Graph, d.Graph)
	case d.New:
		return existsError(d.ID)
	}
	return nil
}

// existsError is the error of an input for a new thread that is not new.
func existsError(id string) error {
	return &conflictError{fmt.Sprintf(
		"thread %q exists: somebody else has created it, or this form was sent twice; choose another id, or allow an existing thread", id)}
}

// fillSubmit adds what the form of an input shows.
func (in *Inspector) fillSubmit(r *http.Request, d *submitData) error {
	d.head, d.Graphs = in.head(r, "Submit an input"), in.namesFor(r, Submit)
	if d.Graph == "" {
		if len(in.names) == 0 {
			return bad("the pages have no graph to submit to; submit from the page of a thread, or give the graphs to inspect.New")
		}
		d.Graph = append(d.Graphs, in.names[0])[0]
	}
	if !slices.Contains(d.Graphs, d.Graph) {
		d.Graphs = append(d.Graphs, d.Graph)
	}
	if err := in.maySubmit(r, &submitData{ID: d.ID, Graph: d.Graph}); err != nil {
		return err
	}
	described, err := in.described(r, d)
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
	for _, f := range described.State.Fields {
		if f.Stored() {
			d.Fields = append(d.Fields, fieldHelp{f.Name, f.Type, f.Reducer})
		}
	}
	if d.JSON == "" {
		d.JSON = "{\n  \n}"
	}
	return nil
}

// described returns the description of the graph of an input.
func (in *Inspector) described(r *http.Request, d *submitData) (*shape.Graph, error) {
	g, err := in.operator(r).Describe(r.Context(), d.Graph, d.ID, d.From)
	if err == nil && g == nil {
		err = bad("no thread describes the state of the graph %q; submit from the page of a thread, or give the graph to inspect.New", d.Graph)
	}
	return g, err
}

// inputOf returns the last input of a thread as JSON: the change of its newest input record.
func (in *Inspector) inputOf(r *http.Request, t *checkpoint.Thread) (string, error) {
	v := place{Thread: t.ID}
	if t.Version == 0 {
		v.Version = t.Versions
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
		Request: form.Get("request"), From: form.Get("from"), New: form.Get("new") != "",
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
	to := place{Thread: d.ID}.link("thread", "note", "submitted")
	if form.Get("wait") != "" {
		if d.New {
			d.Request = firstInput
		}
		to = place{Thread: d.ID}.link("result", "request", d.Request)
	}
	redirect(w, to)
	return nil
}

// firstInput is the request id of the first input of a thread that these pages create. A saver
// stores one message with an id, so of two users who create one thread only the first succeeds.
const firstInput = "inspect: first input"

// storeInput stores the input of a form.
func (in *Inspector) storeInput(r *http.Request, d *submitData) error {
	if d.ID == "" {
		return bad("the thread has no id; choose one")
	}
	if err := in.maySubmit(r, d); err != nil {
		return err
	}
	described, err := in.described(r, d)
	if err != nil {
		return err
	}
	opts := []graph.SubmitOption{graph.Metadata(in.actor(r))}
	if d.New {
		opts = append(opts, graph.RequestID(firstInput), graph.IfIdle())
	} else {
		opts = append(opts, graph.RequestID(d.Request))
	}
	if d.Name != "" {
		opts = append(opts, graph.Title(d.Name))
	}
	posted, err := in.ops.Submit(r.Context(), d.ID, d.Graph, described, []byte(d.JSON), opts...)
	if d.New && (posted.Known || errors.Is(err, checkpoint.ErrNotIdle)) {
		return existsError(d.ID)
	}
	return err
}
