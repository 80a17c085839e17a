//go:build deterministic

package simulation_test

import (
	"context"
	"errors"
	"fmt"
	hashes "hash"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/shards"
)

// sim is one simulation.
type sim struct {
	seed    uint64
	begun   time.Time
	storm   time.Duration // how long things go wrong
	servers []*server
	engine  *lossy // nil for none

	workers, threads, inputs int
	faults                   int           // in 1000 calls, of each kind
	slow                     int           // in 1000 calls
	freezes                  int           // in 1000 calls
	pace                     time.Duration // the longest time of a node
	durability               graph.Durability
	brief                    bool // runs wait for nothing
	releases                 bool // threads are released when they are done
	keeps                    int  // checkpoints; 0 for all
	prunes                   bool // workers have a Retention
	pauses                   bool // graphs and queues are paused
	edits                    bool // a person edits threads
	limits                   bool // some inputs have an ExecutionTimeout
	join                     bool // the savers of rows join changes
	slots                    int  // of each worker
	moves

	all   sync.WaitGroup // every goroutine
	over  chan struct{}  // closed when everything rests, or something has failed
	looks chan string    // the lines of nodes that begin to wait

	mu      sync.Mutex
	broken  map[string]int             // how often a line has failed
	effects map[string]map[string]bool // the keys of the effects of each line
	charged map[string]time.Time       // when the result of a charge was stored
	acked   map[string]bool            // the answers and signals that were acknowledged
	inputAt map[string]time.Time       // when the submit of an input began
	there   map[string]bool            // the threads with an input that was acknowledged
	cancels map[string]time.Time       // when the newest cancel of a thread was acknowledged
	edited  map[string]bool            // the lines of edits; true if they were acknowledged
	paused  map[string]time.Time       // when the pause of a graph or a queue was acknowledged
	errs    []error
	names   map[string]string // short names of threads with random ids
	sum     hashes.Hash64     // of all events
	events  int
	about   string // the simulation and its events
	newest  []string
}

// newSim draws a simulation.
func newSim(seed uint64) *sim {
	s := &sim{
		seed: seed, begun: time.Now(), over: make(chan struct{}), looks: make(chan string, 1), broken: map[string]int{}, effects: map[string]map[string]bool{},
		charged: map[string]time.Time{}, acked: map[string]bool{}, inputAt: map[string]time.Time{}, cancels: map[string]time.Time{},
		edited: map[string]bool{}, there: map[string]bool{}, paused: map[string]time.Time{}, names: map[string]string{}, sum: fnv.New64a(),
	}
	r := s.draw("sim")
	s.storm = time.Duration(30+r.IntN(150)) * time.Second
	s.workers, s.threads, s.inputs = 2+r.IntN(3), 2+r.IntN(4), 2+r.IntN(4)
	s.faults, s.slow = []int{0, 5, 20, 60}[r.IntN(4)], []int{10, 50, 100}[r.IntN(3)]
	s.durability = []graph.Durability{graph.Sync, graph.Sync, graph.Async, graph.OnExit}[r.IntN(4)]
	s.freezes, s.pace = []int{0, 10, 50}[r.IntN(3)], []time.Duration{20 * time.Millisecond, 2 * time.Second}[r.IntN(2)]
	s.releases, s.join, s.slots = r.IntN(2) == 0, r.IntN(2) == 0, []int{1, 2, 8}[r.IntN(3)]
	if s.brief = r.IntN(4) == 0; s.brief {
		s.inputs, s.pace, s.releases = 10, 20*time.Millisecond, r.IntN(4) > 0
	}
	s.keeps = []int{0, 0, 2}[r.IntN(3)]
	if r.IntN(2) == 0 {
		s.engine = &lossy{s: s}
	}
	s.prunes, s.pauses, s.edits, s.limits = r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(2) == 0, r.IntN(2) == 0
	kind := r.IntN(3) // rows, memory, or both
	for i := range 1 + r.IntN(3) {
		sv := &server{name: string(rune('a' + i))}
		if kind == 1 || kind == 2 && i%2 == 0 {
			sv.saver = memory.New()
		} else {
			sv.store, sv.skew = memrows.New(), time.Duration(r.IntN(600)-300)*time.Millisecond
		}
		s.servers = append(s.servers, sv)
	}
	s.drawMoves()
	return s
}

// String describes the simulation in one line.
func (s *sim) String() string {
	var kinds []string
	for _, sv := range s.servers {
		kinds = append(kinds, map[bool]string{true: "memory", false: "rows"}[sv.saver != nil])
	}
	return fmt.Sprintf("seed %d: %d workers of %d slots, %d threads of %d inputs on %s, %s, %d of 1000 calls fail in each way and %d are slow for %s, engine: %t, released when done: %t, checkpoints kept: %d, joined: %t, prunes: %t, pauses: %t, edits: %t, limits: %t, layouts: %v",
		s.seed, s.workers, s.slots, s.threads, s.inputs, strings.Join(kinds, "+"), s.durability, s.faults, s.slow, s.storm, s.engine != nil, s.releases, s.keeps, s.join, s.prunes, s.pauses, s.edits, s.limits, s.layouts)
}

// calm reports whether nothing goes wrong any more.
func (s *sim) calm() bool { return time.Since(s.begun) >= s.storm }

// note notes an event.
func (s *sim) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := fmt.Sprintf("%12s ", time.Since(s.begun)) + fmt.Sprintf(format, args...)
	s.events++
	_, _ = fmt.Fprintln(s.sum, line) // a hash takes everything
	if s.newest = append(s.newest, line); len(s.newest) > 2**events && *trace == "" {
		s.newest = slices.Clone(s.newest[len(s.newest)-*events:])
	}
}

// fail notes that an invariant is broken, and ends the simulation.
func (s *sim) fail(format string, args ...any) {
	s.note("FAILED: "+format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.errs = append(s.errs, fmt.Errorf(format, args...)); len(s.errs) == 1 {
		close(s.over)
	}
}

// failed reports whether an invariant is broken.
func (s *sim) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.errs) > 0
}

// short returns a name for the report.
func (s *sim) short(thread string) string {
	if len(thread) < 10 {
		return thread
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[thread] == "" {
		s.names[thread] = fmt.Sprint("x", len(s.names)+1)
	}
	return s.names[thread]
}

// breaks reports whether an execution of a node fails.
func (s *sim) breaks(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken[line]++
	return s.broken[line] <= max(s.draw("breaks", line).IntN(6)-3, 0)
}

// effect notes an effect outside, with the key that makes it idempotent.
func (s *sim) effect(p *process, line, key string) {
	s.note("%s has the effect %s", p.name, line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.effects[line] == nil {
		s.effects[line] = map[string]bool{}
	}
	s.effects[line][key] = true
}

// lossy is an engine that loses and delays hints.
type lossy struct {
	worker.Hub
	s *sim
}

func (l *lossy) Wake(ctx context.Context, name, thread string) error {
	r := rand.New(rand.NewPCG(l.s.seed, hash(time.Since(l.s.begun), thread)))
	if r.IntN(3) == 0 {
		return nil
	}
	timer := time.NewTimer(l.s.latency(r))
	defer timer.Stop()
	select {
	case <-timer.C:
		return l.Hub.Wake(ctx, name, thread)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run runs the simulation, and checks what is left.
func (s *sim) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	for i := range s.workers {
		s.all.Go(func() { s.slot(ctx, i) })
	}
	var clients sync.WaitGroup
	for i := range s.threads {
		clients.Go(func() { s.submit(ctx, fmt.Sprint("t", i)) })
		clients.Go(func() { s.disturb(ctx, fmt.Sprint("t", i)) })
		clients.Go(func() { s.order(ctx, fmt.Sprint("b", i)) })
	}
	clients.Go(func() { s.move(ctx) })
	s.all.Go(func() { s.list(ctx) })
	if s.pauses {
		clients.Go(func() { s.pause(ctx) })
	}
	for i := range 2 {
		s.all.Go(func() { s.attend(ctx, i) })
	}
	clients.Wait()
	direct, err := s.direct(context.WithoutCancel(ctx))
	if err != nil {
		s.fail("open: %v", err)
	} else {
		s.rest(ctx, direct)
	}
	if !s.failed() {
		s.check(context.WithoutCancel(ctx), direct)
		s.checkPlaces(context.WithoutCancel(ctx), direct)
	}
	s.mu.Lock()
	if len(s.errs) == 0 {
		close(s.over)
	}
	s.mu.Unlock()
	s.about = fmt.Sprintf("%s: %d events, %x", s, s.events, s.sum.Sum64()) // the order of goroutines that end has no effect
	cancel()
	s.all.Wait()
	time.Sleep(time.Minute) // for the goroutines that dead processes have left
	return errors.Join(s.errs...)
}

// slot runs the processes of one worker, one after the other.
func (s *sim) slot(ctx context.Context, i int) {
	r := s.draw("slot", i)
	for n := 0; ctx.Err() == nil; n++ {
		version := 2
		if !s.calm() {
			version = 1 + r.IntN(2)
		}
		s.live(ctx, s.newProcess(fmt.Sprintf("w%d.%d", i, n)), version, r)
	}
}

// live runs a process until it ends, whichever way.
func (s *sim) live(ctx context.Context, p *process, version int, r *rand.Rand) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	s.note("%s begins, version %d", p.name, version)
	s.all.Go(func() {
		defer close(ended)
		s.work(running, p, version)
	})
	for {
		d, outdated := time.Duration(2+r.IntN(40))*time.Second, false
		if s.calm() && version == 2 {
			d = 24 * time.Hour
		}
		select {
		case <-time.After(d):
		case <-p.outdated():
			outdated = true
			time.Sleep(time.Duration(1+r.IntN(60)) * time.Second)
		case <-ctx.Done():
			<-ended
			p.kill()
			return
		}
		switch n := r.IntN(10); {
		case s.calm() || outdated || n < 3:
			s.note("%s is shut down", p.name)
			stop()
			<-ended
			p.kill()
			return
		case n < 6:
			s.note("%s is killed", p.name)
			p.kill()
			return
		case n < 8:
			p.stop(time.Duration(1+r.IntN(40)) * time.Second)
		default:
			shard, d := r.IntN(len(s.servers)), time.Duration(1+r.IntN(40))*time.Second
			s.note("%s does not reach shard %s for %s", p.name, s.servers[shard].name, d)
			s.mu.Lock()
			p.cut[shard] = time.Now().Add(d)
			s.mu.Unlock()
		}
	}
}

// work is what a process of a worker does.
func (s *sim) work(ctx context.Context, p *process, version int) {
	saver, err := p.open(ctx)
	if err != nil {
		s.explain(p, err)
		return
	}
	o := worker.Options{
		Name: p.name, Slots: s.slots, Retention: s.retention(),
		Retry: graph.RetryPolicy{Attempts: 1000, Base: time.Second, Max: 10 * time.Second},
		OnEvent: func(e worker.Event) {
			s.note("%s: %s %s %s %v", p.name, e.Kind, s.short(e.Thread), e.Status, e.Err)
			if errors.Is(e.Err, checkpoint.ErrPartial) {
				s.mu.Lock()
				p.blind = time.Now()
				s.mu.Unlock()
			}
			if e.Kind == worker.EventClaimed {
				p.begins(e.Graph, s.short(e.Thread))
				s.mu.Lock()
				p.opened[e.Thread] = time.Now()
				s.mu.Unlock()
			}
			if e.Kind != worker.EventMessageRefused {
				s.explain(p, e.Err)
			}
		},
	}
	if s.durability == graph.Sync {
		o.Queues = map[string]int{queue: 2}
	}
	if s.engine != nil {
		o.Engine = s.engine
		saver = worker.Announce(saver, s.engine, nil)
	}
	prog, err := p.compile(saver, version)
	if err != nil {
		s.fail("compile: %v", err)
		return
	}
	if err := worker.New(saver, o, prog.orders, prog.items).Run(ctx); err != nil {
		s.note("%s ends: %v", p.name, err)
	}
	_ = saver.Close() // with the error of a network
}

// explain fails unless the simulation explains an error.
func (s *sim) explain(p *process, err error) {
	var cancelled *graph.CancelledError
	var busy *checkpoint.BusyError
	for _, known := range []error{
		errNetwork, errDead, errNode, errLater, context.Canceled, context.DeadlineExceeded, checkpoint.ErrConflict, checkpoint.ErrNotFound,
		graph.ErrDraining, graph.ErrGraphChanged, checkpoint.ErrPartial, checkpoint.ErrUnavailable, checkpoint.ErrClosed,
	} {
		if errors.Is(err, known) {
			return
		}
	}
	var queued *graph.QueueError
	if errors.As(err, &queued) { // it has only the text
		for _, known := range []error{errNetwork, errDead, errNode, context.Canceled, context.DeadlineExceeded, worker.ErrStopped} {
			if strings.Contains(queued.Text, known.Error()) {
				return
			}
		}
	}
	var child *graph.ChildError
	if s.announced > 0 && errors.As(err, new(*shards.LayoutError)) { // a process with the old list opens a shard
		return
	}
	if err == nil || errors.As(err, &cancelled) || errors.As(err, &busy) || errors.As(err, &child) {
		return
	}
	s.fail("%s: an error that nothing explains: %v", p.name, err)
}

// client opens the program of a client. It returns nil if the simulation is over. When the layout
// changes, another process with the new list takes its place.
func (s *sim) client(ctx context.Context, name string) *program {
	prog := new(program)
	if !s.replace(ctx, prog, name) {
		return nil
	}
	return prog
}

// replace makes a new process the one that a client uses, and reports whether it has begun.
func (s *sim) replace(ctx context.Context, prog *program, name string) bool {
	p := s.newProcess(name)
	saver, err := p.open(ctx)
	if err != nil {
		return false
	}
	if s.engine != nil {
		saver = worker.Announce(saver, s.engine, nil)
	}
	context.AfterFunc(ctx, p.kill)
	next, err := p.compile(saver, 2)
	if err != nil {
		s.fail("compile: %v", err)
		return false
	}
	*prog = *next
	s.all.Go(func() {
		select {
		case <-p.outdated():
			time.Sleep(time.Duration(s.draw("client", name).IntN(60)) * time.Second)
			s.replace(ctx, prog, name+"'")
		case <-ctx.Done():
		}
		<-ctx.Done()
		_ = saver.Close() // with the error of a dead process
	})
	return true
}

// until makes a call until it succeeds or the simulation has failed.
func (s *sim) until(ctx context.Context, what string, call func(context.Context) error) bool {
	for {
		short, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := call(short)
		cancel()
		if err == nil {
			s.note("%s is acknowledged", what)
			return true
		}
		select {
		case <-s.over:
			return false
		case <-time.After(time.Second):
		}
	}
}

// submit submits the inputs of a thread, one after the other, and some of them again.
func (s *sim) submit(ctx context.Context, thread string) {
	prog, r := s.client(ctx, "submit "+thread), s.draw("submit", thread)
	if prog == nil {
		return
	}
	var watches sync.WaitGroup
	defer watches.Wait()
	for i := range s.inputs {
		time.Sleep(time.Duration(r.Int64N(int64(s.storm) / int64(s.inputs))))
		name := fmt.Sprintf("%s/%d", thread, i)
		opts := []graph.SubmitOption{graph.RequestID(name)}
		if d := s.limit(name); d > 0 {
			opts = append(opts, graph.ExecutionTimeout(d))
		}
		s.mu.Lock()
		s.inputAt[name] = time.Now()
		s.mu.Unlock()
		for range 1 + r.IntN(2) {
			if !s.until(ctx, "input "+name, func(ctx context.Context) error {
				_, err := prog.orders.Thread(thread).Submit(ctx, input(name), opts...)
				return err
			}) {
				return
			}
		}
		s.mu.Lock()
		s.there[thread] = true
		s.mu.Unlock()
		if r.IntN(2) == 0 {
			watches.Go(func() { s.watch(ctx, prog, thread, name) })
		}
	}
}

// disturb cancels, edits and releases a thread.
func (s *sim) disturb(ctx context.Context, thread string) {
	prog, r := s.client(ctx, "disturb "+thread), s.draw("disturb", thread)
	if prog == nil {
		return
	}
	cancels := r.IntN(3) == 0
	for i := range 4 {
		select {
		case <-time.After(time.Duration(r.Int64N(int64(s.storm) / 4))):
		case <-s.over:
			return
		}
		t := prog.orders.Thread(thread)
		if s.edits {
			s.edit(ctx, prog, thread, fmt.Sprint(thread, ".edit", i))
		}
		if cancels && r.IntN(3) == 0 {
			s.mu.Lock()
			s.cancels[thread] = time.Now()
			s.mu.Unlock()
			if !s.until(ctx, "cancel of "+thread, func(ctx context.Context) error { return prog.orders.Thread(thread).Cancel(ctx, "no") }) {
				return
			}
			s.mu.Lock()
			s.cancels[thread] = time.Now().Add(lateBy)
			s.mu.Unlock()
		}
		th, err := t.Describe(ctx)
		if err == nil && (th.Status == checkpoint.Done || th.Status == checkpoint.Cancelled) {
			_, err := t.Release(ctx, graph.IfHead(th.Head))
			s.note("release of %s: %v", thread, err)
		}
	}
}

// attend answers the questions of threads, and sends the signals for which they wait. It does so
// once for each, because nobody repeats an answer that was acknowledged.
func (s *sim) attend(ctx context.Context, i int) {
	prog, r := s.client(ctx, fmt.Sprint("attend ", i)), s.draw("attend", i)
	for prog != nil && ctx.Err() == nil {
		t := prog.orders.Thread(fmt.Sprint("t", r.IntN(s.threads)))
		select {
		case <-time.After(time.Duration(1000+r.IntN(5000)) * time.Millisecond):
		case line := <-s.looks: // somebody who answers immediately
			time.Sleep(time.Duration(r.IntN(10_000)) * time.Microsecond)
			thread, _, _ := strings.Cut(line, "/")
			t = prog.orders.Thread(thread)
			if strings.HasSuffix(line, ".hear") && !s.releases {
				s.signal(ctx, t, line)
				continue
			}
		}
		snap, err := t.State(ctx)
		if err != nil {
			continue
		}
		for _, q := range snap.Questions {
			line, err := confirm.Decode(q)
			if err != nil {
				s.fail("a question: %v", err)
			}
			s.once("answer "+q.ID, func() error { return t.Answer(ctx, confirm.Answer(q, wire.Int(len(line)))) })
		}
		for _, w := range snap.Signals {
			if !w.Child {
				s.signal(ctx, t, w.Key)
			}
		}
	}
}

// look makes a client look at a thread that begins to wait.
func (s *sim) look(line string) {
	select {
	case s.looks <- line:
	default:
	}
}

// signal sends the signal that a node waits for.
func (s *sim) signal(ctx context.Context, t graph.Thread[state, update], line string) {
	s.once("signal "+line, func() error {
		return t.Signal(ctx, arrived.With(wire.Int(len(line)), graph.For(line), graph.RequestID(line)))
	})
}

// once makes a call unless it was acknowledged before.
func (s *sim) once(what string, call func() error) {
	s.mu.Lock()
	done := s.acked[what]
	s.mu.Unlock()
	if done || call() != nil {
		return
	}
	s.note("%s is acknowledged", what)
	s.mu.Lock()
	s.acked[what] = true
	s.mu.Unlock()
}

// hour is how long threads may take to end after the storm.
const hour = time.Hour

// rest waits until everything rests.
func (s *sim) rest(ctx context.Context, direct checkpoint.Saver) {
	for {
		left := s.unfinished(ctx, direct)
		if s.failed() || s.calm() && left == "" {
			return
		}
		if time.Since(s.begun) > s.storm+hour {
			s.fail("stuck an hour after the last fault:\n%s", left)
			return
		}
		time.Sleep(5 * time.Second)
	}
}

// unfinished describes the threads that do not rest.
func (s *sim) unfinished(ctx context.Context, direct checkpoint.Saver) string {
	var left []string
	for th, err := range direct.Threads(ctx, checkpoint.ThreadQuery{}) {
		if err != nil {
			s.fail("threads: %v", err)
			break
		}
		if strings.HasPrefix(th.Graph, graph.ReservedPrefix+"retention/") {
			continue // which always has a next walk
		}
		stays := s.prunes && th.Graph == "items"
		if stays || th.Status != checkpoint.Done && th.Status != checkpoint.Cancelled || th.Inputs+th.Cancels > 0 || !th.Wake.IsZero() {
			left = append(left, fmt.Sprintf("%s (%s) of graph %s is %s, due at %s, with %d inputs and %d other messages, %d attempts",
				s.short(th.ID), th.ID, th.Graph, th.Status, th.Wake, th.Inputs, th.Others, th.Attempts))
		}
	}
	graphs := []string{"orders", "items", graph.QueueGraph("orders", queue), graph.QueueGraph("items", queue)}
	due, err := direct.Ready(ctx, checkpoint.ReadyQuery{Graphs: graphs, Limit: 10})
	if err != nil {
		s.fail("ready: %v", err)
	}
	for i := range due.Threads {
		left = append(left, fmt.Sprintf("%s is due", due.Threads[i].ID))
	}
	if !due.Next.IsZero() {
		left = append(left, "a thread is due at "+due.Next.String())
	}
	return strings.Join(left, "\n")
}

// check checks what is left of each thread.
func (s *sim) check(ctx context.Context, direct checkpoint.Saver) {
	p := s.newProcess("check")
	prog, err := p.compile(direct, 2)
	if err != nil {
		s.fail("compile: %v", err)
		return
	}
	for i := range s.threads {
		thread := fmt.Sprint("t", i)
		var lines []string
		versions, err := direct.Versions(ctx, thread)
		for _, v := range versions {
			snap, failed := prog.orders.Thread(thread).Version(v.Number).State(ctx)
			err = errors.Join(err, failed)
			lines = append(lines, snap.State.Log...)
		}
		if err != nil {
			s.fail("read thread %s: %v", thread, err)
		}
		s.checkLines(thread, lines)
		s.checkEdits(thread, lines)
		s.checkOrder(ctx, direct, fmt.Sprint("b", i))
	}
	for line, keys := range s.effects {
		if len(keys) > 1 {
			s.fail("the effect %s has had %d keys", line, len(keys))
		}
	}
}

// checkLines compares the lines of a thread, in all its versions, with its inputs.
func (s *sim) checkLines(thread string, lines []string) {
	last := -1
	of := make(map[string][]string) // the lines of each input
	for _, line := range lines {
		if n, ok := inputOf(line); ok {
			if n <= last {
				s.fail("thread %s: input %d has run after input %d", thread, n, last)
			}
			last = n
		}
		name, rest, _ := strings.Cut(line, ".")
		if rest == "audit" {
			continue // of version 2
		}
		if slices.Contains(of[name], line) {
			s.fail("the line %s is there twice", line)
		}
		of[name] = append(of[name], line)
	}
	for i := range s.inputs {
		name := fmt.Sprintf("%s/%d", thread, i)
		slices.Sort(of[name])
		cancelled := s.inputAt[name].Before(s.cancels[thread]) || s.limit(name) > 0
		if want := s.wanted(name); !slices.Equal(of[name], want) && !cancelled {
			s.fail("input %s has the lines %q, want %q", name, of[name], want)
		}
	}
}
