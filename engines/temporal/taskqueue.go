package temporal

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/graphgen-go/graphgen/engines/internal/carry"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// TaskQueue is a graph.TaskQueue over Temporal. NewTaskQueue makes it. A TaskQueue is safe for
// concurrent use.
//
// Each task is a workflow with one activity, which workers of the queue run. It refers to stored
// data, and contains none. The server hands the activity to another worker if the worker sends no
// heartbeat for HeartbeatTimeout. If the server loses the workflow, the run of the thread hands
// the task out again.
type TaskQueue struct {
	client client.Client
	prefix string
	opt    TaskQueueOptions

	mu      sync.Mutex
	waiting map[string]*waiting // by the name of a queue on the server
}

// waiting are calls of Do for one queue. As long as there are some, they answer for the workflows
// of the queue.
type waiting struct {
	calls int
	end   context.CancelFunc
}

// TaskQueueOptions are the options of a TaskQueue.
type TaskQueueOptions struct {
	// HeartbeatTimeout is the time without a sign of life after which another worker gets a task.
	// Workers send four signs of life in this time. Set the same time in all processes. The
	// default is 5 seconds.
	HeartbeatTimeout time.Duration
	// Namespace is that of the client. The default is "default", as for clients.
	Namespace string
}

// The limits of a TaskQueue.
const (
	keep  = 30 * 24 * time.Hour    // of a task without an outcome; after that, Do returns an error
	pause = 100 * time.Millisecond // after the first error of a worker; it doubles
	rest  = 5 * time.Second        // the longest pause

	answerers = 2 // goroutines that answer for the workflows of one queue
)

// taskType is the name of the workflow type and of the activity type of a task.
const taskType = "graphgen-task"

// NewTaskQueue returns a queue on c. Processes share tasks if they use the same server, namespace
// and prefix. The task queues on the server are <prefix>-tasks-<graph>-<queue>-<hash>. The ids of
// the workflows are <prefix>-task-<graph>-<thread>-<task>-<hash>. The prefix is part of ids, and
// must be valid UTF-8 of at most 500 bytes.
//
// The DataConverter of c applies to tasks, which contain names of graphs, threads and nodes. It
// must be the same in all processes. The caller closes c.
func NewTaskQueue(c client.Client, prefix string, opt TaskQueueOptions) *TaskQueue {
	opt.HeartbeatTimeout = cmp.Or(opt.HeartbeatTimeout, 5*time.Second)
	opt.Namespace = cmp.Or(opt.Namespace, client.DefaultNamespace)
	return &TaskQueue{client: c, prefix: prefix, opt: opt, waiting: make(map[string]*waiting)}
}

// queue returns the name of a queue of a graph on the server.
func (q *TaskQueue) queue(graph, queue string) string {
	return q.prefix + "-tasks-" + readable(graph) + "-" + readable(queue) + "-" + carry.Hash(graph, queue)
}

// Do implements graph.TaskQueue. It returns an error if the server does not answer for some time,
// or has lost the task. If ctx ends, the task stays on the server, because another process may
// wait for it.
func (q *TaskQueue) Do(ctx context.Context, t graph.QueuedTask) error {
	err := ctx.Err()
	if err == nil {
		err = q.do(ctx, t)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("temporal: hand out a task: %w", err)
	}
	return nil
}

func (q *TaskQueue) do(ctx context.Context, t graph.QueuedTask) error {
	b, err := carry.Encode(t)
	if err != nil {
		return err
	}
	queue := q.queue(t.Graph, t.Queue)
	defer q.answer(queue)()
	call, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	run, err := q.client.ExecuteWorkflow(call, client.StartWorkflowOptions{
		ID: q.prefix + "-task-" + readable(t.Graph) + "-" + readable(t.Thread) + "-" + readable(t.Task) + "-" +
			carry.Key(t),
		TaskQueue:                queue,
		WorkflowExecutionTimeout: keep,
		WorkflowTaskTimeout:      time.Second, // the pause after a process has died with a workflow task
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, taskType, b)
	if err != nil {
		return err
	}
	return run.Get(ctx, nil)
}

// answer makes the process answer for the workflows of a queue until each caller has called done.
func (q *TaskQueue) answer(queue string) (done func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.waiting[queue]
	if w == nil {
		ctx, end := context.WithCancel(context.Background())
		w = &waiting{end: end}
		q.waiting[queue] = w
		a := &answerer{
			service: q.client.WorkflowService(), namespace: q.opt.Namespace, queue: queue,
			decide: decideTask(queue, q.opt.HeartbeatTimeout),
		}
		for range answerers {
			go a.keepOn(ctx)
		}
	}
	w.calls++
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if w.calls--; w.calls == 0 {
			w.end()
			delete(q.waiting, queue)
		}
	}
}
