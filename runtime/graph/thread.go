package graph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/opening"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// Thread is a handle on a named sequence of runs: a small value without state or lock. Handles are
// safe for concurrent use, in any number of processes. The saver admits one run at a time.
type Thread[S, U any] struct {
	g      *Graph[S, U]
	thread threadCore
	edit   *U // an update that Resume merges first; nil for none
}

// threadCore is a Thread without the types of its state. Each package with a graph compiles the
// methods of Thread for its types, so they do only what needs the types.
type threadCore struct {
	g      *core
	id     string
	at     checkpoint.ID // zero is the head
	inside *inside       // for a subgraph call in the thread
	edited bool          // Resume merges an update first

	version int // a released one; 0 for the open one
}

// Thread returns a handle on the thread called id. It touches no storage: a thread begins with its
// first input. An id has 1 to checkpoint.MaxThread bytes. See ReservedPrefix for ids that begin
// with two underscores.
func (g *Graph[S, U]) Thread(id string) Thread[S, U] {
	return Thread[S, U]{g: g, thread: threadCore{g: g.untyped(), id: id}}
}

// At returns the thread as seen from one of its checkpoints. State reads that checkpoint, and
// Resume and UpdateState continue from it. The records that they append become the thread's head;
// nothing that is stored changes.
//
// State and History also read a checkpoint of a released version, such as the Head of a
// checkpoint.Version. They search one version after another, and Version reads one by its number.
// Resume and UpdateState return ErrReleased for such a checkpoint.
func (t Thread[S, U]) At(id checkpoint.ID) Thread[S, U] {
	t.thread.at = id
	return t
}

// Invoke merges in into the thread's state and runs the graph from Start, until nothing is due or
// the run stops. On an unfinished thread it returns ErrUnfinished, unless DiscardPending or
// RequestID apply. If another run holds the thread, it returns a *checkpoint.BusyError before any
// node runs.
//
// A run that waits returns a nil error, with the status Waiting: for an answer, a signal or a
// time. A pause of Retry that is longer than the lease is such a time, so a failed attempt is then
// no error.
//
// All other errors are those of Run, or a *SaverError. After any error, committed supersteps stay
// committed, and Resume continues from there.
func (t Thread[S, U]) Invoke(ctx context.Context, in U, opts ...InvokeOption) (Result[S], error) {
	a := newAdapter(t.g)
	a.input = &in
	res, err := t.thread.invoke(ctx, setting(opts, InvokeOption.invoke), driven{state: a, begins: true})
	return resultWith(res, a.shown), err
}

// Resume continues a thread that stopped or failed, or whose process died. Only tasks without a
// stored result run. If nothing is due, the status is Done: nothing runs and nothing is stored. If
// the thread waits for answers and none is given, nothing runs either.
//
// At an older checkpoint (see At), Resume is a replay. If the tasks that were due at the
// checkpoint have run, they run again, with new task keys. If the thread was forked before they
// ran, Resume continues the old branch, with its stored results, questions and keys.
//
// It returns checkpoint.ErrNotFound if the thread does not exist. It returns ErrGraphChanged if
// the thread needs nodes or fields that the code does not have. Other errors are those of Invoke.
func (t Thread[S, U]) Resume(ctx context.Context, opts ...ResumeOption) (Result[S], error) {
	a := newAdapter(t.g)
	a.setEdit(t.edit)
	res, err := t.thread.invoke(ctx, setting(opts, ResumeOption.resume), driven{state: a})
	return resultWith(res, a.shown), err
}

// driven is what a run of a thread gets from its caller.
type driven struct {
	state  typedState // with the input or the edits of the call
	begins bool       // the call has an input
	sink   sink       // nil for a call without events
}

// invoke is Thread.Invoke with the input of d, or Thread.Resume. The state of d then shows that of
// the result.
func (t threadCore) invoke(ctx context.Context, set func(*runOptions), d driven) (result, error) {
	o, err := t.calling(set)
	if err != nil {
		return result{}, err
	}
	if d.sink != nil {
		d.sink.choose(o.events)
	}
	return t.drive(ctx, o, d)
}

// drive is invoke with the options of a call.
func (t threadCore) drive(ctx context.Context, o runOptions, d driven) (res result, err error) {
	if d.begins {
		if err := mayBegin(t.g.name, t.id); err != nil {
			return res, err
		}
	}
	if o.own = t.g.runs.beginOn(t.id); o.own == nil {
		return res, t.fail("%w", ErrDraining)
	}
	defer t.g.runs.endOn(t.id, o.own)
	o.interceptors = t.g.opt.interceptors
	if !o.interceptors.runs() {
		return t.runStored(ctx, o, d)
	}
	info := RunInfo{Graph: t.g.name, Thread: t.id, Resume: !d.begins && o.due == nil, Worker: o.due != nil}
	err = o.interceptors.run(ctx, info, func(ctx context.Context) (_ Status, err error) {
		res, err = t.runStored(ctx, o, d)
		return res.Status, err
	})
	return res, err
}

// runStored is drive inside the interceptors of runs.
func (t threadCore) runStored(ctx context.Context, o runOptions, d driven) (res result, err error) {
	defer t.g.news.Changed(t.id)
	if o.metadata, err = t.g.opt.propagators.inject(ctx, o.metadata); err != nil {
		return res, t.fail("%w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	held, release := t.hold(ctx)
	defer release()
	var r *opener
	ended := false
	o.listen, o.box = &listener{g: t.g, thread: t.id}, new(mailbox)
	if !o.rehearse && t.g.queued {
		o.queues = t.g
	}
	defer o.listen.stop()
	defer func() {
		if ended || r == nil {
			return
		}
		if d.sink == nil || !d.sink.telling() { // a panic of the stream's consumer belongs to this goroutine, which is the consumer's own
			if v := recover(); v != nil {
				err = t.fail("%w", newPanic(v))
			}
		}
		r.run.abort(err) // also if the goroutine ends by Goexit
	}()
	lost := func(err error) { cancel(t.saverError("keep the lease", err)) }
	if t.g.uncut {
		lease, lose := context.WithCancelCause(context.WithoutCancel(ctx))
		defer lose(nil)
		o.lease = lease
		lost = func(err error) {
			err = t.saverError("keep the lease", err)
			lose(err)
			cancel(err)
		}
	}
	err = t.contend(ctx, o, busyOptions, func() error {
		if t.g.runs.stopping() || o.own.stopping() {
			return t.fail("%w", ErrDraining) // the drain began while the call waited for the thread
		}
		for o.due != nil {
			r = t.opener(held, o, d, lost)
			if err := r.open(opening.Due, checkpoint.ID{}); !r.dropUnfit(err) {
				return err
			}
		}
		if !d.begins {
			r = t.opener(held, o, d, lost)
			if done, err := t.resumeHot(r); done || err != nil {
				return err
			}
			return r.open(opening.Resume, t.at)
		}
		if !t.at.IsZero() {
			return t.fail("%w; use UpdateState to continue from a checkpoint", ErrNotHead)
		}
		if h := t.hot(o); h != nil {
			r = t.opener(held, o, d, lost)
			if err := r.openHot(h); !r.run.stale(err) {
				return err
			}
		}
		r = t.opener(held, o, d, lost)
		return r.busyWith(r.open(opening.Invoke, checkpoint.ID{}))
	})
	if err != nil {
		ended = true
		return res, err
	}
	if !d.begins && (!t.at.IsZero() || t.edited) {
		t.g.heads.drop(t.id) // the kept head is now stale
	}
	o.listen.start(held, cancel, r.olderThanRun())
	defer r.expire(cancel)()
	o.box.start(r)
	tell := r.run.watchers.run(held, r.run.plan.Step)
	listens := r.run.sink == nil || r.run.sink.take(r.run.feed().event(EventRunStarted, r.run.plan.Step))
	if r.entered {
		listens = r.run.publish()
	}
	switch exhausted := o.due.exhausted(r.run); {
	case exhausted != nil:
		err = r.run.giveUp(exhausted)
	case !listens && r.run.status == 0:
		err = r.run.giveUp(nil)
	default:
		err = apart(r.run)
	}
	err = errors.Join(err, r.run.tellCaller(ctx, err))
	r.run.feed().publishQuestions(r.run.plan.Step+1, waitingFor(r.run.asked()))
	ended = true
	o.due.noteWake(r.run)
	res = r.run.result()
	t.keep(r, err)
	if lost := (*SaverError)(nil); errors.As(err, &lost) {
		res.Status = Failed // the stored status is unknown
	}
	if r.run.health != sound {
		err = errors.Join(err, t.reload(ctx, d.state, &res))
	}
	tell(r.run.plan.Step, res.Status, err)
	return res, r.run.watchers.join(err)
}

// opener returns a run with the input of d, or a resume, that has not opened its thread. It calls
// lost if another run takes the thread.
func (t threadCore) opener(ctx context.Context, o runOptions, d driven, lost func(error)) *opener {
	d.state.restart(d.begins, o.strict)
	r := &run{
		g: t.g, thread: t.id, plan: plan.New(&t.g.plan, true), state: d.state, sink: d.sink, ctx: ctx, opt: o, drains: o.due.drains(&t.g.runs, o.own),
		watchers: watching(t.g, t.id),
	}
	r.opt.beats = &r.notes
	o.stopAt.addTo(&r.plan)
	r.init()
	var tail *journal.Tail
	if d.begins {
		tail = t.g.newTail()
	}
	kept := func(step int, err error) { // the writer calls it, alongside the run
		r.watchers.unpruned(ctx, step, &SaverError{Graph: t.g.name, Thread: t.id, Step: step, Op: "prune", Err: err})
	}
	r.log = t.g.journal(t.id, r.opt, tail, lost, kept)
	return &opener{run: r, tail: tail, edited: t.edited && !d.begins}
}

// journal returns the Writer of a run that has not opened its thread. It calls kept with the
// errors of its Prunes.
func (g *core) journal(
	thread string, o runOptions, tail *journal.Tail, lost func(error), kept func(step int, err error),
) *journal.Writer {
	c := journal.Config{
		Saver: g.opt.saver, ThreadID: thread, Lease: g.opt.lease, Timeout: g.opt.saverTimeout, Release: g.opt.releaseOnDone,
		Tail: tail, Lost: lost, Panicked: func(v any) error { return newPanic(v) }, Room: g.news,
		Keep: g.opt.keep, Kept: kept,
	}
	o.due.configure(&c)
	o.listen.configure(&c)
	if o.durability != OnExit {
		c.Beats = o.beats
	}
	switch o.durability {
	case Async:
		return journal.NewWriter(journal.NewAsync(c))
	case OnExit:
		return journal.NewWriter(journal.NewOnExit(c))
	}
	return journal.NewWriter(journal.NewSync(c))
}

// busyOptions are the options of most calls for a thread that another run holds.
const busyOptions = "graph.Wait or graph.TakeOver"

// openings is how often a call without Wait loads the thread again after another call was faster.
const openings = 8

// contend calls open until open succeeds, or fails for another reason than a faster call. With
// Wait it also waits while another run holds the thread or the server is unavailable. It ends with
// ctx. The error of a thread that is held names options, those of the call against that.
func (t threadCore) contend(ctx context.Context, o runOptions, options string, open func() error) error {
	if err := t.reenters(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return stoppedBy(ctx, where(t.g.name, t.id, -1))
	}
	pause := 5 * time.Millisecond
	for try := 1; ; try++ {
		err := open()
		var busy *checkpoint.BusyError
		switch {
		case errors.As(err, &busy):
			switch {
			case o.wait:
			case o.due != nil:
				return err
			default:
				return fmt.Errorf("%w, or pass %s", err, options)
			}
		case errors.Is(err, checkpoint.ErrConflict) && o.ifHead.IsZero():
			if overtaken(err) {
				return err // the opening is stored, perhaps with an input
			}
			if !o.wait && try >= openings || o.due.deleted(err) {
				return err
			}
		case o.wait && ctx.Err() == nil && passing(err):
		default:
			return err
		}
		// Without jitter, calls that collided once would collide again at every try.
		if !exec.Rest(ctx, pause/2+rand.N(pause)) {
			return errors.Join(ctx.Err(), err)
		}
		pause = min(2*pause, 500*time.Millisecond)
	}
}

// overtaken reports whether another run has taken the thread after the opening was stored. See
// checkpoint.Saver.Append.
func overtaken(err error) bool {
	var conflict *checkpoint.ConflictError
	return errors.As(err, &conflict) && conflict.Reason == "fence"
}

// passing reports whether a saver failed for a reason that may be gone at the next call.
func passing(err error) bool {
	var saver *SaverError
	return errors.As(err, &saver) && (errors.Is(err, checkpoint.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded))
}

// Release closes the thread's open version and returns it. Its checkpoints stay readable by At,
// and the next input starts with an empty state. It returns a *checkpoint.BusyError if a run holds
// the thread, and checkpoint.ErrNotFound if no version is open.
//
// If tasks are due, Release also stores the results of those that have finished, as a last
// checkpoint with the status Cancelled. Snapshot.Dropped of that checkpoint names the others. An
// error of State, such as ErrGraphChanged, then releases nothing. Saver.Release and graphctl read
// no state, so they keep no results.
func (t Thread[S, U]) Release(ctx context.Context, opts ...ReleaseOption) (v checkpoint.Version, err error) {
	return t.thread.release(ctx, setting(opts, ReleaseOption.release))
}

// release is Thread.Release.
func (t threadCore) release(ctx context.Context, set func(*runOptions)) (v checkpoint.Version, err error) {
	o, err := t.calling(set)
	if err != nil {
		return v, err
	}
	var head checkpoint.ID // of the released version, once it is released with what its tasks have finished
	err = t.contend(ctx, o, "graph.Wait", func() error {
		var err error
		if head.IsZero() {
			head, err = t.releaseFinished(ctx, o)
		}
		switch {
		case err != nil:
		case !head.IsZero():
			v, err = t.releasedVersion(ctx, head)
		default:
			call, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.g.opt.saverTimeout)
			defer cancel()
			v, err = t.g.opt.saver.Release(call, t.id, o.ifHead)
			err = t.saverError("release", err)
		}
		if err == nil {
			t.g.heads.drop(t.id)
		}
		return err
	})
	return v, err
}

// releaseFinished releases the version if its due tasks have finished something, and stores that
// in the same write. It returns the head of the released version; zero if it released nothing.
func (t threadCore) releaseFinished(ctx context.Context, o runOptions) (head checkpoint.ID, err error) {
	row, err := loadChain(ctx, t.g, t.g.opt.saver, checkpoint.Ref{Thread: t.id, Namespace: checkpoint.NoCall})
	if err != nil || row.Version == 0 || row.Thread.Holder != "" {
		return head, err
	}
	r := t.newOpening(ctx, o, t.g.newState())
	if untoldEnd(&row.Thread) {
		if err := r.tellReleased(); err != nil {
			return head, err
		}
	}
	if row.Thread.Status == Done {
		return head, nil
	}
	err = r.openReleased()
	return r.run.fence, err
}

// releasedVersion returns the released version with a head.
func (t threadCore) releasedVersion(ctx context.Context, head checkpoint.ID) (checkpoint.Version, error) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.g.opt.saverTimeout)
	defer cancel()
	versions, err := t.g.opt.saver.Versions(call, t.id)
	if err != nil {
		return checkpoint.Version{}, t.saverError("load", err)
	}
	for _, v := range slices.Backward(versions) {
		if v.Head == head {
			return v, nil
		}
	}
	return checkpoint.Version{}, t.saverError("load", checkpoint.ErrNotFound)
}

// usable returns an error unless the thread can be used at all.
func (t threadCore) usable() error {
	if t.g == nil {
		return fmt.Errorf("graph: a zero Thread: %w; make it by Graph.Thread", ErrNotCompiled)
	}
	if len(t.g.nodes) == 0 {
		return t.fail("%w; make it by Compile", ErrNotCompiled)
	}
	if t.saver() == nil {
		return t.fail("%w; compile it with graph.Saver, or use Run", ErrNoSaver)
	}
	return nil
}

// calling returns the options of a call on t, which must not be inside a subgraph. set may be nil.
func (t threadCore) calling(set func(*runOptions)) (runOptions, error) {
	if err := t.usable(); err != nil {
		return runOptions{}, err
	}
	if t.inside != nil {
		return runOptions{}, t.fail("%w: resume, fork and release the thread itself", ErrInside)
	}
	return t.options(set)
}

// options returns the options of a call on t, which may be inside a subgraph: the limits of the
// graph, overridden by those of set. It returns an error for options that are wrong or do not fit
// the graph.
func (t threadCore) options(set func(*runOptions)) (runOptions, error) {
	o, err := running(t.g.opt.limits, set)
	o.strict = t.g.opt.strict
	if err == nil {
		err = t.g.numberStops(&o)
	}
	if err == nil {
		err = checkDurability(t.g, &o)
	}
	if err != nil {
		return o, t.fail("%w", err)
	}
	return o, nil
}

// fail begins an error of a call on a thread.
func (t threadCore) fail(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{where(t.g.name, t.id, -1)}, args...)...)
}

// readError is saverError for a call that ends with ctx, which is then not the saver's fault.
func (t threadCore) readError(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return stoppedBy(ctx, where(t.g.name, t.id, -1))
	}
	return t.saverError(op, err)
}

// saverError wraps an error of the saver.
func (t threadCore) saverError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &SaverError{Graph: t.g.name, Thread: t.id, Step: -1, Op: op, Err: err}
}
