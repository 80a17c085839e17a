package inspect

import (
	"context"
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
	ctx, form := r.Context(), r.PostForm
	switch a {
	case Answer:
		return "answered", in.answer(r, p, t)
	case Signal:
		return "signalled", in.signal(r, t)
	case Wake:
		if t.Status == checkpoint.Paused {
			return "", &conflictError{"the thread stops for a person, and a worker keeps the stop; resume it"}
		}
		return "woken", in.post(ctx, t, checkpoint.Message{Kind: checkpoint.WakeMessage})
	case Cancel:
		return "cancelled", in.cancel(ctx, t, form.Get("reason"))
	case Resume:
		return "resumed", in.resume(r, t, graph.ID(form.Get("node")))
	case Replay:
		return "replayed", in.replay(r, p, t)
	case Release:
		_, err := in.saver.Release(ctx, t.ID, checkpoint.ID{})
		return "released", err
	case Delete:
		return "deleted", in.saver.Delete(ctx, t.ID)
	}
	return "", bad("there is no action %q", a)
}

// post stores a message of a thread, under a new id.
func (in *Inspector) post(ctx context.Context, t *checkpoint.Thread, m checkpoint.Message) error {
	id, err := checkpoint.NewID()
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	m.ID = id.String()
	_, err = in.store(ctx, checkpoint.Post{Thread: t.ID, Graph: t.Graph, Messages: []checkpoint.Message{m}})
	return err
}

// store stores the messages of a thread. It reports whether the last one was stored before.
func (in *Inspector) store(ctx context.Context, p checkpoint.Post) (known bool, err error) {
	posted, err := in.saver.Post(ctx, p)
	if err == nil {
		err = posted[0].Err
	}
	if err != nil {
		return false, err
	}
	return posted[0].Messages[len(p.Messages)-1].Known, nil
}

func (in *Inspector) cancel(ctx context.Context, t *checkpoint.Thread, reason string) error {
	if len(reason) > checkpoint.MaxReason {
		return bad("the reason has %d bytes, more than %d", len(reason), checkpoint.MaxReason)
	}
	return in.post(ctx, t, checkpoint.Message{Kind: checkpoint.CancelMessage, Payload: []byte(reason)})
}

// answer stores the answer to a question, from its form or from JSON.
func (in *Inspector) answer(r *http.Request, p place, t *checkpoint.Thread) error {
	v, err := in.load(r, p.root(), false)
	if err != nil {
		return err
	}
	if v.locked != nil {
		return v.locked
	}
	id := r.PostForm.Get("question")
	open, err := graph.OpenQuestions(*t)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(open, func(q graph.OpenQuestion) bool { return q.ID == id })
	if i < 0 {
		return fmt.Errorf("question %s: %w; somebody has answered it, or the thread has moved on", clip(100, id), graph.ErrNotAsked)
	}
	var answer *shape.Payload
	if d := v.question(open[i].Question); d != nil {
		answer = &d.Answer
	}
	encoded, err := payloadFrom(r, answer)
	if err != nil {
		return err
	}
	if app := in.apps[t.Graph]; app != nil {
		return app.Untyped().Answer(r.Context(), t.ID, graph.AnswerBytes(id, encoded))
	}
	refused, err := in.saver.Mail(r.Context(), checkpoint.MailQuery{Thread: t.ID, Refused: true})
	if err != nil {
		return err
	}
	known, err := in.store(r.Context(), graph.EncodedAnswer(t.Graph, t.ID, id, encoded, refused))
	if known {
		return &conflictError{"the question has been answered"}
	}
	return err
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

// payloadFrom returns the encoded payload in the form of a request: that of the inputs, or the
// JSON in "json" if "as" says so. p may be nil.
func payloadFrom(r *http.Request, p *shape.Payload) ([]byte, error) {
	text := []byte(r.PostForm.Get("json"))
	if f := formOf(p); f != nil && r.PostForm.Get("as") != "json" {
		var err error
		if text, err = f.read(r.PostForm); err != nil {
			return nil, err
		}
	}
	return encoded(value.Encode(p, text))
}

// encoded makes an error of JSON one of the request.
func encoded(b []byte, err error) ([]byte, error) {
	var wrong *value.JSONError
	if errors.As(err, &wrong) {
		return nil, bad("%v", wrong)
	}
	return b, err
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
	app, err := in.app(t)
	if err != nil {
		return err
	}
	opts := []graph.ResumeOption{graph.Metadata(in.actor(r))}
	if node != "" {
		opts = append(opts, graph.Rerun(node))
	}
	return in.background(r, t.ID, func(ctx context.Context) error {
		_, err := app.Resume(ctx, t.ID, checkpoint.ID{}, opts...)
		return err
	})
}

// replay makes the tasks of an older checkpoint due again, for a worker.
func (in *Inspector) replay(r *http.Request, p place, t *checkpoint.Thread) error {
	app, err := in.app(t)
	if err != nil {
		return err
	}
	if p.At.IsZero() {
		return bad("a replay needs a checkpoint; open one in the history")
	}
	nothing, err := value.EncodeUpdate(&app.Shape().State, []byte("{}"))
	if err != nil {
		return err
	}
	if _, err := app.Update(r.Context(), t.ID, p.At, nothing, graph.Metadata(in.actor(r))); err != nil {
		return err
	}
	return in.post(r.Context(), t, checkpoint.Message{Kind: checkpoint.WakeMessage})
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
	described := v.schemas[v.chain.Last.Fingerprint]
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
func (in *Inspector) signal(r *http.Request, t *checkpoint.Thread) error {
	described, err := in.describedGraph(r, t.Graph, t.ID)
	if err != nil {
		return err
	}
	name := r.PostForm.Get("signal")
	app := in.apps[t.Graph]
	var known *shape.Payload
	if d := described.Signal(name); d != nil {
		known = &d.Payload
	} else if app == nil {
		return bad("no node of the graph %q receives the signal %q", t.Graph, clip(100, name))
	}
	payload, err := payloadFrom(r, known)
	if err != nil {
		return err
	}
	var opts []graph.SignalOption
	if key := strings.TrimSpace(r.PostForm.Get("key")); key != "" {
		opts = append(opts, graph.For(key))
	}
	if app != nil {
		return app.Untyped().Signal(r.Context(), t.ID, name, payload, opts...)
	}
	post, err := graph.EncodedSignal(t.Graph, t.ID, name, payload, opts...)
	if err != nil {
		return bad("%v", err)
	}
	_, err = in.store(r.Context(), post)
	return err
}

// mailText returns the payload of a message as text; empty if there is none, or if it needs the
// types of the program.
func (in *Inspector) mailText(v *view, m *checkpoint.Message) string {
	if in.locked(m.Payload) != nil {
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
