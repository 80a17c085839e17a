package graph

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// Signal is an event from outside, with a payload of type T. Declare it once, as a variable. Nodes
// list it among their options and call Receive. Thread.Signal sends it.
type Signal[T any] struct {
	name    string
	payload codec[T]
}

// NewSignal declares a signal. Its name is stored with each message. The name must stay the same
// as long as messages and threads wait, and differ from the names of the graph's other signals. T
// needs a codec: mark it //graphgen:payload, or use wire.String, wire.Bool or wire.Int.
func NewSignal[T any, P wire.Generated[T]](name string) Signal[T] {
	return Signal[T]{name: name, payload: codecOf[T, P]()}
}

// receivable is a signal in the options of a node.
type receivable struct {
	name  string
	shape func() shape.Signal
	check func(payload []byte) error

	replies bool // its receiver replies
}

// node adds the signal to those that a node may receive.
func (s Signal[T]) node(o *nodeOptions) {
	o.signals = append(o.signals, receivable{
		name:  s.name,
		shape: func() shape.Signal { return shape.Signal{Name: s.name, Payload: s.payload.shape()} },
		check: func(b []byte) error { return s.payload.decode(b, new(T)) },
	})
}

// Receive returns the oldest signal of the thread that no task has received, on behalf of the node
// that runs under ctx. A signal that was sent before the node began counts, too. If there is none,
// Receive returns ErrWaiting, and the node must return, as with Ask. The node runs again from its
// start when a signal has come. A node that runs again receives the same signals.
//
// All nodes of a thread share its signals, also those in subgraphs, and each signal is received
// once. That is stored before Receive returns; with OnExit it is stored when the run ends. If
// several tasks wait for one signal, the first in task order gets it. If a task loses its race,
// the signals that it has received go back. A replay or a fork receives other signals.
//
// Receive takes only signals without a key, and with For only those with that key. A node that
// receives several signals must do so in the same order each time it runs: the n-th call gets the
// n-th signal. Calls for different keys need no order.
//
// With ExpireAfter, Receive returns ErrExpired if no signal was sent in time. A signal that was
// sent in time counts, however late the node runs again.
//
// It returns ErrNotAskable if the node does not list the signal, or if the run has no thread. The
// same error is returned if ctx is not the context of a node.
func (s Signal[T]) Receive(ctx context.Context, opts ...ReceiveOption) (T, error) {
	v, _, err := s.take(ctx, opts)
	return v, err
}

// take is Receive. It also returns the message.
func (s Signal[T]) take(ctx context.Context, opts []ReceiveOption) (v T, m checkpoint.Message, err error) {
	o, err := waiting(opts, ReceiveOption.receive)
	if err != nil {
		return v, m, fmt.Errorf("graph: signal %q: %w", s.name, err)
	}
	b, err := task.Receive(ctx, s.name, o.key, o.expire)
	if err != nil {
		return v, m, err
	}
	if m, err = journal.ReadSignal(b); err != nil {
		return v, m, fmt.Errorf("graph: the stored signal %q: %w: %w", s.name, checkpoint.ErrDamaged, err)
	}
	if err := s.payload.decode(m.Payload, &v); err != nil {
		return v, m, fmt.Errorf("graph: signal %q: %w", s.name, payloadError(m.Payload, err))
	}
	return v, m, nil
}

// With returns the signal with payload v, for Thread.Signal.
func (s Signal[T]) With(v T, opts ...SignalOption) SentSignal {
	sent := encodedSignal(s.name, nil, opts)
	if sent.err != nil {
		return sent
	}
	var err error
	if sent.payload, err = s.payload.append([]byte{}, &v); err != nil {
		sent.err = fmt.Errorf("signal %q: %w", s.name, err)
	}
	return sent
}

func checkKey(key string) error {
	if len(key) > checkpoint.MaxMessageID {
		return fmt.Errorf("its key has %d bytes, more than %d", len(key), checkpoint.MaxMessageID)
	}
	return nil
}

// SentSignal is a signal with its payload, made by Signal.With.
type SentSignal struct {
	name, key, id string
	payload       []byte
	err           error
}

// Encoded returns the key and the name of the signal, and its encoded payload. It is for tests of
// nodes, such as those of package graphtest.
func (s SentSignal) Encoded() (key, signal string, payload []byte, err error) {
	return s.key, s.name, s.payload, s.err
}

// SignalOption is an option of Signal.With.
type SignalOption interface{ signal(*runOptions) }

// For gives a signal a key, such as the number of an order. Only a Receive with the same key takes
// the signal.
func For(key string) interface {
	SignalOption
	ReceiveOption
} {
	return keyOption(key)
}

// keyOption is the key of a signal that is sent or received.
type keyOption string

func (k keyOption) signal(o *runOptions) {
	o.given.set("For")
	o.key = string(k)
}

func (k keyOption) receive(o *waitOptions) {
	o.given.set("For")
	o.key = string(k)
}

// Signal sends signals to the thread, and returns. The thread need not exist, and need not wait
// for them. The signals wait until a task receives them, or the version of the thread is released.
// If the thread waits for a signal, it is due now: a worker resumes it. The next Resume receives
// the signal, too.
//
// RequestID makes it safe to send a signal again when the outcome is unknown: each id is stored
// once. The saver knows the id while the signal waits, and for at least checkpoint.KeepTaken
// messages after it was received.
//
// Signal makes one call of the saver, and stores all signals or none. It returns
// ErrNotReceivable if no node of the graph lists a signal, and checkpoint.ErrInboxFull if too many
// messages of the thread wait.
func (t Thread[S, U]) Signal(ctx context.Context, signals ...SentSignal) error {
	return threadMailer{t: t.thread}.signal(ctx, signals)
}

// signalPost returns the Post of signals.
func (m threadMailer) signalPost(signals []SentSignal) (p checkpoint.Post, err error) {
	t := m.t
	if _, err := t.calling(nil); err != nil {
		return p, err
	}
	p = checkpoint.Post{Thread: t.id, Graph: t.g.name}
	for _, s := range signals {
		if s.err != nil {
			return p, t.fail("%w", s.err)
		}
		if !t.g.signals[s.name] {
			return p, t.fail("signal %q: %w; pass the signal as an option of the node that receives it", s.name, ErrNotReceivable)
		}
		message, err := signalMessage(s)
		if err != nil {
			return p, t.fail("%w", err)
		}
		p.Messages = append(p.Messages, message)
	}
	return p, nil
}

// OpenSignal is a signal that a task of a thread waits for.
type OpenSignal struct {
	Signal  string        // its name
	Key     string        // of For; empty for none
	Path    []PathElement // the subgraph calls around Node, outermost first; nil for a node of the graph itself
	Node    ID            // the node that receives it
	Index   int           // number of the send that the task runs, else 0
	Summary string        // that the task gave Summary; empty for none
	Expires time.Time     // when ExpireAfter ends the wait, on the saver's clock; zero for never
	// Child reports that the task waits for the end of a child. Then Signal is the name of the
	// graph, and Key the id of the thread.
	Child bool
}

// String returns "paid for order-7 at sub/ship until 2026-01-02T15:04:05Z" for logs.
func (s OpenSignal) String() string {
	var b strings.Builder
	switch {
	case s.Child:
		b.WriteString("child " + s.Key)
	case s.Key != "":
		b.WriteString(s.Signal + " for " + s.Key)
	default:
		b.WriteString(s.Signal)
	}
	b.WriteString(" at " + OpenQuestion{Path: s.Path, Node: s.Node, Index: s.Index, Summary: s.Summary}.place())
	if !s.Expires.IsZero() {
		b.WriteString(" until " + s.Expires.UTC().Format(time.RFC3339Nano))
	}
	return b.String()
}

// OpenSignals returns the signals that the tasks of a thread wait for, and the ends of children.
// Threads of a saver lists the thread. OpenSignals leaves out what OpenQuestions does.
func OpenSignals(t checkpoint.Thread) ([]OpenSignal, error) { return signalsIn(inbox.Listed(&t)) }

// signalsIn reads the receives among the writes of questions.
func signalsIn(writes []checkpoint.Write) ([]OpenSignal, error) {
	return readEach(writes, "receive", task.IsSignal, func(_ string, q *journal.Question) OpenSignal {
		name, _ := task.SignalOf(q.Name)
		key := string(q.Payload)
		graph, _, child := task.ChildOf(name)
		if child {
			name, key = graph, childThread(key)
		}
		return OpenSignal{
			Child: child, Signal: name, Key: key, Path: pathOf(q.Path), Node: ID(q.Node), Index: q.Index, Summary: q.Summary, Expires: q.Due,
		}
	})
}
