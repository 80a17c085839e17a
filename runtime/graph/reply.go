package graph

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/concluded"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// A reply is stored as a part of the result of its task. The commit of the superstep gives it to
// the message, in the place of the payload. So the reply is seen only when the superstep has
// happened, and it is kept as long as the id of the message.

// ReplySignal is a signal whose receiver replies with a value of type R. Ask sends it and waits
// for the reply. Declare it once, as a variable, and pass it as an option to the nodes that
// receive it. A ReplySignal that Thread.Signal sends has a reply for which nobody waits. A graph
// with one runs with the durability Sync or Async.
type ReplySignal[T, R any] struct {
	Signal[T]
	reply codec[R]
}

// NewReplySignal declares a signal with a reply. The rules for its name, and for T and R, are
// those of NewSignal.
func NewReplySignal[T, R any, P wire.Generated[T], Q wire.Generated[R]](name string) ReplySignal[T, R] {
	return ReplySignal[T, R]{Signal: NewSignal[T, P](name), reply: codecOf[R, Q]()}
}

// Received is a signal that a node has received, and to which it can reply.
type Received[T, R any] struct {
	Value T      // the payload
	ID    string // that the sender gave by RequestID, or a random one

	signal  string
	reply   codec[R]
	message checkpoint.Message
}

// node adds the signal to those that a node may receive.
func (s ReplySignal[T, R]) node(o *nodeOptions) {
	s.Signal.node(o)
	added := &o.signals[len(o.signals)-1]
	added.replies = true
	added.shape = func() shape.Signal {
		return shape.Signal{Name: s.name, Payload: s.payload.shape(), Reply: s.reply.shape()}
	}
}

// Receive works like Signal.Receive. The node replies by Reply of the returned value.
func (s ReplySignal[T, R]) Receive(ctx context.Context, opts ...ReceiveOption) (Received[T, R], error) {
	v, m, err := s.take(ctx, opts)
	return Received[T, R]{Value: v, ID: inbox.RequestOf(m.ID), signal: s.name, reply: s.reply, message: m}, err
}

// Reply replies to the signal when the superstep of the node that runs under ctx commits. A later
// Reply to the same signal replaces an earlier one. Only a task whose result counts replies: an
// attempt that fails, waits or is cancelled, and a task that loses its race, do not.
//
// It returns ErrNoTask if no node runs under ctx. Reply is safe for concurrent use.
func (r Received[T, R]) Reply(ctx context.Context, v R) error {
	m := r.message
	var err error
	if m.Payload, err = r.reply.append([]byte{}, &v); err == nil {
		err = task.SetPart(ctx, journal.ReplyPart+strconv.FormatUint(m.Number, 10), string(journal.AppendSignal(nil, &m)))
	}
	if err != nil {
		return fmt.Errorf("graph: reply to signal %q: %w", r.signal, err)
	}
	return nil
}

// stepReplies returns the replies of the tasks of the superstep. The last one to a message counts.
func (r *run) stepReplies() (replies []checkpoint.Message, err error) {
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		if t.Progress != exec.Succeeded || len(t.Parts) == 0 {
			continue
		}
		of, err := journal.Replies(t.Parts)
		if err != nil {
			return nil, r.changed(err, "a reply")
		}
		replies = append(replies, of...)
	}
	if len(replies) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(replies, func(a, b checkpoint.Message) int { return cmp.Compare(a.Number, b.Number) })
	return replies, r.saving("put writes", r.log.WaitStored()) // a message must be taken before its reply
}

// NoReplyError is the error of Ask for a thread that has ended and has not replied.
type NoReplyError struct {
	Graph   string
	Thread  string
	Request string // the id of the message; Ask with this RequestID waits again
	Status  Status // of the thread: Done, Failed or Cancelled; zero if no version is open
	Waits   bool   // no task has received the message, which waits for the next input
}

func (e *NoReplyError) Error() string {
	what := "has not replied to"
	if e.Waits {
		what = "has not received"
	}
	return fmt.Sprintf("%s: the thread has ended (%v) and %s message %q; submit an input, and ask again with this request id",
		where(e.Graph, e.Thread, -1), e.Status, what, e.Request)
}

// AskedThread is a thread that Ask can ask. It is a Thread of any graph.
type AskedThread interface {
	ask(ctx context.Context, s SentSignal) (reply []byte, err error)
}

// Ask sends the signal to a thread, and waits for the reply of the node that receives it. Any
// process can call Ask. It runs nothing, so it needs a worker or another caller that runs the
// thread. The options are those of With.
//
// RequestID makes Ask idempotent: a second call with the id sends nothing, and returns the same
// reply. The reply is kept as long as the saver knows the id, see Thread.Signal. When ctx ends,
// Ask returns its error and the message stays, so a later call can wait for the reply.
//
// Ask returns a *NoReplyError if the thread is Done, Cancelled, or Failed with nothing left to
// retry. It returns a *RefusedError if a run has refused the message. A node that receives the
// message without a reply makes Ask wait until the thread ends. Other errors are those of
// Thread.Signal.
//
// Ask learns of a reply as Result learns of an end. It does so immediately if a run of the same
// Graph has replied or the saver is a checkpoint.Notifier. Otherwise it looks once per second, by
// one call of the saver for all threads for which callers of this Graph wait.
func (s ReplySignal[T, R]) Ask(ctx context.Context, thread AskedThread, v T, opts ...SignalOption) (reply R, err error) {
	b, err := thread.ask(ctx, s.With(v, opts...))
	if err != nil {
		return reply, err
	}
	if err := s.reply.decode(b, &reply); err != nil {
		return reply, fmt.Errorf("graph: the reply to signal %q: %w", s.name, payloadError(b, err))
	}
	return reply, nil
}

// Reply waits for the reply to a message, and returns it encoded. message is the id of the message
// that SignalPost has made, and that is posted. The errors are those of ReplySignal.Ask, and a
// *checkpoint.InvalidError without a message.
func (t Stored) Reply(ctx context.Context, message string) ([]byte, error) {
	if message == "" {
		return nil, &checkpoint.InvalidError{Field: "message", Found: "the empty id", Want: "the id of a posted message"}
	}
	g, err := t.core()
	if err != nil {
		return nil, err
	}
	return g.awaitReply(ctx, t.Ref.Thread, message)
}

// ask sends a signal, and returns the encoded reply.
func (t Thread[S, U]) ask(ctx context.Context, s SentSignal) (reply []byte, err error) {
	return threadMailer{t: t.thread}.ask(ctx, s)
}

// ask sends a signal, and returns the encoded reply.
func (m threadMailer) ask(ctx context.Context, s SentSignal) (reply []byte, err error) {
	post, err := m.signalPost([]SentSignal{s})
	if err == nil {
		_, err = m.post(ctx, post)
	}
	if err != nil {
		return nil, err
	}
	return m.t.g.awaitReply(ctx, m.t.id, post.Messages[0].ID)
}

// awaitReply waits for the reply to a message.
func (g *core) awaitReply(ctx context.Context, thread, id string) (reply []byte, err error) {
	err = g.watch(ctx, thread, func(ctx context.Context) (bool, error) {
		reply, err = g.replyTo(ctx, thread, id)
		return reply != nil, err
	})
	return reply, err
}

// replyTo returns the reply to a message; nil if there is none yet. It reads the thread before the
// message. So a thread that has ended does not reply any more.
func (g *core) replyTo(ctx context.Context, thread, id string) ([]byte, error) {
	n, err := g.newsOf(ctx, thread)
	if err != nil {
		return nil, err
	}
	found, err := g.mail(ctx, checkpoint.MailQuery{Thread: thread, ID: id})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: message %q: %w; the thread was deleted, or keeps newer messages only: ask again", where(g.name, thread, -1),
			inbox.RequestOf(id), checkpoint.ErrNotFound)
	}
	m := &found[0]
	switch {
	case m.Replied():
		return bytes.Clone(m.Payload), nil
	case m.Refused != "":
		return nil, &RefusedError{Graph: g.name, Thread: thread, Request: inbox.RequestOf(id), Reason: m.Refused}
	}
	f := concluded.Facts{Passed: n.Version == 0 && n.Inputs == 0, Queued: n.Inputs > 0, Status: n.Status, Wake: n.Due}
	if !f.Ended() {
		return nil, nil
	}
	return nil, &NoReplyError{Graph: g.name, Thread: thread, Request: inbox.RequestOf(id), Status: n.Status, Waits: !m.Taken}
}
