package schedule

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Each schedule is a thread of one graph. It waits for its next tick or for a command, decides
// what fires, and submits that. A decision is committed before it is carried out. A crash between
// the two repeats the submission, and an input is stored once for each tick.
//
// A command is an edit of the thread. The answer to its question ends the wait.

// Graph is the name of the graph of all schedules.
const Graph = graph.ReservedPrefix + "schedules"

// kept is how many checkpoints are kept in the history of a schedule, at least.
const kept = 32

// Schedules are the schedules in a saver. It is a worker.App: a worker that has it fires the
// schedules. It is safe for concurrent use, and any number of processes can have one.
type Schedules struct {
	saver checkpoint.Saver
	graph *graph.Graph[entry, entryUpdate]
}

// New returns the schedules in saver.
func New(saver checkpoint.Saver) (*Schedules, error) {
	s := &Schedules{saver: saver}
	b := graph.New(Graph, entrySchema)
	wait := b.Node("wait", s.wait, tick)
	fire := b.Node("fire", s.fire)
	b.Edge(graph.Start, wait)
	b.Route(wait, func(_ context.Context, e entry) (graph.Next, error) {
		switch {
		case e.ID == "":
			return graph.To(graph.End), nil
		case len(e.Progress.Firing) > 0 || e.Progress.Cancels:
			return graph.To(fire), nil
		}
		return graph.To(wait), nil
	}, wait, fire, graph.End)
	b.Edge(fire, wait)
	var err error
	s.graph, err = b.Compile(graph.Saver(saver), graph.HotThreads(0), graph.KeepCheckpoints(kept), graph.MaxSteps(math.MaxInt32))
	return s, err
}

// Serves implements worker.App.
func (s *Schedules) Serves(saver checkpoint.Saver) ([]string, error) { return s.graph.Serves(saver) }

// ResumeDue implements worker.App. A schedule whose run fails is retried without an end, because
// the cause is never the schedule itself.
func (s *Schedules) ResumeDue(ctx context.Context, found checkpoint.ReadyThread, o graph.DueOptions) (graph.DueRun, error) {
	o.Retry.Attempts = 0
	return s.graph.ResumeDue(ctx, found, o)
}

// Queues returns nothing, because no node of a schedule has a queue.
func (s *Schedules) Queues() []string { return s.graph.Queues() }

// RunQueued implements worker.App. A worker calls it only for queues that Queues returned.
func (s *Schedules) RunQueued(ctx context.Context, task []byte, again bool) error {
	return s.graph.RunQueued(ctx, task, again)
}

// wait waits for the next tick or command, and decides what fires.
func (s *Schedules) wait(ctx context.Context, e entry) (u entryUpdate, err error) {
	if e.ID == "" {
		return u, nil // Create has not begun the thread
	}
	now, err := s.now(ctx)
	if err != nil {
		return u, err
	}
	if !e.Progress.More {
		until := e.Progress.Wake
		if len(e.Commands) > 0 {
			until = now
		}
		if err := waitUntil(ctx, until, now); err != nil {
			return u, err
		}
	}
	d := decision{entry: &e, now: now}
	if d.running, err = s.running(ctx, &e); err != nil {
		return u, err
	}
	for _, id := range slices.Sorted(maps.Keys(e.Commands)) { // ids are in the order of their time
		c := e.Commands[id]
		d.apply(&c)
		if c.Kind == updating {
			u.Spec.Set(e.Spec)
			u.Action.Set(e.Action)
		}
		u.Commands.Delete(id)
	}
	t, err := e.Spec.ticks()
	if err != nil {
		return u, err
	}
	d.ticks = &t
	d.decide()
	u.Progress.Set(e.Progress)
	return u, nil
}

// tick is the question of a schedule that waits. It expires when the next tick is due, and
// commands answer it.
var tick = graph.NewQuestion[wire.String, wire.Bool]("tick")

// waitUntil waits until a time, or for a command. If the time is zero, only a command ends the
// wait.
func waitUntil(ctx context.Context, until, now time.Time) error {
	var opts []graph.AskOption
	if !until.IsZero() {
		opts = append(opts, graph.ExpireAfter(max(until.Sub(now), time.Millisecond)))
	}
	_, err := tick.Ask(ctx, "", opts...)
	if errors.Is(err, graph.ErrExpired) {
		return nil
	}
	return err
}

// now returns the time on the saver's clock.
func (s *Schedules) now(ctx context.Context) (time.Time, error) {
	ready, err := s.saver.Ready(ctx, checkpoint.ReadyQuery{Limit: 1}) // of no graph: only the time
	return ready.Now.UTC(), err
}

// running reports whether the newest firing is not over.
func (s *Schedules) running(ctx context.Context, e *entry) (bool, error) {
	newest := e.Progress.newest()
	if newest.Thread == "" || newest.Err != "" || e.Spec.Overlap == Allow {
		return false, nil
	}
	c, err := s.saver.Load(ctx, checkpoint.Ref{Thread: newest.Thread, Namespace: checkpoint.NoCall})
	if errors.Is(err, checkpoint.ErrDamaged) {
		return false, nil // nobody can run it
	}
	t := &c.Thread
	switch t.Status {
	case graph.Failed: // a worker may retry it
		return !t.Wake.IsZero(), err
	case graph.Done, graph.Cancelled, 0:
		return t.Inputs > 0, err
	}
	return c.Version > 0, err
}

// fire submits the inputs of the ticks that were decided on.
func (s *Schedules) fire(ctx context.Context, e entry) (u entryUpdate, err error) {
	p := e.Progress
	var posts []checkpoint.Post
	if p.Cancels {
		posts = append(posts, checkpoint.Post{Thread: p.newest().Thread, Graph: e.Action.Graph, Messages: []checkpoint.Message{{
			ID: "overlap", Kind: checkpoint.CancelMessage, Payload: []byte("the next tick of schedule " + e.ID + " is due"),
		}}})
	}
	cancels := len(posts)
	labels := maps.Clone(e.Action.Labels)
	if labels == nil {
		labels = make(map[string]string, 1)
	}
	labels[Label] = e.ID
	for _, f := range p.Firing {
		posts = append(posts, checkpoint.Post{
			Thread: f.Thread, Graph: e.Action.Graph, Title: e.Action.Title, Labels: labels,
			Messages: []checkpoint.Message{{ID: f.Thread, Kind: checkpoint.InputMessage, Payload: e.Action.Input}},
		})
	}
	posted, err := s.saver.Post(ctx, posts...)
	if err != nil {
		return u, err
	}
	errs := make([]string, len(p.Firing))
	for i := range errs {
		if err := posted[cancels+i].Err; err != nil {
			errs[i] = err.Error()
		}
	}
	p.fired(errs)
	u.Progress.Set(p)
	return u, nil
}
