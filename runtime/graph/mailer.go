package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
)

// Mailer posts messages to the threads of a graph by a Poster, such as a transaction of the
// caller. Graph.Via returns it. It is a small value, as safe for concurrent use as its Poster.
type Mailer[S, U any] struct {
	g  *Graph[S, U]
	by checkpoint.Poster // nil is the saver of the graph
}

// ThreadMailer posts messages to one thread by a Poster. Mailer.Thread returns it.
type ThreadMailer[S, U any] struct {
	g      *Graph[S, U]
	mailer threadMailer
}

// threadMailer is a ThreadMailer without the types of the state.
type threadMailer struct {
	t  threadCore
	by checkpoint.Poster // nil is the saver of the graph
}

// Via returns a Mailer that posts by p instead of the graph's saver. Use it to submit in a
// transaction, together with rows of your own:
//
//	tx, err := pool.Begin(ctx)
//	// insert the order
//	_, err = app.Via(saver.InTx(tx)).Thread("order-7").Submit(ctx, in)
//	err = tx.Commit(ctx)
//
// Savers of package postgres, mysql and sqlite have the method InTx. The transaction must be on
// the database of the graph's saver. If that saver encrypts or compresses, the messages of the
// Mailer are encrypted and compressed as well.
//
// Messages are stored when the transaction commits, and a rollback drops them. If a call returns
// an error that is checkpoint.ErrUnavailable, such as a deadlock, roll back and run the whole
// transaction again. An error that is checkpoint.ErrInboxFull or checkpoint.ErrNotIdle leaves the
// transaction usable. If an Engine carries hints, call its Wake after the commit, because the
// Mailer sends none.
func (g *Graph[S, U]) Via(p checkpoint.Poster) Mailer[S, U] {
	if p == nil {
		p = noPoster{}
	} else if g.core.opt.saver != nil {
		p = checkpoint.PostVia(g.core.opt.saver, p)
	}
	return Mailer[S, U]{g, p}
}

// noPoster is the Poster of Via(nil).
type noPoster struct{}

func (noPoster) Post(context.Context, ...checkpoint.Post) ([]checkpoint.Posted, error) {
	return nil, errors.New("no Poster: Via was given nil; pass InTx of a saver")
}

// Thread returns a ThreadMailer for the thread called id. It touches no storage.
func (m Mailer[S, U]) Thread(id string) ThreadMailer[S, U] {
	return ThreadMailer[S, U]{m.g, threadMailer{m.g.Thread(id).thread, m.by}}
}

// SubmitMany works like Graph.SubmitMany.
func (m Mailer[S, U]) SubmitMany(ctx context.Context, inputs ...Submission[U]) ([]Submitted, error) {
	posts, a := make([]checkpoint.Post, len(inputs)), newAdapter(m.g)
	for i := range inputs {
		in := &inputs[i]
		a.input = &in.Input
		var err error
		if posts[i], err = m.Thread(in.Thread).mailer.inputPost(ctx, a, setting(in.Options, SubmitOption.submit)); err != nil {
			return nil, err
		}
	}
	return m.g.untyped().submitMany(ctx, m.by, posts)
}

// submitMany stores posts of inputs by one call of a Poster, or of the saver if by is nil.
func (g *core) submitMany(ctx context.Context, by checkpoint.Poster, posts []checkpoint.Post) ([]Submitted, error) {
	if len(posts) == 0 {
		return nil, nil
	}
	posted, err := g.post(ctx, by, posts)
	if err != nil {
		return nil, err
	}
	all, errs := make([]Submitted, len(posts)), []error(nil)
	for i := range posts {
		all[i].Thread = posts[i].Thread
		if posted[i].Err != nil {
			m := threadMailer{t: threadCore{g: g, id: posts[i].Thread}}
			errs = append(errs, m.postError(posted[i].Err))
			continue
		}
		all[i] = submitted(&posts[i], posted[i])
	}
	return all, errors.Join(errs...)
}

// Submit works like Thread.Submit.
func (m ThreadMailer[S, U]) Submit(ctx context.Context, in U, opts ...SubmitOption) (Submitted, error) {
	a := newAdapter(m.g)
	a.input = &in
	return m.mailer.submit(ctx, a, setting(opts, SubmitOption.submit))
}

// submit is ThreadMailer.Submit with the input of s.
func (m threadMailer) submit(ctx context.Context, s typedState, set func(*runOptions)) (Submitted, error) {
	post, err := m.inputPost(ctx, s, set)
	if err != nil {
		return Submitted{}, err
	}
	posted, err := m.post(ctx, post)
	if err != nil {
		return Submitted{}, err
	}
	return submitted(&post, posted), nil
}

// Signal works like Thread.Signal.
func (m ThreadMailer[S, U]) Signal(ctx context.Context, signals ...SentSignal) error {
	return m.mailer.signal(ctx, signals)
}

// signal is ThreadMailer.Signal.
func (m threadMailer) signal(ctx context.Context, signals []SentSignal) error {
	post, err := m.signalPost(signals)
	if err != nil || len(signals) == 0 {
		return err
	}
	_, err = m.post(ctx, post)
	return err
}

// Answer works like Thread.Answer. It reads the questions of the thread from the graph's saver, so
// it does not see uncommitted changes.
func (m ThreadMailer[S, U]) Answer(ctx context.Context, answers ...AnswerOption) error {
	return m.mailer.answer(ctx, answers)
}

// answer is ThreadMailer.Answer.
func (m threadMailer) answer(ctx context.Context, answers []AnswerOption) error {
	t := m.t
	o, err := t.calling(setting(answers, AnswerOption.resume))
	if err != nil || len(o.answers) == 0 {
		return err
	}
	c, err := loadChain(ctx, t.g, t.saver(), checkpoint.Ref{Thread: t.id, Namespace: checkpoint.NoCall})
	if err != nil {
		return err
	}
	for _, a := range o.answers {
		if err := t.g.checkPosted(t.id, &c.Thread, a); err != nil {
			return err
		}
	}
	known, err := m.postAnswers(ctx, o.answers, nil)
	if err != nil || len(known) == 0 {
		return err
	}
	// A run may have refused an earlier answer. The question is open, so another one can count.
	refused, err := t.g.mail(ctx, checkpoint.MailQuery{Thread: t.id, Handled: true})
	if err == nil {
		known, err = m.postAnswers(ctx, known, refused)
	}
	if err != nil || len(known) == 0 {
		return err
	}
	return t.g.answerError(t.id, -1, known[0].id, "it has been answered")
}

// postAnswers posts answers, and returns those whose ids the thread knows. refused are refused
// messages of the thread.
func (m threadMailer) postAnswers(ctx context.Context, answers []answer, refused []checkpoint.Message) (known []answer, err error) {
	post := checkpoint.Post{Thread: m.t.id, Graph: m.t.g.name}
	for _, a := range answers {
		post.Messages = append(post.Messages, inbox.AnswerTo(a.id, a.payload, refused))
	}
	posted, err := m.post(ctx, post)
	for i, one := range posted.Messages {
		if one.Known {
			known = append(known, answers[i])
		}
	}
	return known, err
}

// Cancel works like Thread.Cancel.
func (m ThreadMailer[S, U]) Cancel(ctx context.Context, reason string) error {
	return m.mailer.cancel(ctx, reason)
}

// cancel is ThreadMailer.Cancel.
func (m threadMailer) cancel(ctx context.Context, reason string) error {
	if len(reason) > checkpoint.MaxReason {
		return fmt.Errorf("graph: Cancel: the reason has %d bytes, more than %d; shorten it", len(reason), checkpoint.MaxReason)
	}
	return m.postNew(ctx, checkpoint.Message{Kind: checkpoint.CancelMessage, Payload: []byte(reason)})
}

// Wake works like Thread.Wake.
func (m ThreadMailer[S, U]) Wake(ctx context.Context) error { return m.mailer.wake(ctx) }

// wake is ThreadMailer.Wake.
func (m threadMailer) wake(ctx context.Context) error {
	return m.postNew(ctx, checkpoint.Message{Kind: checkpoint.WakeMessage})
}

// inputPost returns the Post of the input of s, and of the cancel before it that CancelPending
// adds. Propagators store values of ctx with it.
func (m threadMailer) inputPost(ctx context.Context, s typedState, set func(*runOptions)) (p checkpoint.Post, err error) {
	o, err := m.t.calling(set)
	if err != nil {
		return p, err
	}
	return m.postOfInput(ctx, s, o)
}

// postOfInput is inputPost with the options of a call.
func (m threadMailer) postOfInput(ctx context.Context, s typedState, o runOptions) (p checkpoint.Post, err error) {
	t := m.t
	if err := mayBegin(t.g.name, t.id); err != nil {
		return p, err
	}
	if !t.at.IsZero() {
		return p, t.fail("%w; use UpdateState to continue from a checkpoint", ErrNotHead)
	}
	if err := o.prepareSubmit(); err != nil {
		return p, t.fail("%w", err)
	}
	if o.metadata, err = t.g.opt.propagators.inject(ctx, o.metadata); err != nil {
		return p, t.fail("%w", err)
	}
	update, err := s.encodeInput()
	if err != nil {
		return p, t.fail("encode the input: %w", err)
	}
	return submitPost(t.g.name, t.id, update, &o), nil
}

// postNew posts a message under a new id.
func (m threadMailer) postNew(ctx context.Context, one checkpoint.Message) error {
	if _, err := m.t.calling(nil); err != nil {
		return err
	}
	id, err := checkpoint.NewID()
	if err != nil {
		return m.t.fail("%w", err)
	}
	one.ID = id.String()
	_, err = m.post(ctx, m.postOf(one))
	return err
}

// postOf returns a Post of one message to the thread.
func (m threadMailer) postOf(one checkpoint.Message) checkpoint.Post {
	return postOf(m.t.g.name, m.t.id, one)
}

// post stores one Post.
func (m threadMailer) post(ctx context.Context, p checkpoint.Post) (checkpoint.Posted, error) {
	if err := hasBegun(ctx, m.t.g, m.t.id); err != nil {
		return checkpoint.Posted{}, err
	}
	posted, err := m.t.g.post(ctx, m.by, []checkpoint.Post{p})
	if err != nil {
		return checkpoint.Posted{}, err
	}
	if err := posted[0].Err; err != nil {
		return checkpoint.Posted{}, m.postError(err)
	}
	return posted[0], nil
}

// post stores messages by one call of a Poster, or of the saver if by is nil.
func (g *core) post(ctx context.Context, by checkpoint.Poster, posts []checkpoint.Post) ([]checkpoint.Posted, error) {
	if by == nil {
		by = g.opt.saver
	}
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	posted, err := by.Post(call, posts...)
	for i := range posts {
		g.heads.drop(posts[i].Thread) // the next Invoke must know the number of the message
	}
	if err != nil {
		return nil, threadCore{g: g, id: posts[0].Thread}.readError(ctx, "post", err)
	}
	return posted, nil
}

// postError returns the error of a Post that the saver refused.
func (m threadMailer) postError(err error) error {
	switch {
	case errors.Is(err, checkpoint.ErrInboxFull):
		return m.t.fail("%w; submit again after a worker has taken some of its inputs", err)
	case errors.Is(err, checkpoint.ErrNotIdle):
		return m.t.fail("%w; leave IfIdle out to queue the input", err)
	}
	return m.t.saverError("post", err)
}
