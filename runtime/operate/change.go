package operate

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Action is what Do does with a thread.
type Action string

// The actions of Do.
const (
	Wake    Action = "wake"    // makes the thread due, as Wake does
	Cancel  Action = "cancel"  // cancels its run and its pending inputs, as Cancel does
	Release Action = "release" // closes its open version
	Delete  Action = "delete"  // removes it with all versions and messages
	Prune   Action = "prune"   // removes the parts that Operation.Keep does not keep
	Signal  Action = "signal"  // sends a signal, as Operator.Signal does
	Replay  Action = "replay"  // makes the tasks of an older checkpoint due again, as Operator.Replay does
)

// Fits reports whether the action makes sense on a thread. Nothing of a thread that has ended can
// be woken, cancelled or signalled. A worker does not continue a thread that stops for a person.
func (a Action) Fits(t *checkpoint.Thread) bool {
	ended := t.Inputs == 0 && (t.Status == checkpoint.Done || t.Status == checkpoint.Cancelled)
	switch a {
	case Wake:
		return !ended && t.Status != checkpoint.Paused
	case Cancel, Signal:
		return !ended
	case Replay:
		return t.Version > 0
	}
	return true
}

// Operation is an operation on one thread of many. The zero value of each field but Action is
// usable.
type Operation struct {
	Action Action
	Reason string // of a cancel
	IfHead string // of a release: it must be the head, named as for Checkpoint; empty is any
	Keep   checkpoint.Retention
	DryRun bool // only say what would change

	Signal  string // the name of a signal
	JSON    Source // its payload
	Options []graph.SignalOption

	To       string            // of a replay: its checkpoint, named as for Checkpoint
	Metadata map[string]string // of a replay; nil for none
}

// Changed is what Do has changed, or would change.
type Changed struct {
	Skipped  bool          // the action does not fit the thread or finds nothing to prune, and nothing changes
	Whole    bool          // a prune removes the whole thread, and counts nothing
	At       checkpoint.ID // of a replay
	Version  int           // that a release has closed
	Versions int           // that a delete or a prune removes
	Records  int           // of the closed or deleted versions, if they were counted, or that a prune removes
}

// Do does an operation with a listed or found thread. It leaves a thread that the action does not
// fit as it is. A thread that a run holds is a *checkpoint.BusyError for a release, a prune and a
// delete, but not for their dry runs. A release returns checkpoint.ErrConflict if IfHead is not
// the head. A dry run of a signal checks its payload. A dry run of a delete counts the records. A
// dry run of a prune reads the whole thread, and prunes a copy in memory. A prune returns a
// *LockedError if it would fold records that cannot be read.
func (o *Operator) Do(ctx context.Context, op Operation, t *checkpoint.Thread) (Changed, error) {
	var changed Changed
	switch {
	case !op.Action.Fits(t):
		return Changed{Skipped: true}, nil
	case op.Action == Delete:
		changed.Versions = t.Versions
		if !op.DryRun {
			return changed, o.Saver.Delete(ctx, t.ID)
		}
		versions, err := o.Saver.Versions(ctx, t.ID)
		for i := range versions {
			changed.Records += versions[i].Records
		}
		return changed, err
	case op.Action == Prune:
		return o.prune(ctx, op, t.ID)
	case op.Action == Signal:
		_, err := o.signalled(ctx, t, op.Signal, op.JSON, op.DryRun, op.Options)
		return changed, err
	case op.Action == Replay:
		at, err := o.Checkpoint(ctx, checkpoint.Ref{Thread: t.ID}, op.To)
		if err == nil && !op.DryRun {
			err = o.Replay(ctx, t, at, graph.Metadata(op.Metadata))
		}
		return Changed{At: at}, err
	case op.DryRun:
		return changed, nil
	case op.Action == Wake:
		return changed, o.Wake(ctx, t)
	case op.Action == Cancel:
		return changed, o.Cancel(ctx, t, op.Reason)
	case op.Action == Release:
		head, err := o.Checkpoint(ctx, checkpoint.Ref{Thread: t.ID}, op.IfHead)
		if err != nil {
			return changed, err
		}
		v, err := o.Saver.Release(ctx, t.ID, head)
		return Changed{Version: v.Number, Records: v.Records}, err
	}
	return changed, &RequestError{fmt.Sprintf("there is no action %q; want one of %s, %s, %s, %s, %s, %s, %s",
		op.Action, Wake, Cancel, Release, Delete, Prune, Signal, Replay)}
}
