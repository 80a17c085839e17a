package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// AnswerOption is an answer to a question: an option of Resume and ResumeStream, and an argument
// of Thread.Answer.
type AnswerOption interface {
	ResumeOption
	// Encoded returns the id and the name of the question, and the encoded answer. It is for tests
	// of nodes, such as those of package graphtest.
	Encoded() (id, question string, payload []byte, err error)
	given() answer
}

func (a answer) given() answer { return a }

// Answer stores answers to open questions of the thread, and returns. A worker resumes the thread
// with them. A call of Resume takes them, too. If the answers come while a run is in progress, the
// thread is due when that run ends.
//
// The first answer to a question counts, unless a run refuses it, or a Resume answers the question
// before a run takes the answer. Answer accepts answers to the questions that OpenQuestions
// returns. It returns ErrNotAsked if the thread does not ask a question, if somebody has answered
// it, or if the answer has another type. If the question has expired, the error is ErrExpired,
// too. An answer with an error is not stored. If Answer has several answers, it may have stored
// those to other questions.
//
// A run refuses an answer that has become invalid before the run takes it, for example because the
// thread was cancelled. Inbox lists the refused answer with the reason.
func (t Thread[S, U]) Answer(ctx context.Context, answers ...AnswerOption) error {
	return threadMailer{t: t.thread}.answer(ctx, answers)
}

// checkPosted checks an answer against the questions of a thread.
func (g *core) checkPosted(thread string, t *checkpoint.Thread, a answer) error {
	if a.err != nil {
		return g.answerError(thread, -1, a.id, "the answer cannot be stored: %w", a.err)
	}
	for i := range t.Questions {
		w := &t.Questions[i]
		if q, err := journal.ReadQuestion(w.Payload); inbox.QuestionID(w) != a.id || err == nil && q.Left {
			continue
		}
		if t.Status == Cancelled {
			return g.answerError(thread, -1, a.id, "the thread is cancelled; pass the answer to Resume to continue it")
		}
		return g.checkAnswer(thread, -1, w, a, t.Now)
	}
	return g.answerError(thread, -1, a.id, inbox.NotAsked)
}

// Cancel cancels all pending work of the thread, and returns. A run in progress, also in another
// process, learns of the cancel within about a second. It learns of it immediately if a
// worker.Engine sends a hint. Then the contexts of its nodes end, the results of the tasks that
// succeeded are stored, and the thread is Cancelled. If no run is in progress, a worker or the
// next Resume ends the thread. If the run is Done before it learns of the cancel, the cancel is
// refused. Submitted inputs that wait are refused.
//
// The contexts of the nodes of a superstep with an Uncancellable node do not end. The thread is
// Cancelled when that superstep has committed.
//
// Input that is submitted later begins as on a finished thread. Resume continues a cancelled
// thread where it stopped. A worker does not resume it. The cancel of a thread that is finished,
// or does not exist, has no effect, and Cancel returns nil.
//
// The reason has at most checkpoint.MaxReason bytes, and can be empty.
func (t Thread[S, U]) Cancel(ctx context.Context, reason string) error {
	return threadMailer{t: t.thread}.cancel(ctx, reason)
}

// Wake makes the thread due now, and resets the count of its attempts. A worker then resumes it.
// Use Wake for example after the cause of a failure was removed.
func (t Thread[S, U]) Wake(ctx context.Context) error {
	return threadMailer{t: t.thread}.wake(ctx)
}

// Inbox is the mail of a thread.
type Inbox struct {
	Waiting []checkpoint.Message // that no run has taken, in the order in which they were posted
	Refused []checkpoint.Message // that could not take effect, each with the reason; the newest ones

	// Replied are the signals to which their receivers have replied, the newest ones. Their
	// payloads are the replies.
	Replied []checkpoint.Message
}

// Inbox returns the messages that wait, and those that were refused. It makes two calls of the
// saver.
func (t Thread[S, U]) Inbox(ctx context.Context) (Inbox, error) { return t.thread.inbox(ctx) }

// inbox is Thread.Inbox.
func (t threadCore) inbox(ctx context.Context) (in Inbox, err error) {
	if _, err := t.calling(nil); err != nil {
		return in, err
	}
	if in.Waiting, err = t.g.mail(ctx, checkpoint.MailQuery{Thread: t.id}); err == nil {
		in.Refused, err = t.g.mail(ctx, checkpoint.MailQuery{Thread: t.id, Handled: true})
	}
	in.Refused = slices.DeleteFunc(in.Refused, func(m checkpoint.Message) bool {
		if m.Replied() {
			in.Replied = append(in.Replied, m)
		}
		return m.Replied()
	})
	return in, err
}

// newsOf reads the news of a thread.
func (g *core) newsOf(ctx context.Context, thread string) (checkpoint.News, error) {
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	all, err := g.opt.saver.News(call, []string{thread})
	if err != nil && ctx.Err() != nil {
		return checkpoint.News{}, stoppedBy(ctx, where(g.name, thread, -1))
	}
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("the call of News answered for %d threads; want 1", len(all))
	}
	if err != nil {
		return checkpoint.News{}, &SaverError{Graph: g.name, Thread: thread, Step: -1, Op: "news", Err: err}
	}
	return all[0], nil
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
