//go:build unix

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
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// attempt is one of two that resume a thread at the same instant.
type attempt struct {
	Thread string
	Gate   int64 // how many wait at the gate when it opens
	Hold   bool  // the first node waits until the other attempt has returned: that one finds the thread busy
}

// outcomeOf is what came of it.
type outcomeOf struct {
	Steps int
	Busy  bool
	Err   string
}

// racer makes attempts.
type racer struct {
	counters
	g    *app
	held atomic.Int64 // how many must have returned before the first node returns
}

func newRacer(s checkpoint.Saver, dir, counter string) (*racer, error) {
	shared, err := share(counter)
	if err != nil {
		return nil, err
	}
	r := &racer{counters: shared}
	r.g, err = buildHeld(s, dir, func() {
		// Were both to run, neither would come back; then the journal has both.
		for end := time.Now().Add(patience); atomic.LoadInt64(r.back) < r.held.Load() && time.Now().Before(end); {
			rest(100 * time.Microsecond)
		}
	}, graph.SaverTimeout(patience))
	return r, err
}

// run makes an attempt as soon as the other one is ready, too. It spins until then, so that both
// start at the same time.
func (r *racer) run(a attempt) outcomeOf {
	if a.Hold {
		r.held.Store(a.Gate - 1)
	}
	atomic.AddInt64(r.gate, 1)
	for atomic.LoadInt64(r.gate) < a.Gate {
		runtime.Gosched()
	}
	res, err := r.g.Thread(a.Thread).Resume(context.Background())
	atomic.AddInt64(r.back, 1)
	o := outcomeOf{Steps: res.Steps}
	var held *checkpoint.BusyError
	switch {
	case errors.As(err, &held):
		o.Busy = true
	case err != nil:
		o.Err = err.Error()
	case res.Status != graph.Done:
		o.Err = "the run is " + res.Status.String()
	}
	return o
}

// resume is the work of one of two processes.
func (j *job) resume(s checkpoint.Saver) error {
	r, err := newRacer(s, j.Dir, j.Counter)
	if err != nil {
		return err
	}
	return serve(func(a attempt) (outcomeOf, error) { return r.run(a), nil })
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
	for b.more(&c.races, least) {
		a := attempt{Thread: fmt.Sprint("race-", c.races), Gate: int64(2 * c.races), Hold: c.races%2 == 0}
		res, err := stopping.Thread(a.Thread).Invoke(t.Context(), update{Facts: state.Put("who", "proof")})
		if err != nil || res.Status != graph.Paused {
			t.Fatalf("thread %s: got it %s, %v; want it paused", a.Thread, res.Status, err)
		}
		outcomes := both(a)
		winner := outcomes[0]
		if outcomes[1].Steps > 0 {
			winner = outcomes[1]
		}
		loser, refused := outcomes[0].Steps+outcomes[1].Steps-winner.Steps, outcomes[0].Busy || outcomes[1].Busy
		if winner.Steps == 0 || winner.Busy || loser != 0 || a.Hold && !refused || outcomes[0].Err+outcomes[1].Err != "" {
			t.Errorf("%+v: got %+v; want one that ran the thread, and one that found it busy, or finished when it was not held", a, outcomes)
		}
		if refused {
			c.busy++
		}
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
	r, err := newRacer(s, dir, counter)
	if err != nil {
		t.Fatal(err)
	}
	return func(a attempt) (out [2]outcomeOf) {
		var both sync.WaitGroup
		for i := range out {
			both.Go(func() { out[i] = r.run(a) })
		}
		both.Wait()
		return out
	}
}
