package graph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/concluded"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/internal/news"
)

// awaiting waits for the end of the work that a caller of Result asks for. It only reads.
type awaiting struct {
	g       *core
	thread  string
	until   bool   // it does not wait for people, signals and times
	request string // of the input that it waits for; empty for the newest run line

	located bool          // the fields below are set
	named   bool          // the caller named the request
	birth   checkpoint.ID // of the thread; zero before a version was open
	version int           // in which the work has begun; 0 before
	begun   checkpoint.ID // inputs whose records follow this one are later ones
	next    checkpoint.ID // the head when the first of them began; zero for none
	after   origin        // at the first check: the work has begun later
	scanned checkpoint.ID // the newest record that was searched for a later input
}

// origin is a record of a version.
type origin struct {
	version int
	id      checkpoint.ID
}

// ended is the end of the work that a caller waits for.
type ended struct {
	at     checkpoint.Ref    // its last record
	status checkpoint.Status // of the thread; zero if a later input has begun
}

// wait checks the thread until the work has ended. It checks again when the thread changes: see
// package news.
func (w *awaiting) wait(ctx context.Context) (e ended, err error) {
	err = w.g.watch(ctx, w.thread, func(ctx context.Context) (bool, error) {
		found, err := w.check(ctx)
		if found != nil {
			e = *found
		}
		return found != nil, err
	})
	return e, err
}

// watch calls check until it returns true or an error: immediately, and when the thread changes.
// It repeats a check that has failed for a passing reason.
func (g *core) watch(ctx context.Context, thread string, check func(context.Context) (bool, error)) error {
	if done, err := check(ctx); err != nil || done {
		return err
	}
	changed := make(chan struct{}, 1)
	seat := g.news.Watch(ctx, thread, func() {
		select {
		case changed <- struct{}{}:
		default: // the next check comes after this change
		}
	})
	defer seat.Leave()
	var retry <-chan time.Time // of a check that has failed
	for {
		timer := time.NewTimer(min(seat.Tick(), time.Hour))
		select {
		case <-ctx.Done():
			timer.Stop()
			return stoppedBy(ctx, where(g.name, thread, -1))
		case <-timer.C:
			continue
		case <-retry:
		case <-changed:
		}
		timer.Stop()
		retry = nil
		done, err := check(ctx)
		switch {
		case err != nil && ctx.Err() == nil && passing(err):
			retry = time.After(news.Every)
		case err != nil || done:
			return err
		}
	}
}

// mostRereads is how often check reads a thread again whose inputs have begun meanwhile. If there
// are none although the thread counts some, its rows contradict each other.
const mostRereads = 100

// check returns the end of the work; nil if it has not ended.
func (w *awaiting) check(ctx context.Context) (*ended, error) {
	for tries := 0; ; tries++ {
		c, err := loadChain(ctx, w.g, w.g.opt.saver, checkpoint.Ref{Thread: w.thread, Namespace: checkpoint.NoCall})
		if err != nil {
			return nil, err
		}
		if c.Version != 0 {
			if !w.birth.IsZero() && c.Birth != w.birth {
				return nil, w.missing() // it was deleted, and created again
			}
			w.birth = c.Birth
		}
		var mail []checkpoint.Message
		if c.Version == 0 || c.Thread.Inputs > 0 || w.until && c.Thread.Others > 0 {
			if mail, err = w.g.mail(ctx, checkpoint.MailQuery{Thread: w.thread}); err != nil {
				return nil, err
			}
		}
		if !w.located {
			if c.Thread.Inputs > 0 && !slices.ContainsFunc(mail, isInput) && tries < mostRereads {
				continue // they have begun since c was read
			}
			if err := w.first(ctx, &c, mail); err != nil {
				return nil, err
			}
			if c.Version == 0 && w.version != 0 {
				continue // c can be older than the version that first has found
			}
		}
		queued := slices.ContainsFunc(mail, func(m checkpoint.Message) bool {
			return m.Kind == checkpoint.InputMessage && m.ID == w.request
		})
		if !queued && w.version == 0 {
			if err := w.find(ctx, &c); err != nil {
				return nil, err
			}
			continue // c can be older than the beginning of the work
		}
		if e, err := w.passed(ctx, &c); err != nil || e != nil {
			return e, err
		}
		f := concluded.Facts{
			Queued: queued, Status: c.Thread.Status, Wake: !c.Thread.Wake.IsZero(), Now: inbox.Awaited(&c.Thread, mail), UntilWaiting: w.until,
		}
		if c.Version == 0 || !f.Ended() {
			return nil, nil
		}
		return &ended{checkpoint.Ref{Thread: w.thread, At: c.Thread.Head}, c.Thread.Status}, nil
	}
}

// isInput reports whether a message is an input.
func isInput(m checkpoint.Message) bool { return m.Kind == checkpoint.InputMessage }

// first notes what the caller waits for: the newest input that waits, or the newest run line.
func (w *awaiting) first(ctx context.Context, c *checkpoint.Chain, mail []checkpoint.Message) error {
	w.located, w.named = true, w.request != ""
	if w.named {
		return nil
	}
	for i := range mail {
		if mail[i].Kind == checkpoint.InputMessage {
			w.request = mail[i].ID
		}
	}
	w.after = origin{c.Version, c.Thread.Head}
	if c.Version == 0 {
		versions, err := w.versions(ctx)
		if err != nil {
			return err
		}
		if len(versions) > 0 {
			newest := versions[len(versions)-1]
			w.after = origin{newest.Number, newest.Head}
		} else if w.request == "" {
			return w.missing()
		}
	}
	if w.request == "" {
		w.version, w.begun, w.scanned = w.after.version, w.after.id, w.after.id
	}
	return nil
}

// find notes where the input of the request has begun. It returns an error if a run refused it.
func (w *awaiting) find(ctx context.Context, c *checkpoint.Chain) error {
	versions, err := w.versions(ctx)
	if err != nil {
		return err
	}
	for _, v := range slices.Backward(versions) {
		if v.Number < w.after.version {
			break
		}
		floor := checkpoint.ID{}
		if v.Number == w.after.version {
			floor = w.after.id
		}
		err := w.records(ctx, v.Number, floor, func(rec *checkpoint.Record) bool {
			if beginsInput(rec) && rec.Request == w.request {
				w.version, w.begun = v.Number, rec.ID
			}
			return w.version != 0
		})
		if err != nil || w.version != 0 {
			return err
		}
	}
	if w.request != "" {
		found, err := w.g.mail(ctx, checkpoint.MailQuery{Thread: w.thread, ID: w.request})
		if err != nil {
			return err
		}
		for i := range found {
			if m := &found[i]; m.Kind == checkpoint.InputMessage && m.Refused != "" {
				return w.refusal(m.Refused)
			}
		}
	}
	if w.named || len(versions) == 0 {
		return w.missing()
	}
	newest := versions[len(versions)-1] // Prune has removed the record of the input
	w.version, w.begun = newest.Number, newest.Head
	return nil
}

// refusal returns the error of an input that a run has refused.
func (w *awaiting) refusal(reason string) error {
	if why, ok := inbox.CancelReason(reason); ok {
		return &CancelledError{Graph: w.g.name, Thread: w.thread, Reason: why}
	}
	return &RefusedError{Graph: w.g.name, Thread: w.thread, Request: w.request, Reason: reason}
}

// passed returns the end of the work if a later input has begun, or if the version of the work was
// released; else nil. It reads each record once.
func (w *awaiting) passed(ctx context.Context, c *checkpoint.Chain) (*ended, error) {
	if w.version == 0 {
		return nil, nil
	}
	open := w.version == c.Version
	if w.next.IsZero() && (!open || c.Thread.Head != w.scanned) {
		floor := w.scanned
		if floor.IsZero() {
			floor = w.begun
		}
		lost := make(map[checkpoint.ID]bool) // the run lines whose first records are gone
		err := w.records(ctx, w.version, floor, func(rec *checkpoint.Record) bool {
			if beginsInput(rec) {
				w.next = rec.Parent
			}
			lost[rec.Line] = rec.Line != rec.ID && bytes.Compare(rec.Line[:], floor[:]) > 0
			return false
		})
		if err == nil && slices.Contains(slices.Collect(maps.Values(lost)), true) { // one of them may be a later input
			err = fmt.Errorf("%s: the checkpoint of the result: %w; keep more checkpoints", where(w.g.name, w.thread, -1), checkpoint.ErrNotFound)
		}
		if err != nil {
			return nil, err
		}
		w.scanned = c.Thread.Head
	}
	at := checkpoint.Ref{Thread: w.thread, At: w.next}
	if open {
		if w.next.IsZero() {
			return nil, nil
		}
		return &ended{at: at}, nil
	}
	versions, err := w.versions(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		if at.Version = v.Number; v.Number != w.version {
			continue
		}
		if w.next.IsZero() {
			return &ended{at, v.Status}, nil
		}
		return &ended{at: at}, nil
	}
	return nil, w.missing()
}

// beginsInput reports whether a record is the first one of an input.
func beginsInput(rec *checkpoint.Record) bool {
	return rec.Source == checkpoint.Input && rec.Line == rec.ID
}

// records calls yield with the headers of the records of a version, newest first, until yield
// returns true. It leaves out the records up to floor.
func (w *awaiting) records(ctx context.Context, version int, floor checkpoint.ID, yield func(*checkpoint.Record) bool) error {
	call, cancel := context.WithTimeout(ctx, w.g.opt.saverTimeout)
	defer cancel()
	ref := checkpoint.Ref{Thread: w.thread, Version: version}
	for rec, err := range w.g.opt.saver.History(call, ref, checkpoint.Query{Headers: true, Sources: everySource}) {
		switch {
		case errors.Is(err, checkpoint.ErrNotFound):
			return w.missing()
		case err != nil && ctx.Err() != nil:
			return stoppedBy(ctx, where(w.g.name, w.thread, -1))
		case err != nil:
			return &SaverError{Graph: w.g.name, Thread: w.thread, Step: -1, Op: "history", Err: err}
		case bytes.Compare(rec.ID[:], floor[:]) <= 0:
			return nil
		case yield(&rec):
			return nil
		}
	}
	return nil
}

// versions returns the versions of the thread, oldest first.
func (w *awaiting) versions(ctx context.Context) ([]checkpoint.Version, error) {
	call, cancel := context.WithTimeout(ctx, w.g.opt.saverTimeout)
	defer cancel()
	all, err := w.g.opt.saver.Versions(call, w.thread)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, stoppedBy(ctx, where(w.g.name, w.thread, -1))
	case err != nil:
		return nil, &SaverError{Graph: w.g.name, Thread: w.thread, Step: -1, Op: "versions", Err: err}
	}
	return all, nil
}

// missing returns the error for work that does not exist, or not any more.
func (w *awaiting) missing() error {
	if w.named {
		return fmt.Errorf("%s: request %q: %w; submit the input first", where(w.g.name, w.thread, -1), w.request, checkpoint.ErrNotFound)
	}
	return fmt.Errorf("%s: %w; submit an input first", where(w.g.name, w.thread, -1), checkpoint.ErrNotFound)
}
