package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// A pause is stored as a thread with this name of a graph. Its id is this prefix and the name of
// the paused graph, or queuePrefix and the name of the paused queue. The thread is Paused, and has
// records without a state.
const (
	pauseGraph  = graph.ReservedPrefix + "pause"
	pausePrefix = pauseGraph + "/"
	queuePrefix = graph.ReservedPrefix + "queue/" // no name of a graph begins so
)

// PauseThread returns the id of the thread that stores the pause of a graph.
func PauseThread(graph string) string { return pausePrefix + graph }

// PauseQueueThread returns the id of the thread that stores the pause of a queue.
func PauseQueueThread(queue string) string { return pausePrefix + queuePrefix + queue }

// recheck is how often a worker reads which graphs are paused, while it takes threads.
const recheck = time.Second

// Pause makes all workers of a saver begin no runs of a graph and no tasks of its queues, until
// Resume. The saver stores the pause, so it outlives all processes. Runs and tasks in progress
// finish. A worker obeys within about a second after Pause has returned, or with an Engine at its
// next poll: see Options.Poll. Submit and direct calls, such as Invoke and Resume, continue to
// work.
//
// The name is that of the graph, or one of its former names. Pausing a paused graph does nothing.
// A name that begins with graph.ReservedPrefix causes a *checkpoint.InvalidError.
func Pause(ctx context.Context, saver checkpoint.Saver, graph string) error {
	if err := checkName(graph); err != nil {
		return err
	}
	return setPaused(ctx, saver, graph, checkpoint.Paused)
}

// PauseQueue makes all workers of a saver begin no tasks of a queue, of any graph, until
// ResumeQueue. It works like Pause. Runs hand out tasks, which wait. The time of
// graph.StartTimeout passes during the pause, so attempts can fail.
func PauseQueue(ctx context.Context, saver checkpoint.Saver, queue string) error {
	return setPaused(ctx, saver, queuePrefix+queue, checkpoint.Paused)
}

// Resume ends the pause of a graph. Workers look for its threads again at most Options.Poll later.
// Resuming a graph that is not paused does nothing. The name is that of Pause.
func Resume(ctx context.Context, saver checkpoint.Saver, graph string) error {
	if err := checkName(graph); err != nil {
		return err
	}
	return unpause(ctx, saver, graph)
}

// ResumeQueue ends the pause of a queue, as Resume does for a graph.
func ResumeQueue(ctx context.Context, saver checkpoint.Saver, queue string) error {
	return unpause(ctx, saver, queuePrefix+queue)
}

// checkName refuses a reserved name of a graph, which could be that of the pause of a queue.
func checkName(name string) error {
	if strings.HasPrefix(name, graph.ReservedPrefix) {
		return &checkpoint.InvalidError{Field: "graph", Found: name, Want: fmt.Sprintf("a name that does not begin with %q", graph.ReservedPrefix)}
	}
	return nil
}

// unpause removes the pause of a graph or a queue.
func unpause(ctx context.Context, saver checkpoint.Saver, name string) error {
	if err := setPaused(ctx, saver, name, checkpoint.Done); err != nil {
		return err
	}
	err := saver.Delete(ctx, pausePrefix+name)
	if busy := (*checkpoint.BusyError)(nil); err == nil || errors.As(err, &busy) {
		return nil // somebody else pauses it again
	}
	return fmt.Errorf("worker: resume %s: %w", pauseTitle(name), err)
}

// pauseTitle returns what a pause is about, such as "graph orders".
func pauseTitle(name string) string {
	if queue, ok := strings.CutPrefix(name, queuePrefix); ok {
		return "queue " + queue
	}
	return "graph " + name
}

// Paused returns the names of the paused graphs and queues, each in order. It includes those whose
// stored pause is damaged. With an error that is checkpoint.ErrPartial it returns those that it
// could read.
func Paused(ctx context.Context, saver checkpoint.Saver) (graphs, queues []string, err error) {
	names, err := readPaused(ctx, saver)
	for _, name := range names {
		if queue, ok := strings.CutPrefix(name, queuePrefix); ok {
			queues = append(queues, queue)
		} else {
			graphs = append(graphs, name)
		}
	}
	return graphs, queues, err
}

// readPaused returns the names of the stored pauses.
func readPaused(ctx context.Context, saver checkpoint.Saver) (names []string, err error) {
	for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Prefix: pausePrefix}) {
		name, ok := strings.CutPrefix(t.ID, pausePrefix)
		switch {
		case err != nil && !errors.Is(err, checkpoint.ErrDamaged):
			return names, fmt.Errorf("worker: read what is paused: %w", err)
		case ok && (err != nil || t.Status == checkpoint.Paused): // else it is another thread that is damaged
			names = append(names, name)
		}
	}
	return names, nil
}

// setPaused stores that a graph or a queue is paused, or is not. A server can store an Append
// late: after its caller has lost the connection, and after the next Resume. So a new thread
// begins as Done, and a late copy of its first Append pauses nothing. A late copy of the second
// Append is refused, because Resume has removed the head that it names.
func setPaused(ctx context.Context, saver checkpoint.Saver, name string, status checkpoint.Status) error {
	for {
		c, err := saver.Load(ctx, checkpoint.Ref{Thread: pausePrefix + name})
		next := status
		switch stored := c.Thread.Status; {
		case err != nil:
			return fmt.Errorf("worker: read the pause of %s: %w", pauseTitle(name), err)
		case stored == status, c.Empty() && status == checkpoint.Done:
			return nil
		case c.Empty():
			next = checkpoint.Done
		}
		a, err := pauseRecord(name, c.Head, next)
		if err == nil {
			_, err = saver.Append(ctx, a)
		}
		switch {
		case err == nil && next == status:
			return nil
		case err != nil && (!errors.Is(err, checkpoint.ErrConflict) || ctx.Err() != nil):
			return fmt.Errorf("worker: store the pause of %s: %w", pauseTitle(name), err)
		}
	}
}

// pauseRecord returns the Append of a pause or of its end. Its Wake makes a checkpoint.Notifier
// announce it, and is so late that nobody takes the thread for a due one. The Append that begins
// the thread has none, because it changes no pause.
func pauseRecord(name string, head checkpoint.ID, status checkpoint.Status) (checkpoint.Append, error) {
	id, err := checkpoint.NewIDAfter(head)
	var wake time.Time
	if !head.IsZero() {
		wake = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)
	}
	return checkpoint.Append{
		Thread: pausePrefix + name, After: head, Status: status, End: true, Wake: wake,
		Records: []checkpoint.Record{{
			ID: id, Base: id, Line: id, Source: checkpoint.Input, Graph: pauseGraph, Snapshot: true, Payload: []byte{0x80}, Created: time.Now().UTC(),
		}},
		Open: &checkpoint.Opening{Holder: "worker.Pause", Title: pauseTitle(name)},
	}, err
}

// pauses knows which graphs and queues are paused. Worker.mu guards it. Only
// the goroutine of Run sets names and read, so it reads these two without the lock.
type pauses struct {
	names map[string]bool // as Pause and PauseQueue store them
	read  time.Time
	dirty bool // the saver has announced a change
}

// readPauses reads what is paused, if that was not known a second ago.
func (w *Worker) readPauses(ctx context.Context) error {
	w.mu.Lock()
	known, before := !w.pausesAreOld() && !w.pauses.dirty, w.pauses.names
	w.pauses.dirty = false
	w.mu.Unlock()
	if known {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, w.opt.SaverTimeout)
	defer cancel()
	names, err := readPaused(call, w.saver)
	if err != nil && w.partial(err) {
		names, err = slices.AppendSeq(names, maps.Keys(before)), nil // those may be paused still
	}
	if err != nil {
		w.mu.Lock()
		w.pauses.dirty = true
		w.mu.Unlock()
		return err
	}
	paused := make(map[string]bool)
	for _, name := range names {
		if slices.ContainsFunc(w.turns, func(t *turn) bool { return t.stopsAt(name) }) {
			paused[name] = true
		}
	}
	w.mu.Lock()
	w.pauses.names, w.pauses.read = paused, time.Now()
	w.mu.Unlock()
	w.emitPauses(EventPaused, paused, before)
	w.emitPauses(EventResumed, before, paused)
	return nil
}

// pausesAreOld reports whether the worker must read again what is paused. The caller must hold
// w.mu.
func (w *Worker) pausesAreOld() bool {
	return w.pauses.read.IsZero() || !w.notifies && time.Since(w.pauses.read) >= recheck
}

// emitPauses emits an event for each name that only the first map has.
func (w *Worker) emitPauses(kind EventKind, all, without map[string]bool) {
	for name := range all {
		if without[name] {
			continue
		}
		e := Event{Kind: kind, Graph: name}
		if queue, ok := strings.CutPrefix(name, queuePrefix); ok {
			e.Graph, e.Queue = "", queue
		}
		w.emit(e)
	}
}

// paused reports whether a pause stops an app or a queue.
func (p *pauses) paused(t *turn) bool {
	for name := range p.names {
		if t.stopsAt(name) {
			return true
		}
	}
	return false
}

// stopsAt reports whether a pause with this name is about the app or the queue. A pause of a graph
// is also about its queues.
func (t *turn) stopsAt(name string) bool {
	return slices.Contains(t.names, name) || t.tasks && (name == queuePrefix+t.queue || slices.Contains(t.of, name))
}
