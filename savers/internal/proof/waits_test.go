//go:build unix

package proof_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/internal/proof"
)

// Threads that wait for a task of a queue, for a child and for a signal. The parts of a proof that
// kill, stop and cut begin them, and workers run them meanwhile. The last part waits for their
// results, so that the time after which other workers get what a dead one held passes meanwhile.

// pool is the queue that workers serve, and unserved the one that nobody serves.
const pool, unserved = "pool", "unserved"

// parties is the signal for which threads wait.
var parties = graph.NewSignal[wire.String]("party")

// waitsLease is the lease of the threads that wait.
const waitsLease = time.Second

// tooLong is the time after which a child that waits for nothing is cancelled, and a task that
// nobody takes fails.
const tooLong = 700 * time.Millisecond

// buildWaits returns the graph of the threads that wait, that of their children, and that of
// children that only their deadline ends.
func buildWaits(s checkpoint.Saver, dir string) (waits, below, idle *app, err error) {
	s = noting{s, dir}
	opts := []graph.Option{graph.Saver(s), graph.Lease(waitsLease)}
	said := func(ctx context.Context, line string) (update, error) {
		task := graph.CurrentTask(ctx)
		var u update
		u.Log.Append(line)
		return u, journalOf(dir, task.Thread).note("ran", task.Key, task.Step, task.Node, os.Getpid())
	}
	say := func(ctx context.Context, _ proof.State) (update, error) {
		return said(ctx, graph.CurrentTask(ctx).Node)
	}
	g := graph.New("below", proof.StateSchema)
	g.Edge(graph.Start, g.Node("first", say, graph.Queue(pool)))
	g.Edge("first", g.Node("second", say))
	g.Edge("second", graph.End)
	if below, err = g.Compile(append(opts, graph.ReleaseOnDone())...); err != nil {
		return nil, nil, nil, err
	}
	g = graph.New("idle", proof.StateSchema)
	g.Chain(graph.Start, g.Node("listen", func(ctx context.Context, _ proof.State) (update, error) {
		_, err := parties.Receive(ctx)
		return update{}, err
	}, parties), graph.End)
	if idle, err = g.Compile(opts...); err != nil {
		return nil, nil, nil, err
	}
	g = graph.New("waits", proof.StateSchema)
	g.Edge(graph.Start, g.Node("begin", say))
	g.Node("pooled", say, graph.Queue(pool))
	g.Node("caller", func(ctx context.Context, _ proof.State) (update, error) {
		end, err := graph.Child(ctx, below, graph.CurrentTask(ctx).Thread+"-child", update{})
		if err != nil {
			return update{}, err
		}
		return said(ctx, "caller of "+strings.Join(end.Log, " "))
	})
	g.Node("listen", func(ctx context.Context, _ proof.State) (update, error) {
		text, err := parties.Receive(ctx)
		if err != nil {
			return update{}, err
		}
		return said(ctx, "listen "+string(text))
	}, parties)
	g.Node("late", func(ctx context.Context, _ proof.State) (update, error) {
		id := graph.CurrentTask(ctx).Thread + "-late"
		if _, err := graph.Child(ctx, idle, id, update{}, graph.ExecutionTimeout(tooLong)); !errors.Is(err, graph.ErrExecutionTimeout) {
			return update{}, err
		}
		return said(ctx, "late")
	})
	g.Node("nobody", say, graph.Queue(unserved), graph.StartTimeout(tooLong))
	g.Fallback("nobody", func(ctx context.Context, _ proof.State, err error) (update, error) {
		if !errors.Is(err, graph.ErrStartTimeout) {
			return update{}, err
		}
		return said(ctx, "nobody")
	})
	branches := []graph.ID{"pooled", "caller", "listen", "late", "nobody"}
	for _, id := range branches {
		g.Edge("begin", id)
	}
	g.Join(branches, g.Node("end", say))
	g.Edge("end", graph.End)
	waits, err = g.Compile(opts...)
	return waits, below, idle, err
}

// serveWaits runs threads that wait, their children and their tasks until ctx ends.
func serveWaits(ctx context.Context, s checkpoint.Saver, dir string) error {
	waits, below, idle, err := buildWaits(s, dir)
	if err != nil {
		return err
	}
	return worker.New(noting{s, dir}, worker.Options{
		Queues: map[string]int{pool: 2}, Poll: 50 * time.Millisecond,
		Retry: graph.RetryPolicy{Attempts: 1 << 20, Base: time.Millisecond, Max: 50 * time.Millisecond},
	}, waits, below, idle).Run(ctx)
}

// waiters are the threads that wait, of all parts of a proof.
type waiters struct {
	all     *testing.T // of all parts
	dir     string
	threads []string
	stopped *process // others get the threads that it held
}

// waiting reports whether the bench has threads that wait. In the short form, only one does.
func (b *bench) waiting() bool { return b.url != "" && (!testing.Short() || b.name == "sqlite") }

// begin begins some threads that wait, and sends the signals, some of them first.
func (b *bench) begin(t *testing.T, s checkpoint.Saver) {
	t.Helper()
	if !b.waiting() {
		return
	}
	waits, _, _, err := buildWaits(s, b.waiters.dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		id := fmt.Sprint("waits-", len(b.waiters.threads))
		thread := waits.Thread(id)
		submit := func() error {
			_, err := thread.Submit(t.Context(), update{Facts: state.Put("who", "proof")}, graph.RequestID(id))
			return err
		}
		signal := func() error {
			return thread.Signal(t.Context(), parties.With(wire.String(id), graph.RequestID("party")))
		}
		steps := []func() error{submit, signal}
		if len(b.waiters.threads)%2 == 1 {
			slices.Reverse(steps)
		}
		for _, step := range steps {
			insist(t, step)
		}
		b.waiters.threads = append(b.waiters.threads, id)
	}
}

// insist repeats a call that the server, or the way to it, lets fail.
func insist(t *testing.T, call func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; rest(10 * time.Millisecond) {
		err := call()
		if err == nil {
			return
		}
		if time.Now().After(end) || errors.Is(err, checkpoint.ErrDamaged) {
			t.Fatal(err)
		}
	}
}

// serve runs the threads that wait in this process, until the returned function is called.
func (b *bench) serve(t *testing.T, s checkpoint.Saver) (stop func()) {
	t.Helper()
	if !b.waiting() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serveWaits(ctx, s, b.waiters.dir) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the worker of the threads that wait: %v", err)
		}
	}
}

// stopOne stops a worker of the threads that wait. Others get its threads and tasks when it shows
// no sign of life. A process that is stopped inside a write can lock the storage for everybody: it
// continues, and is stopped a bit later.
func (b *bench) stopOne(t *testing.T, s checkpoint.Saver) {
	t.Helper()
	if !b.waiting() {
		return
	}
	p := start(b.waiters.all, job{Role: "wait", URL: b.url, Waits: b.waiters.dir})
	if line, err := p.lines.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the worker says %q, %v; want it ready", line, err)
	}
	waits, _, _, err := buildWaits(s, b.waiters.dir)
	if err != nil {
		t.Fatal(err)
	}
	for tries, locked := 0, true; locked; tries++ {
		b.begin(t, s)
		rest(randomly(50 * time.Millisecond))
		signal(t, p, syscall.SIGSTOP)
		ctx, cancel := context.WithTimeout(t.Context(), 2*waitsLease)
		err := waits.Thread(b.waiters.threads[0]).Signal(ctx, parties.With("again", graph.RequestID(fmt.Sprint("try ", tries))))
		cancel()
		if locked = err != nil; locked {
			signal(t, p, syscall.SIGCONT)
		}
	}
	b.waiters.stopped = p
}

// wait is the work of a process that only runs threads that wait.
func (j *job) wait(s checkpoint.Saver) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Fprintln(os.Stdout, "ready")
	return serveWaits(ctx, s, j.Waits)
}

// proveWaits waits for the results of the threads that wait. A worker that was stopped continues
// then, and must change nothing.
func proveWaits(t *testing.T, b *bench, c *count) {
	t.Helper()
	s := b.open(t)
	stop := b.serve(t, s)
	waits, below, idle, err := buildWaits(s, b.waiters.dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	check := func(id string) {
		t.Helper()
		res, err := waits.Thread(id).Result(ctx, graph.RequestID(id))
		want := []string{"begin", "pooled", "caller of first second", "listen " + id, "late", "nobody", "end"}
		if err != nil || res.Status != graph.Done || !slices.Equal(res.State.Log, want) {
			t.Errorf("thread %s: the result is %s with the log %q, %v; want %q", id, res.Status, res.State.Log, err, want)
		}
	}
	for _, id := range b.waiters.threads {
		check(id)
	}
	graphs := []string{"waits", "below", "idle", graph.QueueGraph("waits", unserved), graph.QueueGraph("waits", pool), graph.QueueGraph("below", pool)}
	for left := true; left; rest(10 * time.Millisecond) { // a dead worker can leave the thread of a task that has its outcome
		due, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: graphs, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		left = len(due.Threads) > 0 || !due.Next.IsZero()
	}
	late := 0
	if p := b.waiters.stopped; p != nil {
		late = p.cmd.Process.Pid
		signal(t, p, syscall.SIGCONT)
		p.end(t)
		c.stops++
	}
	stop()
	for _, id := range b.waiters.threads {
		check(id)
		c.waited(t, s, b.waiters.dir, id, late, "begin", "pooled", "caller", "listen", "late", "nobody", "end")
		if _, err := idle.Thread(id + "-late").Result(ctx); !errors.Is(err, graph.ErrExecutionTimeout) {
			t.Errorf("the idle child of thread %s: got %v, want ErrExecutionTimeout", id, err)
		}
		if res, err := below.Thread(id + "-child").Result(ctx); err != nil || !slices.Equal(res.State.Log, []string{"first", "second"}) {
			t.Errorf("the child of thread %s: the result is %v, %v; want each of its nodes once", id, res.State.Log, err)
		}
		c.waited(t, s, b.waiters.dir, id+"-child", late, "first", "second")
	}
}

// waited fails the test unless each node of a thread has run, and what was acknowledged is stored
// once. late is as in checkJournal.
func (c *count) waited(t *testing.T, s checkpoint.Saver, dir, thread string, late int, nodes ...string) {
	t.Helper()
	all := recordsOf(t, s, checkpoint.Ref{Thread: thread, Version: 1})
	c.acknowledged += checkJournal(t, dir, thread, all, 0, late)
	c.runs++
	text, err := os.ReadFile(string(journalOf(dir, thread)))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		ran := func(line string) bool { words := strings.Fields(line); return words[0] == "ran" && words[3] == node }
		if !slices.ContainsFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), ran) {
			t.Errorf("thread %s: node %s has not run\n%s", thread, node, text)
		}
	}
}
