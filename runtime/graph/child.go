package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// A child is a thread that a task has begun by Child. Its input carries the name of the task, the
// caller. Every checkpoint of the run line has that as metadata. When the line has ended, the run
// sends a signal to the thread of the caller, as whose answer the task gets the end.
//
// The signal follows the write that ends the run, so that it never reports an end that is not
// stored. That write makes the child due after a lease. If the process dies before it has sent the
// signal, a worker finds the child and sends it. Then the child is due no more.

// ChildError is the error of Child if the child has failed or was cancelled.
type ChildError struct {
	Graph  string // of the child
	Thread string // its id
	Status Status // Failed or Cancelled
	Reason string // the text of its error, or of the cancel
}

func (e *ChildError) Error() string {
	return fmt.Sprintf("%s: %v: %s", where(e.Graph, e.Thread, -1), e.Status, e.Reason)
}

// ChildOption is an option of Child: Title, Label, Priority, ExecutionTimeout or Abandon.
type ChildOption interface{ child(*runOptions) }

func (f runOption) child(o *runOptions) { f(o) }

// Abandon leaves a child to itself when its caller ends before it. Without Abandon, such a child
// is cancelled, as by Thread.Cancel.
func Abandon() ChildOption {
	return singleRunOption("Abandon", func(o *runOptions) { o.leaveChild = true })
}

// ParentLabel is the label of a child with the id of the thread that has begun it. The label is
// missing if that id is longer than checkpoint.MaxLabelValue.
const ParentLabel = ReservedPrefix + "parent"

// Metadata and labels by which a child and its caller know each other.
const (
	callerKey   = ReservedPrefix + "caller" // metadata: the caller, in JSON
	calledLabel = ReservedPrefix + "call"   // the name of the call
)

// Child submits in to a thread of another graph, and returns the state of that thread when it is
// Done. It acts on behalf of the node that runs under ctx. The thread is an ordinary one: it has
// its own id, versions, labels, retention and workers.
//
// Until the child has ended, Child returns ErrWaiting, and the node must return, as with Ask. The
// node runs again from its start when the child has ended. The thread that waits holds nothing. A
// node can begin several children and then return ErrWaiting.
//
// The child begins once for each task and id. A later attempt of the task, or a run after a crash,
// waits for the same child, and gets the same result. If the thread exists and something else has
// begun it, Child returns ErrChildExists. So a node in a loop, and a replay, need an id of their
// own for each call. An empty id stands for one that is made from the Key of the task and the name
// of g. A task can have one such child of g.
//
// If the child has Failed and has no retries left, or is Cancelled, the error is a *ChildError
// with the reason. If the thread of the node is cancelled, or another input takes the place of the
// task, the child is cancelled, too; see Abandon. Do not delete or release a child before its end,
// because the node then waits for ever: cancel it instead. A crash can delay the report of an end.
// Thread.Release makes that report. A deletion and Saver.Release lose it.
//
// g must be compiled with the saver of the thread, and have workers. Untracked fields of the
// returned state are zero. Child returns ErrNotAskable if the run has no thread, or if ctx is not
// the context of a node. It makes three calls of the saver when it begins a child, and none
// when it returns a result.
func Child[S, U any](ctx context.Context, g *Graph[S, U], id string, in U, opts ...ChildOption) (state S, err error) {
	a := newAdapter(g)
	a.input = &in
	c, end, err := childOf(ctx, &g.core, id, a, setting(opts, ChildOption.child))
	if err != nil {
		return state, err
	}
	err = c.readEnd(a, end)
	return a.shown, err
}

// ChildInput is one child of Children.
type ChildInput[U any] struct {
	ID    string // of its thread; see Child for an empty one
	Input U
}

// Children calls Child for each of inputs, and returns ErrWaiting until all children have ended.
// Then it returns their states in the order of inputs. A child that was not Done has a zero state,
// and its error is joined to the others. At most limit children are unfinished at a time; 0 is no
// limit. Another error of a child, such as ErrChildExists, is returned immediately. opts apply to
// all.
//
// The node runs again each time when children have ended. It then compares only their number, and
// decodes their states at the end.
func Children[S, U any](
	ctx context.Context, g *Graph[S, U], limit int, inputs []ChildInput[U], opts ...ChildOption,
) (states []S, err error) {
	if limit < 0 {
		return nil, fmt.Errorf("graph: Children: the limit is %d; want 0 for none, or more", limit)
	}
	waiting := 0
	a, set := newAdapter(g), setting(opts, ChildOption.child)
	children, ends := make([]threadCore, len(inputs)), make([][]byte, len(inputs))
	for i := range inputs {
		a.input = &inputs[i].Input
		children[i], ends[i], err = childOf(ctx, &g.core, inputs[i].ID, a, set)
		if errors.Is(err, ErrWaiting) {
			if waiting++; waiting == limit {
				break
			}
		} else if err != nil {
			return nil, err
		}
	}
	if waiting > 0 {
		return nil, ErrWaiting
	}
	states = make([]S, len(inputs))
	var errs []error
	for i := range children {
		a := newAdapter(g)
		if err := children[i].readEnd(a, ends[i]); err != nil {
			errs = append(errs, err)
		}
		states[i] = a.shown
	}
	return states, errors.Join(errs...)
}

// childOf returns the thread of a child, and the stored signal that reports its end. It begins the
// child first, with the input of s, if the task has not.
func childOf(ctx context.Context, g *core, id string, s typedState, set func(*runOptions)) (c threadCore, end []byte, err error) {
	caller := CurrentTask(ctx).Key
	if id == "" {
		id = "child-" + hashOf(caller, g.name)
	}
	c = threadCore{g: g, id: id}
	o, err := c.calling(set)
	if err != nil {
		return c, nil, err
	}
	name := hashOf(caller)
	key := name + " " + id
	if len(key) > mostChildKey {
		return c, nil, c.fail("its id has %d bytes; a child can have at most %d", len(id), mostChildKey-len(name)-1)
	}
	end, err = task.Await(ctx, task.ChildSignal(g.name, o.leaveChild), key, func() error { return c.begin(ctx, s, o, name) })
	return c, end, err
}

// readEnd makes s show the state of a child whose end a stored signal reports.
func (t threadCore) readEnd(s typedState, b []byte) error {
	m, err := journal.ReadSignal(b)
	if err != nil {
		return t.fail("the stored end of the child: %w: %w", checkpoint.ErrDamaged, err)
	}
	end, err := readChildEnd(m.Payload)
	if err != nil {
		return t.fail("the end of the child: %w", err)
	}
	if end.status != Done {
		return &ChildError{Graph: t.g.name, Thread: t.id, Status: end.status, Reason: end.reason}
	}
	s.start(false, false)
	if err := s.decode(end.state); err != nil {
		return t.fail("the result of the child: %w", err)
	}
	s.show()
	return nil
}

// caller is a task that has begun a child.
type caller struct {
	Thread string `json:"thread"`
	Signal string `json:"signal"` // the name of the signal that reports the end
	Key    string `json:"key"`    // of the signal
}

// begin submits the input of s to a child, unless an earlier attempt of the task has.
func (t threadCore) begin(ctx context.Context, s typedState, o runOptions, name string) error {
	before, err := listedThread(ctx, t.g, t.id)
	if err != nil {
		return err
	}
	if before.ID != "" {
		if before.Labels[calledLabel] != name {
			return t.fail("%w", ErrChildExists)
		}
		return nil
	}
	parent := CurrentTask(ctx).Thread
	by, err := json.Marshal(caller{Thread: parent, Signal: task.ChildSignal(t.g.name, o.leaveChild), Key: name + " " + t.id})
	if err != nil {
		return t.fail("%w", err)
	}
	o.metadata = map[string]string{callerKey: string(by)}
	o.labels = maps.Clone(o.labels)
	if o.labels == nil {
		o.labels = make(map[string]string)
	}
	o.labels[calledLabel] = name
	if len(parent) <= checkpoint.MaxLabelValue {
		o.labels[ParentLabel] = parent
	}
	o.idle, o.request = true, callMessage+name
	m := threadMailer{t: t}
	post, err := m.postOfInput(ctx, s, o)
	if err != nil {
		return err
	}
	_, err = m.post(ctx, post)
	if errors.Is(err, checkpoint.ErrNotIdle) { // somebody has begun the thread at the same time
		return t.fail("%w", ErrChildExists)
	}
	return err
}

// childEnd is how a child has ended.
type childEnd struct {
	status Status
	reason string
	state  []byte // a snapshot; only if Done
}

// childEndFields is how many fields of a childEnd are sent.
const childEndFields = 3

func appendChildEnd(e childEnd) []byte {
	b := wire.AppendUint(wire.AppendArrayLen(nil, childEndFields), uint64(e.status))
	return wire.AppendBytes(wire.AppendString(b, e.reason), e.state)
}

// readChildEnd reads what appendChildEnd wrote.
func readChildEnd(b []byte) (e childEnd, err error) {
	r := wire.NewReader("end of a child", b)
	r.FixedArray(childEndFields)
	status := r.Uint64()
	e.reason, e.state = r.Str(), r.Bytes()
	if status > math.MaxUint8 || !endsLine(Status(status)) {
		r.Damage(0, fmt.Errorf("got the status %d; want Done, Failed or Cancelled", status))
	}
	e.status = Status(status)
	return e, r.End()
}

// endsLine reports whether nothing of an input runs after a status, unless somebody decides it.
func endsLine(s Status) bool { return s == Done || s == Failed || s == Cancelled }

// carry makes the run continue the run line of c, with its deadline, and as that of a child if it
// is one.
func (r *run) carry(c *checkpoint.Chain) {
	if r.call != nil {
		return
	}
	r.limit(deadlineIn(c))
	r.reason = reasonIn(c)
	if by := journal.Metadata(c.Last.Meta)[callerKey]; by != "" {
		r.caller = by
		r.opt.metadata = withEntry(r.opt.metadata, callerKey, by)
	}
}

// reports says whether the end of the run with a status is that of a child.
func (r *run) reports(status Status) bool { return r.caller != "" && endsLine(status) }

// untold returns when a child is due that has ended, in case the run does not report the end.
func (r *run) untold() time.Time { return r.log.Now().Add(r.g.lease()) }

// failsFinally notes that o ends a child as Failed, and that nothing retries it.
func (r *run) failsFinally(o *journal.Change) {
	if o.Status == Failed && o.Wake.IsZero() && r.reports(Failed) {
		r.finallyFailed, o.Wake = true, r.untold()
	}
}

// tellCaller reports the end of a child to its caller. Then the child is due no more. It does
// nothing for other runs, and for one whose failure is going to be retried.
func (r *run) tellCaller(ctx context.Context, cause error) error {
	var saver *SaverError
	if !r.reports(r.status) || errors.As(cause, &saver) || r.status == Failed && !r.finallyFailed {
		return nil
	}
	end := childEnd{status: r.status}
	if r.status == Done {
		var err error
		if end.state, err = r.state.AppendSnapshot(nil); err != nil {
			return fmt.Errorf("%s: encode the result of the child: %w", where(r.g.name, r.thread, r.plan.Step), err)
		}
	} else if end.reason = r.reason; cause != nil { // else a run before it has ended the child
		end.reason = r.redacted(cause.Error())
	}
	if err := r.report(ctx, r.caller, end); err != nil {
		return err
	}
	r.caller = "" // which knows it now
	return r.settled(ctx)
}

// report sends the end of a child to the thread of its caller, a caller in JSON, if that exists.
func (r *run) report(ctx context.Context, from string, end childEnd) error {
	var by caller
	if err := json.Unmarshal([]byte(from), &by); err != nil {
		return r.changed(err, "the caller of the child")
	}
	parent, err := listedThread(context.WithoutCancel(ctx), r.g, by.Thread)
	if err != nil || parent.ID == "" {
		return err
	}
	end.reason = journal.Cut(end.reason, checkpoint.MaxReason)
	send := func(end childEnd) error {
		m := inbox.Signal(callMessage+by.Key, by.Signal, by.Key, appendChildEnd(end))
		return r.postTo(ctx, by.Thread, parent.Graph, m)
	}
	err = send(end)
	if tooLarge(err) {
		err = send(childEnd{status: Failed, reason: "the storage refuses the result for its size: " + err.Error()})
	}
	return err
}

// listedThread returns a thread as the saver of g lists it. A thread that does not exist has no
// id.
func listedThread(ctx context.Context, g *core, id string) (checkpoint.Thread, error) {
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	t, err := checkpoint.FindThread(call, g.opt.saver, id)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return checkpoint.Thread{}, nil
	case err != nil:
		return t, &SaverError{Graph: g.name, Thread: id, Step: -1, Op: "threads", Err: err}
	}
	return t, nil
}

// mostChildKey bounds the key of a report in bytes: ids of messages are longer than it.
const mostChildKey = checkpoint.MaxMessageID - 64

// callMessage begins the ids of the messages between a child and its caller.
const callMessage = "child "

// postTo posts a message to another thread, however many wait there.
func (r *run) postTo(ctx context.Context, thread, graph string, m checkpoint.Message) error {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.g.opt.saverTimeout)
	defer cancel()
	posted, err := r.g.opt.saver.Post(call, checkpoint.Post{
		Thread: thread, Graph: graph, MaxOthers: math.MaxInt32, Messages: []checkpoint.Message{m},
	})
	if err == nil {
		err = posted[0].Err
	}
	if err != nil {
		return &SaverError{Graph: r.g.name, Thread: thread, Step: -1, Op: "post", Err: err}
	}
	return nil
}

// settled makes a child that has reported its end due no more, or releases its version. If a
// message or another call has made it due, that stands.
func (r *run) settled(ctx context.Context) error {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.g.opt.saverTimeout)
	defer cancel()
	fence := r.fence
	if fence.IsZero() && r.opt.due != nil {
		fence = r.opt.due.found.Fence
	}
	seen, _ := r.log.Seen()
	var err error
	op := "rewake"
	if r.status == Done && r.g.opt.releaseOnDone {
		op = "release"
		_, err = r.g.opt.saver.Release(call, r.thread, r.log.Head)
	} else {
		err = r.g.opt.saver.Rewake(call, checkpoint.Rewake{Thread: r.thread, Fence: fence, Posted: seen, Birth: r.log.Birth()})
	}
	var busy *checkpoint.BusyError
	if err == nil || errors.Is(err, checkpoint.ErrConflict) || errors.Is(err, checkpoint.ErrNotFound) || errors.As(err, &busy) {
		return nil
	}
	return r.saving(op, err)
}

// cancelChildren cancels the children that open questions wait for. Those of Abandon stay.
func (r *run) cancelChildren(open []checkpoint.Write, reason string) error {
	for i := range open {
		q, err := journal.ReadQuestion(open[i].Payload)
		if err != nil {
			continue // the run that restores the task returns the error
		}
		signal, _ := task.SignalOf(q.Name)
		graph, abandon, ok := task.ChildOf(signal)
		if !ok || abandon {
			continue
		}
		key := string(q.Payload)
		m := checkpoint.Message{ID: callMessage + key, Kind: checkpoint.CancelMessage, Payload: []byte(reason)}
		if err := r.postTo(r.ctx, childThread(key), graph, m); err != nil {
			return err
		}
	}
	return nil
}

// leaveFamily ends the relations of the run line of c, which another input ends. It cancels the
// children of unfinished tasks, and reports the end of a child to its caller.
func (r *run) leaveFamily(c *checkpoint.Chain) error {
	const why = "another input has taken its place"
	end := childEnd{status: c.Thread.Status, reason: reasonIn(c)}
	if c.Unfinished() {
		if err := r.cancelChildren(c.Thread.Questions, why); err != nil {
			return err
		}
		if end.status != Cancelled {
			end = childEnd{status: Cancelled, reason: why}
		}
	}
	return r.reportLine(c, end)
}

// reportLine reports how the run line of c has ended to its caller, if it has one.
func (r *run) reportLine(c *checkpoint.Chain, end childEnd) error {
	by := journal.Metadata(c.Last.Meta)[callerKey]
	if by == "" || !endsLine(end.status) {
		return nil
	}
	if end.status == Done {
		var err error
		if end.state, err = r.state.AppendSnapshot(nil); err != nil {
			return r.changed(err, "the result of the child")
		}
	}
	return r.report(r.ctx, by, end)
}

// reportRefused reports to the callers of children that their inputs are refused, so the children
// never begin. inputs are messages of the thread, and refused the decisions about some of them.
// The report comes before the refusal is stored: after a crash, the next run refuses them again.
func (r *run) reportRefused(inputs []checkpoint.Message, refused []checkpoint.Refusal) error {
	for _, f := range refused {
		at := slices.IndexFunc(inputs, func(m checkpoint.Message) bool { return m.Number == f.Number && m.Kind == checkpoint.InputMessage })
		if at < 0 {
			continue
		}
		in, err := journal.ReadInput(inputs[at].Payload)
		by := in.Metadata[callerKey]
		if err != nil || by == "" { // an input that cannot be read is refused, too
			continue
		}
		end := childEnd{status: Failed, reason: f.Reason}
		if _, cancelled := inbox.CancelReason(f.Reason); cancelled {
			end.status = Cancelled
		}
		if err := r.report(r.ctx, by, end); err != nil {
			return err
		}
	}
	return nil
}

// childThread returns the thread of a child from the key of the signal that reports its end.
func childThread(key string) string {
	if n := len(hashOf()); len(key) > n {
		return key[n+1:]
	}
	return ""
}
