package graph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/internal/news"
	"github.com/graphgen-go/graphgen/runtime/internal/value"
)

// DueOptions says how Graph.ResumeDue runs a thread. The zero DueOptions
// retries every failure after a millisecond, without a bound.
type DueOptions struct {
	// Holder replaces the Holder of Compile in the *checkpoint.BusyError of other runs; empty
	// leaves it.
	Holder string
	// Retry decides when a thread that failed is due again. Attempts counts the runs in a row
	// that failed or died without a new result. If it is less than 1, there is no bound.
	Retry RetryPolicy
	// Drain ends the run after its current superstep once it is closed; nil never does.
	Drain <-chan struct{}
	// News asks for messages that come during the run. A worker has one for all its runs; nil is
	// that of the graph.
	News *news.Room
	// Opened is called when the run has taken the thread, with its fence. It may be nil.
	Opened func(fence checkpoint.ID)
	// Refused is called for each message that the run refused. It may be nil.
	Refused func(checkpoint.Refusal)
	// QueueSlot takes a free slot of a queue that the worker serves. The queue has a name of
	// QueueGraph. QueueSlot returns the function that frees the slot, or nil if none is free. The
	// run then executes a task of the queue itself, if that is the only task of its superstep. If
	// QueueSlot is nil, other workers execute all such tasks.
	QueueSlot func(queue string) (free func())
	// Late is called with true when the run cannot renew its lease in time, and with false when it
	// can again or has ended. It must return immediately, and may be nil.
	Late func(late bool)
}

// DueRun is the outcome of Graph.ResumeDue.
type DueRun struct {
	Opened   bool      // the run took the thread; else nothing ran
	Status   Status    // of the thread; zero if nothing ran because of an error
	Steps    int       // the number of supersteps that the run committed
	Attempts int       // runs in a row, including this one, that failed or died without a new result
	Wake     time.Time // when a thread that failed, or waits for a queue, is due again, on the saver's clock; zero for never
}

// AttemptsError reports that a thread was not resumed by a worker, because too many runs in a row
// failed or died without a new result. The thread is Failed and not due any more. Find the cause,
// then call Resume.
type AttemptsError struct {
	Graph    string
	Thread   string
	Attempts int    // the number of those runs
	Reason   string // why the newest of them failed; empty if it died
}

func (e *AttemptsError) Error() string {
	text := fmt.Sprintf("%s: %d runs in a row failed or died without a new result; find the cause, then call Resume",
		where(e.Graph, e.Thread, -1), e.Attempts)
	if e.Reason != "" {
		text += "; the newest: " + e.Reason
	}
	return text
}

// Serves returns the names under which saver stores threads of the graph: its name, and its
// FormerNames. It returns an error if the graph stores its threads in another saver.
func (g *Graph[S, U]) Serves(saver checkpoint.Saver) ([]string, error) { return g.core.serves(saver) }

// serves is Graph.Serves.
func (g *core) serves(saver checkpoint.Saver) ([]string, error) {
	switch {
	case g.opt.saver == nil:
		return nil, fmt.Errorf("graph: %s: %w; compile it with graph.Saver", g.name, ErrNoSaver)
	case value.Comparable(saver) && value.Comparable(g.opt.saver) && saver != g.opt.saver:
		return nil, fmt.Errorf("graph: %s stores its threads in another saver; compile it with the saver of the worker", g.name)
	}
	return append([]string{g.name}, g.opt.formerNames...), nil
}

// ResumeDue resumes a thread that Saver.Ready returned, on behalf of a worker. Package worker
// calls it; programs call Resume. It differs from Resume:
//
//   - A run that fails makes the thread due again after the pause of o.Retry.
//   - After o.Retry.Attempts runs without a new result the thread is Failed and not due any more.
//     The same holds for an error that o.Retry does not apply to, for a *MaxStepsError, and for
//     checkpoint.ErrTooLarge.
//   - A run that o.Drain or the end of ctx interrupts leaves the thread Ready and due now.
//   - A run that cannot store its end leaves the lease to run out.
//   - If nothing can run, the thread is not due any more. A stop is not cleared.
//
// Errors are those of Resume. If the run was opened, its error is also the reason that the thread
// stores.
func (g *Graph[S, U]) ResumeDue(ctx context.Context, found checkpoint.ReadyThread, o DueOptions) (DueRun, error) {
	return g.core.resumeDue(ctx, found, o)
}

// resumeDue is Graph.ResumeDue.
func (g *core) resumeDue(ctx context.Context, found checkpoint.ReadyThread, o DueOptions) (DueRun, error) {
	t := threadCore{g: g, id: found.ID}
	opts, err := t.calling(nil)
	if err != nil {
		return DueRun{}, err
	}
	d := &due{DueOptions: o}
	opts.due, opts.queueSlot = d, o.QueueSlot
	d.found, d.seen = &found, found.Posted
	switch {
	case found.Posted > 0: // messages may have come
	case found.Status == Done || found.Status == Cancelled:
		d.run.Status = found.Status
		return d.run, g.rewake(ctx, d)
	}
	res, err := t.drive(ctx, opts, driven{state: g.newState()})
	d.run.Status, d.run.Steps = res.Status, res.Steps
	var cancelled *CancelledError
	var saver *SaverError
	if errors.As(err, &cancelled) && !errors.As(err, &saver) {
		err = nil // the end that somebody asked for
	}
	if err == nil && !d.run.Opened {
		err = g.rewake(ctx, d)
	}
	return d.run, err
}

// rewake sets when a thread is due on which nothing could run. If another call or a message has
// made it due since then, that stands.
func (g *core) rewake(ctx context.Context, d *due) error {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.opt.saverTimeout)
	defer cancel()
	err := g.opt.saver.Rewake(call, checkpoint.Rewake{
		Thread: d.found.ID, Fence: d.found.Fence, Posted: d.seen, Birth: d.found.Birth, Wake: d.run.Wake,
	})
	if err == nil || errors.Is(err, checkpoint.ErrConflict) {
		return nil
	}
	return &SaverError{Graph: g.name, Thread: d.found.ID, Step: -1, Op: "rewake", Err: err}
}

// due is a run of a worker. Its methods do nothing for nil, which is a run that a person opened.
type due struct {
	DueOptions
	run   DueRun
	found *checkpoint.ReadyThread
	seen  uint64 // the newest message that was looked at

	fence checkpoint.ID // of the run, if it took the thread

	assumed bool // a try assumed that the thread has no checkpoint

	unfits map[uint64]error // messages with which the storage has refused an opening for its size
}

// unfit returns the error of an opening with a message, if the storage has refused it for its
// size.
func (d *due) unfit(number uint64) error {
	if d == nil {
		return nil
	}
	return d.unfits[number]
}

// posted returns the number of the newest message when the thread was found.
func (d *due) posted() uint64 {
	if d == nil {
		return 0
	}
	return d.found.Posted
}

// takeMail returns the messages that Saver.Ready has read, at the first try. c is what was loaded
// of the thread since, or empty. ok reports whether the messages are those of c: no run has opened
// the thread since, and no message has come.
func (d *due) takeMail(c *checkpoint.Chain) (all []checkpoint.Message, ok bool) {
	if d == nil || !d.found.HasMail {
		return nil, false
	}
	all = d.found.Mail
	d.found.Mail, d.found.HasMail = nil, false
	t := &c.Thread
	return all, c.Fence == d.found.Fence && (c.Empty() || t.Posted == d.found.Posted && t.Inputs+t.Others == len(all))
}

// configure makes the journal report late renewals of the lease, and refused messages, to the
// worker. A run that cannot store its end leaves the lease to run out.
func (d *due) configure(c *journal.Config) {
	if d == nil {
		return
	}
	c.Abandon, c.Late, c.Refused = true, d.Late, d.Refused
	if d.News != nil {
		c.Room = d.News
	}
}

// open sets the options of the opening.
func (d *due) open(o *checkpoint.Opening) {
	if d == nil {
		return
	}
	o.Retry, o.Birth = true, d.found.Birth
	if d.Holder != "" {
		o.Holder = d.Holder
	}
}

// opened notes that the run has taken the thread.
func (d *due) opened(fence checkpoint.ID) {
	if d == nil {
		return
	}
	d.run.Opened, d.fence = true, fence
	if d.Opened != nil {
		d.Opened(fence)
	}
}

// drains returns what ends the run after its current superstep.
func (d *due) drains(graph, thread *runs) drains {
	if d == nil {
		return drains{graph: graph, thread: thread}
	}
	return drains{graph: graph, thread: thread, worker: d.Drain}
}

// exhausted returns an *AttemptsError if the thread has had too many attempts, and nil otherwise.
func (d *due) exhausted(r *run) error {
	if d == nil || !d.run.Opened || r.status != 0 || d.Retry.Attempts < 1 {
		return nil
	}
	if n := r.log.Attempts(); n >= d.Retry.Attempts {
		return &AttemptsError{Graph: r.g.name, Thread: r.thread, Attempts: n, Reason: r.reason}
	}
	return nil
}

// again returns when the thread is due after its run has failed with an error and the given
// writes. A panic of the policy joins the error, and nothing is due.
func (d *due) again(r *run, cause error, writes []checkpoint.Write) (wake time.Time, _ error) {
	if d == nil {
		return wake, cause
	}
	d.run.Attempts, d.run.Wake = r.log.Attempts()+1, time.Time{}
	var exhausted *AttemptsError
	if errors.As(cause, &exhausted) {
		return wake, cause
	}
	if journal.Progress(writes) {
		d.run.Attempts = 1
	}
	pause, err := d.pause(cause)
	if err != nil {
		return wake, errors.Join(cause, fmt.Errorf("%s: the Retry of the worker: %w", where(r.g.name, r.thread, -1), err))
	}
	if pause > 0 {
		d.run.Wake = inbox.Earlier(r.log.Now().Add(pause), r.deadline)
	}
	return d.run.Wake, cause
}

// stopped reports whether the worker has interrupted the run, so that an error of a node does not
// count.
func (d *due) stopped(r *run, cause error) bool {
	var saver *SaverError
	return d != nil && r.ctx.Err() != nil && !errors.As(cause, &saver) && !tooLarge(cause)
}

// pause returns the pause before the next attempt, or 0 for no further attempt.
func (d *due) pause(cause error) (pause time.Duration, err error) {
	defer rescue(&err)
	p := exec.Retry(d.Retry)
	if tooLarge(cause) || p.If != nil && !p.If(cause) || p.Attempts > 0 && d.run.Attempts >= p.Attempts {
		return 0, nil
	}
	return max(p.Pause(d.run.Attempts+1, cause), time.Millisecond), nil
}

// deleted reports whether an opening failed because the thread that the worker found was deleted.
func (d *due) deleted(err error) bool {
	var conflict *checkpoint.ConflictError
	return d != nil && errors.As(err, &conflict) && conflict.Reason == "birth"
}

// ends reports whether a run writes its end although the outcome of its commit is unknown. A run
// of a worker leaves the lease to run out instead, so that the next run counts it as an attempt.
// With OnExit the end repeats the commit.
func (d *due) ends(r *run) bool {
	if d == nil || r.opt.durability == OnExit {
		return true
	}
	_ = r.log.Close()
	return false
}

// noteWake notes when the thread of a run that was not opened is due.
func (d *due) noteWake(r *run) {
	if d != nil && !d.run.Opened {
		d.run.Wake = wakeAfter(r, r.status)
		d.seen, _ = r.log.Seen()
	}
}
