package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/shape/value"
)

// Position is a checkpoint of a thread, or of a subgraph call in it, as Read has loaded it. It
// must not be used concurrently.
type Position struct {
	Ref     checkpoint.Ref   // Version is that of the released version that has the checkpoint
	Chain   checkpoint.Chain // empty if no checkpoint is stored
	Snap    graph.Snapshot[[]byte]
	Schemas Schemas
	// Locked says why payloads cannot be read, or is nil. Snap then has no State, and of the
	// pending writes only those that can be read.
	Locked error

	updates func(graph.TaskState) ([][]byte, error) // of graph.Stored; nil before the first use
}

// Read loads a checkpoint; a zero At is the head. If the open version does not have it, Read
// searches the released ones. Without state, the Snap has no State. In a subgraph call, the paths
// of Snap begin in the call. With an error that is Unreadable, the Position has what can be read.
func (o *Operator) Read(ctx context.Context, ref checkpoint.Ref, state bool) (Position, error) {
	p, err := o.position(ctx, ref, state)
	if err == nil && !p.Chain.Empty() {
		p.Schemas, err = o.Schemas(ctx, ref.Thread, p.Ref.Version)
	}
	return p, err
}

// position is Read without the Schemas.
func (o *Operator) position(ctx context.Context, ref checkpoint.Ref, state bool) (p Position, err error) {
	p.Ref = ref
	p.Chain, err = o.Saver.Load(ctx, ref)
	if errors.Is(err, checkpoint.ErrNotFound) && ref.Version == 0 && !ref.At.IsZero() {
		err = o.search(ctx, &p)
	}
	if err != nil {
		return p, fmt.Errorf("thread %q: %w", ref.Thread, err)
	}
	if p.Ref.Namespace != "" {
		thread, err := o.Saver.Load(ctx, checkpoint.Ref{Thread: p.Ref.Thread, Version: p.Ref.Version, Namespace: checkpoint.NoCall})
		if err != nil {
			return p, fmt.Errorf("thread %q: %w", ref.Thread, err)
		}
		p.Chain.Thread.Questions = thread.Thread.Questions
	}
	if p.Chain.Empty() {
		return p, nil
	}
	stored := graph.Stored{Ref: p.Ref}
	c, read := p.Chain, stored.Read
	if p.Locked = o.unlock(&c); p.Locked != nil || !state {
		read = stored.Position
	}
	p.Chain.Writes = c.Writes
	if p.Snap, err = read(&c); err != nil {
		return p, err
	}
	for i := range p.Snap.Questions {
		p.Snap.Questions[i].Path = p.Inner(p.Snap.Questions[i].Path)
	}
	for i := range p.Snap.Timers {
		p.Snap.Timers[i].Path = p.Inner(p.Snap.Timers[i].Path)
	}
	for i := range p.Snap.Signals {
		p.Snap.Signals[i].Path = p.Inner(p.Snap.Signals[i].Path)
	}
	for i := range p.Snap.Stops {
		p.Snap.Stops[i].Path = p.Inner(p.Snap.Stops[i].Path)
	}
	return p, nil
}

// search looks for the checkpoint of p in released versions, newest first.
func (o *Operator) search(ctx context.Context, p *Position) error {
	versions, err := o.Saver.Versions(ctx, p.Ref.Thread)
	if err != nil {
		return err
	}
	for _, version := range slices.Backward(versions) {
		if version.Released.IsZero() {
			continue
		}
		ref := p.Ref
		ref.Version = version.Number
		c, err := o.Saver.Load(ctx, ref)
		if errors.Is(err, checkpoint.ErrNotFound) {
			continue
		}
		p.Ref, p.Chain = ref, c
		return err
	}
	return fmt.Errorf("checkpoint %s: %w", p.Ref.At, checkpoint.ErrNotFound)
}

// unlock returns why payloads of a chain cannot be read, or nil. It removes pending writes that
// cannot be read, but for results, which say that their tasks have finished. The reason takes the
// place of the text of a failure.
func (o *Operator) unlock(c *checkpoint.Chain) error {
	locked := o.Locked(c.Snapshot)
	writes := make([]checkpoint.Write, 0, len(c.Writes))
	for _, w := range c.Writes {
		err := o.Locked(w.Payload)
		switch {
		case err == nil, w.Kind == checkpoint.Result:
		case w.Kind == checkpoint.Failure && w.Name == "":
			w.Payload = []byte(err.Error())
		default:
			locked = cmp.Or(locked, err)
			continue
		}
		locked = cmp.Or(locked, err)
		writes = append(writes, w)
	}
	if locked != nil {
		c.Writes, c.Thread.Questions = writes, nil
	}
	return locked
}

// Inner returns the part of a path that is in the subgraph call of the position. A namespace has a
// part for each of the calls around its tasks.
func (p *Position) Inner(path []graph.PathElement) []graph.PathElement {
	if p.Ref.Namespace == "" {
		return path
	}
	return path[min(strings.Count(p.Ref.Namespace, "/")+1, len(path)):]
}

// State returns the state with its names. It returns Locked, or a checkpoint.ErrDamaged for stored
// data that cannot be read.
func (p *Position) State() (value.Value, error) {
	if p.Chain.Empty() {
		return value.Value{Kind: value.Struct}, nil
	}
	if p.Locked != nil {
		return value.Value{}, fmt.Errorf("the state cannot be read: %w", p.Locked)
	}
	v, err := value.State(p.Schemas.State(p.Chain.Last.Fingerprint), p.Snap.State)
	if err != nil {
		err = fmt.Errorf("the state cannot be read: %w: %w", checkpoint.ErrDamaged, err)
	}
	return v, err
}

// Task is a due task at a Position. Its names in JSON are stable.
type Task struct {
	Node  graph.ID `json:"node"`
	Index int      `json:"index,omitempty"` // number of the send that the task runs, else 0
	// State is "finished", "failed", "waiting", "sleeping", "retrying", "queued" or "due".
	State    string `json:"state"`
	Summary  string `json:"summary,omitempty"`
	Progress string `json:"progress,omitempty"` // the newest note that is stored

	Failure string    `json:"failure,omitempty"`
	Attempt int       `json:"attempt,omitempty"` // that failed with Failure; 0 for none, or if it is unknown
	Failed  time.Time `json:"failed,omitzero"`   // when, by the clock of its process
	// Attempts are the failed attempts, oldest first: the newest 20 of all runs.
	Attempts []Attempt `json:"attempts,omitempty"`

	Then int       `json:"next_attempt,omitempty"` // the number of the next attempt in the same run
	Next time.Time `json:"next,omitzero"`          // when it begins; zero for not by itself

	Queue  string    `json:"queue,omitempty"` // whose workers the task waits for
	Queued time.Time `json:"queued,omitzero"` // since when, on the saver's clock
}

// Attempt is a failed attempt of a task, as graph.FailedAttempt. Its names in JSON are stable.
type Attempt struct {
	Number  int       `json:"number"`            // among the failed attempts of the task, from 1
	Attempt int       `json:"attempt,omitempty"` // in its run; 0 if only the merge failed
	Failed  time.Time `json:"failed"`
	Worker  string    `json:"worker,omitempty"`
	Text    string    `json:"text"`
	Stack   string    `json:"stack,omitempty"`
}

// Name returns the node and the number of the send: "read[2]".
func (t *Task) Name() string { return (&Wait{Node: string(t.Node), Index: t.Index}).Task() }

// Tasks returns the due tasks in their order. It returns none if their superstep has committed.
func (p *Position) Tasks() []Task {
	waits := make(map[graph.PathElement]bool)
	timers := make(map[graph.PathElement]graph.Timer)
	for _, q := range p.Snap.Questions {
		waits[Outer(q.Path, q.Node, q.Index)] = true
	}
	for _, q := range p.Snap.Signals {
		waits[Outer(q.Path, q.Node, q.Index)] = true
	}
	for _, t := range p.Snap.Timers {
		timers[Outer(t.Path, t.Node, t.Index)] = t
	}
	tasks := make([]Task, 0, len(p.Snap.Tasks))
	for _, s := range p.Snap.Tasks {
		k := graph.PathElement{Node: s.Node, Index: s.Index}
		t := Task{
			Node: s.Node, Index: s.Index, State: "due", Summary: s.Summary, Progress: s.Progress, Failure: s.Failure,
			Attempt: s.Attempt, Failed: s.FailedAt,
		}
		for _, a := range s.Attempts {
			t.Attempts = append(t.Attempts, Attempt(a))
		}
		timer, timed := timers[k]
		switch {
		case s.Finished:
			t.State = "finished"
		case timed && timer.Attempt > 0:
			t.State, t.Then, t.Next = "retrying", timer.Attempt, timer.Due.UTC()
		case s.Failure != "":
			t.State, t.Next = "failed", p.Chain.Thread.Wake.UTC()
		case timed:
			t.State, t.Next = "sleeping", timer.Due.UTC()
		case waits[k]:
			t.State = "waiting"
		case s.Queue != "":
			t.State, t.Queue, t.Queued = "queued", s.Queue, s.Queued.UTC()
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// Updates returns the updates that a finished task has stored: one, or more of a subgraph over the
// same state. It returns Locked, or a checkpoint.ErrDamaged.
func (p *Position) Updates(t *Task) (all []value.Value, err error) {
	if p.Locked != nil {
		return nil, p.Locked
	}
	if p.updates == nil {
		p.updates = graph.Stored{Ref: p.Ref}.Updates(&p.Chain)
	}
	updates, err := p.updates(graph.TaskState{Node: t.Node, Index: t.Index})
	for _, b := range updates {
		v, err := value.Update(p.Schemas.State(p.Chain.Last.Fingerprint), b)
		if err != nil {
			return nil, fmt.Errorf("the result of %s cannot be read: %w: %w", t.Name(), checkpoint.ErrDamaged, err)
		}
		all = append(all, v)
	}
	return all, err
}

// Outer returns the task of a position in which a node of a subgraph call runs. The path begins at
// the position.
func Outer(path []graph.PathElement, node graph.ID, index int) graph.PathElement {
	if len(path) > 0 {
		return path[0]
	}
	return graph.PathElement{Node: node, Index: index}
}
