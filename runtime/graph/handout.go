package graph

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// A run hands out a task of a queue as an input of a thread of its own, see queuedTask. The id of
// that thread follows from the execution, so a repeat changes nothing. The end of the run notes
// which executions were handed out.

// handOutAgain is the time after which a run hands out tasks again that have no outcome. It heals
// a queue whose tasks somebody has removed.
const handOutAgain = time.Hour

// queuedTask is one execution of a task by a worker of a queue. It refers to stored data, and
// contains none.
type queuedTask struct {
	Graph     string
	Thread    string
	Namespace string        // of the subgraph call that the task is in; empty for the graph itself
	At        checkpoint.ID // the checkpoint with the state
	Base      checkpoint.ID // the record that made the task due
	Node      ID            // as the graph of the run has it
	Task      string        // its key
	Execution string        // the name of its outcome
	Round     int           // how often the task began again by Rerun, an edit or a Resume after its failure
	Attempt   int           // from 1
}

// queuedFormat is the number of the stored form of a queuedTask.
const queuedFormat = 1

// append appends the stored form.
func (q *queuedTask) append(b []byte) []byte {
	b = wire.AppendUint(wire.AppendArrayLen(b, 11), queuedFormat)
	for _, s := range []string{q.Graph, q.Thread, q.Namespace, string(q.Node), q.Task, q.Execution} {
		b = wire.AppendBytes(b, []byte(s)) // names may have any bytes
	}
	b = wire.AppendBytes(wire.AppendBytes(b, q.At[:]), q.Base[:])
	return wire.AppendInt(wire.AppendInt(b, int64(q.Round)), int64(q.Attempt))
}

// readQueued reads what append wrote.
func readQueued(b []byte) (q queuedTask, err error) {
	r := wire.NewReader("task of a queue", b)
	if n, format := r.ArrayLen(), r.Uint64(); r.OK() && (n != 11 || format != queuedFormat) {
		return q, fmt.Errorf("graph: a task of a queue has format %d with %d elements, and this program reads format %d; "+
			"let workers of the same version of graphgen run the tasks of the queue", format, n, queuedFormat)
	}
	str := func() string { return string(r.Bytes()) }
	q.Graph, q.Thread, q.Namespace, q.Node, q.Task, q.Execution = str(), str(), str(), ID(str()), str(), str()
	r.FixedBytes(q.At[:])
	r.FixedBytes(q.Base[:])
	q.Round, q.Attempt = r.Int(), r.Int()
	return q, r.End()
}

// QueueGraph returns the reserved name of the graph whose threads are the tasks of a queue of a
// graph. Package worker asks Saver.Ready for them, and passes their inputs to Graph.RunQueued.
func QueueGraph(graph, queue string) string {
	return ReservedPrefix + "queue-" + hashOf(graph, queue) // names of graphs are limited
}

// thread returns the id of the thread of a task.
func (q *queuedTask) thread() string {
	return checkpoint.TaskID(q.Thread, hashOf(q.Graph, q.Thread, q.Base.String(), string(q.Node), q.Task, q.Execution))
}

// hashOf returns 32 hexadecimal digits that stand for names.
func hashOf(names ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", names))
	return hex.EncodeToString(sum[:16])
}

// elsewhere makes the stored outcome of the next execution of task i that of the attempt. Without
// one, the task waits for a worker of its queue. If the node wants a signal that has come, another
// execution follows.
func (r *run) elsewhere(ctx context.Context, i int) error {
	for {
		q := r.queuedTask(i)
		b, found := r.pending.Outcome(q.Task, q.Execution)
		if !found {
			if err := r.unstarted(ctx, i, &q); err != nil {
				return err
			}
			r.exec.Tasks[i].Progress = exec.Elsewhere
			return ErrWaiting
		}
		e, err := journal.ReadExecution(b)
		if err != nil {
			return r.resultChanged(err, "the outcome of node %q", string(q.Node))
		}
		if again, err := r.receive(i, &e); err != nil {
			return err
		} else if !again {
			return r.accept(ctx, i, &e)
		}
	}
}

// queuedTask returns the next execution of task i. Attempts before the newest one that was handed
// out have failed, and their pauses are over.
func (r *run) queuedTask(i int) queuedTask {
	t := &r.exec.Tasks[i]
	key, round, execution := r.execution(t)
	return queuedTask{
		Graph: r.opt.queues.name, Thread: r.thread, Namespace: r.log.Namespace, At: r.log.Head, Base: r.log.Base,
		Node: r.g.nodes[t.Node].id, Task: key, Round: round, Attempt: t.Attempt, Execution: execution,
	}
}

// execution returns the key of a task, its round, and the name of its next execution.
func (r *run) execution(t *exec.Task) (key string, round int, name string) {
	key = r.taskKey(&t.Task)
	round, answers := r.pending.Round(key), 0
	if t.Asks != nil {
		answers = t.Asks.Answered()
	}
	t.Attempt = max(t.Attempt, r.pending.HandedOut(key, round, answers))
	return key, round, journal.ExecutionName(round, answers, t.Attempt)
}

// handOut stores those of the tasks that wait for a worker of their queue, unless they are stored.
func (r *run) handOut(tasks []int) error {
	if r.opt.queues == nil {
		return nil
	}
	var posts []checkpoint.Post
	var posted []int
	for _, i := range tasks {
		t := &r.exec.Tasks[i]
		if t.Progress != exec.Elsewhere || t.Stored {
			continue
		}
		q := r.queuedTask(i)
		if r.isHandedOut(&q) {
			t.Stored = true
			continue
		}
		posts = append(posts, checkpoint.Post{
			Thread: q.thread(), Graph: QueueGraph(q.Graph, r.g.nodes[t.Node].queue),
			Messages: []checkpoint.Message{{ID: "task", Kind: checkpoint.InputMessage, Payload: q.append(nil)}},
		})
		posted = append(posted, i)
	}
	if len(posts) == 0 {
		return nil
	}
	if r.call != nil { // workers load its first checkpoint, which may wait for the next write
		if err := r.log.Put(r.ctx, nil, journal.Change{}); err != nil {
			return r.saving("put writes", err)
		}
	}
	call, cancel := context.WithTimeout(r.ctx, r.opt.queues.opt.saverTimeout)
	defer cancel()
	done, err := r.opt.queues.opt.saver.Post(call, posts...)
	for i := range done {
		err = errors.Join(err, done[i].Err)
	}
	if err != nil {
		if r.ctx.Err() != nil {
			return r.cancelled()
		}
		return r.saving("post", err)
	}
	for _, i := range posted {
		r.exec.Tasks[i].Stored = true
	}
	return nil
}

// handsOut reports whether a task waits for a worker of its queue and was not handed out. If the
// run ends so, the thread must be due now, because nobody else hands the task out.
func (r *run) handsOut() bool {
	return slices.ContainsFunc(r.exec.Tasks, func(t exec.Task) bool { return t.Progress == exec.Elsewhere && !t.Stored })
}

// isHandedOut reports whether an earlier run has noted that an execution was handed out. After an
// hour, for another id of the node, and in a copy of the thread, that does not count.
func (r *run) isHandedOut(q *queuedTask) bool {
	b, found := r.pending.Outcome(q.Task, journal.HandedOutName(q.Execution))
	h := journal.ReadHandedOut(b)
	return found && h.Node == string(q.Node) && h.Birth == r.log.Birth() && r.log.Now().Sub(h.At) < handOutAgain
}

// handedOutWrites returns the write that notes that task i was handed out, unless it is stored.
func (r *run) handedOutWrites(i int) []checkpoint.Write {
	t := &r.exec.Tasks[i]
	if t.Progress != exec.Elsewhere || !t.Stored {
		return nil
	}
	q := r.queuedTask(i)
	w := r.writeOf(&t.Task)
	w.Kind, w.Name = checkpoint.Outcome, journal.HandedOutName(q.Execution)
	if _, found := r.pending.Outcome(q.Task, w.Name); found {
		return nil
	}
	w.Payload = journal.AppendHandedOut(nil, journal.HandedOut{
		Queue: r.g.nodes[t.Node].queue, Node: string(q.Node), Birth: r.log.Birth(), At: r.log.Now(),
	})
	return []checkpoint.Write{w}
}

// unstarted returns the error of an execution of task i that no worker of its queue has taken
// within the StartTimeout of the node. It removes the execution from the queue. If the thread of
// the task is gone, a worker has stored the outcome before. Without one, a run that died then or
// somebody else has removed the execution.
func (r *run) unstarted(ctx context.Context, i int, q *queuedTask) error {
	n := &r.g.nodes[r.exec.Tasks[i].Node]
	if due := r.startBy(i, q); due.IsZero() || r.log.Now().Before(due) || ctx.Err() != nil {
		return nil //nolint:nilerr // the task waits, and the next run decides
	}
	queued, err := listedThread(ctx, r.opt.queues, q.thread())
	if err != nil || queued.Wake.After(queued.Now) {
		return err
	}
	if queued.ID == "" {
		c, err := loadChain(ctx, r.opt.queues, r.opt.queues.opt.saver, checkpoint.Ref{Thread: q.Thread, Namespace: q.Namespace})
		if err != nil {
			return err
		}
		stored := journal.Gather(c.Writes, q.Base, q.Namespace)
		if _, found := stored.Outcome(q.Task, q.Execution); found {
			return nil // it has made the thread due
		}
	} else if err := r.unqueue(ctx, queued.ID); err != nil {
		return err
	}
	late := &QueueError{Queue: n.queue, Text: fmt.Sprintf("%v: its StartTimeout of %s has passed", ErrStartTimeout, n.start), class: classStart}
	if late.policy, err = n.policyFor(late); err != nil {
		return errors.Join(late, err)
	}
	return late
}

// unqueue removes the thread of a task from its queue.
func (r *run) unqueue(ctx context.Context, id string) error {
	call, cancel := context.WithTimeout(ctx, r.opt.queues.opt.saverTimeout)
	defer cancel()
	if err := r.opt.queues.opt.saver.Delete(call, id); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return r.saving("delete", err)
	}
	return nil
}

// startBy returns when a worker must have taken an execution of task i; zero for no limit.
func (r *run) startBy(i int, q *queuedTask) time.Time {
	d := r.g.nodes[r.exec.Tasks[i].Node].start
	if d == 0 {
		return time.Time{}
	}
	b, found := r.pending.Outcome(q.Task, journal.HandedOutName(q.Execution))
	switch h := journal.ReadHandedOut(b); {
	case !found:
		return r.log.Now().Add(d + time.Millisecond) // the end of the run notes the hand-out, and its time
	case h.Birth == r.log.Birth():
		return h.At.Add(d)
	}
	return time.Time{} // of the thread from which this one was copied
}

// pollsAgain returns when a run looks at the tasks that wait for workers of queues, if they have
// no outcome by then. The tasks of subgraph calls count. It is zero if no task waits.
func (r *run) pollsAgain() (next time.Time) {
	for i := range r.exec.Tasks {
		switch p := r.exec.Tasks[i].Progress; {
		case p == exec.Elsewhere:
			now, q := r.log.Now(), r.queuedTask(i)
			next = inbox.Earlier(next, now.Add(handOutAgain))
			if due := r.startBy(i, &q); due.After(now) {
				next = inbox.Earlier(next, due)
			}
		case r.g.nests && p == exec.Asking:
			next = inbox.Earlier(next, r.calls[i].PollsAgain)
		}
	}
	return next
}

// receive takes the signal that an execution of task i waits for, and reports whether there was
// one. If the execution also asks something else, it takes none: the questions must be stored
// first, because their due times must not change.
func (r *run) receive(i int, e *journal.Execution) (bool, error) {
	if len(e.Asked) != 1 || !task.IsSignal(e.Asked[0].Place) {
		return false, nil
	}
	a := e.Asked[0]
	q := inbox.Question{Stored: checkpoint.Write{Name: a.Place}}
	var err error
	q.Of, err = journal.ReadQuestion(a.Payload)
	if err != nil {
		return false, r.resultChanged(err, "the signal that node %q waits for", string(r.g.nodes[r.exec.Tasks[i].Node].id))
	}
	q.Of.Due = a.Due
	return r.exec.Tasks[i].Asks.TakeFor(q.Awaited())
}

// accept makes the outcome of an execution that of the attempt of task i.
func (r *run) accept(ctx context.Context, i int, e *journal.Execution) error {
	t := &r.exec.Tasks[i]
	n := &r.g.nodes[t.Node]
	if e.Summary != "" {
		task.Summarise(ctx, e.Summary)
	}
	switch {
	case e.Result != nil:
		if err := r.readResult(i, e.Result); err != nil {
			return r.resultChanged(err, "the outcome of node %q", string(n.id))
		}
		return r.acceptParts(ctx, e.Parts)
	case len(e.Asked) > 0:
		asked := make([]task.Asked, len(e.Asked))
		for k, a := range e.Asked {
			asked[k] = task.Asked(a)
		}
		if !task.Hold(ctx, asked) {
			return fmt.Errorf("%w: the attempt of the node has ended", ErrNotAskable)
		}
		return ErrWaiting
	}
	return n.queueError(e)
}

// acceptParts makes the parts of the result of an execution those of the attempt.
func (r *run) acceptParts(ctx context.Context, parts map[string]string) (err error) {
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if label, ok := strings.CutPrefix(name, task.LabelPart); ok {
			err = errors.Join(err, SetLabel(ctx, label, parts[name]))
		} else {
			err = errors.Join(err, task.SetPart(ctx, name, parts[name]))
		}
	}
	return err
}

// checkDurability returns an error if the durability does not fit the graph. Queues need Sync, and
// replies need Sync or Async.
func checkDurability(g *core, o *runOptions) error {
	if g.queued && o.durability != Sync {
		return errors.New("a node has a Queue, which needs the durability Sync: workers load the state from the saver")
	}
	if g.replies && o.durability == OnExit {
		return errors.New("a node receives a ReplySignal, which needs the durability Sync or Async: a message is taken before its reply")
	}
	return nil
}
