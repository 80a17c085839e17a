// Package crate tests queues of tasks with workers in other processes.
package crate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// The variables that make a test binary a worker of the queue gpu.
const (
	serverVariable = "GRAPHGEN_CRATE_SERVER" // what the tests need to reach the server
	saverVariable  = "GRAPHGEN_CRATE_SAVER"  // the path of the database
	stuckVariable  = "GRAPHGEN_CRATE_STUCK"  // its tasks do not end
)

type app = graph.Graph[howto.State, howto.StateUpdate]

// compile compiles a graph that sends n inputs to a node with a queue. The node calls each.
func compile(s checkpoint.Saver, q graph.TaskQueue, n int, each func(context.Context, string) error) (*app, error) {
	b := graph.New("crate", howto.StateSchema)
	run := graph.TaskNode(b, "each", func(ctx context.Context, _ howto.State, name wire.String) (u howto.StateUpdate, err error) {
		u.Log.Append(string(name))
		return u, each(ctx, string(name))
	}, graph.Queue("gpu"))
	b.Node("plan", func(context.Context, howto.State) (u howto.StateUpdate, err error) { return u, nil })
	b.Edge(graph.Start, "plan")
	b.Route("plan", func(context.Context, howto.State) (graph.Next, error) {
		var next graph.Next
		for i := range n {
			next.Add(run.Send(wire.String(taskName(i))))
		}
		return next, nil
	}, "each")
	b.Edge("each", graph.End)
	return b.Compile(graph.Saver(s), graph.Queues(q))
}

func taskName(i int) string { return fmt.Sprintf("%05d", i) }

// errNoWorker is the error of a node that a process without a worker has run.
var errNoWorker = errors.New("this process has no worker")

// invoke runs the graph in a process without a worker. Each task must be committed once, in the
// order of the sends.
func invoke(t *testing.T, s checkpoint.Saver, q graph.TaskQueue, n int) {
	t.Helper()
	g, err := compile(s, q, n, func(context.Context, string) error { return errNoWorker })
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Thread("t").Invoke(t.Context(), howto.StateUpdate{})
	var want []string
	for i := range n {
		want = append(want, taskName(i))
	}
	if err != nil || res.Status != graph.Done || !slices.Equal(res.State.Log, want) {
		t.Errorf("got %s with the tasks %v, %v; want it done with %v", res.Status, res.State.Log, err, want)
	}
}

// Child runs a worker if this process is a worker that Killed has started. TestMain calls it
// first.
func Child(open func(server string) (q graph.TaskQueue, closeQueue func(), err error)) (isWorker bool, err error) {
	server, isWorker := os.LookupEnv(serverVariable)
	if !isWorker {
		return false, nil
	}
	q, closeQueue, err := open(server)
	if err != nil {
		return true, err
	}
	defer closeQueue()
	return true, work(q, os.Getenv(saverVariable), os.Getenv(stuckVariable) != "")
}

// work is a worker of the queue. It ends with its standard input.
func work(q graph.TaskQueue, path string, stuck bool) error {
	s, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	g, err := compile(s, q, 1, func(ctx context.Context, name string) error {
		if _, err := fmt.Println(name); err != nil || !stuck { //nolint:forbidigo // the parent reads it
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	w := worker.New(s, worker.Options{Queues: map[string]int{"gpu": 2}, QueuesOnly: true}, g)
	return errors.Join(w.Run(ctx), s.Close())
}

// start starts a worker with 2 slots in another process, which prints the names of its tasks.
func start(t *testing.T, server, path, stuck string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), serverVariable+"="+server, saverVariable+"="+path, stuckVariable+"="+stuck)
	c.Stderr = os.Stderr
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c, bufio.NewScanner(out)
}

// Killed kills a worker in the middle of its tasks by kill -9. q is the queue of this process.
func Killed(t *testing.T, q graph.TaskQueue, server string) {
	t.Helper()
	const n = 20
	path := t.TempDir() + "/a.db"
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	stuck, its := start(t, server, path, "yes")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		invoke(t, s, q, n)
	}()
	held := make(map[string]bool)
	for len(held) < 2 && its.Scan() {
		held[its.Text()] = true
	}
	_, others := start(t, server, path, "")
	names := make(map[string]bool)
	next := func(want int) {
		for len(names) < want && others.Scan() {
			names[others.Text()] = true
		}
	}
	next(n - 2) // the stuck worker holds no more than it runs
	if err := stuck.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	next(n)
	<-ended
}

// Restarted restarts the server while tasks wait and run. open returns a queue with a connection
// of its own.
func Restarted(t *testing.T, open func() graph.TaskQueue, restart func()) {
	t.Helper()
	const n = 30
	s := memory.New()
	began, restarted := make(chan string, 10*n), make(chan struct{})
	for range 2 {
		g, err := compile(s, open(), n, func(_ context.Context, name string) error {
			began <- name
			if name >= taskName(n/3) {
				<-restarted
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		w := worker.New(s, worker.Options{Queues: map[string]int{"gpu": 3}, QueuesOnly: true}, g)
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan error, 1)
		go func() { over <- w.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-over; err != nil {
				t.Error(err)
			}
		}()
	}
	go func() {
		for range 6 {
			<-began
		}
		restart()
		close(restarted)
	}()
	invoke(t, s, open(), n)
}
