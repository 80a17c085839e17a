package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/internal/news"
)

// Stored is a thread of a saver, for programs that do not have its graph, such as package operate.
// It is a small value, and safe for concurrent use. Graph.Untyped is for programs that have the
// graph and not the Go types of its state.
type Stored struct {
	// Saver has the thread. Only Result and Reply use it, and return ErrNoSaver without it.
	Saver checkpoint.Saver
	// Graph is the name of the graph of the thread. Only the posts use it.
	Graph string
	// Ref names the thread. For Read, Position and Updates it is the argument of Saver.Load.
	Ref checkpoint.Ref
}

// core returns a graph without nodes on the saver of the thread.
func (t Stored) core() (*core, error) {
	if t.Saver == nil {
		return nil, fmt.Errorf("graph: thread %q: %w; set the Saver of Stored", t.Ref.Thread, ErrNoSaver)
	}
	g := &core{compiled: compiled{opt: defaults()}}
	g.opt.saver, g.news = t.Saver, news.NewRoom(t.Saver, g.opt.saverTimeout)
	return g, nil
}

// Read returns the snapshot of a loaded checkpoint. c is the result of Saver.Load. State is the
// stored state: the snapshot with its deltas. It shares memory with c. For a subgraph call, set
// c.Thread.Questions to those of a Load of checkpoint.NoCall. Without them the snapshot has no
// questions, timers, signals and stops of calls within the call.
//
// The Snapshot differs from that of Thread.State in these points:
//
//   - Next has the nodes with due tasks, or those whose routes were not called yet.
//   - Calls has every due task if subgraph calls are due at the checkpoint. Load the Namespace of
//     a call to find out: it has no records if the task is no call, or has stored nothing.
//   - The state of a call misses edits that the thread made since the last record of the call.
//
// It returns checkpoint.ErrNotFound if c is empty, and checkpoint.ErrDamaged if c cannot be read.
func (t Stored) Read(c *checkpoint.Chain) (Snapshot[[]byte], error) {
	s, err := t.Position(c)
	if err != nil {
		return s, err
	}
	s.State, err = checkpoint.Fold(c.Snapshot, c.Deltas...)
	if err != nil {
		return s, fmt.Errorf("graph: thread %q: the state of checkpoint %s: %w", t.Ref.Thread, c.Last.ID, err)
	}
	return s, nil
}

// Position works like Read, without the State.
func (t Stored) Position(c *checkpoint.Chain) (Snapshot[[]byte], error) {
	s, err := t.position(c)
	return snapshotWith(&s, []byte(nil)), err
}

// position is Position.
func (t Stored) position(c *checkpoint.Chain) (snapshot, error) {
	ref := t.Ref
	if c.Empty() {
		return snapshot{}, fmt.Errorf("graph: thread %q: %w", ref.Thread, checkpoint.ErrNotFound)
	}
	last := &c.Last
	s := storedRecord(ref, last, c.Due)
	var err error
	if s.Stops, err = stopsIn(ref.Namespace, c); err != nil {
		return s, storedError(ref, last, err)
	}
	if !c.Committed {
		if err := addTasks(&s, ref.Namespace, c); err != nil {
			return s, storedError(ref, last, err)
		}
	}
	s.Title, s.Labels = c.Thread.Title, c.Thread.Labels
	switch {
	case last.ID != c.Head:
	case ref.Namespace != "" && !c.Unfinished():
		s.Status = checkpoint.Done
	default:
		s.Status, s.Cancelling, s.Inputs = c.Thread.Status, c.Thread.Cancels > 0, c.Thread.Inputs
	}
	return s, nil
}

// Updates returns a function that returns what a finished task has changed, as encoded updates. c
// is as for Read, and of is called with the Tasks of its Snapshot. The task of a subgraph over the
// same state has an update for each of its nodes; any other task has one. The result of a task
// that has not finished is nil. An error is a checkpoint.ErrDamaged.
func (t Stored) Updates(c *checkpoint.Chain) (of func(TaskState) ([][]byte, error)) {
	ref := t.Ref
	results := journal.ResultsAt(c.Writes, &c.Last, ref.Namespace)
	return func(task TaskState) ([][]byte, error) {
		w := results.Of(checkpoint.Task{Node: string(task.Node), Index: uint32(task.Index)})
		if w == nil {
			return nil, nil
		}
		updates, err := journal.ResultUpdates(w.Payload)
		if err != nil {
			err = storedError(ref, &c.Last, err)
		}
		return updates, err
	}
}

// TaskUpdates returns the update that a finished task of an unfinished superstep has returned.
// task is one of the Tasks of a Snapshot. For the Tasks of another checkpoint than the head, call
// it on Thread.At of that checkpoint. The task of a subgraph over the same state has an update for
// each of its nodes. The result is nil if no result of the task is stored, or if its superstep has
// committed. Errors are those of State.
func (t Thread[S, U]) TaskUpdates(ctx context.Context, task TaskState) ([]U, error) {
	stored, err := t.thread.taskUpdates(ctx, task)
	if err != nil {
		return nil, err
	}
	var updates []U
	for _, b := range stored {
		u, err := decodeUpdate(t.g.schema, b)
		if err != nil {
			return nil, decodeError(t.thread.g.name, t.thread.id, err, fmt.Sprintf("the stored result of node %q", string(task.Node)))
		}
		updates = append(updates, u)
	}
	return updates, nil
}

// taskUpdates is Thread.TaskUpdates, with the updates encoded.
func (t threadCore) taskUpdates(ctx context.Context, task TaskState) ([][]byte, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	t, c, err := t.find(ctx, t.at)
	if err != nil || c.Empty() || c.Committed {
		return nil, err
	}
	if err := t.g.owns(t.id, &c.Last); err != nil {
		return nil, err
	}
	return Stored{Ref: t.place(t.at)}.Updates(&c)(task)
}

func storedError(ref checkpoint.Ref, rec *checkpoint.Record, err error) error {
	return fmt.Errorf("graph: thread %q: the tasks of checkpoint %s: %w: %w", ref.Thread, rec.ID, checkpoint.ErrDamaged, err)
}

// storedRecord returns what a snapshot has of its record and of the due tasks.
func storedRecord(ref checkpoint.Ref, rec *checkpoint.Record, due []checkpoint.Task) snapshot {
	s := snapshot{
		Thread: ref.Thread, Version: ref.Version, Checkpoint: rec.ID, Parent: rec.Parent, Step: rec.Step, Source: rec.Source,
		Ran: ids(rec.Ran), Created: rec.Created, Metadata: journal.Metadata(rec.Meta),
		Dropped: droppedAt(rec),
	}
	calls := journal.HasFormat(rec.Meta)
	s.Next = dueNodes(due)
	for _, task := range due {
		if calls {
			name := journal.DueCall(rec, ref.Namespace, task)
			s.Calls = append(s.Calls, SubgraphCall{
				Node: ID(task.Node), Index: int(task.Index), Namespace: journal.Within(ref.Namespace, name), Version: ref.Version,
			})
		}
	}
	if len(s.Next) == 0 {
		s.Next = ids(slices.Clone(rec.PendingRoutes))
	}
	return s
}

// addTasks adds to a snapshot what its due tasks have stored.
func addTasks(s *snapshot, namespace string, c *checkpoint.Chain) (err error) {
	ctx := context.Background() // nothing waits
	if s.Tasks, err = taskStates(ctx, namespace, &c.Last, c); err != nil {
		return err
	}
	if err = setWaits(ctx, s, openQuestions(namespace, c), c.Thread.Now); err != nil {
		return err
	}
	if namespace == "" {
		s.Reason, s.Deadline = reasonIn(c), deadlineIn(c)
	}
	return nil
}
