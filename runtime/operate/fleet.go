package operate

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// Load is how much of a graph or of a queue is due, and who serves it. Its names in JSON are
// stable.
type Load struct {
	Graphs []string `json:"graphs,omitempty"` // one graph, or those that have the queue as far as they are known
	Queue  string   `json:"queue,omitempty"`  // empty for threads of the graph
	Paused bool     `json:"paused,omitempty"`

	// Due counts threads or tasks that no worker has taken. Unless a queue is Paused, its tasks of
	// paused graphs do not count.
	Due    int        `json:"due"`
	More   bool       `json:"more,omitempty"` // Due is a lower bound
	Oldest *time.Time `json:"oldest,omitempty"`
	Older  bool       `json:"older,omitempty"` // one that is due for longer may exist

	// The following is of workers with the option Register that are alive.
	Workers int `json:"workers"`
	Slots   int `json:"slots"` // those of a worker are shared by its graphs
	Used    int `json:"used"`
}

// Stuck reports whether something is due for more than a minute at the time now, and nobody has
// paused it.
func (l *Load) Stuck(now time.Time) bool {
	return !l.Paused && l.Oldest != nil && now.Sub(*l.Oldest) > overdue
}

// Fleet is what workers do for the threads of a saver. Its names in JSON are stable.
type Fleet struct {
	Now     time.Time           `json:"now"` // on the saver's clock
	Workers []worker.Registered `json:"workers"`
	Graphs  []Load              `json:"graphs"`
	Queues  []Load              `json:"queues"`
}

// Fleet reads the workers that have registered, and the load of graphs and queues. The graphs are
// those of names, of Graphs and of the workers, and those that are paused. most is how many due
// threads are counted for each; 0 is 100. Each graph and each queue costs one call of the saver.
//
// A queue is known if one of Graphs has it, if a worker serves it, or if it is paused. It is also
// Paused if all of its graphs are. Due threads that Sees hides do not count. With an error that is
// checkpoint.ErrPartial, the Fleet is that of the parts of the storage that answer.
func (o *Operator) Fleet(ctx context.Context, most int, names ...string) (f Fleet, err error) {
	var lacks error
	fatal := func(err error) bool {
		partial := errors.Is(err, checkpoint.ErrPartial)
		if partial {
			lacks = err
		}
		return err != nil && !partial
	}
	if f.Workers, err = worker.Workers(ctx, o.Saver); fatal(err) {
		return f, err
	}
	pausedGraphs, pausedQueues, err := worker.Paused(ctx, o.Saver)
	if fatal(err) {
		return f, err
	}
	graphs, queues := make(map[string]*Load), make(map[string]*Load)
	load := func(all map[string]*Load, name string, l Load) *Load {
		if all[name] == nil {
			all[name] = &l
		}
		return all[name]
	}
	addGraph := func(name string) *Load { return load(graphs, name, Load{Graphs: []string{name}}) }
	addQueue := func(name string) *Load { return load(queues, name, Load{Queue: name}) }
	of := func(l *Load, graphs ...string) {
		for _, name := range graphs {
			if !slices.Contains(l.Graphs, name) {
				l.Graphs = append(l.Graphs, name)
			}
		}
	}
	for _, name := range names {
		addGraph(name)
	}
	for name, g := range o.Graphs {
		addGraph(name)
		for _, queue := range g.Queues() {
			of(addQueue(queue), name)
		}
	}
	f.Workers = slices.DeleteFunc(f.Workers, func(w worker.Registered) bool { return o.hides(w.Thread, registryGraph) })
	for i := range f.Workers {
		w := &f.Workers[i]
		for _, name := range w.Graphs {
			addGraph(name).serve(w.Alive, w.Slots, w.Used)
		}
		once := make(map[string]bool)
		for _, q := range w.Queues {
			l := addQueue(q.Queue)
			of(l, q.Graphs...)
			l.serve(w.Alive, q.Slots, q.Used)
			if once[q.Queue] && w.Alive {
				l.Workers--
			}
			once[q.Queue] = true
		}
	}
	for _, name := range pausedGraphs {
		addGraph(name).Paused = true
	}
	for _, name := range pausedQueues {
		addQueue(name).Paused = true
	}
	stopped := stoppedGraphs(pausedGraphs, f.Workers)
	for _, l := range queues {
		all := !slices.ContainsFunc(l.Graphs, func(name string) bool { return !stopped[name] })
		l.Paused = l.Paused || len(l.Graphs) > 0 && all
	}
	if f.Graphs, err = o.loads(ctx, graphs, nil, most, &f.Now); fatal(err) {
		return f, err
	}
	if f.Queues, err = o.loads(ctx, queues, stopped, most, &f.Now); fatal(err) {
		return f, err
	}
	return f, lacks
}

// stoppedGraphs returns the paused graphs, and the other names of those that have a queue. A pause
// of one name stops the graph.
func stoppedGraphs(paused []string, workers []worker.Registered) map[string]bool {
	stopped := make(map[string]bool)
	for _, name := range paused {
		stopped[name] = true
	}
	for i := range workers {
		for _, q := range workers[i].Queues {
			if slices.ContainsFunc(q.Graphs, func(name string) bool { return slices.Contains(paused, name) }) {
				for _, name := range q.Graphs {
					stopped[name] = true
				}
			}
		}
	}
	return stopped
}

// hides reports whether Sees hides a thread that stores a worker or a schedule.
func (o *Operator) hides(thread, graph string) bool {
	return o.Sees != nil && !o.Sees(&checkpoint.Thread{ID: thread, Graph: graph})
}

// serve adds a worker.
func (l *Load) serve(alive bool, slots, used int) {
	if alive {
		l.Workers, l.Slots, l.Used = l.Workers+1, l.Slots+slots, l.Used+used
	}
}

// loads counts what is due, and returns the loads ordered by their names. Its errors are those of
// Fleet.
func (o *Operator) loads(ctx context.Context, all map[string]*Load, stopped map[string]bool, most int, now *time.Time) (loads []Load, lacks error) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		l := all[name]
		slices.Sort(l.Graphs)
		at, err := o.count(ctx, l, stopped, most)
		if errors.Is(err, checkpoint.ErrPartial) {
			lacks = err
		} else if err != nil {
			return loads, err
		}
		*now, loads = at, append(loads, *l)
	}
	return loads, lacks
}

// Due returns how much of a graph is due, by one call of the saver, and the time on its clock. It
// does not look for workers and pauses. most is that of Fleet. With an error that is
// checkpoint.ErrPartial, the Load is that of the parts of the storage that answer.
func (o *Operator) Due(ctx context.Context, graph string, most int) (l Load, now time.Time, err error) {
	l.Graphs = []string{graph}
	now, err = o.count(ctx, &l, nil, most)
	return l, now, err
}

// count reads what is due of a load. Tasks of stopped graphs count only in a paused queue.
func (o *Operator) count(ctx context.Context, l *Load, stopped map[string]bool, most int) (now time.Time, err error) {
	q := checkpoint.ReadyQuery{Graphs: l.Graphs, Limit: cmp.Or(most, 100)}
	if l.Queue != "" {
		q.Graphs = nil
		for _, name := range l.Graphs {
			if l.Paused || !stopped[name] {
				q.Graphs = append(q.Graphs, graph.QueueGraph(name, l.Queue))
			}
		}
	}
	due, err := o.Saver.Ready(ctx, q)
	if err != nil && !errors.Is(err, checkpoint.ErrPartial) {
		return now, err
	}
	var oldest time.Time
	for i := range due.Threads {
		t := &due.Threads[i]
		if o.Sees != nil && !o.Sees(&checkpoint.Thread{ID: t.ID, Graph: t.Graph, Labels: t.Labels}) {
			continue
		}
		if l.Due++; oldest.IsZero() || t.Wake.Before(oldest) {
			oldest = t.Wake
		}
	}
	// Nothing is due before Next. It may be the wake of a thread with a live lease.
	l.More = len(due.Threads) == q.Limit
	l.Oldest, l.Older = utc(oldest), l.More && !oldest.Equal(due.Next)
	return due.Now, err
}

// Target is what Pause and Unpause are about. Exactly one field is set.
type Target struct {
	Graph    string // all of its threads, and the tasks of its queues
	Queue    string // its tasks, of all graphs
	Schedule string // its ticks
}

// Pause makes workers begin nothing of a target until Unpause: see worker.Pause, worker.PauseQueue
// and schedule.Schedules.Pause. The note is stored with a schedule. It returns a *RequestError for
// a target without exactly one name.
func (o *Operator) Pause(ctx context.Context, t Target, note string) error {
	return o.pause(ctx, t, worker.Pause, worker.PauseQueue, func(s *schedule.Schedules) error { return s.Pause(ctx, t.Schedule, note) })
}

// Unpause ends the pause of a target. Its arguments and errors are those of Pause.
func (o *Operator) Unpause(ctx context.Context, t Target, note string) error {
	return o.pause(ctx, t, worker.Resume, worker.ResumeQueue, func(s *schedule.Schedules) error { return s.Unpause(ctx, t.Schedule, note) })
}

// pause calls the function for the kind of a target.
func (o *Operator) pause(ctx context.Context, t Target, graph, queue func(context.Context, checkpoint.Saver, string) error, ticks func(*schedule.Schedules) error) error {
	switch t {
	case Target{Graph: t.Graph}:
		if t.Graph != "" {
			return graph(ctx, o.Saver, t.Graph)
		}
	case Target{Queue: t.Queue}:
		return queue(ctx, o.Saver, t.Queue)
	case Target{Schedule: t.Schedule}:
		return o.scheduled(ticks)
	}
	return &RequestError{"name one graph, one queue or one schedule"}
}

// scheduled calls a function with the schedules of the saver.
func (o *Operator) scheduled(f func(*schedule.Schedules) error) error {
	all, err := schedule.New(o.Saver)
	if err != nil {
		return err
	}
	return f(all)
}

// Trigger fires a schedule now, as schedule.Schedules.Trigger does.
func (o *Operator) Trigger(ctx context.Context, id string) error {
	return o.scheduled(func(s *schedule.Schedules) error { return s.Trigger(ctx, id) })
}

// Backfill fires the ticks of a schedule from one time until before another one, as
// schedule.Schedules.Backfill does.
func (o *Operator) Backfill(ctx context.Context, id string, from, to time.Time) error {
	return o.scheduled(func(s *schedule.Schedules) error { return s.Backfill(ctx, id, from, to) })
}

// nextTicks is the number of ticks in Schedule.Next.
const nextTicks = 3

// Schedule describes a schedule. Its names in JSON are stable.
type Schedule struct {
	ID     string      `json:"id"`
	When   string      `json:"when"` // the text of its Spec
	Graph  string      `json:"graph"`
	Paused bool        `json:"paused,omitempty"`
	Note   string      `json:"note,omitempty"` // of the last pause or its end
	Next   []time.Time `json:"next,omitempty"` // the next ticks, at most 3; the first one with its Jitter
	// Last is the newest firing, and Status the text of the status of its thread. Status is empty
	// if nothing is stored of the thread.
	Last    *Firing `json:"last,omitempty"`
	Waiting int     `json:"waiting,omitempty"` // firings that wait for the end of Last
	Fired   int64   `json:"fired"`
	Skipped int64   `json:"skipped"`
	Missed  int64   `json:"missed"`
}

// Firing is a tick for which an input was submitted. Its names in JSON are stable.
type Firing struct {
	Thread string    `json:"thread"`
	At     time.Time `json:"at"` // on the saver's clock
	Error  string    `json:"error,omitempty"`
	Status string    `json:"status,omitempty"`
}

// Schedules yields the schedules that Sees does not hide, ordered by id. An error with an ID is
// that of one schedule, which has no When if it cannot be read. Any other ends the sequence, such
// as one that is checkpoint.ErrPartial after the schedules of the storage that answers. Each
// schedule costs some calls of the saver.
func (o *Operator) Schedules(ctx context.Context) iter.Seq2[Schedule, error] {
	return func(yield func(Schedule, error) bool) {
		err := o.scheduled(func(all *schedule.Schedules) error {
			for d, err := range all.List(ctx, "") {
				if d.ID != "" && o.hides(schedule.Thread(d.ID), schedule.Graph) {
					continue
				}
				s := Schedule{ID: d.ID}
				if err == nil {
					s, err = o.schedule(ctx, &d)
				}
				if !yield(s, err) {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			yield(Schedule{}, err)
		}
	}
}

// schedule returns a schedule with the outcome of its newest firing.
func (o *Operator) schedule(ctx context.Context, d *schedule.Description) (Schedule, error) {
	s := Schedule{
		ID: d.ID, When: d.Spec.String(), Graph: d.Graph, Paused: d.Paused, Note: d.Note,
		Waiting: len(d.Waiting), Fired: d.Fired, Skipped: d.Skipped, Missed: d.Missed,
	}
	for at := d.Next; len(s.Next) < nextTicks && !at.IsZero(); {
		s.Next = append(s.Next, at.UTC())
		next, err := d.Spec.Next(at)
		if err != nil {
			return Schedule{ID: d.ID}, err
		}
		at = next
	}
	if n := len(d.Recent); n > 0 {
		last := &d.Recent[n-1]
		s.Last = &Firing{Thread: last.Thread, At: last.At.UTC(), Error: last.Err}
		t, err := o.Find(ctx, last.Thread)
		if err == nil && t.Status != 0 && (o.Sees == nil || o.Sees(&t)) {
			s.Last.Status = t.Status.String()
		}
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) && !Unreadable(err) {
			return s, err
		}
	}
	return s, nil
}
