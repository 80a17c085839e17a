package graph

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/shared"
)

// A worker of a queue keeps the supersteps that it has restored. Else each of n tasks of a
// superstep would cost a load of all n tasks with their outcomes.

// queuedStep is a superstep as a worker of a queue has restored it. Executions share it, and only
// read it.
type queuedStep struct {
	place  callPlace // without its chain
	state  typedState
	chain  checkpoint.Chain              // without payloads, tasks and writes
	due    map[string]checkpoint.Task    // by key
	writes map[string][]checkpoint.Write // by task, as of the load
	bytes  int
	news   checkpoint.News // of the thread, before the load
	races  bool            // a task can lose a race
	begun  *sync.Map       // the executions that the worker has begun; loads of one superstep share it
}

// newQueuedStep returns the superstep at p, whose state is s.
func newQueuedStep(p callPlace, s typedState, namespace string, n checkpoint.News) *queuedStep {
	c := &p.chain
	step := &queuedStep{
		place: p, state: s, chain: *c, news: n, begun: new(sync.Map),
		due: make(map[string]checkpoint.Task, len(c.Due)), writes: make(map[string][]checkpoint.Write),
	}
	const each = 256 // about what a task or a write takes without its payload
	for _, t := range c.Due {
		step.due[journal.DueKey(&c.Last, namespace, t)] = t
		step.bytes += len(t.Payload) + each
	}
	for _, w := range c.Writes {
		if w.Namespace == namespace {
			step.writes[w.Task] = append(step.writes[w.Task], w)
			step.bytes += len(w.Payload) + each
		}
	}
	size, dead := s.Sizes()
	step.bytes += headSize(size, dead)
	step.place.chain = checkpoint.Chain{}
	step.chain.Snapshot, step.chain.Deltas, step.chain.Due, step.chain.Writes = nil, nil, nil, nil
	step.chain.Last.Payload, step.chain.Last.Due, step.chain.Thread.Questions = nil, nil, nil
	return step
}

// has reports whether the task had as many answers at the load as its execution needs, and was in
// the same round.
func (s *queuedStep) has(q *queuedTask) bool {
	writes, answers := s.writes[q.Task], 0
	for i := range writes {
		if writes[i].Kind == checkpoint.Answer {
			answers++
		}
	}
	return answers == journal.AnswersOf(q.Execution) && journal.Round(writes, q.Base, q.Task) == q.Round
}

// shareState returns the state s for another execution. The two share it, and must only read it.
func (g *Graph[S, U]) shareState(s typedState, strict bool) typedState {
	return &adapter[S, U]{g: g, strict: strict, live: s.(*adapter[S, U]).live}
}

// of returns the chain of one task. It reports false if the task is not due.
func (s *queuedStep) of(task string) (checkpoint.Chain, bool) {
	c := s.chain
	due, found := s.due[task]
	c.Due, c.Writes = []checkpoint.Task{due}, s.writes[task]
	return c, found
}

// waits reports whether a thread still waits for the tasks of the superstep, if n are its news. No
// other run has begun, and the one that has handed the tasks out has not committed the superstep.
func (s *queuedStep) waits(n checkpoint.News) bool {
	if n.Version != s.news.Version || n.Fence != s.news.Fence || n.Cancels > 0 {
		return false
	}
	// Without a race, a run that executes other tasks does not commit before it has all outcomes.
	return n.Status == Waiting && s.news.Status == Waiting || !s.races && (n.Status == Waiting || n.Status == Running)
}

// queuedSteps are the supersteps that a worker of queues keeps. It is safe for concurrent use.
type queuedSteps struct {
	loads    [64]sync.Mutex // held while the supersteps of a thread are loaded, by a hash of the thread
	news     shared.Calls[struct{}, checkpoint.News]
	outcomes shared.Calls[checkpoint.Post, struct{}]

	mu    sync.Mutex
	kept  []*keptStep // the least recently used first
	bytes int
}

type keptStep struct {
	*queuedStep
	at    checkpoint.Ref
	timer *time.Timer // drops the step
}

// keepStep is the time for which an unused superstep is kept.
const keepStep = time.Minute

// alone keeps other tasks of a thread from loading a superstep until the returned function is
// called. So they find it kept.
func (k *queuedSteps) alone(at checkpoint.Ref) (unlock func()) {
	mu := &k.loads[crc32.ChecksumIEEE([]byte(at.Thread))%uint32(len(k.loads))]
	mu.Lock()
	return mu.Unlock
}

// get returns the kept superstep at a checkpoint; nil if there is none.
func (k *queuedSteps) get(at checkpoint.Ref) *queuedStep {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, s := range k.kept {
		if s.at == at {
			copy(k.kept[i:], k.kept[i+1:])
			k.kept[len(k.kept)-1] = s
			s.timer.Reset(keepStep)
			return s.queuedStep
		}
	}
	return nil
}

// put keeps a superstep. It drops the least recently used ones while there are more bytes than
// most. It keeps the newest one however large it is, because a worker then runs its tasks.
func (k *queuedSteps) put(at checkpoint.Ref, s *queuedStep, most int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, before := range k.kept {
		if before.at == at {
			s.begun = before.begun
			k.remove(i)
			break
		}
	}
	for len(k.kept) > 0 && k.bytes+s.bytes > most {
		k.remove(0)
	}
	k.kept = append(k.kept, &keptStep{s, at, time.AfterFunc(keepStep, func() { k.drop(at) })})
	k.bytes += s.bytes
}

// drop drops the superstep at a checkpoint.
func (k *queuedSteps) drop(at checkpoint.Ref) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, s := range k.kept {
		if s.at == at {
			k.remove(i)
			return
		}
	}
}

// remove drops the i-th of the kept supersteps. The caller holds k.mu.
func (k *queuedSteps) remove(i int) {
	s := k.kept[i]
	s.timer.Stop()
	k.bytes -= s.bytes
	copy(k.kept[i:], k.kept[i+1:])
	k.kept[len(k.kept)-1] = nil
	k.kept = k.kept[:len(k.kept)-1]
}

// step returns the superstep of a task. It returns nil if the task need not run, because it has
// its outcome or the thread has continued without it. again says that the task may have an
// outcome.
func (r pooled) step(q *queuedTask, again bool) (*queuedStep, error) {
	if s := r.root.steps.get(q.at()); s != nil {
		_, begun := s.begun.Load(q.Execution + q.Task)
		again = again || begun
	}
	s, left, err := r.current(q, again)
	if s != nil {
		s.begun.Store(q.Execution+q.Task, true)
	}
	if left {
		err = r.drop(q)
	}
	return s, err
}

// current returns the kept superstep of a task, or loads it: once for several tasks. It returns
// nil if the task need not run. left says that the thread may continue with the task later: it was
// cancelled, or has left the branch of the task.
func (r pooled) current(q *queuedTask, again bool) (_ *queuedStep, left bool, _ error) {
	at := q.at()
	newest, err := r.root.steps.news.Do(q.Thread, func(*struct{}) {}, func(struct{}) (checkpoint.News, error) {
		return r.root.newsOf(r.run.ctx, q.Thread)
	})
	if err != nil {
		return nil, false, err
	}
	kept := func() *queuedStep {
		if s := r.root.steps.get(at); s != nil && !again && s.waits(newest) && s.has(q) {
			return s
		}
		return nil
	}
	if s := kept(); s != nil {
		return s, false, nil
	}
	defer r.root.steps.alone(at)()
	if s := kept(); s != nil { // another task has loaded it meanwhile
		return s, false, nil
	}
	p, err := r.locate(q)
	if err == nil {
		left, err = r.hasLeft(q, &p)
	}
	switch {
	case errors.Is(err, checkpoint.ErrNotFound): // released, deleted or pruned since
		err = nil
	case err != nil:
		return nil, false, err
	case !left && !p.ended && !p.chain.Committed && p.chain.Last.ID == q.At && p.chain.Last.Base == q.Base:
		s, err := r.restoreStep(at, p, q, newest)
		return s, false, err
	}
	r.root.steps.drop(at)
	return nil, left, err
}

// hasLeft reports whether the thread was cancelled, or has left the branch of a task that is at p.
func (r pooled) hasLeft(q *queuedTask, p *callPlace) (bool, error) {
	c := &p.chain
	switch {
	case c.Thread.Status == Cancelled || c.Thread.Cancels > 0:
		return true, nil
	case q.Namespace != "":
		return p.ended, nil // the head has no such call
	case c.Committed || c.Last.ID == c.Head:
		return false, nil
	}
	base, err := r.root.headBase(r.run.ctx, q.Thread)
	return err == nil && base != q.Base, err
}

// headBase returns the base of the newest record of a thread; zero if no version is open. It reads
// no payload.
func (g *core) headBase(ctx context.Context, thread string) (base checkpoint.ID, err error) {
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	newest := checkpoint.Query{Headers: true, Limit: 1, Sources: everySource}
	for head, err := range g.opt.saver.History(call, checkpoint.Ref{Thread: thread}, newest) {
		switch {
		case errors.Is(err, checkpoint.ErrNotFound): // released since
		case err != nil && ctx.Err() != nil:
			return base, stoppedBy(ctx, where(g.name, thread, -1))
		case err != nil:
			return base, &SaverError{Graph: g.name, Thread: thread, Step: -1, Op: "history", Err: err}
		}
		base = head.Base
	}
	return base, nil
}

// at names the checkpoint with the state of a task.
func (q *queuedTask) at() checkpoint.Ref {
	return checkpoint.Ref{Thread: q.Thread, Namespace: q.Namespace, At: q.At}
}

// locate returns the place of a task, with the checkpoint that has its state.
func (r pooled) locate(q *queuedTask) (callPlace, error) {
	load := func(namespace string) (checkpoint.Chain, error) {
		at := checkpoint.Ref{Thread: q.Thread, Namespace: namespace}
		if namespace == q.Namespace {
			at.At = q.At
		}
		return loadChain(r.run.ctx, r.root, r.root.opt.saver, at)
	}
	c, err := load("")
	if err == nil && !c.Empty() {
		err = r.root.owns(q.Thread, &c.Last)
	}
	if err != nil {
		return callPlace{}, err
	}
	p, err := findCall(r.root, c, q.Namespace, load)
	if err == nil && p.g == nil && !p.ended {
		err = fmt.Errorf("%s: %w: a queued task is in a subgraph that the graph does not have", where(r.root.name, q.Thread, -1), ErrGraphChanged)
	}
	return p, err
}

// restoreStep restores and keeps the superstep at p. It returns nil if the task has its outcome.
func (r pooled) restoreStep(at checkpoint.Ref, p callPlace, q *queuedTask, n checkpoint.News) (*queuedStep, error) {
	c := &p.chain
	if err := p.g.owns(q.Thread, &c.Last); err != nil {
		return nil, err
	}
	r.enter(&p, q)
	r.run.state = p.g.newState()
	if err := r.run.restore(c); err != nil {
		return nil, err
	}
	if q.Namespace != "" {
		if err := mergeEdits(p.g, r.run.state, c, q.Thread, q.Namespace); err != nil {
			return nil, err
		}
	}
	s := newQueuedStep(p, r.run.state, q.Namespace, n)
	s.races = r.root.plan.Races+p.g.plan.Races > 0
	r.root.steps.put(at, s, r.root.opt.hot)
	mine := journal.Gather(s.writes[q.Task], q.Base, q.Namespace)
	_, done := mine.Outcome(q.Task, q.Execution)
	if done || mine.Round(q.Task) != q.Round || mine.HandedOut(q.Task, q.Round, journal.AnswersOf(q.Execution)) > q.Attempt {
		return nil, nil
	}
	return s, nil
}
