package worker_test

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

var errBroken = errors.New("it broke")

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

// events collects the events of a worker.
type events struct {
	mu  sync.Mutex
	all []worker.Event
}

func (e *events) add(ev worker.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

// of returns the events of a kind.
func (e *events) of(kind worker.EventKind) (found []worker.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.all {
		if ev.Kind == kind {
			found = append(found, ev)
		}
	}
	return found
}

// started is a worker that runs.
type started struct {
	*worker.Worker
	*events
	tb     testing.TB
	cancel context.CancelFunc
	ended  chan error
}

// start runs a worker until the test ends.
func start(tb testing.TB, s checkpoint.Saver, o worker.Options, apps ...worker.App) *started {
	tb.Helper()
	st := &started{events: new(events), tb: tb, ended: make(chan error, 1)}
	o.OnEvent = st.add
	st.Worker = worker.New(s, o, apps...)
	ctx, cancel := context.WithCancel(context.Background())
	st.cancel = cancel
	go func() { st.ended <- st.Run(ctx) }()
	tb.Cleanup(func() { cancel() })
	return st
}

// stop ends the worker and returns the error of Run.
func (st *started) stop() error {
	st.cancel()
	return <-st.ended
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
