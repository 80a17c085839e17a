package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

type app = graph.Graph[Job, JobUpdate]

// node is a function of a node.
type node = func(context.Context, Job) (JobUpdate, error)

func say(line string) node {
	return func(context.Context, Job) (JobUpdate, error) { return said(line), nil }
}

func said(line string) (u JobUpdate) {
	u.Log.Append(line)
	return u
}

// line compiles a graph of nodes n0, n1, ... in a line.
func line(tb testing.TB, name string, s checkpoint.Saver, nodes ...node) *app {
	tb.Helper()
	return lineOf(tb, name, nodes, graph.Saver(s))
}

func lineOf(tb testing.TB, name string, nodes []node, opts ...graph.Option) *app {
	tb.Helper()
	b := graph.New(name, JobSchema)
	from := graph.Start
	for i, n := range nodes {
		id := b.Node(graph.ID(fmt.Sprint("n", i)), n)
		b.Edge(from, id)
		from = id
	}
	b.Edge(from, graph.End)
	g, err := b.Compile(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// submit stores threads that are due now at node n0 of a graph, which a person has stopped.
func submit(tb testing.TB, s checkpoint.Saver, name string, ids ...string) {
	tb.Helper()
	stop := func() {}
	g := lineOf(tb, name, []node{func(ctx context.Context, _ Job) (JobUpdate, error) {
		stop()
		return JobUpdate{}, ctx.Err()
	}}, graph.Saver(s), graph.HotThreads(0))
	for _, id := range ids {
		ctx, cancel := context.WithCancel(context.Background())
		stop = cancel
		if _, err := g.Thread(id).Invoke(ctx, JobUpdate{}); !errors.Is(err, context.Canceled) {
			tb.Fatalf("got %v, want the run cancelled", err)
		}
		cancel()
		wakeUp(tb, s, id)
	}
}

// wakeUp makes a thread due now.
func wakeUp(tb testing.TB, s checkpoint.Saver, id string) {
	tb.Helper()
	err := s.Rewake(context.Background(), checkpoint.Rewake{Thread: id, Fence: checkpoint.ID{1}})
	var conflict *checkpoint.ConflictError // it names the fence
	if !errors.As(err, &conflict) {
		tb.Fatal(err)
	}
	if err := s.Rewake(context.Background(), checkpoint.Rewake{Thread: id, Fence: conflict.Found, Wake: time.Unix(1, 0)}); err != nil {
		tb.Fatal(err)
	}
}

// ids returns n ids of threads.
func ids(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%05d", prefix, i))
	}
	return all
}

// listed returns a thread as the saver lists it.
func listed(tb testing.TB, s checkpoint.Saver, id string) checkpoint.Thread {
	tb.Helper()
	for th, err := range s.Threads(context.Background(), checkpoint.ThreadQuery{Prefix: id}) {
		if err != nil {
			tb.Fatal(err)
		}
		if th.ID == id {
			return th
		}
	}
	tb.Fatalf("no thread %q", id)
	return checkpoint.Thread{}
}

// heavy compiles a graph whose node n1 has the queue gpu.
func heavy(tb testing.TB, s checkpoint.Saver, n node, opts ...graph.Option) *app {
	tb.Helper()
	b := graph.New("heavy", JobSchema)
	b.Node("n0", say("n0"))
	b.Node("n1", n, graph.Queue("gpu"))
	b.Edge(graph.Start, "n0")
	b.Edge("n0", "n1")
	b.Edge("n1", graph.End)
	g, err := b.Compile(append(opts, graph.Saver(s))...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// running runs a worker until the returned function is called, which returns the error of Run.
func running(w *worker.Worker) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error)
	go func() { over <- w.Run(ctx) }()
	return func() error {
		cancel()
		return <-over
	}
}

// counter counts by name.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int)
	}
	c.n[name]++
	return c.n[name]
}

func (c *counter) of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

func (c *counter) total() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, each := range c.n {
		n += each
	}
	return n
}

// names returns how many names were counted.
func (c *counter) names() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.n)
}
