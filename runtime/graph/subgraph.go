package graph

import (
	"context"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// Subgraph adds a node that runs child, a graph over a state of its own, from an empty state to its end, and returns id.
// in makes the child's input of the state; out makes the node's update of the state, as it was when the node began, and
// of what the child came to. Both run once, unless a crash comes between.
//
// The child keeps checkpoints of its own beside the thread's: a crash, a failure or a stop in it loses none of its work.
// It stops for people and asks like any graph, and so does the graph that it is in, which is resumed as ever. It runs
// with its own MaxSteps and Concurrency, and the durability of the run; compile it with Nested. A child that failed goes
// on where it was when its node is run again, by Retry or by Resume.
//
// Subgraph is a function because a method has no type parameters of its own.
func Subgraph[S, U, CS, CU any](
	b *Builder[S, U], id ID, child *Graph[CS, CU],
	in func(ctx context.Context, s S) (CU, error),
	out func(ctx context.Context, s S, child CS) (U, error),
	opts ...NodeOption,
) ID {
	var c calls[S, U]
	if child != nil && in != nil && out != nil {
		c.asks = child
		c.child = func(ctx context.Context, r *run[S, U], sl *slot[U]) error {
			return runChild(ctx, r, sl, child, in, out)
		}
	}
	b.add(id, c, nil, opts)
	return id
}

// runChild runs a subgraph on behalf of the task in sl, and leaves there what it came to.
func runChild[S, U, CS, CU any](
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
		if err != nil {
			return err
		}
		if err := c.begin(&input); err != nil {
			return err
		}
	}
	if err := c.loop(); err != nil {
		sl.below = c.waiting()
		return err
	}
	switch sl.below = c.waiting(); c.status {
	case checkpoint.Waiting:
		sl.progress = asking
	case checkpoint.Paused:
		sl.progress = stopped
	default:
		sl.update, err = out(ctx, s, c.live.View())
	}
	if r.strict && err == nil {
		err = r.mutated(s)
	}
	return err
}

// newChild returns the run of a subgraph, which has yet to find out where it stands.
func newChild[S, U, CS, CU any](ctx context.Context, r *run[S, U], sl *slot[U], child *Graph[CS, CU]) *run[CS, CU] {
	c := &run[CS, CU]{
		g: child, thread: r.thread, ctx: ctx, strict: r.strict || child.opt.strict, stopping: r.stopping,
		observers: append(slices.Clip(r.observers), child.opt.observers...),
		opt:       runOptions{limits: child.opt.limits, events: r.opt.events},
		path:      append(slices.Clip(r.path), r.g.nodes[sl.node].id),
	}
	c.opt.durability = r.opt.durability
	c.live = child.schema.New(state.Options{Record: r.log != nil, DropUnknown: child.opt.dropUnknown})
	if r.yield != nil {
		c.yield = func(e Event[CS, CU], _ error) bool {
			task.Emit(ctx, relayed(e))
			return true // who listens to the run tells it by its context when nobody does any more
		}
	}
	if r.log == nil {
		return c
	}
	c.ns = r.slotKey(sl)
	if r.ns != "" {
		c.ns = r.ns + "/" + c.ns
	}
	c.log, c.line.id = r.log.child(c.ns), r.line.id
	c.found = r.found
	c.resumed, c.answered = r.resumed || sl.attempt > 1, r.answered && sl.attempt == 1
	return c
}

// takeUp loads what an earlier run, or an earlier attempt, of the task left of its subgraph. It reports whether there
// is anything.
func takeUp[S, U, CS, CU any](r *run[S, U], sl *slot[U], c *run[CS, CU]) (bool, error) {
	if c.log == nil || !c.resumed {
		return false, nil
	}
	if err := r.log.settled(); err != nil {
		return false, r.saving("load", err)
	}
	chain, err := loadChain(r.ctx, c.g, c.log.saver, checkpoint.Place{Thread: c.thread, Namespace: c.ns})
	if err != nil || len(chain.Records) == 0 {
		return false, err
	}
	c.log.head = chain.Head
	if err := c.restore(&chain); err != nil {
		return false, err
	}
	if !chain.Unfinished() {
		c.status = checkpoint.Done
		return true, nil
	}
	if err := c.place(&chain); err != nil {
		return false, err
	}
	c.gather(chain.Writes) // whole: the run holds the fence
	return true, c.goOn(&chain)
}

// goOn marks that a subgraph is taken up again. The mark is stored with the next thing that is.
func (r *run[S, U]) goOn(c *checkpoint.Chain) error {
	if r.answered {
		r.pass = r.stopsHere()
	}
	rec, err := r.record(checkpoint.Resume)
	if err != nil {
		return err
	}
	rec.Parent, rec.Base, rec.Commits, rec.Due = c.Head, r.base, checkpoint.ID{}, nil
	if err := r.fillPayload(&rec, false); err != nil {
		return err
	}
	r.buf = nil // the record is kept
	r.log.precede(rec)
	if r.stops() {
		r.status = checkpoint.Paused
		return r.flush(nil, outcome{})
	}
	return nil
}

// begin merges the input of a subgraph. Its first checkpoint is stored with the next thing that is.
func (r *run[S, U]) begin(in *U) error {
	before := r.found
	r.enter(in, 0)
	r.fill()
	if err := r.settle(); err != nil {
		return err
	}
	r.found = before // of what is due now: subgraphs in it may have stored more than this one
	r.slots = r.slots[:0]
	r.status = r.decide().status
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
	r.buf = nil // the record is kept
	r.base = rec.ID
	r.log.precede(rec)
	if r.status != 0 {
		return r.flush(nil, outcome{})
	}
	return nil
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
		Next: e.Next, Question: e.Question, Custom: e.Custom, Err: e.Err, Path: e.Path,
	}
	return o
}

// relay returns the event of a subgraph as one of the graph that it is the node id of.
func relay[S, U any](id ID, inner relayed) Event[S, U] {
	e := inner.outer()
	return Event[S, U]{
		Kind: e.Kind, Step: e.Step, Checkpoint: e.Checkpoint, Node: e.Node, Index: e.Index, Attempt: e.Attempt,
		Next: e.Next, Question: e.Question, Custom: e.Custom, Err: e.Err,
		Path: append([]ID{id}, e.Path...), Child: e.child,
	}
}
