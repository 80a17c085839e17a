//go:build unix

package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/open"
)

// poolVariable makes the other process a worker of a queue, which gets its tasks from that
// address.
const poolVariable = "GRAPHGEN_WORKER_POOL"

// The silence of a worker after which its task is handed out again, and the time between two signs
// of life.
const (
	silence = 500 * time.Millisecond
	beat    = 50 * time.Millisecond
)

// relay is a TaskQueue that hands tasks to other processes by HTTP.
type relay struct {
	graph.LocalQueue // for Serve, which nobody calls
	tasks            chan *relayed
	mu               sync.Mutex
	out              map[string]*relayed // by the token of the hand-out
	handed           int
}

// relayed is a task that a process has, or waits for.
type relayed struct {
	Task  graph.QueuedTask
	Token string
	signs chan bool // true: the worker has returned
}

var errSilent = errors.New("the worker is silent")

func newRelay() *relay { return &relay{tasks: make(chan *relayed), out: make(map[string]*relayed)} }

func (r *relay) Do(ctx context.Context, t graph.QueuedTask) error {
	r.mu.Lock()
	r.handed++
	h := &relayed{Task: t, Token: fmt.Sprint(r.handed), signs: make(chan bool)}
	r.out[h.Token] = h
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.out, h.Token)
		r.mu.Unlock()
	}()
	select {
	case r.tasks <- h:
	case <-ctx.Done():
		return ctx.Err()
	}
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for {
		select {
		case over := <-h.signs:
			if over {
				return nil
			}
			quiet.Reset(silence)
		case <-quiet.C:
			return errSilent
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ServeHTTP answers the workers: /take returns the next task, /beat and /done are signs of life.
func (r *relay) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	if in.URL.Path == "/take" {
		select {
		case h := <-r.tasks:
			if err := json.NewEncoder(out).Encode(h); err != nil {
				return // the task is handed out again after a silence
			}
		case <-in.Context().Done():
		}
		return
	}
	r.mu.Lock()
	h := r.out[in.URL.Query().Get("token")]
	r.mu.Unlock()
	if h != nil {
		select {
		case h.signs <- in.URL.Path == "/done":
		case <-time.After(silence): // Do has returned
		}
	}
}

// remote is the relay as its workers see it.
type remote struct{ address string }

func (r remote) Do(context.Context, graph.QueuedTask) error {
	return errors.New("a worker hands nothing out")
}

func (r remote) Serve(ctx context.Context, _, _ string, slots int, run func(context.Context, graph.QueuedTask) error) error {
	var all sync.WaitGroup
	for range slots {
		all.Go(func() {
			for ctx.Err() == nil {
				r.one(ctx, run)
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

func (r remote) one(ctx context.Context, run func(context.Context, graph.QueuedTask) error) {
	var h relayed
	if b, err := r.call(ctx, "/take"); err != nil || json.Unmarshal(b, &h) != nil {
		return
	}
	over := make(chan struct{})
	go func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = r.call(ctx, "/beat?token="+h.Token)
			case <-over:
				return
			}
		}
	}()
	err := run(context.WithoutCancel(ctx), h.Task)
	close(over)
	if err == nil {
		_, _ = r.call(ctx, "/done?token="+h.Token)
	}
}

func (r remote) call(ctx context.Context, path string) ([]byte, error) {
	in, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	out, err := http.DefaultClient.Do(in)
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, out.Body)
	return b.Bytes(), err
}

// crate compiles a graph that sends n inputs to a node of a queue.
func crate(s checkpoint.Saver, q graph.TaskQueue, n int) (*app, error) {
	b := graph.New("crate", JobSchema)
	each := graph.TaskNode(b, "each", func(_ context.Context, _ Job, name wire.String) (JobUpdate, error) {
		time.Sleep(rand.N(20 * time.Millisecond))
		return said(string(name)), nil
	}, graph.Queue("gpu"))
	b.Node("plan", say("plan"))
	b.Edge(graph.Start, "plan")
	b.Route("plan", func(context.Context, Job) (graph.Next, error) {
		var next graph.Next
		for i := range n {
			next.Add(each.Send(wire.String(fmt.Sprintf("%05d", i))))
		}
		return next, nil
	}, "each")
	b.Edge("each", graph.End)
	return b.Compile(graph.Saver(s), graph.Queues(q))
}

// queueAt returns the TaskQueue of workers that get tasks from an address. Without one they get
// them from the saver.
func queueAt(s checkpoint.Saver, address string) graph.TaskQueue {
	if address == "" {
		return worker.NewTaskQueue(s, worker.TaskQueueOptions{Poll: beat, Silence: silence})
	}
	return remote{address}
}

// workPool is a worker of a queue in another process. It ends with its standard input.
func workPool(url, address string) error {
	s, err := open.Saver(context.Background(), url)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	g, err := crate(s, queueAt(s, address), 1)
	if err != nil {
		return err
	}
	w := worker.New(s, worker.Options{Queues: map[string]int{"gpu": 4}, QueuesOnly: true}, g)
	return errors.Join(w.Run(ctx), s.Close())
}

// startPool starts a worker of a queue.
func startPool(t *testing.T, url, address string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := exec.Command(exe)
	p.Env, p.Stderr = append(os.Environ(), childVariable+"="+url, poolVariable+"="+address), os.Stderr
	if _, err := p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return p
}

// TestWorkersOfAQueueThatAreKilledAndStopped kills and stops processes with tasks. Each task
// commits once, in the order of the sends.
func TestWorkersOfAQueueThatAreKilledAndStopped(t *testing.T) {
	n, faults := 600, 6
	if testing.Short() {
		n, faults = 120, 3
	}
	for _, kind := range kinds("sqlite", "file", "sqlite alone") {
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
			r := newRelay()
			server := httptest.NewServer(r)
			defer server.CloseClientConnections()
			var q graph.TaskQueue = r
			address := server.URL
			if kind == "sqlite alone" {
				q, address = queueAt(s, ""), ""
			}
			pool := []*exec.Cmd{startPool(t, url, address), startPool(t, url, address), startPool(t, url, address)}
			g, err := crate(s, q, n)
			if err != nil {
				t.Fatal(err)
			}
			type end struct {
				res graph.Result[Job]
				err error
			}
			ended := make(chan end, 1)
			go func() {
				res, err := g.Thread("t").Invoke(t.Context(), JobUpdate{})
				ended <- end{res, err}
			}()
			kills, stops := 0, 0
			var got end
			for over := false; !over; {
				select {
				case got = <-ended:
					over = true
				case <-time.After(100 * time.Millisecond):
					if kills+stops == faults {
						continue
					}
					victim := rand.IntN(len(pool))
					if kills <= stops {
						kills++
						_ = pool[victim].Process.Kill()
						pool[victim] = startPool(t, url, address)
						continue
					}
					stops++
					p := pool[victim].Process
					_ = p.Signal(syscall.SIGSTOP)
					time.AfterFunc(2*silence, func() { _ = p.Signal(syscall.SIGCONT) })
				}
			}
			want := []string{"plan"}
			for i := range n {
				want = append(want, fmt.Sprintf("%05d", i))
			}
			if got.err != nil || got.res.Status != graph.Done || !slices.Equal(got.res.State.Log, want) {
				t.Errorf("got %s with %d lines, %v; want it done with %d", got.res.Status, len(got.res.State.Log), got.err, len(want))
			}
			t.Logf("%d tasks: %d hand-outs, %d workers killed, %d stopped", n, r.handed, kills, stops)
		})
	}
}
