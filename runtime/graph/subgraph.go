package graph

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// Subgraph adds a node that runs child, a graph over the same state, and returns id. The child begins with the state as it
// is when the node begins, and runs to its end. What its nodes return is then merged again, into the state as it has become
// beside it: changes come back, not the whole state, so what siblings did stays and nothing is appended twice. Ephemeral
// fields that it sets stay in it.
//
// A call that is stored costs one snapshot of the state. An edit of the thread while the child is stopped does not reach the
// state that the child works on. All else is as for the function Subgraph.
func (b *Builder[S, U]) Subgraph(id ID, child *Graph[S, U], opts ...NodeOption) ID {
	var c calls[S, U]
	if child != nil {
		c.sub, c.same = child, true
		c.child = func(ctx context.Context, r *run[S, U], sl *slot[U]) error { return runSame(ctx, r, sl, child) }
	}
	b.add(id, c, nil, opts)
	return id
}

// Subgraph adds a node that runs child, a graph over a state of its own, from an empty state to its end, and returns id.
// in makes the child's input of the state; out makes the node's update of the state, as it was when the node began, and
// of what the child came to. Both run once, unless a crash comes between. With Remember the child begins with what its
// last call came to. With Targets it may choose what runs next here.
//
// The child keeps checkpoints of its own beside the thread's: a crash, a failure or a stop in it loses none of its work.
// It stops for people and asks like any graph, and so does the graph that it is in, which is resumed as ever. It runs
// with its own MaxSteps and Concurrency, and the durability of the run; compile it with Nested. A child that failed goes
// on where it was when its node is run again, by Retry or by Resume; Rerun has it begin anew.
//
// It is a function because a method has no type parameters of its own.
func Subgraph[S, U, CS, CU any](
	b *Builder[S, U], id ID, child *Graph[CS, CU],
	in func(ctx context.Context, s S) (CU, error),
	out func(ctx context.Context, s S, child CS) (U, error),
	opts ...NodeOption,
) ID {
	var c calls[S, U]
	if child != nil && in != nil && out != nil {
		c.sub = child
		c.child = func(ctx context.Context, r *run[S, U], sl *slot[U]) error {
			return runMapped(ctx, r, sl, child, in, out)
		}
	}
	b.add(id, c, nil, opts)
	return id
}

// call is what the task of a subgraph node came to, beside its update.
type call[U any] struct {
	below   []Waiting          // what it waits for
	changes []U                // of a graph over the same state: the updates of its nodes, in the order in which they merged
	parts   []checkpoint.Write // of a run that stores nothing until it ends: what takes the call up again
	memory  memory             // of a run that stores nothing: what is remembered
	along   []checkpoint.Write // what withdraws questions, and has not been stored with its records
	open    bool               // it or one in it has asked, or stopped for people
}

// runSame runs a subgraph over the same state on behalf of the task in sl, and leaves there what it came to.
func runSame[S, U any](ctx context.Context, r *run[S, U], sl *slot[U], child *Graph[S, U]) error {
	c := newChild(ctx, r, sl, child)
	c.same = true
	begun, err := takeUp(r, sl, c)
	if err != nil {
		return err
	}
	if !begun {
		c.live = state.Fork(r.g.schema, r.live, c.stateOptions())
		if err := c.begin(new(U)); err != nil {
			return err
		}
	}
	done, err := runOn(r, sl, c)
	if done {
		sl.call.changes = c.changes
	}
	return err
}

// runMapped runs a subgraph over a state of its own.
func runMapped[S, U, CS, CU any](
	ctx context.Context, r *run[S, U], sl *slot[U], child *Graph[CS, CU],
	in func(context.Context, S) (CU, error), out func(context.Context, S, CS) (U, error),
) error {
	s := r.live.View()
	if r.strict {
		s = r.g.schema.Clone(s)
	}
	c := newChild(ctx, r, sl, child)
	begun, err := takeUp(r, sl, c)
	if err != nil {
		return err
	}
	if !begun {
		input, err := in(ctx, s)
		if err == nil {
			err = recollect(r, sl, c)
		}
		if err == nil {
			err = c.begin(&input)
		}
		if err != nil {
			return err
		}
	}
	done, err := runOn(r, sl, c)
	if done {
		if sl.update, err = out(ctx, s, c.live.View()); err != nil {
			err = keep(sl, c, err)
		}
	}
	if r.strict && err == nil {
		err = r.mutated(s)
	}
	return err
}

// runOn runs a subgraph as far as it gets, and leaves in sl what became of it. It reports whether the subgraph came to
// its end.
func runOn[S, U, CS, CU any](r *run[S, U], sl *slot[U], c *run[CS, CU]) (done bool, err error) {
	before := sl.call // of an earlier attempt
	err = c.loop()
	sl.call = &call[U]{below: c.waiting(), open: c.open()}
	if before != nil {
		sl.call.parts = before.parts
		sl.call.open = sl.call.open || before.open // this attempt may not have come to what asked in that one
	}
	if err != nil || c.status != checkpoint.Done {
		sl.call.parts = append(slices.Clip(sl.call.parts), c.outer.parts...)
		switch {
		case err != nil:
		case c.status == checkpoint.Waiting:
			sl.progress = asking
		default:
			sl.progress = stopped
		}
		return false, err
	}
	if c.keeps && c.log == nil {
		sl.call.memory.inner = c.memory
		if sl.call.memory.snapshot, err = c.live.AppendSnapshot(nil); err != nil {
			return false, err
		}
	}
	if c.log != nil {
		sl.call.along = c.unsaid()
	}
	if n := &r.g.nodes[sl.Node]; n.routes {
		sl.next, err = r.fromBelow(c.outer.next)
		if err == nil {
			err = n.allows(&r.g.nodes, *sl.next)
		}
	}
	if err != nil {
		return false, keep(sl, c, err)
	}
	return true, nil
}

// keep stores what a subgraph that came to its end has yet to store, since err keeps its node from a result.
func keep[U, CS, CU any](sl *slot[U], c *run[CS, CU], err error) error {
	if c.held == nil {
		return err
	}
	if lost := c.flush(nil, outcome{}); lost != nil {
		return errors.Join(err, lost)
	}
	sl.call.parts = append(slices.Clip(sl.call.parts), c.outer.parts...)
	return err
}

// newChild returns the run of a subgraph, which has yet to find out where it stands.
func newChild[S, U, CS, CU any](ctx context.Context, r *run[S, U], sl *slot[U], child *Graph[CS, CU]) *run[CS, CU] {
	n := &r.g.nodes[sl.Node]
	c := &run[CS, CU]{
		g: child, thread: r.thread, plan: plan.New(&child.plan, r.log != nil), ctx: ctx, strict: r.strict || child.opt.strict, stopping: r.stopping,
		observers: append(slices.Clip(r.observers), child.opt.observers...), observing: r.observing,
		opt:   runOptions{limits: child.opt.limits, events: r.opt.events},
		path:  append(slices.Clip(r.path), n.id),
		outer: &outer{dropUnknown: r.dropUnknown()},
		keeps: n.remembers,
	}
	c.opt.durability = r.opt.durability
	if r.yield != nil {
		c.yield = func(e Event[CS, CU], _ error) bool {
			task.Emit(ctx, relayed(e))
			return true // who listens to the run tells it by its context when nobody does any more
		}
	}
	if r.log != nil {
		key := r.slotKey(sl)
		c.ns = childNamespace(r.ns, key)
		// Without OnExit siblings of the call may be on their way to the storage, and the beginning of r with them.
		c.outer.stored = r.opt.durability == OnExit && r.held == nil && len(r.log.first) == 0
		c.outer.part = checkpoint.Write{Namespace: r.ns, Base: r.base, Task: key, Kind: checkpoint.Result}
		c.log, c.line.id = r.log.child(c.ns), r.line.id
		c.resumed = r.resumed || sl.attempt > 1
	}
	c.live = child.schema.New(c.stateOptions())
	return c
}

// childNamespace is where the checkpoints of the subgraph call are that the task with the given key makes.
func childNamespace(namespace, key string) string {
	if namespace == "" {
		return key
	}
	return namespace + "/" + key
}

// dropUnknown reports whether the graph, or one that it is in, accepts that unknown fields are lost.
func (r *run[S, U]) dropUnknown() bool {
	return r.g.opt.dropUnknown || r.outer != nil && r.outer.dropUnknown
}

func (r *run[S, U]) stateOptions() state.Options {
	return state.Options{Record: r.log != nil, DropUnknown: r.dropUnknown()}
}

// storeBase stores the record that made the tasks due, if it is not stored yet, before a subgraph among
// them stores anything: the call belongs to that record.
func (r *run[S, U]) storeBase() error {
	if r.log == nil || len(r.log.first) == 0 || r.opt.durability == OnExit {
		return nil
	}
	for _, i := range r.todo {
		if r.g.nodes[r.slots[i].Node].child != nil {
			return r.saving("commit", r.log.put(r.ctx, nil, outcome{}))
		}
	}
	return nil
}

// takeUp loads what an earlier run, or an earlier attempt, of the task left of its subgraph. It reports whether there
// is anything to go on with.
func takeUp[S, U, CS, CU any](r *run[S, U], sl *slot[U], c *run[CS, CU]) (bool, error) {
	if c.log == nil || !c.resumed {
		return false, nil
	}
	line, err := r.lineOf(r.slotKey(sl))
	if err != nil {
		return false, err
	}
	c.line.id = line
	if err := r.log.settled(); err != nil {
		return false, r.saving("load", err)
	}
	chain, err := loadChain(r.ctx, c.g, c.log.saver, checkpoint.Place{Thread: c.thread, Namespace: c.ns})
	if err != nil || len(chain.Records) == 0 {
		return false, err
	}
	c.log.head = chain.Head
	n := &r.g.nodes[sl.Node]
	parts, err := r.partsOf(sl, c.same || n.routes)
	if err != nil {
		return false, err
	}
	last := &chain.Records[len(chain.Records)-1]
	anew := last.Line != c.line.id || readCallMark(last.Meta).base != r.base
	if !anew && c.same {
		anew, err = c.collect(&chain, parts)
	}
	if err != nil || anew {
		c.plan.Step, c.line.begun, c.base = last.Step, last.Step, last.Base // a new beginning after it
		c.log.along, c.log.spared = withdrawnWithin(chain.Thread.Questions, c.ns), c.dueCalls
		return false, err
	}
	if err := c.g.owns(c.thread, last); err != nil {
		return false, err
	}
	if err := c.restore(&chain); err != nil {
		return false, err
	}
	if chain.Unfinished() {
		if err := c.place(&chain); err != nil {
			return false, err
		}
		c.gather(chain.Writes) // whole: the run holds the fence
		if err := c.goOn(); err != nil {
			return true, err
		}
	} else {
		c.status = checkpoint.Done
	}
	if !n.routes || !c.plan.Ended() {
		return true, nil
	}
	choice, err := saidNext(last, parts)
	if err == nil && len(choice) > 0 {
		_, c.outer.next, err = r.readChoice(n, choice)
	}
	return true, err
}

// partsOf returns what is stored of the result of a subgraph's task while that is not whole, by name; some says that there
// may be something.
func (r *run[S, U]) partsOf(sl *slot[U], some bool) (map[string][]byte, error) {
	key := r.slotKey(sl)
	if sl.attempt == 1 || !some {
		return r.partial[key], nil
	}
	parts := maps.Clone(r.partial[key])
	if parts == nil {
		parts = make(map[string][]byte)
	}
	add := func(writes []checkpoint.Write) {
		for _, w := range writes {
			if w.Base == r.base && w.Task == key && w.Kind == checkpoint.Result {
				parts[w.Name] = w.Payload
			}
		}
	}
	if r.opt.durability == OnExit {
		if sl.call != nil {
			add(sl.call.parts)
		}
		return parts, nil
	}
	chain, err := loadChain(r.ctx, r.g, r.log.saver, checkpoint.Place{Thread: r.thread, Namespace: r.ns})
	add(chain.Writes)
	return parts, err
}

// begin merges the input of a subgraph. Its first checkpoint is stored with the next thing that is.
func (r *run[S, U]) begin(in *U) error {
	left := r.base
	r.enter(in, r.plan.Step)
	r.fill()
	if err := r.settle(); err != nil {
		return err
	}
	r.slots = r.slots[:0]
	o := r.decide()
	r.status = o.status
	if r.log == nil {
		return nil
	}
	r.base = left // what was due there counts for nothing any more
	rec, err := r.record(checkpoint.Input)
	if err != nil {
		return err
	}
	if err := r.fillPayload(&rec, true); err != nil {
		return err
	}
	r.buf = nil // the record is kept
	r.base, r.told.step = rec.ID, r.plan.Step
	r.log.precede(rec)
	if r.status == 0 {
		return nil
	}
	parts, err := r.tellOuter(o)
	if err != nil {
		return err
	}
	if r.opt.durability == OnExit {
		r.outer.parts, parts = parts, nil
	}
	return r.flush(append(parts, r.halts(r.base, o)...), outcome{})
}

// relayed is an event of a subgraph on its way to who listens to the run.
type relayed interface {
	outer() outerEvent
}

// outerEvent is what an event of a subgraph is to a graph of other types.
type outerEvent struct {
	Event[struct{}, struct{}]
	child any
}

func (e Event[S, U]) outer() outerEvent {
	o := outerEvent{child: any(e)}
	if len(e.Path) > 0 {
		o.child = e.Child
	}
	o.Event = Event[struct{}, struct{}]{
		Kind: e.Kind, Step: e.Step, Checkpoint: e.Checkpoint, Node: e.Node, Index: e.Index, Attempt: e.Attempt,
		Next: e.Next, Question: e.Question, Custom: e.Custom, Outcome: e.Outcome, Err: e.Err, Path: e.Path,
	}
	return o
}

// relay returns the event of a subgraph as one of the graph that it is the node id of.
func relay[S, U any](id ID, inner relayed) Event[S, U] {
	e := inner.outer()
	return Event[S, U]{
		Kind: e.Kind, Step: e.Step, Checkpoint: e.Checkpoint, Node: e.Node, Index: e.Index, Attempt: e.Attempt,
		Next: e.Next, Question: e.Question, Custom: e.Custom, Outcome: e.Outcome, Err: e.Err,
		Path: append([]ID{id}, e.Path...), Child: e.child,
	}
}
