package schedule

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// ErrExists is returned by Create for a schedule that exists. Test for it with errors.Is.
var ErrExists = errors.New("the schedule exists")

// Action is the input that each tick submits. Submit makes it.
type Action struct {
	post checkpoint.Post
	err  error
}

// Submit returns the Action that submits in to a new thread of app for each tick. The id of the
// thread is "__tick:", the id of the schedule, "@" and the tick in UTC, such as
// "__tick:nightly@2026-11-23T02:00:00Z". It is reserved: see graph.ReservedPrefix. The thread has
// the Label of the schedule. The options of Submit that describe the input apply to each tick.
func Submit[S, U any](app *graph.Graph[S, U], in U, opts ...graph.SubmitOption) Action {
	post, err := app.InputPost(graph.Submission[U]{Thread: "tick", Input: in, Options: opts})
	switch {
	case err != nil:
	case post.Idle || len(post.Messages) != 1:
		err = errors.New("IfIdle and CancelPending are for one thread, and each tick has its own; use Overlap")
	case len(post.Labels) >= checkpoint.MaxLabels:
		err = fmt.Errorf("the input has %d labels; want less than %d, because the schedule adds one", len(post.Labels), checkpoint.MaxLabels)
	}
	return Action{post: post, err: err}
}

// stored returns the part of an Action that a schedule stores.
func (a *Action) stored() (action, error) {
	switch {
	case a.err != nil:
		return action{}, fmt.Errorf("the Action: %w", a.err)
	case len(a.post.Messages) == 0:
		return action{}, errors.New("the Action is empty; make it by Submit")
	}
	return action{Graph: a.post.Graph, Title: a.post.Title, Labels: a.post.Labels, Input: a.post.Messages[0].Payload}, nil
}

// Create stores a schedule. Its first tick is the first one after now, on the clock of the saver.
// It returns ErrExists if a schedule has the id. An id has 1 to 200 bytes.
func (s *Schedules) Create(ctx context.Context, id string, spec Spec, a Action) error {
	if id == "" || len(id) > maxID {
		return fail(id, "the id has %d bytes; want 1 to %d", len(id), maxID)
	}
	stored, err := checked(&spec, &a)
	if err != nil {
		return fail(id, "%w", err)
	}
	now, err := s.now(ctx)
	if err != nil {
		return fail(id, "%w", err)
	}
	t, err := spec.ticks()
	if err != nil {
		return fail(id, "%w", err)
	}
	p := progress{Decided: now}
	if tick := t.next(now); !tick.IsZero() {
		p.Wake = t.due(id, tick)
	}
	var in entryUpdate
	in.ID.Set(id)
	in.Spec.Set(spec)
	in.Action.Set(stored)
	in.Progress.Set(p)
	_, err = s.graph.Thread(prefix+id).Invoke(ctx, in, graph.Title("schedule "+id))
	if errors.Is(err, graph.ErrUnfinished) || errors.As(err, new(*checkpoint.BusyError)) {
		return fail(id, "%w; use Update to change it", ErrExists)
	}
	return err
}

// Update replaces the Spec and the Action of a schedule. Ticks of the new Spec count from now.
func (s *Schedules) Update(ctx context.Context, id string, spec Spec, a Action) error {
	stored, err := checked(&spec, &a)
	if err != nil {
		return fail(id, "%w", err)
	}
	return s.send(ctx, id, command{Kind: updating, Spec: spec, Action: stored})
}

// checked checks a Spec and an Action.
func checked(spec *Spec, a *Action) (action, error) {
	if _, err := spec.ticks(); err != nil {
		return action{}, err
	}
	return a.stored()
}

// Pause stops the ticks of a schedule. Trigger and Backfill still work. The note says why, for
// Describe, and can be empty.
func (s *Schedules) Pause(ctx context.Context, id, note string) error {
	return s.send(ctx, id, command{Kind: pausing, Note: note})
}

// Unpause continues a schedule with the next tick. The ticks of the pause do not fire.
func (s *Schedules) Unpause(ctx context.Context, id, note string) error {
	return s.send(ctx, id, command{Kind: unpausing, Note: note})
}

// Trigger fires a schedule now. Overlap applies as to a tick.
func (s *Schedules) Trigger(ctx context.Context, id string) error {
	return s.send(ctx, id, command{Kind: triggering})
}

// Backfill fires the ticks from one time until before another one, such as those that were missed
// or that precede the schedule. Ticks that have fired do not fire again, as long as their threads
// exist. They fire one after another, each when the one before is over; with Allow without
// waiting.
func (s *Schedules) Backfill(ctx context.Context, id string, from, to time.Time) error {
	if !from.Before(to) || from.Year() < 1 || to.Year() > 9999 {
		return fail(id, "backfill from %s to %s; want two times in order", from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	return s.send(ctx, id, command{Kind: backfilling, Range: span{After: from.Add(-1), To: to}})
}

// Delete removes a schedule. Inputs that it has submitted stay.
func (s *Schedules) Delete(ctx context.Context, id string) error {
	if _, err := s.find(ctx, id); err != nil {
		return err
	}
	for {
		err := s.saver.Delete(ctx, prefix+id)
		if !errors.As(err, new(*checkpoint.BusyError)) { // a decision takes milliseconds
			return err
		}
		select {
		case <-ctx.Done():
			return fail(id, "%w", errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// find returns the thread of a schedule.
func (s *Schedules) find(ctx context.Context, id string) (graph.Thread[entry, entryUpdate], error) {
	t := s.graph.Thread(prefix + id)
	versions, err := s.saver.Versions(ctx, prefix+id)
	switch {
	case err != nil:
		return t, fail(id, "%w", err)
	case len(versions) == 0:
		return t, fail(id, "%w", checkpoint.ErrNotFound)
	}
	return t, nil
}

// send sends a command to a schedule.
func (s *Schedules) send(ctx context.Context, id string, c command) error {
	t, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	unique, err := checkpoint.NewID()
	if err != nil {
		return fail(id, "%w", err)
	}
	c.ID = unique.String()
	var in entryUpdate
	in.Commands.Put(c.ID, c)
	if _, err := t.UpdateState(ctx, in, graph.Wait()); err != nil {
		return err
	}
	snap, err := t.State(ctx)
	if err != nil || len(snap.Questions) == 0 {
		return err // a run has begun, which applies the command
	}
	err = t.Answer(ctx, tick.Answer(snap.Questions[0], true))
	if errors.Is(err, graph.ErrNotAsked) {
		return nil // a run has begun, or another command has answered
	}
	return err
}

// Description describes a schedule.
type Description struct {
	ID     string
	Spec   Spec
	Graph  string // that fires
	Paused bool
	Note   string // of Pause or Unpause

	Next     time.Time // when the next tick fires, with its Jitter; zero for never
	Recent   []Firing  // the newest firings, oldest first; at most 10
	Waiting  []Firing  // that wait for the end of the newest firing
	Fired    int64     // the number of firings
	Skipped  int64     // the number of ticks that did not fire because of Overlap
	Missed   int64     // the number of ticks that were too late to fire: see CatchUp
	Backfill bool      // ticks of a Backfill wait
}

// Describe returns a schedule as its newest decision has left it. It returns
// checkpoint.ErrNotFound if no schedule has the id.
func (s *Schedules) Describe(ctx context.Context, id string) (Description, error) {
	t, err := s.find(ctx, id)
	if err != nil {
		return Description{}, err
	}
	snap, err := t.State(ctx)
	if err != nil {
		return Description{}, err
	}
	return describe(&snap.State)
}

func describe(e *entry) (Description, error) {
	p := &e.Progress
	d := Description{
		ID: e.ID, Spec: e.Spec, Graph: e.Action.Graph, Paused: p.Paused, Note: p.Note, Recent: p.Recent, Waiting: p.Buffered,
		Fired: p.Fired, Skipped: p.Skipped, Missed: p.Missed, Backfill: len(p.Ranges) > 0,
	}
	t, err := e.Spec.ticks()
	if err != nil {
		return d, fail(e.ID, "%w", err)
	}
	if tick := t.next(p.Decided); !p.Paused && !tick.IsZero() {
		d.Next = t.due(e.ID, tick)
	}
	return d, nil
}

// List yields the schedules whose ids begin with a prefix, ordered by id (bytewise). An error is
// that of one schedule, whose Description then has only the ID, or ends the sequence.
func (s *Schedules) List(ctx context.Context, idPrefix string) iter.Seq2[Description, error] {
	return func(yield func(Description, error) bool) {
		for t, err := range s.saver.Threads(ctx, checkpoint.ThreadQuery{Prefix: prefix + idPrefix}) {
			id := strings.TrimPrefix(t.ID, prefix)
			var d Description
			if err == nil {
				d, err = s.Describe(ctx, id)
			}
			d.ID = id // also of a schedule that cannot be read
			if errors.Is(err, checkpoint.ErrNotFound) {
				continue // it was deleted
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// fail returns an error of a schedule.
func fail(id, format string, args ...any) error {
	return fmt.Errorf("schedule %q: "+format, append([]any{clip(id)}, args...)...)
}
