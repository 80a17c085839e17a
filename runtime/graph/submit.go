package graph

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// SubmitOption is an option of Thread.Submit.
type SubmitOption interface{ submit(*runOptions) }

// Submitted describes an input that was submitted.
type Submitted struct {
	Thread  string
	Request string // the request id: that of RequestID, or a new one
	// Known reports that an input with this request id was submitted before. The thread runs that
	// one. The new input was not stored, and was not compared with it.
	Known bool
}

// Submit stores in as an input of the thread, and returns. A worker runs it, in this process or
// in another one: see package worker. The thread need not exist.
//
// Inputs run one after another, in the order in which they were submitted. An input begins when
// nothing else is due. So it waits for the run in progress, and for answers that the thread waits
// for. IfIdle, CancelPending and DiscardPending choose other policies. Invoke does not wait for
// submitted inputs.
//
// An input is stored once for each request id: RequestID makes it safe to call Submit again when
// its outcome is unknown. The saver knows the id while the input waits, and for at least
// checkpoint.KeepTaken messages after it has begun.
//
// Submit makes one call of the saver, and reads nothing. It returns checkpoint.ErrInboxFull if too
// many inputs of the thread wait, and checkpoint.ErrTooLarge if the storage refuses the input for
// its size. An input that the storage takes can be too large together with the state of the
// thread. The run of a worker refuses such an input, and Thread.Inbox lists it with the reason.
func (t Thread[S, U]) Submit(ctx context.Context, in U, opts ...SubmitOption) (Submitted, error) {
	return ThreadMailer[S, U]{t.g, threadMailer{t: t.thread}}.Submit(ctx, in, opts...)
}

// Submission is one input of Graph.SubmitMany and Graph.InputPost.
type Submission[U any] struct {
	Thread  string
	Input   U
	Options []SubmitOption
}

// SubmitMany submits several inputs, to any threads of the graph, by one call of the saver. The
// result has one element for each input, in order. If some threads refuse their input, the others
// are stored, and SubmitMany returns the joined errors. After any other error, repeat the call
// with the same request ids.
func (g *Graph[S, U]) SubmitMany(ctx context.Context, inputs ...Submission[U]) ([]Submitted, error) {
	return Mailer[S, U]{g: g}.SubmitMany(ctx, inputs...)
}

// InputPost returns the messages that Submit would store for in. It calls no saver, and stores no
// values of a context (see Propagate). Use it to
// store an input later, by the Post of the saver. To submit in a transaction, use Via.
func (g *Graph[S, U]) InputPost(in Submission[U]) (checkpoint.Post, error) {
	a := newAdapter(g)
	a.input = &in.Input
	return threadMailer{t: g.Thread(in.Thread).thread}.inputPost(context.Background(), a, setting(in.Options, SubmitOption.submit))
}

// submitted returns the outcome of a Post of inputPost, which was not refused.
func submitted(p *checkpoint.Post, posted checkpoint.Posted) Submitted {
	last := len(p.Messages) - 1
	return Submitted{Thread: p.Thread, Request: p.Messages[last].ID, Known: posted.Messages[last].Known}
}

// IfIdle makes Submit return checkpoint.ErrNotIdle, and store nothing, if the thread has work to
// do. A thread has none if no input waits, no run is in progress, and the thread does not exist,
// is Done or is Cancelled.
func IfIdle() SubmitOption {
	return singleRunOption("IfIdle", func(o *runOptions) { o.idle = true })
}

// CancelPending makes Submit cancel everything that the thread was asked before, and begin with
// the input. One act stores both. See Thread.Cancel for the effect and the reason. A reason of
// more than checkpoint.MaxReason bytes is an error.
func CancelPending(reason string) SubmitOption {
	return singleRunOption("CancelPending", func(o *runOptions) {
		if n := len(reason); n > checkpoint.MaxReason {
			o.fault("CancelPending has a reason of %d bytes, more than %d; shorten it", n, checkpoint.MaxReason)
		}
		o.cancel = &reason
	})
}
