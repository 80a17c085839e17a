package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// Result waits for the result of the inputs that were submitted before the call, and returns it.
// It returns what Invoke would return for the last of these inputs. If no input waits, the result
// is that of the newest run. With RequestID it is that of the input with that id. Any process can
// call Result. It runs nothing and stores nothing, so it needs a worker or another caller that
// runs the thread.
//
// Result returns when the thread is Done, Failed or Cancelled. A thread that is Failed only until
// its next attempt is not ended. UntilWaiting also returns when the thread is Waiting or Paused.
// An input that begins later, and a release, do not change the result. Result.Steps is 0.
//
// A failed run returns a *FailedError, which has a *NodeError for each failed task. A cancelled
// run returns a *CancelledError, and a refused input a *RefusedError. Result returns ErrUnfinished
// if a later input has dropped the due tasks, and ErrReleased if the version was released before
// the run was done. The Result then holds the last committed state. Result returns
// checkpoint.ErrNotFound if the thread does not exist, if it was deleted, or if the checkpoint of
// the result was pruned. Other errors are a *SaverError, and those of State.
//
// Result waits until ctx ends. It asks the saver once per second, in one call for all threads for
// which callers of this Graph wait. A saver that is a checkpoint.Notifier, and runs of the same
// Graph, make it look immediately. While the server of the saver is unavailable, it waits.
func (t Thread[S, U]) Result(ctx context.Context, opts ...ResultOption) (Result[S], error) {
	a := newAdapter(t.g)
	res, err := t.thread.result(ctx, a, setting(opts, ResultOption.result))
	return resultWith(res, a.shown), err
}

// result is Thread.Result. state shows the state of the result.
func (t threadCore) result(ctx context.Context, state typedState, set func(*runOptions)) (result, error) {
	var none result
	o, err := t.calling(set)
	if err != nil {
		return none, err
	}
	if !t.at.IsZero() || t.edited {
		return none, t.fail("Result: %w; use State to read a checkpoint", ErrNotHead)
	}
	if err := t.reenters(ctx); err != nil {
		return none, err
	}
	w := awaiting{g: t.g, thread: t.id, until: o.until, request: o.request}
	e, err := w.wait(ctx)
	if err != nil {
		return none, err
	}
	c, err := loadChain(ctx, t.g, t.saver(), e.at)
	if err != nil {
		return none, err
	}
	t.version = e.at.Version
	s, err := t.read(ctx, state, &c)
	if err != nil {
		return none, err
	}
	err = conclude(t.g.name, e, &s, &c)
	res := result{
		Status: s.Status, Questions: s.Questions, Timers: s.Timers, Signals: s.Signals, Next: s.Next, Stops: s.Stops,
		Checkpoint: s.Checkpoint,
	}
	for _, j := range c.Last.Joins {
		if n, ok := t.g.find(j.To); ok && s.Status == Done {
			res.Unjoined = append(res.Unjoined, t.g.nodes[n].id)
		}
	}
	return res, err
}

// UntilWaiting makes Result return also when the thread is Waiting or Paused, with its questions,
// timers, signals and stops. It does not return if the thread is due, or if an answer or a signal
// has come for which a task waits. Result also returns if the inputs cannot begin because the
// thread waits.
func UntilWaiting() ResultOption {
	return singleRunOption("UntilWaiting", func(o *runOptions) { o.until = true })
}

// Result works like Thread.Result. It returns the snapshot of the last checkpoint, as Read does.
// The errors are those of Thread.Result.
func (t Stored) Result(ctx context.Context, opts ...ResultOption) (Snapshot[[]byte], error) {
	thread := t.Ref.Thread
	g, err := t.core()
	if err != nil {
		return Snapshot[[]byte]{}, err
	}
	o, err := running(g.opt.limits, setting(opts, ResultOption.result))
	if err != nil {
		return Snapshot[[]byte]{}, fmt.Errorf("%s: %w", where("", thread, -1), err)
	}
	w := awaiting{g: g, thread: thread, until: o.until, request: o.request}
	e, err := w.wait(ctx)
	if err != nil {
		return Snapshot[[]byte]{}, err
	}
	c, err := loadChain(ctx, g, t.Saver, e.at)
	if err != nil {
		return Snapshot[[]byte]{}, err
	}
	read, err := Stored{Ref: e.at}.Read(&c)
	if err != nil {
		return read, err
	}
	s := snapshotWith(&read, struct{}{})
	err = conclude(c.Last.Graph, e, &s, &c)
	return snapshotWith(&s, read.State), err
}

// conclude sets the status of the last snapshot of the work that a caller waited for. It returns
// the error of its end; nil if the work is done, or waits.
func conclude(graph string, e ended, s *snapshot, c *checkpoint.Chain) error {
	place := where(graph, s.Thread, -1)
	why, cancelled := inbox.CancelReason(strings.TrimPrefix(reasonIn(c), place+": "))
	s.Status, s.Reason = e.status, reasonIn(c)
	if e.status == 0 { // a later input has begun
		switch {
		case !c.Unfinished():
			s.Status = Done
		case cancelled:
			s.Status = Cancelled
		case s.Reason != "":
			s.Status = Failed
		default:
			return fmt.Errorf("%s: %w: a later input has dropped %v", place, ErrUnfinished, s.Next)
		}
	}
	switch s.Status {
	case Done:
		return nil
	case Cancelled:
		if e.at.Version == 0 || !journal.Released(c.Last.Meta) {
			return &CancelledError{Graph: graph, Thread: s.Thread, Reason: why}
		}
		for _, t := range s.Dropped {
			s.Next = append(s.Next, t.Node)
		}
		s.Next = distinct(s.Next)
	case Failed:
		failed := &FailedError{Graph: graph, Thread: s.Thread, Reason: s.Reason}
		for i := range s.Tasks {
			if f := &s.Tasks[i]; f.Failure != "" {
				failed.Nodes = append(failed.Nodes, &NodeError{
					Graph: graph, Thread: s.Thread, Step: s.Step + 1, Node: f.Node, Index: f.Index, Attempt: f.Attempt, Summary: f.Summary,
					Err: errors.New(f.Failure), sent: f.Index > 0,
				})
			}
		}
		return failed
	}
	if e.at.Version != 0 {
		return fmt.Errorf("%s: %w while %v was due; submit the input again", place, ErrReleased, s.Next)
	}
	return nil
}
