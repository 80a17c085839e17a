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

// A paused graph is stored as a thread with this name of a graph, and this prefix before the name
// of the paused graph. The thread is Paused, and has records without a state.
const (
	pauseGraph  = graph.ReservedPrefix + "pause"
	pausePrefix = pauseGraph + "/"
)

// recheck is how often a worker reads which graphs are paused, while it takes threads.
const recheck = time.Second

// Pause makes all workers of a saver take no threads of a graph, until Resume. The saver stores
// the pause, so it outlives all processes. Runs in progress finish. A worker takes no more threads
// about a second after Pause has returned. Direct calls, such as Invoke and Resume, continue to
// work.
//
// The name is that of the graph, or one of its former names. Pausing a paused graph does nothing.
func Pause(ctx context.Context, saver checkpoint.Saver, graph string) error {
	return setPaused(ctx, saver, graph, checkpoint.Paused)
}

// Resume ends the pause of a graph. Workers look for its threads again at most Options.Poll later.
// Resuming a graph that is not paused does nothing.
func Resume(ctx context.Context, saver checkpoint.Saver, graph string) error {
	if err := setPaused(ctx, saver, graph, checkpoint.Done); err != nil {
		return err
	}
	err := saver.Delete(ctx, pausePrefix+graph)
	if busy := (*checkpoint.BusyError)(nil); err == nil || errors.As(err, &busy) {
		return nil // somebody else pauses it again
	}
	return fmt.Errorf("worker: resume graph %q: %w", graph, err)
}

// Paused returns the names of the paused graphs, in order. It includes a graph whose stored pause
// is damaged. With an error that is checkpoint.ErrPartial it returns those that it could read.
func Paused(ctx context.Context, saver checkpoint.Saver) (graphs []string, err error) {
	for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Prefix: pausePrefix}) {
		name, ok := strings.CutPrefix(t.ID, pausePrefix)
		switch {
		case err != nil && !errors.Is(err, checkpoint.ErrDamaged):
			return graphs, fmt.Errorf("worker: read the paused graphs: %w", err)
		case ok && (err != nil || t.Status == checkpoint.Paused): // else it is another thread that is damaged
			graphs = append(graphs, name)
		}
	}
	return graphs, nil
}

// setPaused stores that a graph is paused, or is not.
func setPaused(ctx context.Context, saver checkpoint.Saver, graph string, status checkpoint.Status) error {
	for {
		c, err := saver.Load(ctx, checkpoint.Ref{Thread: pausePrefix + graph})
		switch stored := c.Thread.Status; {
		case err != nil:
			return fmt.Errorf("worker: read the pause of graph %q: %w", graph, err)
		case stored == status, c.Empty() && status == checkpoint.Done:
			return nil
		}
		a, err := pauseRecord(graph, c.Head, status)
		if err == nil {
			_, err = saver.Append(ctx, a)
		}
		if err == nil || !errors.Is(err, checkpoint.ErrConflict) || ctx.Err() != nil {
			if err != nil {
				err = fmt.Errorf("worker: store the pause of graph %q: %w", graph, err)
			}
			return err
		}
	}
}

// pauseRecord returns the Append of a pause or of its end. Its Wake makes a checkpoint.Notifier
// announce it. No worker asks for threads of pauseGraph.
func pauseRecord(graph string, head checkpoint.ID, status checkpoint.Status) (checkpoint.Append, error) {
	id, err := checkpoint.NewIDAfter(head)
	return checkpoint.Append{
		Thread: pausePrefix + graph, After: head, Status: status, End: true, Wake: time.Unix(1, 0),
		Records: []checkpoint.Record{{
			ID: id, Base: id, Line: id, Source: checkpoint.Input, Graph: pauseGraph, Snapshot: true, Payload: []byte{0x80}, Created: time.Now().UTC(),
		}},
		Open: &checkpoint.Opening{Holder: "worker.Pause", Title: "graph " + graph},
	}, err
}

// pauses knows which graphs are paused. The loop of the worker owns it, except dirty.
type pauses struct {
	graphs map[string]bool
	read   time.Time
	dirty  bool // the saver has announced a change; Worker.mu guards it
}

// readPauses reads which graphs are paused, if that was not known a second ago.
func (w *Worker) readPauses(ctx context.Context) error {
	w.mu.Lock()
	known := !w.pauses.read.IsZero() && !w.pauses.dirty && (w.notifies || time.Since(w.pauses.read) < recheck)
	w.pauses.dirty = false
	w.mu.Unlock()
	if known {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, w.opt.SaverTimeout)
	defer cancel()
	names, err := Paused(call, w.saver)
	if err != nil && w.partial(err) {
		names, err = slices.AppendSeq(names, maps.Keys(w.pauses.graphs)), nil // those may be paused still
	}
	if err != nil {
		w.mu.Lock()
		w.pauses.dirty = true
		w.mu.Unlock()
		return err
	}
	paused := make(map[string]bool)
	for _, name := range names {
		if w.apps[name] == nil {
			continue
		}
		if paused[name] = true; !w.pauses.graphs[name] {
			w.emit(Event{Kind: EventPaused, Graph: name})
		}
	}
	for name := range w.pauses.graphs {
		if !paused[name] {
			w.emit(Event{Kind: EventResumed, Graph: name})
		}
	}
	w.pauses.graphs, w.pauses.read = paused, time.Now()
	return nil
}

// paused reports whether one of the names of an app is paused.
func (p *pauses) paused(t *turn) bool {
	for _, name := range t.names {
		if p.graphs[name] {
			return true
		}
	}
	return false
}
