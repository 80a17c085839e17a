package nats_test

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
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/graphgen-go/graphgen/docs/howto"
	graphgennats "github.com/graphgen-go/graphgen/engines/nats"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// The variables that make the test binary a worker of the queue gpu.
const (
	workerVariable = "GRAPHGEN_NATS_WORKER" // the URL of the server
	saverVariable  = "GRAPHGEN_NATS_SAVER"  // the path of the database
	stuckVariable  = "GRAPHGEN_NATS_STUCK"  // its tasks do not end
)

type app = graph.Graph[howto.State, howto.StateUpdate]

// crate compiles a graph that sends n inputs to a node with a queue. The node calls each.
func crate(s checkpoint.Saver, q graph.TaskQueue, n int, each func(context.Context, string) error) (*app, error) {
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

// checkCrate reports a run that has not committed each task once, in the order of the sends.
func checkCrate(t *testing.T, res graph.Result[howto.State], err error, n int) {
	t.Helper()
	var want []string
	for i := range n {
		want = append(want, taskName(i))
	}
	if err != nil || res.Status != graph.Done || !slices.Equal(res.State.Log, want) {
		t.Errorf("got %s with the tasks %v, %v; want it done with %v", res.Status, res.State.Log, err, want)
	}
}

// work is a worker of the queue. It ends with its standard input.
func work(url, path string, stuck bool) error {
	conn, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	s, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	g, err := crate(s, graphgennats.NewTaskQueue(js, "g", graphgennats.TaskQueueOptions{AckWait: time.Second}), 1,
		func(ctx context.Context, name string) error {
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

// startWorker starts a worker with 2 slots in another process, which prints the names of its
// tasks.
func startWorker(t *testing.T, p *process, path, stuck string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), workerVariable+"=nats://127.0.0.1:"+p.port, saverVariable+"="+path, stuckVariable+"="+stuck)
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

func TestAWorkerThatIsKilledCostsItsTasksOnly(t *testing.T) {
	const n = 20
	p, path := startServer(t), t.TempDir()+"/a.db"
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	js, err := jetstream.New(p.connect(t))
	if err != nil {
		t.Fatal(err)
	}
	g, err := crate(s, graphgennats.NewTaskQueue(js, "g", graphgennats.TaskQueueOptions{AckWait: time.Second}), n,
		func(context.Context, string) error { return errors.New("this process has no worker") })
	if err != nil {
		t.Fatal(err)
	}
	stuck, its := startWorker(t, p, path, "yes")
	type end struct {
		res graph.Result[howto.State]
		err error
	}
	ended := make(chan end, 1)
	go func() {
		res, err := g.Thread("t").Invoke(t.Context(), howto.StateUpdate{})
		ended <- end{res, err}
	}()
	held := make(map[string]bool)
	for len(held) < 2 && its.Scan() {
		held[its.Text()] = true
	}
	_, others := startWorker(t, p, path, "")
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
	got := <-ended
	checkCrate(t, got.res, got.err, n)
}

func TestAServerThatLosesAllCostsNoTask(t *testing.T) {
	const n = 30
	p, s := startServer(t), memory.New()
	began, restarted := make(chan string, 10*n), make(chan struct{})
	for range 2 { // workers
		q, _ := p.queueOn(t, 200*time.Millisecond)
		g, err := crate(s, q, n, func(_ context.Context, name string) error {
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
	q, _ := p.queueOn(t, 200*time.Millisecond)
	g, err := crate(s, q, n, func(context.Context, string) error { return errors.New("this process has no worker") })
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 6 {
			<-began
		}
		p.kill(t)
		p.start(t)
		close(restarted)
	}()
	res, err := g.Thread("t").Invoke(t.Context(), howto.StateUpdate{})
	checkCrate(t, res, err, n)
}
