package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/internal/news"
)

// errRehearsed stops a run before a route is called.
var errRehearsed = errors.New("the run is a rehearsal")

// Rehearse checks that the graph can continue a thread of saver. Package graphtest calls it for
// exported threads. Rehearse does the work of a worker that resumes the thread, up to the first
// call of a node. It calls no route, fallback, cache or limiter, and no function that maps the
// states of subgraphs. Reducers and codecs run. It also decodes the waiting messages, the open
// questions and each checkpoint of the root.
//
// A rehearsal writes to saver as a run does. So saver must hold a copy of the thread, such as one
// that Saver.Import made. The saver of the graph is not used, nor are its observers and
// interceptors.
//
// It returns the errors that Resume returns before it calls a node. An error that wraps
// ErrGraphChanged says that the graph does not fit the thread.
func (g *Graph[S, U]) Rehearse(ctx context.Context, saver checkpoint.Saver, thread string) error {
	return g.core.on(saver).rehearse(ctx, thread)
}

// rehearse is Graph.Rehearse on the saver of g.
func (g *core) rehearse(ctx context.Context, id string) error {
	t := threadCore{g: g, id: id}
	c, err := loadChain(ctx, g, g.opt.saver, checkpoint.Ref{Thread: id})
	if err != nil {
		return err
	}
	if !c.Empty() {
		if err := g.owns(id, &c.Last); err != nil {
			return err
		}
	}
	s := g.newState()
	all := views{state: s, push: func(snapshot) {}, pop: func() bool { return true }}
	if err := t.history(ctx, checkpoint.Query{}, all); err != nil {
		return err
	}
	if err := g.checkPending(ctx, id, &c); err != nil {
		return err
	}
	opts, err := t.calling(nil)
	if err != nil {
		return err
	}
	opts.rehearse, opts.durability, opts.own = true, Sync, new(runs)
	opts.due = &due{found: &checkpoint.ReadyThread{ID: id, Posted: c.Thread.Posted}, seen: c.Thread.Posted}
	_, err = t.runStored(ctx, opts, driven{state: s})
	var cancelled *CancelledError
	if errors.Is(err, errRehearsed) || errors.As(err, &cancelled) {
		return nil
	}
	return err
}

// on returns the graph with another saver, without what its options attach to runs.
func (g *core) on(saver checkpoint.Saver) *core {
	c := &core{compiled: g.compiled}
	c.opt.saver, c.opt.releaseOnDone, c.opt.hot = saver, false, 0
	c.opt.observers, c.opt.interceptors, c.opt.propagators = nil, nil, nil
	c.news = news.NewRoom(saver, c.opt.saverTimeout)
	c.news.Wait = news.Every
	c.store = c
	return c
}

// checkPending decodes what waits for the nodes of a thread: messages, questions and answers.
func (g *core) checkPending(ctx context.Context, id string, c *checkpoint.Chain) error {
	step := c.Last.Step
	p := pendingChecks{g: g, thread: id, step: step}
	open := make(map[string]*checkpoint.Write)
	for i := range c.Thread.Questions {
		q := &c.Thread.Questions[i]
		open[inbox.QuestionID(q)] = q
		if err := p.question(q); err != nil {
			return err
		}
	}
	all, err := g.mail(ctx, checkpoint.MailQuery{Thread: id})
	if err != nil {
		return err
	}
	for i := range all {
		if err := g.checkMessage(id, step, &all[i], open[all[i].Name]); err != nil {
			return err
		}
	}
	notes, err := journal.Notes(c.Writes, c.Last.Base)
	if err != nil {
		return decodeError(g.name, id, err, "a received signal")
	}
	for i := range notes {
		if err := g.checkMessage(id, step, &notes[i].Message, nil); err != nil {
			return err
		}
	}
	return p.answered(c)
}

// pendingChecks decodes what waits for the nodes of a thread.
type pendingChecks struct {
	g      *core
	thread string
	step   int // of the head
}

// changed returns an ErrGraphChanged.
func (p pendingChecks) changed(format string, args ...any) error {
	return fmt.Errorf("%s: %w: "+format, append([]any{where(p.g.name, p.thread, p.step), ErrGraphChanged}, args...)...)
}

// question decodes an open question as the node that asked it would.
func (p pendingChecks) question(q *checkpoint.Write) error {
	if q.Task == journal.StopTask || task.IsTimer(q.Name) {
		return nil
	}
	w, err := readWaiting(q.Task, q.Name, q.Payload)
	if err != nil {
		return err
	}
	n := p.g.nodeAt(w.Path, w.Node)
	if in := p.g.graphAt(w.Path); n == nil && in != nil && in.catchAll > 0 {
		return nil // the catch-all runs without the answer, or rehearsing it fails
	}
	if n == nil {
		return p.changed("node %q, which waits for an answer or a signal, is gone; list its id by graph.FormerIDs on its new node", w.place())
	}
	if signal, ok := task.SignalOf(w.Question); ok {
		if !n.receives(signal) {
			return p.changed("node %q waits for signal %q and does not list it any more", w.place(), signal)
		}
		return nil
	}
	at := slices.IndexFunc(n.questions, func(known askable) bool { return known.name == w.Question })
	if at < 0 {
		return p.changed("node %q does not list question %q any more", w.place(), w.Question)
	}
	if _, err := n.questions[at].restate(w.Payload); err != nil {
		return decodeError(p.g.name, p.thread, payloadError(w.Payload, err), fmt.Sprintf("question %q at node %q", w.Question, w.place()))
	}
	return nil
}

// checkMessage decodes a message that no node has read. q is the question that it answers.
func (g *core) checkMessage(id string, step int, m *checkpoint.Message, q *checkpoint.Write) error {
	var err error
	switch m.Kind {
	case checkpoint.InputMessage:
		var in journal.Input
		if in, err = journal.ReadInput(m.Payload); err == nil {
			_, err = threadCore{g: g, id: id}.stateWith(in.Update, typedState.decodeInput)
		}
	case checkpoint.SignalMessage:
		if _, _, child := task.ChildOf(m.Name); child {
			_, err = readChildEnd(m.Payload)
			break
		}
		if !g.signals[m.Name] {
			return fmt.Errorf("%s: %w: no node lists signal %q, and %q of it waits", where(g.name, id, step), ErrGraphChanged, m.Name, m.ID)
		}
		err = g.decodeSignal(m.Name, m.Payload)
	case checkpoint.AnswerMessage:
		if q != nil {
			if err = g.checkAnswer(id, step, q, answer{id: m.Name, payload: m.Payload}, m.Posted); errors.Is(err, ErrExpired) {
				return nil
			}
		}
	}
	if err != nil {
		return decodeError(g.name, id, err, fmt.Sprintf("%s %q, which waits in the inbox", m.Kind, m.ID))
	}
	return nil
}

// answered decodes the answers that are stored for due tasks.
func (p pendingChecks) answered(c *checkpoint.Chain) error {
	asked := make(map[string]*checkpoint.Write)
	for i := range c.Writes {
		w := &c.Writes[i]
		switch id := w.Namespace + "\x00" + inbox.QuestionID(w); {
		case w.Kind == checkpoint.Question:
			asked[id] = w
		case w.Kind != checkpoint.Answer || asked[id] == nil || w.Task == journal.StopTask || !task.IsQuestion(w.Name):
		default:
			given := answer{id: inbox.QuestionID(w), payload: w.Payload}
			err := p.g.checkAnswer(p.thread, p.step, asked[id], given, c.Last.Created)
			if refused := (*AnswerError)(nil); err != nil && !errors.Is(err, ErrExpired) && !errors.As(err, &refused) {
				return err
			}
		}
	}
	return nil
}

// rehearseTask is Call for a rehearsal: only subgraphs with stored calls run.
func (r *run) rehearseTask(ctx context.Context, i int) error {
	if t := &r.exec.Tasks[i]; r.g.nodes[t.Node].sub == nil || t.Failure != nil {
		return r.stay(i)
	}
	return r.perform(ctx, i)
}

// stay leaves the task in slot i waiting.
func (r *run) stay(i int) error {
	r.exec.Tasks[i].Progress = exec.Asking
	return nil
}
