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
	t  Thread[S, U]
	by checkpoint.Poster
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
	} else if g.opt.saver != nil {
		p = checkpoint.PostVia(g.opt.saver, p)
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
	return ThreadMailer[S, U]{m.g.Thread(id), m.by}
}

// SubmitMany works like Graph.SubmitMany.
func (m Mailer[S, U]) SubmitMany(ctx context.Context, inputs ...Submission[U]) ([]Submitted, error) {
	posts := make([]checkpoint.Post, len(inputs))
	for i, in := range inputs {
		var err error
		if posts[i], err = m.Thread(in.Thread).inputPost(ctx, in.Input, in.Options); err != nil {
			return nil, err
		}
	}
	if len(posts) == 0 {
		return nil, nil
	}
	posted, err := m.post(ctx, posts)
	if err != nil {
		return nil, err
	}
	all, errs := make([]Submitted, len(posts)), []error(nil)
	for i := range posts {
		all[i].Thread = posts[i].Thread
		if posted[i].Err != nil {
			errs = append(errs, m.Thread(posts[i].Thread).postError(posted[i].Err))
			continue
		}
		all[i] = submitted(&posts[i], posted[i])
	}
	return all, errors.Join(errs...)
}

// Submit works like Thread.Submit.
func (m ThreadMailer[S, U]) Submit(ctx context.Context, in U, opts ...SubmitOption) (Submitted, error) {
	post, err := m.inputPost(ctx, in, opts)
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
	t := m.t
	o, err := calling(t, answers, AnswerOption.resume)
	if err != nil || len(o.answers) == 0 {
		return err
	}
	c, err := loadChain(ctx, &t.g.core, t.saver(), checkpoint.Ref{Thread: t.id, Namespace: checkpoint.NoCall})
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
func (m ThreadMailer[S, U]) postAnswers(ctx context.Context, answers []answer, refused []checkpoint.Message) (known []answer, err error) {
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
	if len(reason) > checkpoint.MaxReason {
		return fmt.Errorf("graph: Cancel: the reason has %d bytes, more than %d; shorten it", len(reason), checkpoint.MaxReason)
	}
	return m.postNew(ctx, checkpoint.Message{Kind: checkpoint.CancelMessage, Payload: []byte(reason)})
}

// Wake works like Thread.Wake.
func (m ThreadMailer[S, U]) Wake(ctx context.Context) error {
	return m.postNew(ctx, checkpoint.Message{Kind: checkpoint.WakeMessage})
}

// inputPost returns the Post of an input, and of the cancel before it that CancelPending adds.
// Propagators store values of ctx with it.
func (m ThreadMailer[S, U]) inputPost(ctx context.Context, in U, opts []SubmitOption) (p checkpoint.Post, err error) {
	o, err := calling(m.t, opts, SubmitOption.submit)
	if err != nil {
		return p, err
	}
	return m.postOfInput(ctx, in, o)
}

// postOfInput is inputPost with the options of a call.
func (m ThreadMailer[S, U]) postOfInput(ctx context.Context, in U, o runOptions) (p checkpoint.Post, err error) {
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
	update, err := appendUpdate(t.g.schema, &in)
	if err != nil {
		return p, t.fail("encode the input: %w", err)
	}
	return submitPost(t.g.name, t.id, update, &o), nil
}

// postNew posts a message under a new id.
func (m ThreadMailer[S, U]) postNew(ctx context.Context, one checkpoint.Message) error {
	if _, err := calling(m.t, nil, SubmitOption.submit); err != nil {
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
func (m ThreadMailer[S, U]) postOf(one checkpoint.Message) checkpoint.Post {
	return postOf(m.t.g.name, m.t.id, one)
}

// post stores one Post.
func (m ThreadMailer[S, U]) post(ctx context.Context, p checkpoint.Post) (checkpoint.Posted, error) {
	if err := hasBegun(ctx, &m.t.g.core, m.t.id); err != nil {
		return checkpoint.Posted{}, err
	}
	posted, err := Mailer[S, U]{m.t.g, m.by}.post(ctx, []checkpoint.Post{p})
	if err != nil {
		return checkpoint.Posted{}, err
	}
	if err := posted[0].Err; err != nil {
		return checkpoint.Posted{}, m.postError(err)
	}
	return posted[0], nil
}

// post stores messages by one call of the saver.
func (m Mailer[S, U]) post(ctx context.Context, posts []checkpoint.Post) ([]checkpoint.Posted, error) {
	g, by := m.g, m.by
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
		return nil, g.Thread(posts[0].Thread).readError(ctx, "post", err)
	}
	return posted, nil
}

// postError returns the error of a Post that the saver refused.
func (m ThreadMailer[S, U]) postError(err error) error {
	switch {
	case errors.Is(err, checkpoint.ErrInboxFull):
		return m.t.fail("%w; submit again after a worker has taken some of its inputs", err)
	case errors.Is(err, checkpoint.ErrNotIdle):
		return m.t.fail("%w; leave IfIdle out to queue the input", err)
	}
	return m.t.saverError("post", err)
}
