package graph

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// SubmitOption is an option of Thread.Submit.
type SubmitOption interface{ submit(*runOptions) }

// RequestOption is an option of the calls with an input: Invoke, Stream and Submit.
type RequestOption interface {
	InvokeOption
	SubmitOption
}

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
// for. IfIdle, CancelPending and DiscardPending choose other policies. Input of Invoke does not
// wait for submitted input.
//
// An input is stored once for each request id: RequestID makes it safe to call Submit again when
// its outcome is unknown. The saver knows the id while the input waits, and for at least
// checkpoint.KeepTaken messages after it has begun.
//
// Submit makes one call of the saver, and reads nothing. It returns checkpoint.ErrInboxFull if
// too many inputs of the thread wait.
func (t Thread[S, U]) Submit(ctx context.Context, in U, opts ...SubmitOption) (Submitted, error) {
	post, err := poster[S, U]{t}.inputPost(in, opts)
	if err != nil {
		return Submitted{}, err
	}
	posted, err := poster[S, U]{t}.post(ctx, post)
	if err != nil {
		return Submitted{}, err
	}
	return submitted(&post, posted), nil
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
	posts := make([]checkpoint.Post, len(inputs))
	for i, in := range inputs {
		var err error
		if posts[i], err = g.InputPost(in); err != nil {
			return nil, err
		}
	}
	if len(posts) == 0 {
		return nil, nil
	}
	posted, err := g.post(ctx, posts)
	if err != nil {
		return nil, err
	}
	all, errs := make([]Submitted, len(posts)), []error(nil)
	for i := range posts {
		all[i].Thread = posts[i].Thread
		if posted[i].Err != nil {
			errs = append(errs, poster[S, U]{g.Thread(posts[i].Thread)}.postError(posted[i].Err))
			continue
		}
		all[i] = submitted(&posts[i], posted[i])
	}
	return all, errors.Join(errs...)
}

// InputPost returns the messages that Submit would store for in. It calls no saver. Use it to
// store an input later, or together with other data, by the Post of the saver.
func (g *Graph[S, U]) InputPost(in Submission[U]) (checkpoint.Post, error) {
	return poster[S, U]{g.Thread(in.Thread)}.inputPost(in.Input, in.Options)
}

// submitted returns the outcome of a Post of inputPost, which was not refused.
func submitted(p *checkpoint.Post, posted checkpoint.Posted) Submitted {
	last := len(p.Messages) - 1
	return Submitted{Thread: p.Thread, Request: p.Messages[last].ID, Known: posted.Messages[last].Known}
}

// poster posts messages to a thread.
type poster[S, U any] struct{ Thread[S, U] }

// inputPost returns the Post of an input, and of the cancel before it that CancelPending adds.
func (t poster[S, U]) inputPost(in U, opts []SubmitOption) (p checkpoint.Post, err error) {
	o, err := calling(t.Thread, opts, SubmitOption.submit)
	if err != nil {
		return p, err
	}
	if !t.at.IsZero() {
		return p, t.fail("input goes to the head of a thread; use UpdateState to continue from a checkpoint")
	}
	if o.idle && o.cancel != nil {
		return p, t.fail("IfIdle and CancelPending are two policies; choose one")
	}
	if o.request == "" {
		id, err := checkpoint.NewID()
		if err != nil {
			return p, t.fail("%w", err)
		}
		o.request = id.String()
	}
	update, err := appendUpdate(t.g.schema, &in)
	if err != nil {
		return p, t.fail("encode the input: %w", err)
	}
	payload := journal.AppendInput(nil, &journal.Input{
		Update: update, Discard: o.abandon, Title: o.title, Labels: o.labels, Metadata: o.metadata,
	})
	p = t.postOf(checkpoint.Message{ID: o.request, Kind: checkpoint.InputMessage, Payload: payload})
	if o.cancel != nil {
		first := checkpoint.Message{ID: cancelID(o.request), Kind: checkpoint.CancelMessage, Payload: []byte(*o.cancel)}
		p.Messages = append([]checkpoint.Message{first}, p.Messages...)
	}
	p.Idle, p.Title, p.Labels, p.Priority = o.idle, o.title, maps.Clone(o.labels), o.priority
	maps.DeleteFunc(p.Labels, func(_, value string) bool { return value == "" })
	return p, nil
}

// cancelID returns the id of the cancel before an input. It is a function of the request id, so that
// a Submit that is repeated stores one cancel.
func cancelID(request string) string {
	id := "cancel before " + request
	if len(id) > checkpoint.MaxMessageID {
		id = fmt.Sprintf("cancel before %x", sha256.Sum256([]byte(request)))
	}
	return id
}

// IfIdle makes Submit return checkpoint.ErrNotIdle, and store nothing, if the thread has work to
// do. A thread has none if no input waits, no run is in progress, and the thread does not exist,
// is Done or is Cancelled.
func IfIdle() SubmitOption {
	return singleRunOption("IfIdle", func(o *runOptions) { o.idle = true })
}

// CancelPending makes Submit cancel everything that the thread was asked before, and begin with
// the input. One act stores both. See Thread.Cancel for the effect and the reason. A reason of more
// than checkpoint.MaxReason bytes is an error.
func CancelPending(reason string) SubmitOption {
	return singleRunOption("CancelPending", func(o *runOptions) {
		if n := len(reason); n > checkpoint.MaxReason {
			o.fault("CancelPending has a reason of %d bytes, more than %d", n, checkpoint.MaxReason)
		}
		o.cancel = &reason
	})
}

// UniqueID returns an id that is the same for a key during one period, such as
// "report@2026-11-22T00:00:00Z". With a period of 0 it is the key alone.
//
// As a RequestID it makes inputs unique within a thread, for as long as the saver knows the id.
// As the id of a thread it makes them unique in a graph:
//
//	id := graph.UniqueID("report", 24*time.Hour, time.Now())
//	_, err := app.Thread(id).Submit(ctx, in, graph.RequestID(id))
//
// at is the time of the caller, on its own clock. Periods are multiples of the period since the
// zero time in UTC, so a period of 24 hours is a day in UTC. Two processes whose clocks differ
// can submit the same key twice at the border of two periods.
func UniqueID(key string, period time.Duration, at time.Time) string {
	if period <= 0 {
		return key
	}
	return key + "@" + at.UTC().Truncate(period).Format(time.RFC3339Nano)
}

// postOf returns a Post of one message to the thread.
func (t poster[S, U]) postOf(m checkpoint.Message) checkpoint.Post {
	return checkpoint.Post{Thread: t.id, Graph: t.g.name, Messages: []checkpoint.Message{m}}
}

// post stores one Post.
func (t poster[S, U]) post(ctx context.Context, p checkpoint.Post) (checkpoint.Posted, error) {
	posted, err := t.g.post(ctx, []checkpoint.Post{p})
	if err == nil {
		err = posted[0].Err
	}
	if err != nil {
		return checkpoint.Posted{}, t.postError(err)
	}
	return posted[0], nil
}

// post stores messages by one call of the saver.
func (g *Graph[S, U]) post(ctx context.Context, posts []checkpoint.Post) ([]checkpoint.Posted, error) {
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	posted, err := g.opt.saver.Post(call, posts...)
	for i := range posts {
		g.heads.drop(posts[i].Thread) // the next Invoke must know the number of the message
	}
	if err != nil {
		return nil, g.Thread(posts[0].Thread).readError(ctx, "post", err)
	}
	return posted, nil
}

// postError returns the error of a Post that the saver refused.
func (t poster[S, U]) postError(err error) error {
	var saver *SaverError
	switch {
	case errors.As(err, &saver):
		return err
	case errors.Is(err, checkpoint.ErrInboxFull):
		return t.fail("%w; submit again when it has been worked off", err)
	case errors.Is(err, checkpoint.ErrNotIdle):
		return t.fail("%w; leave IfIdle out to queue the input", err)
	}
	return t.saverError("post", err)
}
