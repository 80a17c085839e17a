//go:build unix

package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/open"
)

// poolVariable makes the other process a worker of a queue.
const poolVariable = "GRAPHGEN_WORKER_POOL"

// crate compiles a graph that sends n inputs to a node of a queue.
func crate(s checkpoint.Saver, n int) (*app, error) {
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
	return b.Compile(graph.Saver(s))
}

// workPool is a worker of a queue in another process. It ends with its standard input.
func workPool(url string) error {
	s, err := open.Saver(context.Background(), url)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	g, err := crate(s, 1)
	if err != nil {
		return err
	}
	w := worker.New(s, worker.Options{Queues: map[string]int{"gpu": 4}, QueuesOnly: true, Poll: 50 * time.Millisecond}, g)
	return errors.Join(w.Run(ctx), s.Close())
}

// startPool starts a worker of a queue.
func startPool(t *testing.T, url string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := exec.Command(exe)
	p.Env, p.Stderr = append(os.Environ(), childVariable+"="+url, poolVariable+"=1"), os.Stderr
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
	if testing.Short() {
		t.Skip("a task of a dead worker waits for 5 seconds")
	}
	const n, faults, silence = 600, 6, 5 * time.Second
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
			pool := []*exec.Cmd{startPool(t, url), startPool(t, url), startPool(t, url)}
			g, err := crate(s, n)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan worker.Event, 1)
			stop := running(worker.New(s, worker.Options{Poll: 50 * time.Millisecond, OnEvent: func(e worker.Event) {
				if e.Kind == worker.EventEnded && e.Status != graph.Waiting {
					ended <- e
				}
			}}, g))
			if _, err := g.Thread("t").Submit(t.Context(), JobUpdate{}); err != nil {
				t.Fatal(err)
			}
			kills, stops := 0, 0
			var got worker.Event
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
						pool[victim] = startPool(t, url)
						continue
					}
					stops++
					p := pool[victim].Process
					_ = p.Signal(syscall.SIGSTOP)
					time.AfterFunc(silence+silence/2, func() { _ = p.Signal(syscall.SIGCONT) })
				}
			}
			want := []string{"plan"}
			for i := range n {
				want = append(want, fmt.Sprintf("%05d", i))
			}
			snap, err := g.Thread("t").State(t.Context())
			if got.Err != nil || err != nil || snap.Status != graph.Done || !slices.Equal(snap.State.Log, want) {
				t.Errorf("got %s with %d lines, %v and %v; want it done with %d", snap.Status, len(snap.State.Log), got.Err, err, len(want))
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			t.Logf("%d tasks: %d workers killed, %d stopped", n, kills, stops)
		})
	}
}
