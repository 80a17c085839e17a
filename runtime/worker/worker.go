package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/internal/news"
	"github.com/graphgen-go/graphgen/runtime/internal/value"
)

// App is a compiled graph: a *graph.Graph of any state.
type App interface {
	// Serves returns the names of the graphs whose threads in saver the App resumes.
	Serves(saver checkpoint.Saver) ([]string, error)
	// ResumeDue resumes a due thread.
	ResumeDue(ctx context.Context, found checkpoint.ReadyThread, o graph.DueOptions) (graph.DueRun, error)
	// Queues returns the queues of the nodes of the App.
	Queues() []string
	// RunQueued runs a task of one of the Queues. again says that a worker has held it before.
	RunQueued(ctx context.Context, task []byte, again bool) error
}

// Worker resumes due threads. Its methods are safe for concurrent use.
type Worker struct {
	saver checkpoint.Saver
	opt   Options
	given []App

	turns     []*turn          // the apps, in the order of their newest runs
	apps      map[string]*turn // by the names of graphs
	keepers   []*keeper        // of Options.Retention
	notifies  bool             // the saver announces all due threads
	announces bool             // the saver sends hints to the Engine, see Announce
	drain     chan struct{}    // closed when Run ends
	kick      chan struct{}    // now or wake has changed
	broken    chan error       // why the worker cannot continue
	news      *news.Room       // asks for messages of the threads that the worker runs
	peers     *peers           // the workers of the Engine; nil without one
	leave     func()           // returns when the peers know that the worker takes no more hints
	health    health
	idle      *time.Time // the Wake of the newest EventIdle, if nothing has run since; the loop's

	mu      sync.Mutex
	started bool
	began   time.Time
	held    map[string]*holding // the threads and tasks that the worker runs, by id
	tasks   int                 // of them are tasks of queues
	left    leftThreads
	pauses  pauses
	late    int       // the runs that cannot renew their leases in time
	resumes time.Time // when the worker claims threads again after its runs were late
	now     bool      // the loop must poll now
	hints   bool      // the Engine has sent a hint since the last poll
	lull    news.Lull // after the polls for hints
	calm    time.Time // hints cause no poll before this time
	wake    time.Time // the earliest Wake that the saver announced since the last poll; zero for none
}

// turn is an App with its part of the slots.
type turn struct {
	app      App
	names    []string
	tasks    bool // its threads are the tasks of a queue, which take no Slots
	queue    string
	of       []string // the names of the graph of the queue
	max      int      // threads at the same time; 0 for no limit
	running  int      // guarded by Worker.mu
	draining bool     // the graph takes no more runs; guarded by Worker.mu

	// The notes of the loop in a round.
	counted int  // the runs when it began, and those that began in it
	none    bool // Ready has returned all due threads

	// idle is when the newest poll has left no due thread; zero if it has. Worker.mu guards it.
	idle time.Time
}

// holding is a thread that the worker runs.
type holding struct {
	checkpoint.ReadyThread
	turn    *turn
	fence   checkpoint.ID // of the run; zero before it has taken the thread
	claimed time.Time
	found   time.Time // when Ready returned it, on the saver's clock
	hinted  bool      // a hint of the Engine named it; guarded by Worker.mu
}

// New returns a Worker for the threads of apps in saver. It never fails: Run returns an error for
// wrong options and apps.
func New(saver checkpoint.Saver, o Options, apps ...App) *Worker {
	return &Worker{
		saver: saver, opt: o, given: apps, apps: make(map[string]*turn), held: make(map[string]*holding),
		leave: func() {}, drain: make(chan struct{}), kick: make(chan struct{}, 1), broken: make(chan error, 1),
	}
}

// Run resumes due threads until ctx ends, or the worker cannot continue: the options are wrong, or
// the saver is closed. Run must be called at most once.
//
// Before Run returns, it ends the runs of the worker. First they can finish their current
// supersteps. After DrainTimeout, Run cancels their contexts. After another CancelTimeout, Run
// gives up their leases, and returns an error that names their threads. In each case the threads
// are Ready and due now. The interruption does not count as an attempt of Retry.
//
// Run returns nil if ctx has ended and all runs have. Errors of runs and transient errors of the
// saver are Events.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.begin(); err != nil {
		return err
	}
	defer w.health.ended()
	if w.opt.Register {
		defer w.register()()
	}
	listening, unlisten := context.WithCancel(ctx)
	defer unlisten()
	runs, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop, err := w.listen(listening)
	if err == nil {
		defer stop()
		err = w.loop(ctx, runs)
		unlisten()
		w.leave()
	}
	return errors.Join(err, w.stop(runs, cancel))
}

// begin checks the options and the apps.
func (w *Worker) begin() (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.started:
		return errors.New("worker: Run is called twice; make another Worker")
	case value.IsNil(w.saver):
		return errors.New("worker: no saver; pass the saver of the graphs to New")
	case len(w.given) == 0:
		return errors.New("worker: no graphs; pass compiled graphs to New")
	}
	if w.opt, err = w.opt.withDefaults(); err != nil {
		return err
	}
	w.news = news.NewRoom(w.saver, w.opt.SaverTimeout)
	for _, app := range w.given {
		if err := w.add(app); err != nil {
			return err
		}
	}
	for _, l := range w.opt.Limits {
		t := w.apps[l.Graph]
		switch {
		case t == nil || t.names[0] != l.Graph:
			return fmt.Errorf("worker: Limits names graph %q; want the name of one of the graphs of the worker", l.Graph)
		case l.Max < 1:
			return fmt.Errorf("worker: the limit of graph %q is %d; want at least 1", l.Graph, l.Max)
		case t.max != 0:
			return fmt.Errorf("worker: graph %q has two limits; give one", l.Graph)
		}
		t.max = l.Max
	}
	if err := w.addKeepers(); err != nil {
		return err
	}
	if err := w.addQueues(); err != nil {
		return err
	}
	w.started, w.began = true, time.Now()
	return nil
}

func (w *Worker) add(app App) error {
	if value.IsNil(app) {
		return errors.New("worker: a graph is nil; pass what Compile returned")
	}
	names, err := app.Serves(w.saver)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	t := &turn{app: app, names: names}
	for _, name := range names {
		if w.apps[name] != nil {
			return fmt.Errorf("worker: two graphs serve threads of %q; pass each graph once, and list a former name at one of them", name)
		}
		w.apps[name] = t
	}
	w.turns = append(w.turns, t)
	return nil
}

// loop polls for due threads until ctx ends.
func (w *Worker) loop(ctx, runs context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		w.health.polls()
		wait, err := w.poll(ctx, runs)
		if err != nil {
			return err
		}
		w.health.waits()
		if over, err := w.wait(ctx, timer, wait); over {
			return err
		}
	}
}

// wait waits until the loop must poll again. The worker is over if ctx ends, or with an error.
func (w *Worker) wait(ctx context.Context, timer *time.Timer, wait time.Duration) (over bool, err error) {
	timer.Stop()
	if wait >= 0 {
		timer.Reset(wait)
	}
	var planned time.Time // the announced Wake that the timer is set to
	for {
		select {
		case <-ctx.Done():
			return true, nil
		case err := <-w.broken:
			return true, err
		case <-timer.C:
			return false, nil
		case <-w.kick:
		}
		w.mu.Lock()
		now, wake := w.now, w.wake
		w.mu.Unlock()
		if now {
			return false, nil
		}
		if until := time.Until(wake); !wake.Equal(planned) && (wait < 0 || until < wait) {
			planned = wake
			timer.Reset(max(until, 0))
		}
	}
}

// again makes the loop poll now.
func (w *Worker) again() {
	w.mu.Lock()
	w.now = true
	w.mu.Unlock()
	w.wakeLoop()
}

func (w *Worker) wakeLoop() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// fail ends the worker because of err.
func (w *Worker) fail(err error) {
	select {
	case w.broken <- err:
	default:
	}
}

// emit calls OnEvent.
func (w *Worker) emit(e Event) {
	if w.opt.OnEvent == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			w.fail(fmt.Errorf("worker: OnEvent panicked at event %q: %v", e.Kind, v))
		}
	}()
	w.opt.OnEvent(e)
}
