// Package jobs has a state, graphs and threads for the tests of workers.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// App is a graph over a Job.
type App = graph.Graph[Job, JobUpdate]

// Node is a function of a node.
type Node = func(context.Context, Job) (JobUpdate, error)

// Say returns a node that adds an entry to the log.
func Say(entry string) Node {
	return func(context.Context, Job) (JobUpdate, error) { return Said(entry), nil }
}

// Said returns an update that adds an entry to the log.
func Said(entry string) (u JobUpdate) {
	u.Log.Append(entry)
	return u
}

// Line compiles a graph of nodes n0, n1, ... in a line.
func Line(tb testing.TB, name string, s checkpoint.Saver, nodes ...Node) *App {
	tb.Helper()
	return LineOf(tb, name, nodes, graph.Saver(s))
}

// LineOf is Line with options.
func LineOf(tb testing.TB, name string, nodes []Node, opts ...graph.Option) *App {
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

// Submit stores threads that are due now at node n0 of a graph, which a person has stopped.
func Submit(tb testing.TB, s checkpoint.Saver, name string, ids ...string) {
	tb.Helper()
	stop := func() {}
	g := LineOf(tb, name, []Node{func(ctx context.Context, _ Job) (JobUpdate, error) {
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

// IDs returns n ids of threads.
func IDs(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%05d", prefix, i))
	}
	return all
}

// Listed returns a thread as the saver lists it.
func Listed(tb testing.TB, s checkpoint.Saver, id string) checkpoint.Thread {
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

// Counter counts by name. It is safe for concurrent use.
type Counter struct {
	mu sync.Mutex
	n  map[string]int
}

// Add counts a name, and returns how often it was counted.
func (c *Counter) Add(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int)
	}
	c.n[name]++
	return c.n[name]
}

// Of returns how often a name was counted.
func (c *Counter) Of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

// Total returns how often any name was counted.
func (c *Counter) Total() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, each := range c.n {
		n += each
	}
	return n
}

// Names returns how many names were counted.
func (c *Counter) Names() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.n)
}
