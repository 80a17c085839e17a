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
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Mob is a Crowd on several threads of one saver, with processes that also cancel, release and
// remove threads, and send signals. Signals come before and after nodes wait for them, and some
// are sent twice. The states depend on the time of each cancel, so no Model predicts them. Half of
// the graphs release their threads when they are done.
type Mob struct {
	Crowd
	Threads int

	tally   *tally
	signals sync.Mutex
	sent    int64 // the payload of the newest signal
}

// Fits reports whether a graph receives signals, and each of its tasks that ends counts.
func (m *Mob) Fits() bool { return m.Crowd.Fits() && m.Spec.listens() && !m.Spec.abandons() }

// DrawListening returns the graph of a seed. It is that of DrawWaiting, without sleeps and expiry
// times.
func DrawListening(seed uint64) *Spec {
	s := DrawWaiting(seed)
	s.neverExpires()
	return s
}

func (s *Spec) neverExpires() {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Naps, n.Expires, n.Pause = nil, 0, 0
		if n.Child != nil {
			n.Child.neverExpires()
		}
	}
}

// Run lets the mob work until no thread has anything to do. Then it checks rules 15.4, 21.1, 21.2,
// 21.9, 21.10, 21.13, 21.21 and 21.24.
func (m *Mob) Run(ctx context.Context, seed uint64) error {
	m.diary, m.tally = new(diary), newTally(m.Saver)
	m.Saver = m.tally
	if m.Spec.Seed%2 != 0 { // else the graph of the children does; see BuildAll
		m.opts = []graph.Option{graph.ReleaseOnDone()}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	app, _, err := m.apps(m.Saver)
	if err != nil {
		return err
	}
	var all, posters sync.WaitGroup
	for i := range uint64(2) {
		draw := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 10*n+i)) }
		posters.Go(func() { m.submitAll(ctx, app, draw(1)) })
		posters.Go(func() { m.cancelSome(ctx, app, draw(2)) })
		posters.Go(func() { m.signalEarly(ctx, app, draw(3)) })
		posters.Go(func() { m.releaseSome(ctx, app, draw(5)) })
		posters.Go(func() { m.removeSome(ctx, app, draw(6)) })
		all.Go(func() { m.attend(ctx, app, draw(4)) })
	}
	for i := range uint64(3) {
		all.Go(func() { m.serve(ctx, rand.New(rand.NewPCG(seed, 100+i))) })
	}
	posters.Wait()
	for rounds := 0; m.failed() == nil; rounds++ {
		over, err := m.over(ctx, app)
		if err != nil || over {
			m.note(err)
			break
		}
		if rounds > most {
			m.note(fmt.Errorf("threads have something to do after %d rounds", most))
		}
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
	}
	cancel()
	all.Wait()
	for i := 0; i < m.Threads && m.failed() == nil; i++ {
		m.note(m.check(context.WithoutCancel(ctx), app, threadName(i)))
	}
	m.note(m.signalsWentOnce())
	m.note(m.childrenEnded(context.WithoutCancel(ctx)))
	if err := m.failed(); err != nil {
		return fmt.Errorf("%w\n%s", err, m.diary.last(200))
	}
	return differ("faults", strings.Join(m.World.Faults(), "\n"), "")
}

func threadName(i int) string { return fmt.Sprint("t", i) }

// any draws a thread.
func (m *Mob) any(app *App, r *rand.Rand) Thread { return app.Thread(threadName(r.IntN(m.Threads))) }

// submitAll submits all inputs to all threads, in an order of its own. The last input of a thread
// cancels what the thread was asked before.
func (m *Mob) submitAll(ctx context.Context, app *App, r *rand.Rand) {
	for _, k := range r.Perm(m.Inputs * m.Threads) {
		time.Sleep(time.Duration(r.IntN(20)) * time.Second) //nolint:forbidigo // in a bubble
		i := k / m.Threads
		opts := []graph.SubmitOption{graph.RequestID(requestOf(i))}
		switch i {
		case m.Inputs - 1:
			opts = append(opts, graph.CancelPending("a newer input"))
		case m.Inputs - 2:
			opts = append(opts, graph.DiscardPending())
		case m.Inputs - 3:
			opts = append(opts, graph.IfIdle())
		}
		_, err := app.Thread(threadName(k%m.Threads)).Submit(ctx, update(m.Spec.input(i+1)), opts...)
		if !errors.Is(err, checkpoint.ErrNotIdle) {
			m.note(err)
		}
	}
}

func requestOf(input int) string { return fmt.Sprint("input ", input+1) }

// cancelSome cancels threads.
func (m *Mob) cancelSome(ctx context.Context, app *App, r *rand.Rand) {
	for i := range 2 * m.Threads {
		time.Sleep(time.Duration(r.IntN(40)) * time.Second) //nolint:forbidigo // in a bubble
		m.note(m.any(app, r).Cancel(ctx, fmt.Sprint("cancel ", i)))
	}
}

// releaseSome releases threads that are done.
func (m *Mob) releaseSome(ctx context.Context, app *App, r *rand.Rand) {
	for range 4 * m.Threads {
		time.Sleep(time.Duration(r.IntN(20)) * time.Second) //nolint:forbidigo // in a bubble
		t := m.any(app, r)
		th, err := t.Describe(ctx)
		if err == nil && th.Status == checkpoint.Done {
			_, err = t.Release(ctx, graph.IfHead(th.Head))
		}
		if !errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, checkpoint.ErrNotFound) {
			m.note(err)
		}
	}
}

// removeSome removes threads that have ended: by a retention, which keeps those with inputs, or
// with the inputs that have come since.
func (m *Mob) removeSome(ctx context.Context, app *App, r *rand.Rand) {
	for range 4 * m.Threads {
		time.Sleep(time.Duration(r.IntN(20)) * time.Second) //nolint:forbidigo // in a bubble
		thread := threadName(r.IntN(m.Threads))
		th, err := app.Thread(thread).Describe(ctx)
		m.signals.Lock()
		switch {
		case err != nil:
		case r.IntN(2) == 0:
			_, err = m.Saver.Prune(ctx, thread, checkpoint.Retention{Ended: time.Now().Add(time.Hour)})
		case th.Status == checkpoint.Done || th.Status == checkpoint.Cancelled:
			err = m.Saver.Delete(ctx, thread)
		}
		m.signals.Unlock()
		if !errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, checkpoint.ErrNotFound) {
			m.note(err)
		}
	}
}

// signalEarly sends signals, whether a node waits for them or not.
func (m *Mob) signalEarly(ctx context.Context, app *App, r *rand.Rand) {
	for range 2 * m.Threads {
		time.Sleep(time.Duration(r.IntN(20)) * time.Second) //nolint:forbidigo // in a bubble
		m.send(ctx, m.any(app, r), signalNames[r.IntN(len(signalNames))], []string{"", "x", "y"}[r.IntN(3)], r)
	}
}

// send sends a signal with a payload of its own. It sends some of them twice, with the same id.
// The thread is not removed meanwhile, because the saver would not know the id then.
func (m *Mob) send(ctx context.Context, t Thread, name, key string, r *rand.Rand) {
	m.signals.Lock()
	defer m.signals.Unlock()
	m.sent++
	n := m.sent
	opts := []graph.SignalOption{graph.RequestID(fmt.Sprint("signal ", n))}
	if key != "" {
		opts = append(opts, graph.For(key))
	}
	for range 1 + r.IntN(2) {
		err := t.Signal(ctx, signals[slices.Index(signalNames, name)].With(wire.Int(n), opts...))
		if ctx.Err() == nil {
			m.note(err)
		}
	}
}

// attend sends the signals for which threads wait, answers their questions, clears their stops and
// resumes them after failures.
func (m *Mob) attend(ctx context.Context, app *App, r *rand.Rand) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(1+r.IntN(5)) * time.Second) //nolint:forbidigo // in a bubble
		t := m.any(app, r)
		snap, err := t.State(ctx)
		if err != nil {
			continue // it has not begun
		}
		for _, s := range snap.Signals {
			in, err := t.Inbox(ctx)
			waits := func(one checkpoint.Message) bool { return one.Name == s.Signal && one.Key == s.Key }
			if err == nil && !s.Child && !slices.ContainsFunc(in.Waiting, waits) {
				m.send(ctx, t, s.Signal, s.Key, r)
			}
		}
		m.help(ctx, t, snap)
	}
}

// over reports whether all threads have nothing to do.
func (m *Mob) over(ctx context.Context, app *App) (bool, error) {
	for i := range m.Threads {
		th, err := app.Thread(threadName(i)).Describe(ctx)
		if errors.Is(err, checkpoint.ErrNotFound) { // it is released, or has not begun
			waiting, err := m.Saver.Mail(ctx, checkpoint.MailQuery{Thread: threadName(i)})
			if err != nil || slices.ContainsFunc(waiting, isInput) {
				return false, err
			}
			continue
		}
		rests := th.Status == checkpoint.Done || th.Status == checkpoint.Cancelled
		if err != nil || !rests || th.Inputs+th.Cancels > 0 || !th.Wake.IsZero() {
			return false, err
		}
	}
	return m.rests(ctx)
}

func isInput(m checkpoint.Message) bool { return m.Kind == checkpoint.InputMessage }

// check checks what is stored of a thread that has nothing to do.
func (m *Mob) check(ctx context.Context, app *App, thread string) error {
	t := app.Thread(thread)
	in, err := t.Inbox(ctx)
	if err != nil {
		return err
	}
	snap, err := t.State(ctx)
	released := errors.Is(err, checkpoint.ErrNotFound)
	if !released && err != nil {
		return err
	}
	err = nil
	for i := range m.Inputs {
		merged := 0
		for _, line := range snap.State.Log {
			if line == requestOf(i) {
				merged++
			}
		}
		err = errors.Join(err,
			m.tally.check(thread, requestOf(i)),
			differ(requestOf(i)+" is merged at most once", fmt.Sprint(merged <= 1), "true"),
		)
	}
	left := slices.DeleteFunc(in.Waiting, func(one checkpoint.Message) bool {
		if released && one.Kind == checkpoint.CancelMessage {
			return true // the next run refuses it
		}
		return one.Kind == checkpoint.SignalMessage || one.Kind == checkpoint.AnswerMessage // to a branch that was left
	})
	err = errors.Join(err, differ("messages left", messagesText(left), ""))
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, m.diary.all(ctx, m.Saver, thread))
	}
	return err
}

// signalsWentOnce checks that no two tasks whose end is acknowledged have received one signal.
func (m *Mob) signalsWentOnce() (err error) {
	m.World.mu.Lock()
	defer m.World.mu.Unlock()
	for signal, keys := range m.World.received {
		keys = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(keys))), func(key string) bool { return !m.World.hasEnded(key) })
		if len(keys) > 1 {
			err = cmp.Or(err, fmt.Errorf("the tasks %q have all received signal %d", keys, signal))
		}
	}
	return err
}
