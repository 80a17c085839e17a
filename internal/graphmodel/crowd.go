package graphmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// Crowd is a storm of mail (rules 21.1, 21.2, 21.5 and 21.21). Several processes submit the same
// inputs and answer the same questions, each on its own. Others run the thread as workers, while
// calls of their savers fail and they die. Each input must run once. It needs a bubble of
// testing/synctest.
type Crowd struct {
	Spec       *Spec
	World      *World
	Saver      checkpoint.Saver // the storage, without faults
	Durability graph.Durability
	Inputs     int

	diary *diary
	opts  []graph.Option // of the graph
	mu    sync.Mutex
	fault error // the first one that nothing explains
}

// Fits reports whether a graph has the same outcome in every Crowd.
func (c *Crowd) Fits() bool { return c.Spec.Stormy(true) && !c.Spec.Patient && !c.Spec.Rivals() }

// Run lets the crowd work until all inputs have run. It compares the state with that of a Model
// that gets the inputs in the same order.
func (c *Crowd) Run(ctx context.Context, seed uint64) error {
	c.diary = new(diary)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all, posters sync.WaitGroup
	for i := range uint64(3) {
		posters.Go(func() { c.submit(ctx, rand.New(rand.NewPCG(seed, i))) })
		all.Go(func() { c.serve(ctx, rand.New(rand.NewPCG(seed, 10+i))) })
	}
	app, _, err := c.apps(c.Saver)
	if err != nil {
		return err
	}
	for range 2 {
		all.Go(func() { c.answer(ctx, app.Thread(crowded)) })
	}
	posters.Wait()
	t := app.Thread(crowded)
	for rounds := 0; c.failed() == nil; rounds++ {
		over, err := c.over(ctx, t)
		if err != nil || over {
			c.note(err)
			break
		}
		if rounds > most {
			c.note(fmt.Errorf("the inputs have not run after %d rounds", most))
		}
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
	}
	cancel()
	all.Wait()
	if err := c.failed(); err != nil {
		return fmt.Errorf("%w\n%s", err, c.diary.last(200))
	}
	return c.check(context.WithoutCancel(ctx), t)
}

// crowded is the thread of a Crowd.
const crowded = "t"

// note notes an error that nothing explains.
func (c *Crowd) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = cmp.Or(c.fault, err)
}

// failed returns the error that note noted first.
func (c *Crowd) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// apps compiles the graph, and that of the children, which may be nil.
func (c *Crowd) apps(s checkpoint.Saver) (app, below *App, err error) {
	return c.Spec.BuildAll(c.World, append([]graph.Option{graph.Saver(s), graph.Concurrency(1), c.Durability}, c.opts...)...)
}

// submit submits all inputs, in an order of its own.
func (c *Crowd) submit(ctx context.Context, r *rand.Rand) {
	app, _, err := c.apps(c.Saver)
	if err != nil {
		c.note(err)
		return
	}
	for _, i := range r.Perm(c.Inputs) {
		time.Sleep(time.Duration(r.IntN(20)) * time.Second) //nolint:forbidigo // in a bubble
		in := update(c.Spec.input(i + 1))
		_, err := app.Thread(crowded).Submit(ctx, in, graph.RequestID(fmt.Sprint("input ", i+1)))
		c.note(err)
	}
}

// answer answers the questions of the thread, whenever it asks some. It clears stops,
// and resumes the thread after failures.
func (c *Crowd) answer(ctx context.Context, t Thread) {
	for ctx.Err() == nil {
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		snap, err := t.State(ctx)
		if err != nil {
			continue // it has not begun
		}
		c.help(ctx, t, snap)
	}
}

// help answers the questions in a snapshot, and resumes its thread if a person has to.
func (c *Crowd) help(ctx context.Context, t Thread, snap graph.Snapshot[State]) {
	for _, q := range snap.Questions {
		text, kind, err := questionOf(q)
		c.note(err)
		if err := t.Answer(ctx, questions[kind].Answer(q, answerTo(text))); ctx.Err() == nil && !errors.Is(err, graph.ErrNotAsked) {
			c.note(err)
		}
	}
	if snap.Status == checkpoint.Paused || snap.Status == checkpoint.Failed { // the failure may be that of a person
		if _, err := t.Resume(ctx); !errors.Is(err, checkpoint.ErrNotFound) { // it was released since
			c.explain(ctx, err)
		}
	}
}

// serve runs the threads as the workers of several processes, also the tasks of queues and the
// children. Each process dies.
func (c *Crowd) serve(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		broken := &faulty{Saver: &noted{c.Saver, c.diary}, left: 1 + r.IntN(30), lost: r.IntN(2) == 0, diary: c.diary}
		if r.IntN(3) == 0 {
			broken.left, broken.flaky = -1, rand.New(rand.NewPCG(r.Uint64(), 0))
		}
		if err := c.process(ctx, broken, time.Duration(1+r.IntN(20))*time.Second); err != nil {
			c.note(err)
			return
		}
	}
}

// process is a worker that ends after a time, or when its saver fails for ever.
func (c *Crowd) process(ctx context.Context, broken *faulty, life time.Duration) error {
	saver := c.World.Saver(broken)
	app, below, err := c.apps(saver)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, life)
	defer cancel()
	o := worker.Options{
		Slots: 2, DrainTimeout: -1, Retry: graph.RetryPolicy{Attempts: most, Base: time.Second, Max: 10 * time.Second},
		OnEvent: func(e worker.Event) {
			if e.Kind != worker.EventMessageRefused { // the thread says so
				c.explain(ctx, e.Err)
			}
			if broken.dead() {
				cancel()
			}
		},
	}
	apps := []worker.App{app}
	if below != nil {
		apps = append(apps, below)
	}
	if c.Spec.queued() || below != nil && c.Spec.Below.queued() {
		o.Queues = map[string]int{queue: 2}
	}
	c.explain(ctx, worker.New(saver, o, apps...).Run(ctx))
	return nil
}

// explain notes an error that a storm of mail does not have to expect.
func (c *Crowd) explain(ctx context.Context, err error) {
	var busy *checkpoint.BusyError
	var cancelled *graph.CancelledError
	var queued *graph.QueueError
	if errors.As(err, &queued) && (strings.Contains(queued.Text, ErrBroken.Error()) || strings.Contains(queued.Text, ErrFault.Error())) {
		return // only the text comes from a queue
	}
	if err == nil || ctx.Err() != nil || errors.As(err, &busy) || errors.As(err, &cancelled) || errors.Is(err, ErrFault) || errors.Is(err, ErrBroken) ||
		errors.Is(err, checkpoint.ErrConflict) || errors.Is(err, graph.ErrDraining) {
		return
	}
	c.note(err)
}

// over reports whether all inputs have run.
func (c *Crowd) over(ctx context.Context, t Thread) (bool, error) {
	listed, err := t.Describe(ctx)
	if err != nil || listed.Status != checkpoint.Done || listed.Inputs > 0 {
		return false, err
	}
	return c.rests(ctx)
}

// rests reports whether no thread is due at any time, also of children and of tasks of the queue
// (rule 25.2).
func (c *Crowd) rests(ctx context.Context) (bool, error) {
	graphs := []string{"model", "child", graph.QueueGraph("model", queue), graph.QueueGraph("child", queue)}
	due, err := c.Saver.Ready(ctx, checkpoint.ReadyQuery{Graphs: graphs, Limit: 1})
	return err == nil && len(due.Threads) == 0 && due.Next.IsZero(), err
}

// childrenEnded checks that all children are done or cancelled (rules 25.3 and 25.4).
func (c *Crowd) childrenEnded(ctx context.Context) error {
	for th, err := range c.Saver.Threads(ctx, checkpoint.ThreadQuery{Graph: "child"}) {
		if err == nil && th.Status != checkpoint.Done && th.Status != checkpoint.Cancelled {
			err = fmt.Errorf("child %s has ended as %s, want it done or cancelled", th.ID, th.Status)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check compares the thread with a Model.
func (c *Crowd) check(ctx context.Context, t Thread) error {
	snap, err := t.State(ctx)
	if err != nil {
		return err
	}
	in, err := t.Inbox(ctx)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(in.Waiting, func(one checkpoint.Message) bool {
		return one.Kind == checkpoint.SignalMessage // of a child whose caller got an error; the next run refuses it (rule 25.5)
	})
	m := NewModel(c.Spec)
	var want Outcome
	ran := 0
	for _, line := range snap.State.Log {
		var n int
		if _, err := fmt.Sscanf(line, "input %d", &n); err != nil {
			continue
		}
		ran++
		if want = m.enter(n, 0, "", nil, time.Time{}); want.Status != "done" {
			want = m.toEnd(want)
		}
	}
	return errors.Join(
		c.childrenEnded(ctx),
		differ("inputs that ran", fmt.Sprint(ran), fmt.Sprint(c.Inputs)),
		differ("messages left", messagesText(left), ""),
		differ("state", Text(snap.State), Text(want.State)),
		differ("faults", strings.Join(c.World.Faults(), "\n"), ""),
	)
}

// toEnd resumes a thread until it is done, with all answers.
func (m *Model) toEnd(out Outcome) Outcome {
	for out.Status != "done" {
		out = m.Resume(out.Waiting, out.rerun, false, nil)
	}
	return out
}
