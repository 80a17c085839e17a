package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// A registered worker is a thread with this name of a graph, and this prefix before a unique id.
// The lease of the thread is the heartbeat. A pending write has the Status.
const (
	registryGraph  = graph.ReservedPrefix + "worker"
	registryPrefix = registryGraph + "/"
	statusWrite    = "status" // the name of the pending write
)

const (
	heartbeat = checkpoint.DefaultLease / 3
	slowest   = time.Minute // the longest pause after heartbeats that have failed
	farewell  = time.Second // the time in which a worker that stops removes its thread
	reopening = time.Hour   // a worker registers again so often, so that the writes of a thread stay few
	forgotten = time.Hour   // after which another worker removes a worker that has died
)

// Status describes a worker. Its names in JSON are stable.
type Status struct {
	Name     string        `json:"name"`              // Options.Name, or the host and the process
	Program  string        `json:"program,omitempty"` // the path and the version of the main module
	Began    time.Time     `json:"began"`             // by the clock of the process
	Draining bool          `json:"draining,omitempty"`
	Graphs   []string      `json:"graphs,omitempty"` // whose threads it runs, with their former names
	Slots    int           `json:"slots"`            // 0 with QueuesOnly
	Used     int           `json:"used"`
	Queues   []QueueStatus `json:"queues,omitempty"` // a queue has one for each graph
}

// QueueStatus describes the part of a worker that serves a queue of a graph. Its names in JSON are
// stable.
type QueueStatus struct {
	Queue  string   `json:"queue"`
	Graphs []string `json:"graphs"` // the names of the graph, with its former names
	Slots  int      `json:"slots"`
	Used   int      `json:"used"`
}

// Registered is a worker that has registered: see Options.Register. Its names in JSON are stable.
type Registered struct {
	Status

	Thread string    `json:"thread"` // that stores the Status
	Alive  bool      `json:"alive"`  // it has shown a sign of life within the last 15 s
	Since  time.Time `json:"since"`  // of its registration, at most an hour ago; if it is not Alive, of the end of its lease
}

// Status returns what the worker serves and how many slots are used. Before Run it has no graphs.
func (w *Worker) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Status{Name: w.name(), Began: w.began, Draining: w.health.ready() == drains}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path != "" {
		s.Program = strings.TrimSuffix(info.Main.Path+" "+info.Main.Version, " ")
	}
	for _, t := range w.turns {
		if t.tasks {
			s.Queues = append(s.Queues, QueueStatus{Queue: t.queue, Graphs: t.of, Slots: t.max, Used: t.running})
			continue
		}
		if _, walks := t.app.(*keeper); !walks {
			s.Graphs = append(s.Graphs, t.names...)
		}
	}
	if !w.opt.QueuesOnly {
		s.Slots, s.Used = w.opt.Slots, len(w.held)-w.tasks
	}
	slices.Sort(s.Graphs)
	slices.SortFunc(s.Queues, func(a, b QueueStatus) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), slices.Compare(a.Graphs, b.Graphs))
	})
	return s
}

// name returns the name of the worker for people.
func (w *Worker) name() string {
	if w.opt.Name != "" {
		return w.opt.Name
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s pid %d", host, os.Getpid())
}

// Workers returns the workers that have registered in a saver, ordered by their names. A worker
// that has died is in the result for one to two hours, and longer if no other worker registers. An
// error of one worker alone leaves it out. With another error, such as one that is
// checkpoint.ErrPartial, Workers returns those that it could read.
func Workers(ctx context.Context, saver checkpoint.Saver) (all []Registered, err error) {
	defer func() {
		slices.SortFunc(all, func(a, b Registered) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Thread, b.Thread)) })
	}()
	for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Prefix: registryPrefix}) {
		if errors.Is(err, checkpoint.ErrDamaged) {
			continue
		}
		if err != nil {
			return all, fmt.Errorf("worker: list the workers: %w", err)
		}
		c, err := saver.Load(ctx, checkpoint.Ref{Thread: t.ID})
		if err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
			return all, fmt.Errorf("worker: read the worker %s: %w", t.ID, err)
		}
		r := Registered{Thread: t.ID, Alive: t.Holder != "", Since: t.Updated.UTC()}
		if !r.Alive && !t.Wake.IsZero() {
			r.Since = t.Wake.UTC()
		}
		i := slices.IndexFunc(c.Writes, func(w checkpoint.Write) bool { return w.Name == statusWrite })
		if i < 0 || json.Unmarshal(c.Writes[i].Payload, &r.Status) != nil {
			continue // it has ended meanwhile, or its data is encrypted
		}
		all = append(all, r)
	}
	return all, nil
}

// registration is the thread of a registered worker.
type registration struct {
	w      *Worker
	thread string
	fence  checkpoint.ID // zero if the thread must be opened
	opened time.Time
	stored string // the Status in the thread, as JSON
}

// register stores the Status of the worker at each heartbeat until the returned function is
// called. That removes it. The pause doubles with each further heartbeat that fails.
func (w *Worker) register() (leave func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r, pause := registration{w: w}, heartbeat
		for next := pause; ; {
			switch err := r.beat(ctx); {
			case err == nil:
				pause, next = heartbeat, heartbeat
			case ctx.Err() == nil:
				w.emit(Event{Kind: EventSaverFailed, Thread: r.thread, Err: err})
				pause, next = next, min(2*next, slowest)
			}
			select {
			case <-ctx.Done():
				last, cancel := context.WithTimeout(context.Background(), min(farewell, w.opt.SaverTimeout))
				defer cancel()
				r.end(last)
				return
			case <-time.After(pause):
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// beat renews the lease, and stores the Status if it has changed. A thread that is an hour old
// makes way for another one. If somebody has removed the thread, the next beat makes another one.
func (r *registration) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.w.opt.SaverTimeout)
	defer cancel()
	text, err := json.Marshal(r.w.Status())
	if err != nil {
		return fmt.Errorf("worker: the status: %w", err)
	}
	if !r.fence.IsZero() && time.Since(r.opened) >= reopening {
		r.end(ctx)
		r.fence = checkpoint.ID{}
	}
	status := checkpoint.Write{Base: r.fence, Task: "worker", Kind: checkpoint.Failure, Name: statusWrite, Payload: text}
	if r.fence.IsZero() {
		return r.open(ctx, status)
	}
	put := checkpoint.PutWrites{Thread: r.thread, Fence: r.fence}
	if string(text) != r.stored {
		put.Writes = []checkpoint.Write{status}
	}
	_, err = r.w.saver.PutWrites(ctx, put)
	switch {
	case moved(err):
		r.fence, err = checkpoint.ID{}, nil
	case err == nil:
		r.stored = string(text)
	}
	return err
}

// open begins the thread, and removes those of workers that have died long ago.
func (r *registration) open(ctx context.Context, status checkpoint.Write) error {
	id, err := checkpoint.NewID()
	if err != nil {
		return err
	}
	r.thread, status.Base = registryPrefix+id.String(), id
	_, err = r.w.saver.Append(ctx, checkpoint.Append{
		Thread: r.thread, Status: checkpoint.Running, Writes: []checkpoint.Write{status},
		Records: []checkpoint.Record{{
			ID: id, Base: id, Line: id, Source: checkpoint.Input, Graph: registryGraph, Snapshot: true, Payload: []byte{0x80}, Created: time.Now().UTC(),
		}},
		Open: &checkpoint.Opening{Holder: r.w.name(), Title: "worker " + r.w.name()},
	})
	if err != nil {
		return err
	}
	r.fence, r.opened, r.stored = id, time.Now(), string(status.Payload)
	for t, err := range r.w.saver.Threads(ctx, checkpoint.ThreadQuery{Prefix: registryPrefix}) {
		if err == nil && t.Holder == "" && t.Now.Sub(t.Wake) > forgotten {
			err = r.w.saver.Delete(ctx, t.ID)
		}
		if err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
			return err
		}
	}
	return nil
}

// end removes the thread. If that fails, the next worker does it.
func (r *registration) end(ctx context.Context) {
	if r.fence.IsZero() {
		return
	}
	_, err := r.w.saver.PutWrites(ctx, checkpoint.PutWrites{Thread: r.thread, Fence: r.fence, Status: checkpoint.Done, End: true})
	if err == nil {
		_ = r.w.saver.Delete(ctx, r.thread) // the next worker removes it, too
	}
}
