package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	"github.com/graphgen-go/graphgen/engines/internal/crate"
	graphgentemporal "github.com/graphgen-go/graphgen/engines/temporal"
	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// never is a HeartbeatTimeout that does not pass in a test.
const never = time.Hour

func TestMain(m *testing.M) {
	isWorker, err := crate.Child(openWorker)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "the other process:", err)
		os.Exit(1) //nolint:forbidigo // this is the main of another process
	case !isWorker:
		m.Run()
	}
}

// openWorker returns the queue of a worker in another process.
func openWorker(addr string) (graph.TaskQueue, func(), error) {
	c, err := client.Dial(client.Options{HostPort: addr, Logger: silent})
	if err != nil {
		return nil, nil, err
	}
	return graphgentemporal.NewTaskQueue(c, "killed", graphgentemporal.TaskQueueOptions{}), c.Close, nil
}

// openQueue returns a queue with a client of its own.
func openQueue(tb testing.TB, addr, prefix string, heartbeat time.Duration, o ...grpc.DialOption) *graphgentemporal.TaskQueue {
	tb.Helper()
	return graphgentemporal.NewTaskQueue(connect(tb, addr, o...), prefix, graphgentemporal.TaskQueueOptions{HeartbeatTimeout: heartbeat})
}

// startedWorkflows returns a client option that reports workflows that have been started.
func startedWorkflows(started chan<- struct{}) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		if err == nil && strings.HasSuffix(method, "/StartWorkflowExecution") {
			started <- struct{}{}
		}
		return err
	})
}

func TestTaskQueue(t *testing.T) {
	addr := testenv.Temporal(t)
	n := 0
	enginetest.RunQueue(t, func(testing.TB) enginetest.QueuePlace {
		n++
		prefix, started := fmt.Sprint("queue", n), make(chan struct{}, 1000)
		return enginetest.QueuePlace{
			Open: func(tb testing.TB) graph.TaskQueue {
				tb.Helper()
				return openQueue(tb, addr, prefix, never, startedWorkflows(started))
			},
			HandOuts: func(testing.TB) func() {
				return func() { <-started }
			},
		}
	})
}

func TestAWorkerThatIsKilledCostsItsTasksOnly(t *testing.T) {
	addr := testenv.Temporal(t)
	crate.Killed(t, openQueue(t, addr, "killed", time.Second), addr)
}

func TestARestartOfTheServerCostsNoTask(t *testing.T) {
	for name, durable := range map[string]bool{"it loses all workflows": false, "it keeps them": true} {
		t.Run(name, func(t *testing.T) {
			s := testenv.StartTemporal(t, durable)
			crate.Restarted(t, func() graph.TaskQueue {
				return openQueue(t, s.Addr, "restarted", time.Second)
			}, func() { restart(t, s) })
		})
	}
}

// newTask returns a task of the queue gpu of the graph g.
func newTask(tb testing.TB, name string) graph.QueuedTask {
	tb.Helper()
	base, err := checkpoint.NewID()
	if err != nil {
		tb.Fatal(err)
	}
	return graph.QueuedTask{Queue: "gpu", Graph: "g", Thread: "t", At: base, Base: base, Task: name, Execution: "0.0.1", Attempt: 1}
}

// TestALateWorkerLosesNoTask cuts a worker from the server in the middle of a task. Another one
// runs the task, and the first returns after that. On a busy machine, a heartbeat can be too late.
// Then a worker gets the task again.
func TestALateWorkerLosesNoTask(t *testing.T) {
	s := testenv.StartTemporal(t, false)
	proxy := testenv.NewProxy(t, s.Addr)
	late := openQueue(t, proxy.Addr, "late", time.Second)
	q := openQueue(t, s.Addr, "late", time.Second)
	began, leave, returned := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var runs atomic.Int32 // by the late worker
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() {
		stopped <- late.Serve(ctx, "g", "gpu", 1, func(context.Context, graph.QueuedTask) error {
			if runs.Add(1) > 1 {
				return errors.New("the late worker has had the task")
			}
			close(began)
			<-leave
			close(returned)
			return nil
		})
	}()
	done := make(chan error, 1)
	go func() { done <- q.Do(t.Context(), newTask(t, "a")) }()
	<-began
	proxy.Refuse(true)
	proxy.Cut()
	again, end := make(chan struct{}, 1000), make(chan struct{})
	other, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		over <- q.Serve(other, "g", "gpu", 1, func(context.Context, graph.QueuedTask) error {
			again <- struct{}{}
			<-end
			return nil
		})
	}()
	<-again // the server has taken the first worker for dead
	proxy.Refuse(false)
	close(leave)
	<-returned
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("the late worker: got %v, want the end of its context", err)
	}
	select {
	case err := <-done:
		t.Fatalf("Do returned %v because of the late worker", err)
	default:
	}
	close(end)
	if err := <-done; err != nil {
		t.Error(err)
	}
	stop()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("the other worker: got %v, want the end of its context", err)
	}
}

func TestAQueueWithoutAServerReturnsErrors(t *testing.T) {
	s := testenv.StartTemporal(t, false)
	q := openQueue(t, s.Addr, "down", time.Second)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := q.Do(t.Context(), newTask(t, "a")); err == nil {
		t.Error("Do: got no error, want one")
	}
	if err := q.Serve(t.Context(), "g", "gpu", 1, func(context.Context, graph.QueuedTask) error { return nil }); err == nil {
		t.Error("Serve: got no error, want one")
	}
}
