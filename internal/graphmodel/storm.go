package graphmodel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// ErrFault is what a saver's call returns that did not happen, or whose answer was lost.
var ErrFault = errors.New("a fault of the saver")

// Alone runs the model to its end, and returns its checkpoints: what every run of the graph has to come to, whatever
// happens on the way. It must not be asked of a Spec that is Exact.
func (s *Spec) Alone() []Point {
	m := NewModel(s)
	for out := m.Invoke(); out.Status != "finished"; {
		if len(out.rerun) > 0 {
			m.fate.mended = true
		}
		answers := out.Waiting
		if s.Patient && out.Status != "asked" {
			answers = nil
		}
		out = m.Resume(answers, out.rerun, false)
	}
	return m.Trace
}

// Storm runs a graph on a thread to its end, while things go wrong: processes die at a call of the saver, answers get lost,
// runs are cancelled, drained and left by who listens, and come to the end of their steps; threads are edited and taken up by
// another version of the code. Each time a graph made anew goes on.
type Storm struct {
	Spec       *Spec
	World      *World
	Saver      checkpoint.Saver // the storage, in which all is well
	Thread     string
	Durability graph.Durability // zero for one drawn for each call
	Options    []graph.Option   // of every process

	// Calls, when set, is how many calls of the saver the first process makes until it dies, and no other fault happens;
	// Lost says that the last of them is made, and its answer lost.
	Calls int
	Lost  bool

	// Hiccup, when set with Calls, is how many calls fail from that one on, all of them as Lost says; then the storage is well
	// again, and the process lives.
	Hiccup int

	// TakenOver, when set, is the task of the first process in the middle of which another process takes the thread over and
	// brings it to its end; the first one then goes on, and has to find out. No other fault happens.
	TakenOver int

	Died   bool // a process did, or it had its hiccup
	rand   *rand.Rand
	calls  int
	diedAt int // the call during which the thread was taken over
	diary  *diary
	rerun  []string
}

// Said returns the newest calls, and what they did to the storage, for a report.
func (s *Storm) Said() string {
	if s.diary == nil {
		return ""
	}
	return s.diary.last(200)
}

func (s *Storm) chance(percent int) bool {
	return s.Calls == 0 && s.TakenOver == 0 && s.calls < calm && s.rand.IntN(100) < percent
}

// calm is how many calls of a thread go on until nothing goes wrong any more.
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
			s.tell(ctx)
		}
		if err != nil || finished {
			return err
		}
	}
}

// process is what happens until a process dies.
func (s *Storm) process(ctx context.Context) (finished bool, err error) {
	broken := &faulty{Saver: &told{s.Saver, s.diary}, left: -1, diary: s.diary}
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
	opts := append(slices.Clone(s.Options), graph.Saver(s.World.Watch(broken)), graph.Concurrency(workers))
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

// call begins or resumes the thread once, and judges what that comes to.
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
	taken := func() error { return nil }
	if s.TakenOver > 0 && !s.Died {
		taken = s.takeOver(ctx)
	}
	res, err := s.drive(ctx, app.Thread(s.Thread))
	s.World.hook(nil)
	if s.Died && !errors.Is(err, checkpoint.ErrConflict) && s.TakenOver > 0 && s.calls == s.diedAt {
		return false, fmt.Errorf("a run that was taken over came to %s, %w; want it to be told", res.Status, err)
	}
	if err := taken(); err != nil {
		return false, err
	}
	cancel()
	s.diary.note("%s at %s with %d log lines: %.200v", res.Status, s.diary.name(res.Checkpoint), len(res.State.Log), err)
	oops := s.agrees(context.WithoutCancel(ctx), res, err == nil)
	if err = errors.Join(s.judge(err), oops); err != nil {
		return false, err
	}
	return res.Status == graph.Finished, nil
}

// agrees looks whether what is stored agrees with itself, and with what a call came to, of which well says that it had no
// error: people find threads by their status.
func (s *Storm) agrees(ctx context.Context, res Result, well bool) error {
	c, err := s.Saver.Load(ctx, checkpoint.Place{Thread: s.Thread})
	if err != nil {
		return fmt.Errorf("load after a call: %w", err)
	}
	status := c.Thread.Status
	switch {
	case len(c.Records) == 0:
		return nil
	case (status == checkpoint.Done) == c.Unfinished():
		return fmt.Errorf("the thread is stored as %s; %v is due, and routes of %v owed", status, c.Next(), c.Records[len(c.Records)-1].Owed)
	case status == checkpoint.Done && len(c.Thread.Questions) > 0: // it has one line, on which nothing is due
		return fmt.Errorf("the thread is stored as %s; open in it are %v", status, c.Thread.Questions)
	case !well || res.Status == 0:
		return nil
	case res.Checkpoint != c.Head:
		return fmt.Errorf("the call came to %s %s; stored is %s", res.Status, s.diary.name(res.Checkpoint), s.diary.name(c.Head))
	case res.Status == graph.Paused && status != checkpoint.Paused:
		return fmt.Errorf("the call came to %s; the thread is stored as %s", res.Status, status)
	}
	return nil
}

// takeOver has another process take over when the task comes. It returns what to call when the run is over, for the error of
// that process.
func (s *Storm) takeOver(ctx context.Context) func() error {
	var oops error
	s.World.hook(func(n int) {
		if n != s.TakenOver {
			return
		}
		s.Died, s.diedAt = true, s.calls
		other := &Storm{Spec: s.Spec, World: s.World.heir(), Saver: s.Saver, Thread: s.Thread, Durability: s.Durability, Calls: 1 << 30, diary: s.diary}
		s.diary.note("  another process takes over")
		if oops = other.Run(ctx, 1); oops == nil && other.World.Faults() != nil {
			oops = errors.New(strings.Join(other.World.Faults(), "\n"))
		}
	})
	return func() error { return oops }
}

// heir returns the world as a process sees it that takes over: what was acknowledged stays so.
func (w *World) heir() *World {
	h := NewWorld()
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(h.ended, w.ended)
	maps.Copy(h.kept, w.kept)
	maps.Copy(h.bases, w.bases)
	maps.Copy(h.prints, w.prints)
	return h
}

// hook sets the Hook, while nothing runs.
func (w *World) hook(f func(int)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Hook = f
}

// drive makes the call: on a stream or not.
func (s *Storm) drive(ctx context.Context, t Thread) (Result, error) {
	d := s.Durability
	if d == 0 {
		d = graph.Durability(1 + s.rand.IntN(3))
	}
	if s.chance(10) { // an edit that changes nothing
		s.diary.note("an edit")
		_, err := t.UpdateState(ctx, StateUpdate{}, "", graph.TakeOver())
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			return Result{}, err
		}
	}
	stream := s.chance(30)
	s.diary.note("a call, %s, on a stream: %t", d, stream)
	resume := []graph.ResumeOption{d, graph.TakeOver(), graph.Events(graph.EventAll)}
	snap, err := t.State(ctx)
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return Result{}, err
	}
	if err != nil {
		in := update(s.Spec.input(1))
		opts := []graph.InvokeOption{d, graph.TakeOver(), graph.RequestID("one"), graph.Events(graph.EventAll)}
		if stream {
			return s.listen(t.Stream(ctx, in, opts...))
		}
		return t.Invoke(ctx, in, opts...)
	}
	for i, w := range snap.Waiting {
		text, q, err := questionOf(w)
		if err != nil {
			return Result{}, err
		}
		if s.Spec.Patient && snap.Status != checkpoint.Waiting {
			break // others that race may have yet to run
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
		return s.listen(t.ResumeStream(ctx, resume...))
	}
	return t.Resume(ctx, resume...)
}

// listen takes events until it has enough, or there are no more.
func (s *Storm) listen(events func(func(graph.Event[State, StateUpdate], error) bool)) (res Result, err error) {
	left := -1
	if !s.Spec.Patient && s.chance(50) {
		left = s.rand.IntN(20)
	}
	for e, oops := range events {
		if e.Result != nil {
			return *e.Result, oops
		}
		if left--; left == 0 {
			break
		}
	}
	return res, nil
}

// judge returns err unless it is of those that have to be expected, and draws the consequences of that.
func (s *Storm) judge(err error) error {
	var conflict *graph.ConflictError
	var node *graph.NodeError
	var steps *graph.MaxStepsError
	var thrown *graph.PanicError
	if errors.Is(err, ErrFault) {
		return nil // the results that led to a conflict may not be stored, and those that are to come must be the same
	}
	if errors.As(err, &conflict) {
		s.World.Mend()
		s.rerun = []string{string(conflict.Nodes[0]), string(conflict.Nodes[1])}
		return nil
	}
	if errors.As(err, &node) && errors.As(err, &thrown) && !errors.Is(thrown, ErrBroken) {
		s.World.Mend()
		s.rerun = []string{string(node.Node)}
		return nil
	}
	switch {
	case err == nil, errors.As(err, &steps), errors.Is(err, ErrBroken),
		s.TakenOver > 0 && errors.Is(err, checkpoint.ErrConflict),
		strings.Contains(err.Error(), "is not due"), // a Rerun, of nodes whose superstep was lost
		errors.Is(err, context.Canceled), errors.Is(err, graph.ErrDraining):
		return nil
	}
	return err
}

// Check compares what is stored with what the model came to. With whole all of its checkpoints have to be there, each once;
// else some may be missing between the first and the last.
func (s *Storm) Check(ctx context.Context, want []Point, whole bool) error {
	app, err := s.Spec.Build(s.World, graph.Saver(s.Saver))
	if err != nil {
		return err
	}
	t := app.Thread(s.Thread)
	snap, err := t.State(ctx)
	if err != nil {
		return err
	}
	var got []string
	for snap, err := range t.History(ctx, checkpoint.Query{}) {
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		if snap.Source == checkpoint.Update {
			continue // it changed nothing
		}
		got = append(got, fmt.Sprintln(snap.Step, Text(snap.State), snap.Next))
	}
	slices.Reverse(got)
	var lines []string
	for i, pt := range want {
		line := fmt.Sprintln(pt.Step, Text(pt.State), pt.Next)
		if !whole && i > 0 && i < len(want)-1 && (len(lines) >= len(got) || got[len(lines)] != line) {
			continue
		}
		lines = append(lines, line)
	}
	var faults error
	if f := s.World.Faults(); f != nil {
		faults = errors.New(strings.Join(f, "\n"))
	}
	err = errors.Join(faults,
		differ("state", Text(snap.State), Text(want[len(want)-1].State)),
		differ("status", snap.Status.String(), checkpoint.Done.String()),
		differ("history", strings.Join(got, ""), strings.Join(lines, "")),
	)
	if err != nil {
		s.tell(ctx)
	}
	return err
}

// tell takes down what is stored, for the report of a storm that ended wrongly.
func (s *Storm) tell(ctx context.Context) {
	s.diary.note("what is stored: %s", s.diary.all(ctx, s.Saver, s.Thread))
}

// faulty is a saver some of whose calls fail.
type faulty struct {
	checkpoint.Saver
	mu    sync.Mutex
	left  int        // calls until the process dies, the last one included; negative for never
	lost  bool       // that one is made, and its answer lost
	flaky *rand.Rand // each call may fail
	diary *diary

	hiccup int // calls that fail, that one included, before all is well again; zero for a process that dies
	struck bool
}

// failed reports whether a call has failed.
func (f *faulty) failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.struck
}

func (f *faulty) dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left == 0
}

// call makes a call, or not.
func (f *faulty) call(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	lost := f.lost
	switch {
	case f.left == 0:
		f.diary.note("  a call of a dead process")
		return ErrFault
	case f.flaky != nil:
		if n := f.flaky.IntN(100); n >= 20 {
			return do()
		} else {
			lost = n < 10
		}
	default:
		if f.left--; f.left != 0 {
			return do()
		}
		f.struck = true
		if f.hiccup > 0 {
			if f.hiccup--; f.hiccup > 0 {
				f.left = 1
			} else {
				f.left = -1
			}
		}
	}
	if lost {
		_ = do()
		f.diary.note("  and the answer is lost")
	} else {
		f.diary.note("  a call that does not happen")
	}
	return ErrFault
}

func (f *faulty) Append(ctx context.Context, r checkpoint.Append) (a checkpoint.Appended, err error) {
	err = f.call(func() error { a, err = f.Saver.Append(ctx, r); return err })
	if err != nil {
		a = checkpoint.Appended{}
	}
	return a, err
}

func (f *faulty) PutWrites(ctx context.Context, w checkpoint.PutWrites) error {
	return f.call(func() error { return f.Saver.PutWrites(ctx, w) })
}

func (f *faulty) Load(ctx context.Context, p checkpoint.Place) (c checkpoint.Chain, err error) {
	err = f.call(func() error { c, err = f.Saver.Load(ctx, p); return err })
	if err != nil {
		c = checkpoint.Chain{}
	}
	return c, err
}
