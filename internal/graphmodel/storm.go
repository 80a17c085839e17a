package graphmodel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Alone runs the model to its end, and returns its checkpoints: those that every run of the graph
// must make, whatever interrupts it (rule 15.3). It must not be called for a Spec that is Exact.
func (s *Spec) Alone() []Point {
	m := NewModel(s)
	for out := m.Invoke(nil, "", 0); out.Status != "done"; {
		if len(out.rerun) > 0 {
			m.fate.mended = true
		}
		answers := out.Waiting
		if s.Patient && out.Status != "waiting" {
			answers = nil
		}
		out = m.Resume(answers, out.rerun, false, nil)
	}
	return m.Trace
}

// Storm runs a graph on a thread to its end while things go wrong (rule 15.3). Processes die at a
// call of the saver, and answers get lost. Runs are cancelled, drained, left by the consumer of
// their stream (rules 14.3, 14.4 and 19.4) and ended by MaxSteps (rule 14.2). The thread is
// edited, and continued by code with another schema. Each process compiles the graph again.
type Storm struct {
	Spec       *Spec
	World      *World
	Saver      checkpoint.Saver // the storage, without faults
	Thread     string
	Durability graph.Durability // zero to draw one for each call (rule 14.6)
	Options    []graph.Option   // of every process

	// Calls, if set, is the number of calls of the saver that the first process makes until it
	// dies. No other fault happens. Lost says that the last call happens and its answer is lost.
	Calls int
	Lost  bool

	// Hiccup, if set with Calls, is the number of calls that fail from that one on, all of them as
	// Lost says. The process lives on, without further faults.
	Hiccup int

	// TakenOver, if set, is the task of the first process during which another process takes the
	// thread over and runs it to its end. The first process then continues, and must find out. No
	// other fault happens.
	TakenOver int

	Died   bool // a process died, or had its hiccup
	rand   *rand.Rand
	calls  int
	diedAt int // the call during which the thread was taken over
	diary  *diary
	rerun  []string
}

// Said returns the newest calls, and their effects on the storage, for a report.
func (s *Storm) Said() string {
	if s.diary == nil {
		return ""
	}
	return s.diary.last(200)
}

func (s *Storm) chance(percent int) bool {
	return s.Calls == 0 && s.TakenOver == 0 && s.calls < calm && s.rand.IntN(100) < percent
}

// calm is the number of calls of a thread after which nothing goes wrong any more.
const calm = 100

// Run runs the storm. seed says what happens.
func (s *Storm) Run(ctx context.Context, seed uint64) error {
	s.rand = rand.New(rand.NewPCG(s.Spec.Seed, seed))
	if s.diary == nil {
		s.diary = new(diary)
	}
	for {
		finished, err := s.process(ctx)
		if err != nil {
			s.report(ctx)
		}
		if err != nil || finished {
			return err
		}
	}
}

// process runs one process, until it dies or the thread is finished.
func (s *Storm) process(ctx context.Context) (finished bool, err error) {
	broken := &faulty{Saver: &noted{s.Saver, s.diary}, left: -1, diary: s.diary}
	switch {
	case s.Calls > 0 && !s.Died:
		broken.left, broken.lost, broken.hiccup = s.Calls, s.Lost, s.Hiccup
		defer func() { s.Died = s.Died || broken.failed() }()
	case s.chance(50):
		broken.left, broken.lost = 1+s.rand.IntN(12), s.chance(50)
	case !s.Spec.Rivals() && s.chance(30):
		broken.flaky = rand.New(rand.NewPCG(s.rand.Uint64(), 0))
	}
	workers := 1
	if !s.Spec.racy() && s.chance(70) {
		workers = 2 + s.rand.IntN(3)
	}
	opts := append(slices.Clone(s.Options), graph.Saver(s.World.Saver(broken)), graph.Concurrency(workers))
	if !s.Spec.Rivals() && s.chance(20) {
		opts = append(opts, graph.MaxSteps(1+s.rand.IntN(3)))
	}
	schema := *StateSchema
	if s.chance(30) {
		schema.Fingerprint++ // another version of the code
	}
	app, err := s.Spec.build(s.World, &schema, nil, opts)
	if err != nil {
		return false, err
	}
	s.diary.note("a process: call %d fails and %d after it (-1: all), made all the same: %t; flaky: %t; schema %x",
		broken.left, broken.hiccup-1, broken.lost, broken.flaky != nil, schema.Fingerprint)
	for !broken.dead() && (s.Calls > 0 || s.TakenOver > 0 || s.rand.IntN(4) > 0) {
		if s.calls++; s.calls > most {
			return false, fmt.Errorf("the thread is not finished after %d calls", most)
		}
		if finished, err = s.call(ctx, app); err != nil || finished {
			return finished, err
		}
	}
	s.diary.note("the process ends")
	s.Died = s.Died || broken.dead()
	return false, nil
}

// call begins or resumes the thread once, and checks the outcome.
func (s *Storm) call(ctx context.Context, app *App) (finished bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var drained sync.WaitGroup
	defer drained.Wait()
	if !s.Spec.Patient && s.chance(30) {
		what, name := cancel, "cancelled"
		if !s.Spec.Rivals() && s.chance(30) {
			name = "drained"
			what = func() { drained.Go(func() { _ = app.Drain(ctx) }) } // the error is that ctx ended first
		}
		at := s.World.Ran() + 1 + s.rand.IntN(6)
		var once sync.Once
		s.World.hook(func(n int) {
			if n >= at {
				once.Do(func() {
					s.diary.note("  %s before task or route %d", name, n)
					what()
				})
			}
		})
	}
	other := func() error { return nil }
	if s.TakenOver > 0 && !s.Died {
		other = s.takeOver(ctx)
	}
	res, err := s.invoke(ctx, app.Thread(s.Thread))
	s.World.hook(nil)
	if s.Died && !errors.Is(err, checkpoint.ErrConflict) && s.TakenOver > 0 && s.calls == s.diedAt {
		return false, fmt.Errorf("the outcome of a run that was taken over is %s, %w; want an ErrConflict", res.Status, err)
	}
	if err := other(); err != nil {
		return false, err
	}
	cancel()
	s.diary.note("%s at %s with %d log lines: %.200v",
		res.Status, s.diary.name(res.Checkpoint), len(res.State.Log), err)
	stored := s.checkStored(context.WithoutCancel(ctx), res, err == nil)
	if err = errors.Join(s.expected(err), stored); err != nil {
		return false, err
	}
	return res.Status == graph.Done, nil
}

// takeOver lets another process take over during task TakenOver. It returns a function that
// returns the error of that process, to be called when the run has ended.
func (s *Storm) takeOver(ctx context.Context) func() error {
	var failed error
	s.World.hook(func(n int) {
		if n != s.TakenOver {
			return
		}
		s.Died, s.diedAt = true, s.calls
		other := &Storm{
			Spec: s.Spec, World: s.World.heir(), Saver: s.Saver, Thread: s.Thread, Durability: s.Durability,
			Calls: 1 << 30, diary: s.diary,
		}
		s.diary.note("  another process takes over")
		if failed = other.Run(ctx, 1); failed == nil && other.World.Faults() != nil {
			failed = errors.New(strings.Join(other.World.Faults(), "\n"))
		}
	})
	return func() error { return failed }
}

// invoke makes the call: on a stream or not.
func (s *Storm) invoke(ctx context.Context, t Thread) (Result, error) {
	d := s.Durability
	if d == 0 {
		d = graph.Durability(1 + s.rand.IntN(3))
	}
	if s.chance(10) { // an edit that changes nothing (rule 16.1)
		s.diary.note("an edit")
		_, err := t.State(ctx)
		if err == nil {
			_, err = t.UpdateState(ctx, StateUpdate{}, graph.TakeOver())
		}
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			return Result{}, err
		}
	}
	stream := s.chance(30)
	s.diary.note("a call, %s, on a stream: %t", d, stream)
	resume := []graph.ResumeOption{d, graph.TakeOver()}
	snap, err := t.State(ctx)
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return Result{}, err
	}
	if err != nil {
		in := update(s.Spec.input(1))
		once := graph.RequestID("one")
		if stream {
			return s.listen(t.Stream(ctx, in, d, graph.TakeOver(), once, graph.Events(graph.EventAll)))
		}
		return t.Invoke(ctx, in, d, graph.TakeOver(), once)
	}
	for i, w := range snap.Questions {
		text, q, err := questionOf(w)
		if err != nil {
			return Result{}, err
		}
		if s.Spec.Patient && snap.Status != checkpoint.Waiting {
			break // other tasks of the race might not have run yet
		}
		if i == 0 || s.Spec.Patient || s.rand.IntN(3) > 0 {
			resume = append(resume, questions[q].Answer(w, answerTo(text)))
		}
	}
	for _, id := range s.rerun {
		resume = append(resume, graph.Rerun(graph.ID(id)))
	}
	s.rerun = nil
	if stream {
		return s.listen(t.ResumeStream(ctx, append(resume, graph.Events(graph.EventAll))...))
	}
	return t.Resume(ctx, resume...)
}

// listen takes events until the stream ends or the consumer leaves it.
func (s *Storm) listen(events func(func(graph.Event[State, StateUpdate], error) bool)) (res Result, err error) {
	left := -1
	if !s.Spec.Patient && s.chance(50) {
		left = s.rand.IntN(20)
	}
	for e, err := range events {
		if e.Result != nil {
			return *e.Result, err
		}
		if left--; left == 0 {
			break
		}
	}
	return res, nil
}
