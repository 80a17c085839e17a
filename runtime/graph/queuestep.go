package graph

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
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
	looked atomic.Int64 // when the thread was known to be not cancelled, in Unix nanoseconds

	// mark is an outcome of the superstep. It is stored as long as the superstep has not
	// committed. It has nil before there is one. Loads of one superstep share it.
	mark *atomic.Pointer[checkpoint.OutcomeName]
}

// newQueuedStep returns the superstep at p, whose state is s.
func newQueuedStep(p callPlace, s typedState, namespace string) *queuedStep {
	c := &p.chain
	step := &queuedStep{
		place: p, state: s, chain: *c, mark: new(atomic.Pointer[checkpoint.OutcomeName]),
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
	step.looked.Store(time.Now().UnixNano())
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

// inStorage says what storage has of a task of a kept superstep.
type inStorage uint8

const (
	asKept  inStorage = iota // the kept superstep has all of it
	changed                  // more, or the superstep has committed
	settled                  // the outcome of the execution, or the end of its round
)

// compare compares a kept superstep with storage, for one task. It is one call of the saver.
func (s *queuedStep) compare(ctx context.Context, g *core, q *queuedTask) (inStorage, error) {
	mark := s.mark.Load()
	if mark == nil {
		return changed, nil
	}
	named := func(name string) checkpoint.OutcomeName { return checkpoint.OutcomeName{Task: q.Task, Name: name} }
	execution, ended, calls := named(q.Execution), named(journal.RoundName(q.Round)), named(journal.CallsName(q.Round))
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	found, err := g.opt.saver.Outcomes(call, checkpoint.OutcomeQuery{
		Thread: q.Thread, Namespace: q.Namespace, Base: q.Base, Names: []checkpoint.OutcomeName{*mark, execution, ended, calls},
	})
	if err != nil {
		return changed, &SaverError{Graph: g.name, Thread: q.Thread, Step: -1, Op: "outcomes", Err: err}
	}
	stored := make(map[checkpoint.OutcomeName]bool, len(found))
	for i := range found {
		stored[checkpoint.OutcomeName{Task: found[i].Task, Name: found[i].Name}] = true
	}
	switch {
	case stored[execution], stored[ended]:
		return settled, nil
	case !stored[*mark], stored[calls], !s.has(q):
		return changed, nil
	}
	return asKept, nil
}

// queuedSteps are the supersteps that a worker of queues keeps. It is safe for concurrent use.
type queuedSteps struct {
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
			s.mark = before.mark
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

func (k *queuedSteps) remove(i int) {
	s := k.kept[i]
	s.timer.Stop()
	k.bytes -= s.bytes
	copy(k.kept[i:], k.kept[i+1:])
	k.kept[len(k.kept)-1] = nil
	k.kept = k.kept[:len(k.kept)-1]
}

// step returns the superstep of a task. It returns nil if the task need not run, because it has
// its outcome or the thread has continued without it.
func (r pooled) step(q *queuedTask) (*queuedStep, error) {
	at := checkpoint.Ref{Thread: q.Thread, Namespace: q.Namespace, At: q.At}
	if s := r.root.steps.get(at); s != nil && s.wanted(r.ctx, r.root, q.Thread) {
		switch found, err := s.compare(r.ctx, r.root, q); {
		case err != nil || found == settled:
			return nil, err
		case found == asKept:
			return s, nil
		}
	}
	p, err := r.locate(q)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound): // released, deleted or pruned since
		err = nil
	case err == nil && cancelled(&p.chain.Thread):
		err = r.drop(q)
	case err != nil:
		return nil, err
	case !p.ended && !p.chain.Committed && p.chain.Last.ID == q.At && p.chain.Last.Base == q.Base:
		return r.restoreStep(at, p, q)
	}
	r.root.steps.drop(at)
	return nil, err
}

// locate returns the place of a task, with the checkpoint that has its state.
func (r pooled) locate(q *queuedTask) (callPlace, error) {
	load := func(namespace string) (checkpoint.Chain, error) {
		at := checkpoint.Ref{Thread: q.Thread, Namespace: namespace}
		if namespace == q.Namespace {
			at.At = q.At
		}
		return loadChain(r.ctx, r.root, r.root.opt.saver, at)
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
func (r pooled) restoreStep(at checkpoint.Ref, p callPlace, q *queuedTask) (*queuedStep, error) {
	c := &p.chain
	if err := p.g.owns(q.Thread, &c.Last); err != nil {
		return nil, err
	}
	r.enter(&p, q)
	r.state = p.g.newState()
	if err := r.restore(c); err != nil {
		return nil, err
	}
	if q.Namespace != "" {
		if err := mergeEdits(p.g, r.state, c, q.Thread, q.Namespace); err != nil {
			return nil, err
		}
	}
	s := newQueuedStep(p, r.state, q.Namespace)
	r.root.steps.put(at, s, r.root.opt.hot)
	mine := journal.Gather(s.writes[q.Task], q.Base, q.Namespace)
	if _, done := mine.Outcome(q.Task, q.Execution); done || mine.Round(q.Task) != q.Round {
		return nil, nil
	}
	return s, nil
}
