package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// TaskQueue is a graph.TaskQueue that needs only the saver, so all processes that share a
// database share its tasks. NewTaskQueue makes it. A TaskQueue is safe for concurrent use.
//
// A task is a message to a thread of its own, which is deleted when the task has its outcome. Such
// threads have ids that begin with "__task-"; lists of threads show them. A worker with a
// free slot looks for tasks, often at first and later once in each Poll. In one process, tasks and
// their ends are announced immediately.
type TaskQueue struct {
	saver checkpoint.Saver
	opt   TaskQueueOptions

	mu      sync.Mutex
	posted  map[string]chan struct{}           // by queue: closed when this process hands a task out
	waiting map[string]map[chan error]struct{} // by thread: the calls of Do in this process
}

// TaskQueueOptions are the options of a TaskQueue. The processes need the same ones.
type TaskQueueOptions struct {
	// Poll is the greatest time between two looks for tasks of other processes. The default is 1
	// second. After a worker has found tasks, it looks again after 20 ms, and then at growing
	// intervals.
	Poll time.Duration
	// Silence is the time without a sign of life after which another worker gets a task. Workers
	// send four signs of life in this time. Each is one call of the saver. The default is 5
	// seconds.
	Silence time.Duration
}

// leastPoll is the time between two looks for tasks after a worker has found some.
const leastPoll = 20 * time.Millisecond

// errNoOutcome is the error of a task whose node ended the goroutine of its worker.
var errNoOutcome = errors.New("worker: the node ended its goroutine without an outcome")

// NewTaskQueue returns a queue on s, which must be the saver of the graphs.
func NewTaskQueue(s checkpoint.Saver, opt TaskQueueOptions) *TaskQueue {
	opt.Poll, opt.Silence = cmp.Or(opt.Poll, time.Second), cmp.Or(opt.Silence, 5*time.Second)
	return &TaskQueue{
		saver: s, opt: opt, posted: make(map[string]chan struct{}), waiting: make(map[string]map[chan error]struct{}),
	}
}

// queueName returns the name of the graph whose threads are the tasks of a queue. It is a hash,
// because names of graphs are limited.
func queueName(name, queue string) string { return graph.ReservedPrefix + "queue-" + hash(name, queue) }

// taskThread returns the thread of a task.
func taskThread(t *graph.QueuedTask) string {
	return graph.ReservedPrefix + "task-" + hash(t.Graph, t.Thread, t.Base.String(), string(t.Node), t.Task, t.Execution)
}

func hash(names ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", names))
	return hex.EncodeToString(sum[:16])
}

// Do implements graph.TaskQueue. It notices the end of a task in another process only after
// Silence; the run that waits for the task reads its outcome earlier.
func (q *TaskQueue) Do(ctx context.Context, t graph.QueuedTask) error {
	thread, ended := taskThread(&t), make(chan error, 1)
	q.await(thread, ended)
	defer q.leave(thread, ended)
	if err := q.HandOut(ctx, t); err != nil {
		return err
	}
	for {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(q.opt.Silence):
		}
		left, err := q.saver.Mail(ctx, checkpoint.MailQuery{Thread: thread, Limit: 1})
		if err != nil || len(left) == 0 {
			return err
		}
	}
}

// HandOut implements graph.KeepingQueue. It is one call of the saver.
func (q *TaskQueue) HandOut(ctx context.Context, t graph.QueuedTask) error {
	b, err := json.Marshal(wireTask{
		QueuedTask: t, Names: [][]byte{[]byte(t.Queue), []byte(t.Graph), []byte(t.Thread), []byte(t.Task), []byte(t.Execution), []byte(t.Node)},
	})
	if err != nil {
		return err
	}
	name := queueName(t.Graph, t.Queue)
	done, err := q.saver.Post(ctx, checkpoint.Post{
		Thread: taskThread(&t), Graph: name, Messages: []checkpoint.Message{{ID: "task", Kind: checkpoint.InputMessage, Payload: b}},
	})
	if err == nil {
		err = done[0].Err
	}
	if err != nil {
		return fmt.Errorf("worker: hand out a task: %w", err)
	}
	q.announce(name)
	return nil
}

// wireTask is a QueuedTask in JSON. Names have any bytes, which strings in JSON cannot hold.
type wireTask struct {
	graph.QueuedTask
	Names [][]byte `json:"names"` // queue, graph, thread, task, execution and node
}

// await makes ended get the end of a task that a worker of this process runs, until leave.
func (q *TaskQueue) await(thread string, ended chan error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[thread] == nil {
		q.waiting[thread] = make(map[chan error]struct{})
	}
	q.waiting[thread][ended] = struct{}{}
}

func (q *TaskQueue) leave(thread string, ended chan error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if delete(q.waiting[thread], ended); len(q.waiting[thread]) == 0 {
		delete(q.waiting, thread)
	}
}

// ended tells the calls of Do in this process that their task has ended.
func (q *TaskQueue) ended(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for c := range q.waiting[thread] {
		select {
		case c <- nil:
		default: // it knows already
		}
	}
}

// announce wakes the workers of a queue in this process.
func (q *TaskQueue) announce(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.posted[name]; c != nil {
		close(c)
		delete(q.posted, name)
	}
}

// next returns a channel that is closed when this process hands a task of a queue out.
func (q *TaskQueue) next(name string) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.posted[name] == nil {
		q.posted[name] = make(chan struct{})
	}
	return q.posted[name]
}

// Serve implements graph.TaskQueue. If run returns an error, another worker gets the task after
// Poll, or immediately if ctx has ended.
func (q *TaskQueue) Serve(
	ctx context.Context, graph, queue string, slots int, run func(context.Context, graph.QueuedTask) error,
) error {
	name, busy := queueName(graph, queue), make(chan struct{}, slots)
	var all sync.WaitGroup
	defer all.Wait()
	for pause := leastPoll; ; {
		select {
		case busy <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		<-busy // a slot is free
		posted := q.next(name)
		due, err := q.saver.Ready(ctx, checkpoint.ReadyQuery{
			Graphs: []string{name}, Limit: slots - len(busy), Reserve: q.opt.Silence,
		})
		if err != nil {
			return fmt.Errorf("worker: look for tasks of queue %q: %w", queue, err)
		}
		for i := range due.Threads {
			h := held{q: q, thread: due.Threads[i], now: due.Now, since: time.Now()}
			busy <- struct{}{}
			all.Go(func() {
				defer func() { <-busy }()
				h.perform(ctx, run)
			})
		}
		if len(due.Threads) > 0 {
			pause = leastPoll
			continue
		}
		look := time.NewTimer(min(pause, q.opt.Poll))
		pause = min(2*pause, q.opt.Poll)
		select {
		case <-posted:
		case <-look.C:
		case <-ctx.Done():
		}
		look.Stop()
	}
}

// held is a task that a worker has.
type held struct {
	q      *TaskQueue
	thread checkpoint.ReadyThread
	now    time.Time // on the saver's clock
	since  time.Time // the same instant, on the clock of this process
}

// perform runs the task. Without an outcome, another worker gets it.
func (h held) perform(ctx context.Context, run func(context.Context, graph.QueuedTask) error) {
	task := context.WithoutCancel(ctx)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		h.beat(task, over)
	}()
	err := errNoOutcome
	defer func() {
		close(over)
		<-ended
		h.settle(ctx, err)
	}()
	left, broken := h.q.saver.Mail(task, checkpoint.MailQuery{Thread: h.thread.ID, Limit: 1})
	if broken != nil || len(left) == 0 {
		err = broken
		return
	}
	var m wireTask
	if broken := json.Unmarshal(left[0].Payload, &m); broken != nil || len(m.Names) != 6 {
		err = fmt.Errorf("worker: read a task: %w", cmp.Or(broken, errNoOutcome))
		return
	}
	t := m.QueuedTask
	t.Queue, t.Graph, t.Thread = string(m.Names[0]), string(m.Names[1]), string(m.Names[2])
	t.Task, t.Execution, t.Node = string(m.Names[3]), string(m.Names[4]), graph.ID(m.Names[5])
	err = run(task, t)
}

// beat keeps the task from other workers until over is closed.
func (h held) beat(ctx context.Context, over <-chan struct{}) {
	tick := time.NewTicker(h.q.opt.Silence/4 + 1)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.wake(ctx, h.q.opt.Silence)
		case <-over:
			return
		}
	}
}

// wake makes other workers get the task after d. If that fails, the task may run twice.
func (h held) wake(ctx context.Context, d time.Duration) {
	at := h.now.Add(time.Since(h.since) + d)
	_ = h.q.saver.Rewake(ctx, checkpoint.Rewake{
		Thread: h.thread.ID, Fence: h.thread.Fence, Posted: h.thread.Posted, Birth: h.thread.Birth, Wake: at,
	})
}

// settle removes a task that has its outcome, and gives back another one.
func (h held) settle(ctx context.Context, err error) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.q.opt.Silence)
	defer cancel()
	switch {
	case err == nil:
		_ = h.q.saver.Delete(call, h.thread.ID) // if that fails, another worker finds the outcome
		h.q.ended(h.thread.ID)
	case ctx.Err() != nil:
		h.wake(call, 0)
		h.q.announce(h.thread.Graph)
	default:
		h.wake(call, h.q.opt.Poll)
	}
}
