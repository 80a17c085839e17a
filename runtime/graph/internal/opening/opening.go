// Package opening decides what a call does with its thread: begin with an input, continue the due
// tasks, only store decisions about messages, or nothing.
//
// The caller asks [Facts.Next] for the next step. It performs the step, and adds to the Facts what
// a step that reads has found. The last step is the decision.
//
// Invariants:
//   - The package does no I/O, and knows neither states nor graphs.
//   - Each step that reads comes at most once.
//   - The decision depends only on the fields of Facts.
//   - A call reads no messages that cannot change its decision.
package opening

import "github.com/graphgen-go/graphgen/runtime/checkpoint"

// Kind is the kind of a call.
type Kind uint8

// The kinds of calls.
const (
	Invoke Kind = iota // with an input
	Resume             // by a person
	Due                // by a worker
)

// Request is what the caller asks for.
type Request struct {
	Kind     Kind
	Named    bool // its input has a request id
	Discard  bool // it drops the due tasks
	TakeOver bool // it opens a thread that another run holds
	Edit     bool // it begins with an edit
	Rehearse bool // it passes stops
}

// Head is the checkpoint at which the call opens the thread, as far as it matters.
type Head struct {
	Empty     bool // the thread has no checkpoint
	Due       bool // something is due there
	Committed bool // the tasks that were due there have run
	Newest    bool // it is the newest record of the thread
	Leased    bool // another run has the lease
	Mail      bool // messages wait
	Late      bool // the deadline of what is due has passed
	Status    checkpoint.Status
}

// idle reports whether an input can begin without dropping tasks.
func (h *Head) idle() bool { return !h.Due || h.Late || h.Status == checkpoint.Cancelled }

// Facts is what the call knows. Set Request first, and the other fields after the moves that name
// them.
type Facts struct {
	Request Request
	Head    Head // Load
	Same    bool // Compare: the newest input is that of the call
	Cancel  bool // ReadMail: a cancel waits
	Ends    bool // Judge: it ends the due tasks
	Input   bool // Pick: an input waits that can begin
	Drops   bool // Pick: that input drops the due tasks
	Noted   bool // Refuse: the opening takes or refuses messages

	done [Begin]bool // the moves that Next has returned
}

// Move is what the call does next.
type Move uint8

// The moves that read, and the decisions.
const (
	Load     Move = iota // read the head
	Compare              // read the newest input, and compare it with that of the call
	ReadMail             // read the messages
	ReadPast             // read the messages for a run line that takes no input from the inbox
	Judge                // obey the cancels
	Pick                 // choose the oldest input that can begin
	Refuse               // refuse the messages that cannot count on an idle thread

	Begin      // begin with the input of the call
	BeginMail  // begin with the input that Pick has chosen
	Continue   // continue the due tasks, or edit a thread on which nothing is due
	Replay     // run the tasks of an older checkpoint again; with an edit it is a fork
	End        // end the thread as cancelled
	Note       // store the decisions about messages, with the status that the thread has
	Seed       // begin a thread whose inputs were cancelled
	Stay       // do not open the thread
	Busy       // return an error: another run has the thread
	Unfinished // return an error: the input would drop due tasks
	Missing    // return an error: there is nothing to continue

	// After Continue, see Waiting:

	Run   // run the due tasks
	Wait  // store what has come, and end as waiting
	Pause // store what has come, and end as paused
)

// Next returns the next move.
func (f *Facts) Next() Move {
	s := f.next()
	if s < Begin {
		f.done[s] = true
	}
	return s
}

// next is Next without the note that the move was returned.
func (f *Facts) next() Move {
	h, c := &f.Head, &f.Request
	switch {
	case !f.done[Load]:
		return Load
	case c.Kind == Invoke && c.Named && !h.Empty && !f.done[Compare]:
		return Compare
	case c.Kind == Invoke && !f.Same:
		return f.begin()
	case c.Kind == Resume && h.Empty:
		return Missing
	case c.Kind == Resume && (h.Committed || c.Edit && !h.Newest):
		return Replay
	case !f.done[ReadMail]:
		return ReadMail
	case f.Cancel && !f.done[Judge]:
		return Judge
	case f.Ends || h.Late:
		return End
	case c.Kind == Due:
		return f.due()
	}
	return Continue
}

// begin returns the next step of a call with an input that the thread does not have.
func (f *Facts) begin() Move {
	h, c := &f.Head, &f.Request
	switch {
	case h.idle() || c.Discard:
	case h.Leased && !c.TakeOver:
		return Busy
	default:
		return Unfinished
	}
	if h.Mail && !f.done[ReadPast] {
		return ReadPast
	}
	return Begin
}

// due returns the next step of a worker when no cancel ends the due tasks.
func (f *Facts) due() Move {
	h := &f.Head
	switch {
	case !f.done[Pick]:
		return Pick
	case f.Input && (f.Drops || h.idle()):
		return BeginMail
	case !h.idle():
		if h.Status == checkpoint.Paused && !f.Request.Rehearse {
			return Stay
		}
		return Continue
	case !f.done[Refuse]:
		return Refuse
	case !f.Noted:
		return Stay
	case h.Empty:
		return Seed
	}
	return Note
}

// Waiting is what the call knows of the due tasks that it continues, before it opens the thread.
type Waiting struct {
	Held   bool // no task can run before an answer, a signal or a time
	Stops  bool // a stop holds the tasks
	Writes bool // the opening has answers to store
	Edited bool // the opening has an edit to store
	Noted  bool // the opening takes, refuses or returns messages
	Listed bool // the thread has the status waiting, or its tasks are on a branch that was left
}

// Next returns the decision: Run, Wait or Pause, or Stay if there is nothing to store.
func (w *Waiting) Next() Move {
	switch {
	case w.Held && !w.Writes && !w.Edited && !w.Noted && w.Listed:
		return Stay
	case w.Held:
		return Wait
	case w.Stops:
		return Pause
	}
	return Run
}
