package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Poster stores messages to threads. Every [Saver] is one. InTx of a SQL saver returns one that
// posts in a transaction of the caller.
type Poster interface {
	// Post stores messages in the inboxes of threads. See Inbox.
	Post(ctx context.Context, posts ...Post) ([]Posted, error)
}

// PostChanger is a Saver that changes messages before it posts them to another saver.
type PostChanger interface {
	Saver
	// Via returns a Poster that changes messages in the same way, and then posts them by p.
	Via(p Poster) Poster
}

// PostVia returns a Poster for the messages of s that posts them by p. It changes them as s does
// if s is a PostChanger.
func PostVia(s Saver, p Poster) Poster {
	if c, ok := s.(PostChanger); ok {
		return c.Via(p)
	}
	return p
}

// Inbox stores the messages of threads. Every [Saver] has one.
//
// Anybody may post to a thread at any time, also to one that a run holds, or that does not exist.
// Posts need no fence. The messages of a thread are numbered from 1, and a number is never used
// twice while the thread exists. A message is untaken until a write of a run takes or refuses it
// (see [Handled]). Then the saver keeps its id, but not the payload of a taken message. It keeps a
// reply in the place of that payload. A message
// that is posted again has no effect as long as its id is kept. The saver keeps the ids of at
// least the [KeepTaken] messages of a thread that were taken or refused last.
//
// Savers interpret only the Kind of a message.
type Inbox interface {
	// Post stores messages in the inboxes of threads. The result has one element for each of
	// posts. The messages of one Post are stored together or not at all, with numbers in
	// sequence. If one Post is refused, its Posted has an Err, and the others are stored.
	//
	// Post is idempotent by thread and message id. Messages that the thread has already change
	// nothing. The others of the Post are stored, and only they count for the limits. Post creates
	// a thread that does not exist, without a version.
	//
	// A new message makes the thread due now, except that a thread without an open version
	// becomes due only by an InputMessage or a WakeMessage. A thread that is due already keeps its
	// Wake. A thread with a live lease keeps its Wake too: it is due as soon as its run ends with
	// messages that the run has not seen.
	//
	// Post returns an error if the outcome of all posts is unknown, or if one of them is an
	// *InvalidError; then nothing is stored. If the outcome of some is unknown, because a part of
	// the storage did not answer, each of these has an Err that is ErrUnavailable.
	Post(ctx context.Context, posts ...Post) ([]Posted, error)

	// Mail returns the messages of one thread that q selects, in the order of their numbers. It
	// returns nil for a thread that does not exist. Nobody may modify the payloads.
	Mail(ctx context.Context, q MailQuery) ([]Message, error)

	// News returns the News of each thread, in the order of threads. That of a missing thread is
	// zero. It takes one round trip. If a part of the storage does not answer, the News of its
	// threads are zero, and the error is ErrPartial.
	News(ctx context.Context, threads []string) ([]News, error)
}

// News is the newest message and the newest run of a thread. If the News of a thread are the same
// as before, nobody has posted a message, and no run has begun, ended or replied. Compare them
// with ==.
type News struct {
	Posted  uint64 // the number of the newest message; 0 for none
	Version int    // of the open version; 0 if none is open
	Status  Status // of the open version; 0 if none is open
	Fence   ID     // the record that opened the newest run of the open version; zero for none
	Due     bool   // the thread has a Wake: it is due now or later
	Cancels int    // as in Thread
	Inputs  int    // as in Thread
	Replies uint64 // how many replies the thread has given; it only grows while the thread exists
}

// MessageKind is the kind of a message.
type MessageKind uint8

const (
	InputMessage  MessageKind = iota + 1 // the input of a run; belongs to the thread and outlives a release
	AnswerMessage                        // the answer to a question
	SignalMessage                        // an event for whichever task waits for its name
	CancelMessage                        // ends what was asked before it
	WakeMessage                          // uses a number but is not stored: it makes the thread due, and sets its Attempts to 0
)

// String returns "input", "answer", "signal", "cancel" or "wake".
func (k MessageKind) String() string {
	names := [...]string{"no kind", "input", "answer", "signal", "cancel", "wake"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown kind"
}

// Limits on messages and on the inbox of one thread.
const (
	MaxMessageID = 1 << 10 // bytes; also of the name and of the key of a message
	MaxReason    = 1 << 10 // bytes of the reason of a Refusal

	DefaultMaxInputs = 1000 // untaken inputs of one thread
	DefaultMaxOthers = 1000 // untaken answers, signals and cancels of one thread
	KeepTaken        = 1000 // taken and refused messages of one thread whose ids are kept
)

// Message is one message to a thread.
type Message struct {
	Number  uint64 // set by the saver
	ID      string // chosen by the sender, unique within the thread; 1 to MaxMessageID bytes
	Kind    MessageKind
	Name    string    // of a signal, or of the question that an answer is for
	Key     string    // of a signal with a key
	Payload []byte    // of a message that was taken: the reply to it, or nil for none
	Posted  time.Time // set by the saver, on its clock

	// Taken reports that a run took the message, and Refused is why one did not. A refused message
	// keeps its payload, and a taken one its reply, as long as its id is kept.
	Taken   bool
	Refused string
}

// Post is a set of messages for one thread, stored together.
type Post struct {
	Thread   string
	Messages []Message // at least one without Outcomes; Number, Posted, Taken and Refused are ignored

	// Outcomes are the outcomes of tasks that other processes run for the run that holds the
	// thread: pending writes of kind Outcome. Loads and openings return them with the other
	// pending writes, and a commit of the base retires them. They have no numbers, and count
	// towards no limit.
	//
	// An outcome with the same Namespace, Base, Task and Name that is stored already stays. An
	// outcome whose base is committed is not stored. If the open version has no record with the id
	// Base, the Post is refused with ErrNotFound. This is also the case if the version of the base
	// was released, or its thread deleted.
	//
	// A Post with Outcomes has no Messages, or one WakeMessage. The WakeMessage has an effect only
	// if an outcome is stored, the Status is Running, Waiting or Ready, and the Wake has not come.
	// Under a live lease, it sets a Wake later than the opening of the run to the time of that
	// opening. So of many outcomes, only the first that no run has seen changes the thread.
	Outcomes []Write

	// Idle refuses the Post with ErrNotIdle if the thread has untaken inputs, a live lease, or an
	// open version whose status is neither Done nor Cancelled. If the messages are stored already,
	// the Post succeeds.
	Idle bool

	// MaxInputs and MaxOthers limit the untaken messages of the thread: its Inputs and Others. A
	// Post that would exceed one of them is refused with ErrInboxFull. A CancelMessage counts as
	// one of the Others, but does not cause a refusal. Zero is DefaultMaxInputs and
	// DefaultMaxOthers.
	MaxInputs int
	MaxOthers int

	// These describe a thread that Post creates, as in Thread. If the thread exists, they are
	// ignored, except that a thread without a Graph gets it.
	Graph  string
	Title  string
	Labels map[string]string

	// Priority replaces the priority of the thread if a message is stored. Zero leaves it, and is
	// Normal for a new thread.
	Priority Priority
}

// Posted is the result of one Post.
type Posted struct {
	// Err is an error that is ErrInboxFull or ErrNotIdle, ErrNotFound for Outcomes, or an error of
	// this thread alone, such as ErrDamaged. Then nothing was stored, except that the outcome is
	// unknown if Err is ErrUnavailable.
	Err error
	// Messages has the Number of each message, in order; nil if Err is set. Known reports that the
	// id was posted before: the message was not stored, and Number is that of the earlier one. A
	// WakeMessage is never Known. Without an effect it has Number 0.
	Messages []PostedMessage
}

// PostedMessage is the result of one message of a Post.
type PostedMessage struct {
	Number uint64
	Known  bool
}

// MailQuery selects messages of one thread.
type MailQuery struct {
	Thread string
	After  uint64 // only messages with a greater number
	Limit  int    // the maximum number of messages; less than 1 is all
	// Handled selects the messages that were refused, and those with a reply, as long as they are
	// kept. It leaves out the untaken messages.
	Handled bool
	// ID selects the message with this id, whether it is untaken, taken or refused. Then the other
	// fields, except Thread, have no effect. Empty is any message.
	ID string
}

// Handled is what a write of a run does with the messages of its thread. The writes of a run take
// a message together with what it led to, so each message takes effect once.
type Handled struct {
	// Seen is the number of the newest message that the run knows. If the thread has a newer one
	// when the run ends, the thread is due immediately, whatever Wake says.
	Seen uint64
	// Take are the numbers of messages that take effect by this write. For an opening, each must
	// be untaken: see Saver.Append. For the other writes, which the fence guards, a number that
	// was taken or refused before, or that does not exist, has no effect.
	Take []uint64
	// Refuse are messages that cannot take effect. Numbers count as in Take.
	Refuse []Refusal
	// Return gives messages that were taken or refused back to the inbox, with their old numbers.
	// Savers find a message by its ID and Number, and store its Payload. Kind must be that of the
	// message, because a saver that encrypts binds the payload to it. A message that is untaken,
	// or whose id is no longer kept, stays as it is. Return precedes Take and Refuse of the same
	// write.
	Return []Message
	// Reply gives replies to messages that were taken before. Savers find a message as for Return,
	// and store the Payload, which must not be empty, in the place of an earlier reply. A message
	// that was not taken, whose id is no longer kept, or that the same write returns, gets none.
	// Reply precedes Return, Take and Refuse.
	Reply []Message
}

// Refusal says that a message cannot take effect, and why.
type Refusal struct {
	Number uint64
	Reason string // 1 to MaxReason bytes
}

// Errors of a Post. Test for them with errors.Is.
var (
	// ErrInboxFull is the error of a Post to a thread with too many untaken messages.
	ErrInboxFull = errors.New("the inbox is full")
	// ErrNotIdle is the error of a Post with Idle to a thread with work to do.
	ErrNotIdle = errors.New("the thread is not idle")
)

// Empty reports whether h changes no message.
func (h *Handled) Empty() bool {
	return len(h.Take) == 0 && len(h.Refuse) == 0 && len(h.Return) == 0 && len(h.Reply) == 0
}

// Replied reports whether m was taken, and its Payload is the reply to it.
func (m *Message) Replied() bool { return m.Taken && len(m.Payload) > 0 }

// Returns reports whether h gives the message with a number and an id back to the inbox.
func (h *Handled) Returns(number uint64, id string) bool {
	return slices.ContainsFunc(h.Return, func(m Message) bool { return m.Number == number && m.ID == id })
}

// Check returns an [*InvalidError] for the first value in p that no saver accepts, or nil.
func (p *Post) Check() error {
	if err := CheckThread(p.Thread); err != nil {
		return err
	}
	switch {
	case len(p.Messages) == 0 && len(p.Outcomes) == 0:
		return &InvalidError{"messages", "none", "at least one, or outcomes"}
	case len(p.Outcomes) > 0 && (len(p.Messages) > 1 || len(p.Messages) == 1 && p.Messages[0].Kind != WakeMessage):
		return &InvalidError{"messages", "other messages", "none or one WakeMessage, because of the outcomes"}
	case p.MaxInputs < 0:
		return &InvalidError{"MaxInputs", strconv.Itoa(p.MaxInputs), "zero for DefaultMaxInputs, or more"}
	case p.MaxOthers < 0:
		return &InvalidError{"MaxOthers", strconv.Itoa(p.MaxOthers), "zero for DefaultMaxOthers, or more"}
	}
	for i := range p.Outcomes {
		w := &p.Outcomes[i]
		err := w.check()
		if err == nil && w.Kind != Outcome {
			err = &InvalidError{"Kind", w.Kind.String(), "Outcome"}
		}
		if err != nil {
			err.Field = fmt.Sprintf("outcomes[%d].%s", i, err.Field)
			return err
		}
	}
	ids := make(map[string]bool, len(p.Messages))
	for i := range p.Messages {
		m := &p.Messages[i]
		if err := m.check(); err != nil {
			err.Field = fmt.Sprintf("messages[%d].%s", i, err.Field)
			return err
		}
		if ids[m.ID] {
			return &InvalidError{fmt.Sprintf("messages[%d].ID", i), quote(m.ID) + " a second time", "an id of its own"}
		}
		ids[m.ID] = true
	}
	if err := checkGraph("graph", p.Graph); err != nil {
		return err
	}
	return checkDescription("", p.Title, p.Labels, p.Priority)
}

// Check returns an [*InvalidError] for the first value in m that no saver accepts, or nil.
func (m *Message) Check() error {
	if n := len(m.Refused); n > MaxReason {
		return &InvalidError{"Refused", strconv.Itoa(n) + " bytes", fmt.Sprintf("at most %d", MaxReason)}
	}
	if err := m.check(); err != nil {
		return err
	}
	return nil
}

func (m *Message) check() *InvalidError {
	switch {
	case m.ID == "" || len(m.ID) > MaxMessageID:
		return &InvalidError{"ID", fmt.Sprintf("%s, %d bytes", quote(m.ID), len(m.ID)), fmt.Sprintf("1 to %d bytes", MaxMessageID)}
	case m.Kind < InputMessage || m.Kind > WakeMessage:
		return &InvalidError{"Kind", strconv.Itoa(int(m.Kind)), "InputMessage, AnswerMessage, SignalMessage, CancelMessage or WakeMessage"}
	case len(m.Name) > MaxMessageID:
		return &InvalidError{"Name", strconv.Itoa(len(m.Name)) + " bytes", fmt.Sprintf("at most %d", MaxMessageID)}
	case len(m.Key) > MaxMessageID:
		return &InvalidError{"Key", strconv.Itoa(len(m.Key)) + " bytes", fmt.Sprintf("at most %d", MaxMessageID)}
	}
	return nil
}

// Check returns an [*InvalidError] for the first value in q that no saver accepts, or nil.
func (q *MailQuery) Check() error { return CheckThread(q.Thread) }

// check returns an [*InvalidError] for the first value in h that no saver accepts, or nil.
func (h *Handled) check() error {
	for i, r := range h.Refuse {
		if r.Reason == "" || len(r.Reason) > MaxReason {
			return &InvalidError{fmt.Sprintf("refuse[%d].Reason", i), fmt.Sprintf("%d bytes", len(r.Reason)), fmt.Sprintf("1 to %d bytes", MaxReason)}
		}
	}
	for i := range h.Reply {
		if len(h.Reply[i].Payload) == 0 {
			return &InvalidError{fmt.Sprintf("reply[%d].Payload", i), "0 bytes", "at least 1 byte"}
		}
	}
	return nil
}
