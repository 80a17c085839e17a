package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/file"
)

// house is an open data folder: threads are in threads, letters and payments in outbox.
type house struct {
	dir    string
	saver  *file.Saver
	flow   *flow
	outbox outbox
}

// openHouse opens dir and creates it if necessary. latency is the response time of its sources.
// The caller must close the house.
func openHouse(dir string, latency time.Duration) (*house, error) {
	out := outbox{filepath.Join(dir, "outbox")}
	d, err := newDesk(out, latency)
	if err != nil {
		return nil, err
	}
	saver, err := file.Open(filepath.Join(dir, "threads"))
	if err != nil {
		return nil, err
	}
	f, err := newFlow(d, saver)
	if err != nil {
		return nil, errors.Join(err, saver.Close())
	}
	return &house{dir: dir, saver: saver, flow: f, outbox: out}, nil
}

func (h *house) Close() error { return h.saver.Close() }

// lock makes this process the only one that handles tickets in the folder. The lock ends with the
// process, even if the process is killed. Threads have leases of their own; this lock keeps two
// processes from starting the same new thread.
func (h *house) lock() (unlock func() error, err error) {
	if err := os.MkdirAll(h.dir, 0o755); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(h.dir, "run.lock"))
	ok, err := l.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", h.dir, err)
	case !ok:
		return nil, fmt.Errorf("another triage run works in %s; let it finish, or give this one a -dir of its own", h.dir)
	}
	return l.Unlock, nil
}

// Standing is the progress of a ticket.
type Standing string

// The standings.
const (
	Finished Standing = "finished"
	Waiting  Standing = "waiting" // for a person's decision
	Failed   Standing = "failed"  // a node or the saver failed; the next run tries again
	Stopped  Standing = "stopped" // stopped by a signal, or not started; the next run continues
)

// Report is the result for one ticket.
type Report struct {
	Ticket   string
	Standing Standing
	Err      error // the error of a failed ticket
	State    State
}

// waits reports whether a thread waits for a decision. A decision that was stored before a crash
// counts as made.
func waits(s graph.Snapshot[State]) bool {
	return slices.Contains(s.Next, NodeRefund) && s.State.Decision == ""
}

// handle runs a ticket as far as possible without a person. It starts the ticket, or continues a
// stopped run.
func (h *house) handle(ctx context.Context, l Line) Report {
	t := h.flow.Thread(l.ID)
	snap, err := t.State(ctx)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		res, err := t.Invoke(ctx, StateUpdate{Raw: state.Set(l.Raw)})
		return report(l.ID, res, err)
	case err != nil:
		return report(l.ID, graph.Result[State]{}, err)
	case len(snap.Next) == 0:
		return Report{Ticket: l.ID, Standing: Finished, State: snap.State}
	case waits(snap):
		return Report{Ticket: l.ID, Standing: Waiting, State: snap.State}
	}
	res, err := t.Resume(ctx, graph.Wait())
	return report(l.ID, res, err)
}

// report returns the report for the result of a run.
func report(ticket string, res graph.Result[State], err error) Report {
	r := Report{Ticket: ticket, State: res.State}
	switch {
	case errors.Is(err, context.Canceled):
		r.Standing = Stopped
	case err != nil:
		r.Standing, r.Err = Failed, err
	case res.Status == graph.Done:
		r.Standing = Finished
	default:
		r.Standing = Waiting
	}
	return r
}

// decide stores a person's decision and continues the run.
func (h *house) decide(ctx context.Context, ticket string, d Decision) (Report, error) {
	t := h.flow.Thread(ticket)
	snap, err := t.State(ctx)
	if err != nil {
		return Report{}, noTicket(ticket, err)
	}
	switch had := snap.State.Decision; {
	case had != "" && (had != d || len(snap.Next) == 0):
		return Report{}, fmt.Errorf("%s: the refund is %s already", ticket, had)
	case had == d: // stored by a process that died before it continued
	case waits(snap):
		var u StateUpdate
		u.Decision.Set(d)
		u.Log.Append(string(d) + " by a person")
		if _, err := t.UpdateState(ctx, u, graph.IfHead(snap.Checkpoint)); err != nil {
			return Report{}, err
		}
	default:
		return Report{}, fmt.Errorf("%s: no decision is pending; run triage show %s for details", ticket, ticket)
	}
	res, err := t.Resume(ctx, graph.Wait())
	return report(ticket, res, err), err
}

// noTicket replaces the error for a missing thread by a plain message.
func noTicket(ticket string, err error) error {
	if errors.Is(err, checkpoint.ErrNotFound) {
		return fmt.Errorf("no ticket %q here; triage list shows those there are", ticket)
	}
	return err
}
