package graph

import (
	"context"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// AnswerOption is an answer to a question: an option of Resume and ResumeStream, and an argument
// of Thread.Answer.
type AnswerOption interface {
	ResumeOption
	given() answer
}

func (a answer) given() answer { return a }

// Answer stores answers to open questions of the thread, and returns. A worker resumes the
// thread; the next Resume takes them, too. If the answers come while a run is in progress, the
// thread is due when that run ends.
//
// The first answer to a question counts. Answer returns ErrNotAsked if the thread does not ask a
// question, if somebody has answered it, or if the answer has another type. Then it stores
// nothing, except that of several answers those to other questions may be stored.
func (t Thread[S, U]) Answer(ctx context.Context, answers ...AnswerOption) error {
	o, err := calling(t, answers, AnswerOption.resume)
	if err != nil || len(o.answers) == 0 {
		return err
	}
	c, err := loadChain(ctx, &t.g.core, t.saver(), checkpoint.Ref{Thread: t.id, Namespace: noCall})
	if err != nil {
		return err
	}
	post := checkpoint.Post{Thread: t.id, Graph: t.g.name}
	for _, a := range o.answers {
		if err := t.g.checkPosted(t.id, &c.Thread, a); err != nil {
			return err
		}
		post.Messages = append(post.Messages, checkpoint.Message{ID: a.id, Kind: checkpoint.AnswerMessage, Name: a.id, Payload: a.payload})
	}
	posted, err := poster[S, U]{t}.post(ctx, post)
	if err != nil {
		return err
	}
	for i, m := range posted.Messages {
		if m.Known {
			return t.g.answerError(t.id, -1, o.answers[i].id, "it has been answered")
		}
	}
	return nil
}

// checkPosted checks an answer against the open questions of all branches of a thread.
func (g *core) checkPosted(thread string, t *checkpoint.Thread, a answer) error {
	if a.err != nil {
		return g.answerError(thread, -1, a.id, "the answer cannot be stored: %w", a.err)
	}
	for i := range t.Questions {
		if questionID(&t.Questions[i]) == a.id {
			return g.checkAnswer(thread, -1, &t.Questions[i], a, time.Time{}) // the run that takes it decides whether it is late
		}
	}
	return g.answerError(thread, -1, a.id, "the thread does not wait for it")
}

// Cancel ends what the thread was asked before, and returns. A run in progress, also in another
// process, learns of it within about a second, or immediately if an Engine sends a hint. Then the
// contexts of its nodes end, the results of the tasks that succeeded are stored, and the thread is
// Cancelled. If no run is in progress, a worker or the next Resume ends the thread. If the run is
// Done before, the cancel is refused. Submitted inputs that wait are refused.
//
// Input that is submitted later begins as on a finished thread. Resume continues a cancelled
// thread where it was, and a worker does not.
//
// The reason has at most checkpoint.MaxReason bytes, and can be empty.
func (t Thread[S, U]) Cancel(ctx context.Context, reason string) error {
	if len(reason) > checkpoint.MaxReason {
		return fmt.Errorf("graph: Cancel: the reason has %d bytes, more than %d", len(reason), checkpoint.MaxReason)
	}
	return poster[S, U]{t}.postNew(ctx, checkpoint.Message{Kind: checkpoint.CancelMessage, Payload: []byte(reason)})
}

// Wake makes the thread due now, and begins the count of its attempts again. A worker then looks
// at it, for example after the cause of a failure was mended.
func (t Thread[S, U]) Wake(ctx context.Context) error {
	return poster[S, U]{t}.postNew(ctx, checkpoint.Message{Kind: checkpoint.WakeMessage})
}

// postNew posts a message under a new id.
func (t poster[S, U]) postNew(ctx context.Context, m checkpoint.Message) error {
	if _, err := calling(t.Thread, nil, SubmitOption.submit); err != nil {
		return err
	}
	id, err := checkpoint.NewID()
	if err != nil {
		return t.fail("%w", err)
	}
	m.ID = id.String()
	_, err = t.post(ctx, t.postOf(m))
	return err
}

// Inbox is the mail of a thread.
type Inbox struct {
	Waiting []checkpoint.Message // that no run has taken, in the order in which they were posted
	Refused []checkpoint.Message // that could not take effect, each with the reason; the newest ones
}

// Inbox returns the messages that wait, and those that were refused. It makes two calls of the
// saver.
func (t Thread[S, U]) Inbox(ctx context.Context) (in Inbox, err error) {
	if _, err := calling(t, nil, SubmitOption.submit); err != nil {
		return in, err
	}
	if in.Waiting, err = t.g.mail(ctx, checkpoint.MailQuery{Thread: t.id}); err == nil {
		in.Refused, err = t.g.mail(ctx, checkpoint.MailQuery{Thread: t.id, Refused: true})
	}
	return in, err
}

// mail reads messages of a thread.
func (g *core) mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	all, err := g.opt.saver.Mail(call, q)
	if err != nil && ctx.Err() != nil {
		return nil, stoppedBy(ctx, where(g.name, q.Thread, -1))
	}
	if err != nil {
		return nil, &SaverError{Graph: g.name, Thread: q.Thread, Step: -1, Op: "mail", Err: err}
	}
	return all, nil
}
