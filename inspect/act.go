package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/shape/value"
)

// act performs an action on a thread, and sends the reader back to its page.
func (in *Inspector) act(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(r); err != nil {
		return err
	}
	p, err := threadPlaceOf(r.PostForm)
	if err != nil {
		return err
	}
	a := Action(r.PostForm.Get("action"))
	t, err := in.find(r, a, p.Thread)
	if err != nil {
		return err
	}
	note, err := in.perform(r, a, p, &t)
	if status := statusOf(err); a == Answer && (status == http.StatusBadRequest || status == http.StatusUnprocessableEntity) {
		return in.answerAgain(w, r, p, err)
	}
	if err != nil {
		return err
	}
	to := p.root().link("thread", "note", note)
	if a == Delete {
		to = "./?note=" + note
	}
	redirect(w, to)
	return nil
}

// parseForm reads the form of a request.
func parseForm(r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return err
		}
		return bad("the form cannot be read: %v", err)
	}
	return nil
}

// perform performs an action, and returns its note.
func (in *Inspector) perform(r *http.Request, a Action, p place, t *checkpoint.Thread) (note string, err error) {
	ctx, form, o := r.Context(), r.PostForm, in.operator(r)
	switch a {
	case Answer:
		_, err := o.Answer(ctx, t, form.Get("question"), payloadOf(form))
		return "answered", err
	case Signal:
		return "signalled", in.signal(r, o, t)
	case Wake, Cancel, Release, Delete:
		done, err := o.Do(ctx, operate.Operation{Action: operate.Action(a), Reason: form.Get("reason")}, t)
		if done.Skipped {
			err = skipped(a, t)
		}
		return noteOf[a], err
	case Resume:
		return "resumed", in.resume(r, t, graph.ID(form.Get("node")))
	case Replay:
		return "replayed", o.Replay(ctx, t, p.At, graph.Metadata(in.actor(r)))
	}
	return "", bad("there is no action %q", a)
}

// noteOf has the notes of operations that were done.
var noteOf = map[Action]string{Wake: "woken", Cancel: "cancelled", Release: "released", Delete: "deleted"}

// skipped returns the error of an action that does not fit a thread.
func skipped(a Action, t *checkpoint.Thread) error {
	if t.Status == checkpoint.Paused {
		return &conflictError{"the thread stops for a person, and a worker keeps the stop; resume it"}
	}
	return &conflictError{fmt.Sprintf("the thread is %s, so %s has nothing to do; submit an input", t.Status, a)}
}

// answerAgain shows the page of a thread with a wrong answer in its form, and why it is wrong.
func (in *Inspector) answerAgain(w http.ResponseWriter, r *http.Request, p place, wrong error) error {
	d, err := in.threadOf(r, p.root())
	if err != nil {
		return err
	}
	text := wrong.Error()
	if refused := (*graph.AnswerError)(nil); errors.As(wrong, &refused) {
		text = refused.Err.Error()
	}
	i := slices.IndexFunc(d.Questions, func(q questionForm) bool { return q.ID == r.PostForm.Get("question") })
	if i < 0 {
		return wrong
	}
	d.Questions[i].keep(r.PostForm, text)
	d.Pulse = "" // a live page would load itself again, without the answer
	in.render(w, statusOf(wrong), "thread", d)
	return nil
}

// app returns the graph of a thread.
func (in *Inspector) app(t *checkpoint.Thread) (graph.Untyped, error) {
	app := in.apps[t.Graph]
	if app == nil {
		return graph.Untyped{}, bad("the graph %q is not part of these pages; give it to inspect.New", t.Graph)
	}
	return app.Untyped(), nil
}

// resume starts a run in this process. With a node, the tasks of the node run again. It returns
// when the run has begun or failed to begin; the run belongs to the graph, whose Drain waits for
// it.
func (in *Inspector) resume(r *http.Request, t *checkpoint.Thread, node graph.ID) error {
	return in.background(r, t.ID, func(ctx context.Context) error {
		_, err := in.ops.Resume(ctx, t, node, graph.Metadata(in.actor(r)))
		return err
	})
}

// actor returns the metadata of the user of a request; nil for none.
func (in *Inspector) actor(r *http.Request) map[string]string {
	if in.opt.Actor == nil {
		return nil
	}
	name := in.opt.Actor(r)
	if name == "" {
		return nil
	}
	return map[string]string{"actor": name}
}

// signalForm sends a signal.
type signalForm struct {
	Name string
	Type string
	Form *form // nil if the signal has no description
	JSON string
}

// signalForms returns the signals of the thread's graph.
func (in *Inspector) signalForms(v *view) (all []signalForm) {
	described := v.Schemas[v.Chain.Last.Fingerprint]
	if app := in.apps[v.thread.Graph]; app != nil {
		described = app.Untyped().Shape()
	}
	if described == nil {
		return nil
	}
	for i := range described.Signals {
		s := &described.Signals[i]
		all = append(all, signalForm{s.Name, s.Payload.Type, formOf(&s.Payload), exampleJSON(&s.Payload)})
	}
	return all
}

// signal sends a signal to a thread, from its form or from JSON.
func (in *Inspector) signal(r *http.Request, o *operate.Operator, t *checkpoint.Thread) error {
	name := r.PostForm.Get("signal")
	_, err := o.Signal(r.Context(), t, name, func(p *shape.Payload) ([]byte, error) {
		if p == nil && in.apps[t.Graph] == nil {
			return nil, bad("no node of the graph %q receives the signal %q", t.Graph, clip(100, name))
		}
		return payloadOf(r.PostForm)(p)
	}, keyed(r.PostForm)...)
	return err
}

// keyed returns the options of the key and of the request id in the form of a signal.
func keyed(form url.Values) (opts []graph.SignalOption) {
	if key := strings.TrimSpace(form.Get("key")); key != "" {
		opts = append(opts, graph.For(key))
	}
	if id := form.Get("request"); id != "" {
		opts = append(opts, graph.RequestID(id))
	}
	return opts
}

// payloadOf returns the JSON in a form: that of its inputs, or that in "json" if "as" says so.
func payloadOf(values url.Values) operate.Source {
	return func(p *shape.Payload) ([]byte, error) {
		if f := formOf(p); f != nil && values.Get("as") != "json" {
			return f.read(values)
		}
		return []byte(values.Get("json")), nil
	}
}

// mailText returns the payload of a message as text; empty if there is none, or if it needs the
// types of the program.
func (in *Inspector) mailText(v *view, m *checkpoint.Message) string {
	if in.ops.Locked(m.Payload) != nil {
		return ""
	}
	switch m.Kind {
	case checkpoint.CancelMessage:
		return clip(shortText, string(m.Payload))
	case checkpoint.SignalMessage, checkpoint.AnswerMessage:
		read, err := value.Payload(nil, m.Payload)
		if err != nil {
			return ""
		}
		text, err := read.MarshalJSON()
		if err != nil {
			return ""
		}
		return clip(shortText, string(text))
	}
	return ""
}
