//go:build unix

package fleet_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/open"
)

// steps is the number of nodes of the threads in this file.
const steps = 6

// leaseOf is the lease of the runs on a saver. It is short, so that a take-over is fast.
func leaseOf(url string) time.Duration {
	if strings.HasPrefix(url, "file:") || strings.HasPrefix(url, "sqlite:") {
		return 300 * time.Millisecond
	}
	return time.Second // a server syncs to disk, and may be slow
}

// work is a worker in another process. It writes a line for each execution of a node, and for each
// thread that it has finished. It ends with its standard input.
func work(url string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	s, err := opened(ctx, url)
	if err != nil {
		return err
	}
	g, err := walk(s, url)
	if err != nil {
		return err
	}
	w := worker.New(s, worker.Options{
		Slots: 4, Poll: 50 * time.Millisecond, Retry: graph.RetryPolicy{Attempts: 1000, Base: time.Millisecond, Max: 50 * time.Millisecond},
		OnEvent: func(e worker.Event) {
			if e.Kind == worker.EventEnded && e.Status == graph.Done && e.Err == nil {
				fmt.Fprintf(os.Stdout, "done %s\n", e.Thread)
			}
		},
	}, g)
	if err := w.Run(ctx); err != nil {
		return err
	}
	return s.Close()
}

// opened opens a saver. It tries again for minutes, because the server may start, or the
// connection may be cut.
func opened(ctx context.Context, url string) (checkpoint.Saver, error) {
	for until := time.Now().Add(5 * time.Minute); ; {
		s, err := open.Saver(ctx, url)
		if err == nil || ctx.Err() != nil || time.Now().After(until) {
			return s, err
		}
		<-time.After(50 * time.Millisecond)
	}
}

// walk compiles the graph of the workers: nodes in a line, of a few milliseconds each.
func walk(s checkpoint.Saver, url string) (*app, error) {
	b := graph.New("walk", JobSchema)
	from := graph.Start
	for i := range steps {
		id := b.Node(graph.ID(fmt.Sprint("n", i)), func(ctx context.Context, _ Job) (JobUpdate, error) {
			task := graph.CurrentTask(ctx)
			fmt.Fprintf(os.Stdout, "ran %s %s\n", task.Thread, task.Node)
			<-time.After(rand.N(10 * time.Millisecond))
			return said(task.Node), nil
		})
		b.Edge(from, id)
		from = id
	}
	b.Edge(from, graph.End)
	return b.Compile(graph.Saver(s), graph.Lease(leaseOf(url)))
}

// process is a worker in another process.
type process struct {
	cmd   *exec.Cmd
	input io.Closer
	lines *bufio.Reader
}

func startProcess(t *testing.T, url string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(exe)}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), childVariable+"="+url), os.Stderr
	p.input, err = p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// spoken is what a process said, or that it has ended.
type spoken struct {
	from *process
	text string
	over bool
}

// crowd is workers that are killed and stopped while they work.
type crowd struct {
	t     *testing.T
	url   string
	lines chan spoken
	alive []*process

	ran                  counter // executions, by thread and node
	done                 counter // threads, as the workers said
	over                 map[string]bool
	kills, stops, begins int
}

func (c *crowd) begin() {
	c.t.Helper()
	p := startProcess(c.t, c.url)
	c.begins++
	c.alive = append(c.alive, p)
	go func() {
		for {
			text, err := p.lines.ReadString('\n')
			if err != nil {
				c.lines <- spoken{from: p, over: true}
				return
			}
			c.lines <- spoken{from: p, text: strings.TrimSpace(text)}
		}
	}()
}

// disturb kills a worker, or stops one for longer than a lease.
func (c *crowd) disturb() {
	c.t.Helper()
	victim := c.alive[rand.IntN(len(c.alive))]
	if rand.IntN(3) > 0 {
		c.kills++
		_ = victim.cmd.Process.Kill() // its end is a line
		c.alive = slices.DeleteFunc(c.alive, func(p *process) bool { return p == victim })
		c.begin()
		return
	}
	c.stops++
	_ = victim.cmd.Process.Signal(syscall.SIGSTOP)
	time.AfterFunc(2*leaseOf(c.url), func() { _ = victim.cmd.Process.Signal(syscall.SIGCONT) })
}

// hear counts a line of a worker.
func (c *crowd) hear(text string) {
	var thread, node string
	switch {
	case strings.HasPrefix(text, "done "):
		thread = strings.TrimPrefix(text, "done ")
		c.over[thread] = true
		c.done.Add(thread)
	default:
		if n, _ := fmt.Sscanf(text, "ran %s %s", &thread, &node); n == 2 {
			c.ran.Add(thread + " " + node)
		}
	}
}

// kinds returns the savers that a test runs on. The quick tier has the first.
func kinds(all ...string) []string {
	if testing.Short() {
		return all[:1]
	}
	return all
}

// TestWorkersThatAreKilledAndStopped kills and stops workers at random. Each thread ends once,
// with each of its nodes committed once.
func TestWorkersThatAreKilledAndStopped(t *testing.T) {
	n, faults := 60, 12
	if testing.Short() {
		n, faults = 15, 4
	}
	soak, _ := time.ParseDuration(os.Getenv("GRAPHGEN_SOAK"))
	if soak > 0 {
		n, faults = 3000, 600
	}
	for _, kind := range kinds("sqlite", "file") {
		t.Run(kind, func(t *testing.T) {
			url := "sqlite://" + t.TempDir() + "/a.db"
			if kind == "file" {
				url = "file://" + t.TempDir() + "/a"
			}
			s, err := open.Saver(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			all := ids("t", n)
			submit(t, s, "walk", all...)
			c := &crowd{t: t, url: url, lines: make(chan spoken, 1000), over: make(map[string]bool)}
			c.work(s, all, faults, c.disturb)
			t.Log(c)
		})
	}
}

// work lets two workers finish threads, while disturb is called faults times. Then it checks the
// threads.
func (c *crowd) work(s checkpoint.Saver, all []string, faults int, disturb func()) {
	c.t.Helper()
	c.begin()
	c.begin()
	every := max(len(all)*steps/faults, 1)
	for heard, made := 0, 0; len(c.over) < len(all); {
		select {
		case l := <-c.lines:
			if l.over && slices.Contains(c.alive, l.from) {
				c.t.Fatal("a worker has ended by itself")
			}
			c.hear(l.text)
			if heard++; heard%every == 0 && made < faults {
				made++
				disturb()
			}
		case <-time.After(time.Second):
			// A worker may have died, or lost the reply, before it wrote the line of a thread.
			c.finished(s)
		}
	}
	c.check(s, all)
}

// String says what happened.
func (c *crowd) String() string {
	return fmt.Sprintf("%d threads of %d nodes: %d executions, %d workers started, %d killed, %d stopped for longer than a lease",
		len(c.over), steps, c.ran.Total(), c.begins, c.kills, c.stops)
}

// finished notes the threads that are done.
func (c *crowd) finished(s checkpoint.Saver) {
	c.t.Helper()
	for th, err := range s.Threads(context.Background(), checkpoint.ThreadQuery{Status: graph.Done}) {
		if err != nil {
			c.t.Fatal(err)
		}
		c.over[th.ID] = true
	}
}

// check compares the threads with what the workers said.
func (c *crowd) check(s checkpoint.Saver, all []string) {
	c.t.Helper()
	g, err := walk(s, c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	var want []string
	for i := range steps {
		want = append(want, fmt.Sprint("n", i))
	}
	for _, id := range all {
		snap, err := g.Thread(id).State(c.t.Context())
		if err != nil || snap.Status != graph.Done || !slices.Equal(snap.State.Log, want) {
			c.t.Errorf("thread %s: got %s with the log %q, %v; want it done with %q", id, snap.Status, snap.State.Log, err, want)
		}
		if got := c.done.Of(id); got > 1 {
			c.t.Errorf("thread %s ended %d times, want once", id, got)
		}
	}
}
