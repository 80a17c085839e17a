package proof_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// attempt is one of two that resume a thread at the same instant.
type attempt struct {
	Thread string
	Gate   int64 // how many have come to the gate when it opens
}

// outcomeOf is what came of it.
type outcomeOf struct {
	Pid   int
	Steps int
	Busy  bool
	Err   string
}

// pass waits until so many have come to the gate. It turns on the spot, so that all of them leave at once.
func (c counters) pass(n int64) {
	atomic.AddInt64(c.gate, 1)
	for atomic.LoadInt64(c.gate) < n {
		runtime.Gosched()
	}
}

func (a attempt) run(g *app, c counters) outcomeOf {
	c.pass(a.Gate)
	res, err := g.Thread(a.Thread).Resume(context.Background())
	o := outcomeOf{Pid: os.Getpid(), Steps: res.Steps}
	var held *checkpoint.BusyError
	switch {
	case errors.As(err, &held):
		o.Busy = true
	case err != nil:
		o.Err = err.Error()
	case res.Status != graph.Finished:
		o.Err = "the run is " + res.Status.String()
	}
	return o
}

// resume is the work of one of two processes.
func (j *job) resume(s checkpoint.Saver) error {
	shared, err := share(j.Counter)
	if err != nil {
		return err
	}
	g, err := build(s, j.Dir)
	if err != nil {
		return err
	}
	return serve(func(a attempt) (outcomeOf, error) { return a.run(g, shared), nil })
}

// proveResume lets two resume one thread at the same instant, again and again.
func proveResume(t *testing.T, b *bench, c *count) {
	t.Helper()
	least := 25
	if b.soak > 0 {
		least = 1000
	}
	s, dir, counter := b.open(t), t.TempDir(), newCounters(t)
	stopping, err := build(s, dir, graph.InterruptBefore("begin"))
	if err != nil {
		t.Fatal(err)
	}
	both := two(t, b, s, dir, counter)
	won := make(map[int]int)
	for b.more(&c.races, least) {
		a := attempt{Thread: fmt.Sprint("race-", c.races), Gate: int64(2 * c.races)}
		res, err := stopping.Thread(a.Thread).Invoke(t.Context(), update{Facts: state.Put("who", "proof")})
		if err != nil || res.Status != graph.Paused {
			t.Fatalf("thread %s: got it %s, %v; want it paused", a.Thread, res.Status, err)
		}
		outcomes := both(a)
		winner := outcomes[0]
		if outcomes[1].Steps > 0 {
			winner = outcomes[1]
		}
		loser := outcomes[0].Steps + outcomes[1].Steps - winner.Steps
		if winner.Steps == 0 || loser != 0 || outcomes[0].Err+outcomes[1].Err != "" {
			t.Errorf("thread %s: got %+v; want one that ran the thread, and one that found it busy or finished", a.Thread, outcomes)
		}
		won[winner.Pid]++
		if onlyOne(t, dir, a.Thread); t.Failed() {
			return
		}
		check(t, s, dir, a.Thread, c)
	}
}

// onlyOne fails unless every task of a thread ran once, and all of them in one process.
func onlyOne(t *testing.T, dir, thread string) {
	t.Helper()
	text, err := os.ReadFile(string(journalOf(dir, thread)))
	if err != nil {
		t.Fatal(err)
	}
	ran, pids := make(map[string]bool), make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] == "run" {
			if ran[words[1]] {
				t.Errorf("thread %s: a task ran twice: %s", thread, line)
			}
			ran[words[1]], pids[words[4]] = true, true
		}
	}
	if len(pids) != 1 {
		t.Errorf("thread %s: %d processes executed nodes, want one", thread, len(pids))
	}
}

// two returns what makes both attempts: in two processes, or in this one where no other can.
func two(t *testing.T, b *bench, s checkpoint.Saver, dir, counter string) func(attempt) [2]outcomeOf {
	t.Helper()
	if b.url != "" {
		j := job{Role: "resume", URL: b.url, Dir: dir, Counter: counter}
		both := [2]*process{start(t, j), start(t, j)}
		return func(a attempt) (out [2]outcomeOf) {
			for _, p := range both {
				p.ask(t, a)
			}
			for i, p := range both {
				p.answer(t, &out[i])
			}
			return out
		}
	}
	shared, err := share(counter)
	if err != nil {
		t.Fatal(err)
	}
	g, err := build(s, dir)
	if err != nil {
		t.Fatal(err)
	}
	return func(a attempt) (out [2]outcomeOf) {
		var both sync.WaitGroup
		for i := range out {
			both.Go(func() { out[i] = a.run(g, shared) })
		}
		both.Wait()
		return out
	}
}
