package graph

import (
	"context"
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/internal/live"
)

// Subgraph adds a node that runs child, a graph over the same state, and returns id. The child
// starts with the present state of its parent, and runs to its end. Then the updates of its nodes
// merge again, into the state of the parent. Only the changes return to the parent, so the updates
// of sibling nodes stay, and nothing is appended twice. Ephemeral fields that the child sets do
// not leave it.
//
// A stored call costs one snapshot of the state. An edit of the thread while the child is stopped
// also changes the state of the child. In all other respects Subgraph works like the function
// MapSubgraph.
func (b *Builder[S, U]) Subgraph(id ID, child *Graph[S, U], opts ...NodeOption) ID {
	var f funcs[S, U]
	k := kind{same: true}
	if child != nil {
		k.sub, f.same = &child.core, child
	}
	add(b, id, f, k, opts)
	return id
}

// MapSubgraph adds a node that runs child, a graph over a state of its own, and returns id. The
// child starts with an empty state and runs to its end. in makes the child's input from the state.
// out makes the node's update from the state at the start of the node and the final state of the
// child. in and out run once each; a crash may repeat them.
//
// With Stateful the child starts with its state after its last call. With Targets the child may
// choose the nodes that run next in the parent graph.
//
// The child keeps checkpoints of its own in the thread. A crash, a failure or a stop in the child
// loses none of its work. The child can stop and ask like any graph. Its parent then stops too,
// and is resumed as usual.
//
// The child uses its own MaxSteps and Concurrency, and the durability of the run. Compile it with
// SubgraphOnly. When its node runs again, by Retry or by Resume, a failed child continues where it
// failed. Rerun makes it start again.
//
// MapSubgraph is a function because a method has no type parameters of its own.
func MapSubgraph[S, U, CS, CU any](
	b *Builder[S, U], id ID, child *Graph[CS, CU],
	in func(ctx context.Context, s S) (CU, error),
	out func(ctx context.Context, s S, child CS) (U, error),
	opts ...NodeOption,
) ID {
	var f funcs[S, U]
	var k kind
	if child != nil && in != nil && out != nil {
		k.sub = &child.core
		m := mapping[S, U, CS, CU]{
			child: child,
			in:    func(ctx context.Context, s S, _ payload) (CU, error) { return in(ctx, s) },
			out:   func(ctx context.Context, s S, _ payload, child CS) (U, error) { return out(ctx, s, child) },
		}
		f.child = m.run
	}
	add(b, id, f, k, opts)
	return id
}

// runSame runs a subgraph over the same state for the task in slot i, and leaves its updates
// there.
func runSame[S, U any](ctx context.Context, r *run, a *adapter[S, U], i int, child *Graph[S, U]) error {
	inner := newAdapter(child)
	done, err := r.runChild(ctx, i, calledGraph{&child.core, inner, relaying(ctx, r, inner), a.strict}, func(c *run) error {
		inner.live = a.live.Fork(live.Options{Record: c.log != nil, Check: a.strict, DropUnknown: c.dropUnknown()})
		inner.input = new(U)
		return nil
	})
	if done {
		a.merged[i] = inner.all
	}
	return err
}

// calledGraph is a subgraph that a task calls.
type calledGraph struct {
	g      *core
	state  typedState // of the call
	sink   sink       // nil if the run has no stream
	strict bool       // of the parent graph
}

// runChild runs the subgraph of the task in slot i as far as possible. It continues the call that
// is stored, or makes a new one to which begin gives its input. It reports whether the call has
// ended.
func (r *run) runChild(ctx context.Context, i int, child calledGraph, begin func(c *run) error) (done bool, err error) {
	c := r.newChild(ctx, i, child.g, child.state)
	c.opt.strict, c.sink = child.strict || child.g.opt.strict, child.sink
	c.state.restart(false, c.opt.strict)
	c.state.start(c.log != nil, c.dropUnknown())
	begun, err := r.restoreCall(i, c)
	if err == nil && !begun {
		if r.opt.rehearse {
			return false, r.stay(i)
		}
		if err = begin(c); err == nil {
			err = c.beginCall()
		}
	}
	if err == nil {
		done, err = r.runCall(i, c)
	}
	return done, err
}

// relaying returns the sink of a subgraph call with state a, which relays its events to the stream
// of r; nil for none.
func relaying[S, U any](ctx context.Context, r *run, a *adapter[S, U]) sink {
	if r.sink == nil {
		return nil
	}
	return &stream[S, U]{kinds: r.opt.events, state: a, yield: func(e Event[S, U], _ error) bool {
		task.Emit(ctx, relay(e))
		return true // the context of the run ends when its stream is left
	}}
}

// mapping is a subgraph over a state of its own, with the functions that map the states. The
// functions get the payload of the task, which is nil without a send.
type mapping[S, U, CS, CU any] struct {
	child *Graph[CS, CU]
	in    func(context.Context, S, payload) (CU, error)
	out   func(context.Context, S, payload, CS) (U, error)
}

// subgraphFunc runs a subgraph over another state for the task in slot i, as far as possible. s is
// the state that the task sees. It returns the update of the task if the subgraph has ended.
type subgraphFunc[S, U any] func(ctx context.Context, r *run, i int, strict bool, s S) (u U, done bool, err error)

// run is a subgraphFunc.
func (m *mapping[S, U, CS, CU]) run(ctx context.Context, r *run, i int, strict bool, s S) (u U, done bool, err error) {
	sent := r.exec.Tasks[i].Sent
	inner := newAdapter(m.child)
	done, err = r.runChild(ctx, i, calledGraph{&m.child.core, inner, relaying(ctx, r, inner), strict}, func(c *run) error {
		input, err := m.in(ctx, s, sent)
		inner.input = &input
		if err != nil {
			return err
		}
		return r.restoreMemory(i, c)
	})
	switch {
	case done && r.opt.rehearse:
		return u, false, r.stay(i)
	case done:
		u, err = m.out(ctx, s, sent, inner.live.View())
	}
	return u, done, err
}

// runCall runs a subgraph as far as possible, and leaves its outcome in slot i. It reports whether
// the subgraph has ended.
func (r *run) runCall(i int, c *run) (done bool, err error) {
	sl := &r.exec.Tasks[i]
	before := r.calls[i] // of an earlier attempt
	err = c.loop()
	// An attempt may end before it reaches the nodes that asked in an earlier one.
	r.calls[i] = subgraph.Returned{Below: c.asked(), Open: c.asksOrStops() || before.Open, Stops: stopsOf(c), PollsAgain: c.pollsAgain()}
	if err != nil || c.status != checkpoint.Done {
		switch {
		case err != nil:
		case c.status == checkpoint.Waiting:
			sl.Progress = exec.Asking
		case c.status == checkpoint.Ready:
			sl.Progress = exec.Drained
		default:
			sl.Progress = exec.Stopped
		}
		return false, err
	}
	if c.call.Remembers && c.log == nil {
		r.calls[i].Memory.Inner = c.memory
		if r.calls[i].Memory.Snapshot, err = c.state.AppendSnapshot(nil); err != nil {
			return false, err
		}
	}
	if n := &r.g.nodes[sl.Node]; n.routes {
		next := r.state.choice(i)
		if *next, err = r.g.translateChoice(*c.state.up()); err == nil {
			err = n.allows(&r.g.nodes, *next)
		}
	}
	return err == nil, err
}

// dropCall lets the log drop the call of the task in slot i, whose function has returned, if the
// call is not needed again. A call over the same state has stored parts of the result.
func (r *run) dropCall(i int) {
	t := &r.exec.Tasks[i]
	n := &r.g.nodes[t.Node]
	if n.same || n.remembers || t.Progress != exec.Waiting || t.Asks != nil && len(t.Asks.Open()) > 0 {
		return
	}
	r.log.Over(journal.Within(r.log.Namespace, r.log.Call(r.taskKey(&t.Task))))
}

// newChild returns the run of a subgraph for the task in slot i.
func (r *run) newChild(ctx context.Context, i int, child *core, state typedState) *run {
	sl := &r.exec.Tasks[i]
	n := &r.g.nodes[sl.Node]
	stored := r.log != nil && !n.unstored
	c := &run{
		g: child, thread: r.thread, plan: plan.New(&child.plan, stored), state: state, ctx: ctx,
		opt: runOptions{
			limits: child.opt.limits, events: r.opt.events, metadata: r.opt.metadata, lease: r.opt.lease, beats: r.opt.beats, box: r.opt.box, queues: r.opt.queues,
			interceptors: r.opt.interceptors.and(child.opt.interceptors),
		},
		call: &subgraph.Call{
			Path: r.pathTo(&sl.Task), Same: n.same, Remembers: n.remembers, DropUnknown: r.dropUnknown(),
		},
	}
	if c.opt.rehearse = r.opt.rehearse; c.opt.rehearse {
		c.opt.interceptors = nil
	}
	if len(r.exec.Tasks) == 1 {
		c.opt.queueSlot = r.opt.queueSlot
	}
	c.watchers = r.watchers.in(child, pathOf(c.call.Path))
	c.opt.stopAt = r.opt.stopAt.in(sl.Node)
	c.opt.stopAt.addTo(&c.plan)
	c.init()
	c.opt.durability = r.opt.durability
	if !stored {
		if r.thread != "" {
			r.nameTasks(c, &sl.Task)
		}
		return c
	}
	c.drains = r.drains
	key := r.taskKey(&sl.Task)
	name := r.log.Call(key)
	c.call.Part = r.log.About(name)
	c.call.Part.Kind = checkpoint.Result
	c.log = r.log.Child(journal.Within(r.log.Namespace, name))
	c.keys.SetLine(r.log.CallLine(key, r.keys.Line()))
	c.keys.Scope = journal.Scope(c.log.Namespace)
	c.log.Resumed = r.log.Resumed || r.continues(i)
	return c
}

// continues reports whether the task in slot i has made its subgraph call before in this run: in
// an earlier attempt, or before it waited.
func (r *run) continues(i int) bool { return r.exec.Tasks[i].Attempt > 1 || r.calls[i].Open }

// dropUnknown reports whether the graph, or a parent graph, drops unknown fields.
func (r *run) dropUnknown() bool {
	return r.g.opt.dropUnknown || r.call != nil && r.call.DropUnknown
}

// path returns the tasks that lead to a call; nil for the run itself.
func (r *run) path() []journal.PathElement {
	if r.call == nil {
		return nil
	}
	return r.call.Path
}

// pathTo returns the path of the call that a task makes.
func (r *run) pathTo(t *plan.Task) []journal.PathElement {
	return append(slices.Clip(r.path()), journal.PathElement{Node: string(r.g.nodes[t.Node].id), Index: t.Index})
}

// storeBase stores the record that made the tasks due, if it is not stored yet, before a subgraph
// among them stores anything. The call belongs to that record.
func (r *run) storeBase() error {
	if r.log == nil || !r.log.Began() {
		return nil
	}
	for _, i := range r.exec.Due() {
		if n := &r.g.nodes[r.exec.Tasks[i].Node]; n.sub != nil && !n.unstored {
			return r.saving("commit", r.log.Put(r.ctx, nil, journal.Change{}))
		}
	}
	return nil
}

// restoreCall loads the stored data of the task's subgraph call, from an earlier run or attempt.
// It reports whether there is a call to continue.
func (r *run) restoreCall(i int, c *run) (bool, error) {
	if c.log == nil || !c.log.Resumed {
		return false, nil
	}
	chain, err := r.readCall(i, c)
	if err == nil && chain.Unfinished() {
		err = c.holdAtStop()
	}
	return err == nil && !chain.Empty(), err
}

// readCall makes c the stored call of the task in slot i. The chain is empty if there is none.
func (r *run) readCall(i int, c *run) (chain checkpoint.Chain, err error) {
	chain, err = loadChain(r.ctx, c.g, c.log, checkpoint.Ref{Thread: c.thread, Namespace: c.log.Namespace})
	if err != nil || chain.Empty() {
		return chain, err
	}
	c.log.Head = chain.Head
	last := &chain.Last
	if err := c.g.owns(c.thread, last); err != nil {
		return chain, err
	}
	if err := c.restore(&chain); err != nil {
		return chain, err
	}
	if c.call.Same {
		parts, err := r.partsOf(i, c.call.Part.Task)
		if err == nil {
			err = c.changedPart(c.call.Restore(last.Step, parts, c.state.addKept, c.state.kept))
		}
		if err != nil {
			return chain, err
		}
	}
	if chain.Unfinished() {
		if err := mergeEdits(c.g, c.state, &chain, c.thread, c.log.Namespace); err != nil {
			return chain, err
		}
		if err := c.place(&chain); err != nil {
			return chain, err
		}
		c.gather(chain.Writes) // whole: the run holds the fence
	} else {
		c.status = checkpoint.Done
	}
	if next := journal.Next(last.Meta); next != nil {
		u, err := readUpward(next)
		if err != nil {
			return chain, c.changed(err, "what follows the subgraph")
		}
		*c.state.up() = u.(upward).next
	}
	return chain, nil
}

// partsOf returns the stored parts, by name, of the unfinished result of a subgraph's task.
func (r *run) partsOf(i int, call string) (map[string][]byte, error) {
	if !r.continues(i) {
		return r.pending.Parts(call), nil
	}
	parts := maps.Clone(r.pending.Parts(call))
	if parts == nil {
		parts = make(map[string][]byte)
	}
	chain, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, Namespace: r.log.Namespace})
	for _, w := range chain.Writes {
		if w.Base == r.log.Base && w.Task == call && w.Kind == checkpoint.Result {
			parts[w.Name] = w.Payload
		}
	}
	return parts, err
}

// beginCall merges the input of a subgraph. Its first checkpoint is stored with the next write.
func (r *run) beginCall() (err error) {
	defer rescueReducer(r, &err)
	r.plan.Enter(r.plan.Step)
	r.fill()
	turn, err := r.settle()
	if err != nil {
		return err
	}
	r.exec.Over()
	r.status = r.decide(turn).Status
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
	r.call.Begin()
	if r.status == 0 {
		return nil
	}
	return r.saving("put writes", r.log.Put(r.ctx, r.stopQuestion(rec.ID, r.status), journal.Change{}))
}
