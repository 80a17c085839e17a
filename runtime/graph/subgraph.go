package graph

import (
	"context"
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
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
	below   []Waiting // what it waits for
	changes []U       // of a graph over the same state: the updates of its nodes, in the order in which they merged
	memory  memory    // of a run that stores nothing: what is remembered
	open    bool      // it or one in it has asked, or stopped for people
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
		sl.update, err = out(ctx, s, c.live.View())
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
		sl.call.open = sl.call.open || before.open // this attempt may not have come to what asked in that one
	}
	if err != nil || c.status != checkpoint.Done {
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
	if n := &r.g.nodes[sl.Node]; n.routes {
		sl.next, err = r.fromBelow(c.outer.next)
		if err == nil {
			err = n.allows(&r.g.nodes, *sl.next)
		}
	}
	return err == nil, err
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
		name := r.callName(key)
		c.outer.part = checkpoint.Write{Namespace: r.log.Namespace, Base: r.log.Base, Task: name, Kind: checkpoint.Result}
		c.log, c.line.id = r.log.Child(journal.Within(r.log.Namespace, name)), r.callLine(key)
		c.scope = journal.Scope(c.log.Namespace)
		c.resumed = r.resumed || sl.attempt > 1
	}
	c.live = child.schema.New(c.stateOptions())
	return c
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
	if r.log == nil || !r.log.Began() {
		return nil
	}
	for _, i := range r.todo {
		if r.g.nodes[r.slots[i].Node].child != nil {
			return r.saving("commit", r.log.Put(r.ctx, nil, journal.Outcome{}))
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
	chain, err := loadChain(r.ctx, c.g, c.log, checkpoint.Place{Thread: c.thread, Namespace: c.log.Namespace})
	if err != nil || len(chain.Records) == 0 {
		return false, err
	}
	c.log.Head = chain.Head
	last := &chain.Records[len(chain.Records)-1]
	if err := c.g.owns(c.thread, last); err != nil {
		return false, err
	}
	if err := c.restore(&chain); err != nil {
		return false, err
	}
	if c.same {
		parts, err := r.partsOf(sl, c.outer.part.Task)
		if err == nil {
			err = c.collect(last, parts)
		}
		if err != nil {
			return false, err
		}
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
	if next := journal.Next(last.Meta); next != nil {
		u, err := readUpward(next)
		if err != nil {
			return true, c.changed(err, "what follows the subgraph")
		}
		c.outer.next = u.(upward).next
	}
	return true, nil
}

// partsOf returns what is stored of the result of a subgraph's task while that is not whole, by name.
func (r *run[S, U]) partsOf(sl *slot[U], call string) (map[string][]byte, error) {
	if sl.attempt == 1 {
		return r.partial[call], nil
	}
	parts := maps.Clone(r.partial[call])
	if parts == nil {
		parts = make(map[string][]byte)
	}
	chain, err := loadChain(r.ctx, r.g, r.log, checkpoint.Place{Thread: r.thread, Namespace: r.log.Namespace})
	for _, w := range chain.Writes {
		if w.Base == r.log.Base && w.Task == call && w.Kind == checkpoint.Result {
			parts[w.Name] = w.Payload
		}
	}
	return parts, err
}

// begin merges the input of a subgraph. Its first checkpoint is stored with the next thing that is.
func (r *run[S, U]) begin(in *U) error {
	r.enter(in, r.plan.Step)
	r.fill()
	if err := r.settle(); err != nil {
		return err
	}
	r.slots = r.slots[:0]
	o := r.decide()
	r.status = o.Status
	if r.log == nil {
		return nil
	}
	rec, err := r.record(checkpoint.Input)
	if err != nil {
		return err
	}
	if err := r.fillPayload(&rec, true); err != nil {
		return err
	}
	r.log.Begin(rec)
	r.told.step = r.plan.Step
	if r.status == 0 {
		return nil
	}
	return r.saving("put writes", r.log.Put(r.ctx, r.stopQuestion(rec.ID, o), journal.Outcome{}))
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
