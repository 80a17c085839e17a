package graphmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Travel runs the thread to its end, and then makes the given number of trips: replays, forks,
// edits as nodes, more input. Some branches are left before they are finished, and continued
// later. After each trip the history must be that of the model, and what was in it before must not
// have changed (rule 16.9).
func (p *Pair) Travel(ctx context.Context, rounds int) error {
	p.whole = true
	if err := p.begin(ctx); err != nil {
		return err
	}
	if n := p.World.Unended(); n > 0 && !p.spec.racy() && !p.spec.abandons() {
		return fmt.Errorf("%d tasks ran of whose end nothing was acknowledged", n)
	}
	before, err := p.history(ctx)
	for range rounds {
		if err != nil {
			return err
		}
		if err := p.trip(ctx, before); err != nil {
			return err
		}
		var after []graph.Snapshot[State]
		if after, err = p.history(ctx); err == nil {
			for i := range before {
				what := fmt.Sprintf("checkpoint %d, from before", i)
				err = errors.Join(err, differ(what, described(after[i]), described(before[i])))
			}
		}
		before = after
	}
	return err
}

// begin runs the thread from its beginning to its end. The thread begins with an input, or with a
// state and then an input (rule 16.11). Or it begins with an edit in the middle of the graph (rule
// 16.12).
func (p *Pair) begin(ctx context.Context) error {
	switch p.rand.IntN(4) {
	case 0:
		p.Model.Seed()
		out, _, err := p.forked(ctx, "seed", func() (checkpoint.ID, error) {
			return p.Thread.UpdateState(ctx, update(p.spec.edit(p.Model.edits)))
		})
		if err != nil || out.Status != "done" {
			return errors.Join(err, differ("seed", out.Status, "done"))
		}
	case 1:
		out, unseen, err := p.jump(ctx, p.Thread, empty)
		if err != nil {
			return err
		}
		return p.Finish(ctx, out, unseen)
	}
	return p.Run(ctx)
}

// described prints what never changes of a snapshot.
func described(s graph.Snapshot[State]) string {
	return fmt.Sprint(s.Checkpoint, s.Parent, s.Step, s.Source, s.Ran, s.Next, Text(s.State), s.Created)
}

// history returns the checkpoints, oldest first, if they are those of the model.
func (p *Pair) history(ctx context.Context) ([]graph.Snapshot[State], error) {
	snaps := make([]graph.Snapshot[State], len(p.Model.Trace))
	var got, want strings.Builder
	i := len(snaps)
	for snap, err := range p.Thread.History(ctx, checkpoint.Query{}) {
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		if i--; i >= 0 {
			snaps[i] = snap
		}
		var drops []string
		for _, t := range snap.Dropped {
			drops = append(drops, fmt.Sprintf("%s.%d", t.Node, t.Index))
		}
		fmt.Fprintln(&got, snap.Step, Text(snap.State), snap.Next, snap.Ran, drops)
	}
	for i := range p.Model.Trace {
		pt := p.Model.Trace[len(snaps)-1-i]
		fmt.Fprintln(&want, pt.Step, Text(pt.State), pt.Next, pt.Ran, pt.Drops)
	}
	return snaps, differ("history", got.String(), want.String())
}

// trip begins a run line and runs it to its end, or leaves it and continues it later.
func (p *Pair) trip(ctx context.Context, snaps []graph.Snapshot[State]) error {
	out, unseen, err := p.set(ctx, snaps)
	if err != nil {
		return err
	}
	if p.rand.IntN(3) > 0 || out.Status == "done" {
		return p.Finish(ctx, out, unseen)
	}
	if p.rand.IntN(2) == 0 { // a little further
		if out, err = p.step(ctx, p.Thread, out, unseen); err != nil || out.Status == "done" {
			return err
		}
	}
	branch, at := p.Model.branch(), p.Thread.At(p.last)
	p.said = append(p.said, "leave the branch")
	if snaps, err = p.history(ctx); err != nil {
		return err
	}
	other, unseen, err := p.set(ctx, snaps)
	if err == nil {
		err = p.Finish(ctx, other, unseen)
	}
	if err != nil {
		return err
	}
	p.said = append(p.said, "continue the branch")
	if err := p.unblock(ctx, branch.machine.stored()); err != nil {
		return err
	}
	p.Model.continueBranch(branch)
	if out, err = p.step(ctx, at, out, true); err != nil {
		return err
	}
	return p.Finish(ctx, out, false)
}

// set begins a run line: by an input, a replay, a fork, or an edit as a node. unseen is as in
// Model.Resume.
func (p *Pair) set(ctx context.Context, snaps []graph.Snapshot[State]) (out Outcome, unseen bool, err error) {
	for {
		k := p.rand.IntN(len(snaps))
		pt := &p.Model.Trace[k]
		starts, ends := len(pt.Next) == 1 && pt.Next[0] == "Start", pt.at.ended()
		at := p.Thread.At(snaps[k].Checkpoint)
		switch p.rand.IntN(4) {
		case 0:
			out, err = p.invoke(ctx)
			return out, false, err
		case 1:
			if starts || ends || !p.Model.committed[pt.base] { // rules 16.2 and 16.10
				continue
			}
			stops := p.stops()
			want := p.Model.Replay(k, stops)
			res, err := at.Resume(ctx, withStops[graph.ResumeOption](stops.options(p.spec), p.durability())...)
			return want, false, p.compare(ctx, fmt.Sprint("replay ", k, " with stops ", stops.text(p.spec)), want, res, err)
		case 2:
			if starts || k == len(snaps)-1 { // rule 16.10
				continue
			}
			p.Model.Fork(k, true)
			return p.forked(ctx, fmt.Sprint("fork ", k), func() (checkpoint.ID, error) {
				return at.UpdateState(ctx, update(p.spec.edit(p.Model.edits)))
			})
		default:
			return p.jump(ctx, at, k)
		}
	}
}

// jump makes an edit with a Goto, or as nodes, of a checkpoint or of the empty thread.
func (p *Pair) jump(ctx context.Context, at Thread, k int) (out Outcome, unseen bool, err error) {
	var goes []target
	var opts []graph.UpdateOption
	what := fmt.Sprint("fork ", k)
	if p.rand.IntN(3) == 0 {
		goes = p.choice()
		opts = append(opts, graph.Goto(p.next(goes)))
		what += fmt.Sprint(", go to ", goes)
		if p.rand.IntN(2) == 0 {
			p.Model.Goto(k, goes)
			return p.forked(ctx, what, func() (checkpoint.ID, error) {
				return at.UpdateState(ctx, update(p.spec.edit(p.Model.edits)), opts...)
			})
		}
	}
	if nodes := p.editable(goes != nil); len(nodes) > 0 {
		return p.as(ctx, at, k, what, nodes, goes, opts)
	}
	return p.as(ctx, at, k, what, []dueTask{{node: Start}}, goes, opts)
}

// choice draws what is due next, from outside the graph.
func (p *Pair) choice() (choice []target) {
	for i := range 1 + p.rand.IntN(3) {
		choice = append(choice, p.spec.target(p.rand, p.rand.IntN(len(p.spec.Nodes)), fmt.Sprint("outside ", i)))
	}
	return choice
}

// next returns a choice for Goto. A Sender is not bound to its graph.
func (p *Pair) next(choice []target) (next graph.Next) {
	for _, c := range choice {
		id := graph.ID(p.spec.name(c.node))
		if c.sent {
			sender := graph.TaskNode(graph.New("sender", StateSchema), id, func(context.Context, State, Job) (StateUpdate, error) {
				return StateUpdate{}, nil
			})
			next.Add(sender.Send(c.job))
			continue
		}
		next.Add(graph.To(id))
	}
	return next
}

// editable draws tasks for an edit as nodes (rules 16.7 and 16.13). goes says that Goto is given.
func (p *Pair) editable(goes bool) (tasks []dueTask) {
	raced := map[int]bool{}
	one := p.rand.IntN(2) == 0
	for _, i := range p.rand.Perm(len(p.spec.Nodes)) {
		n, race := &p.spec.Nodes[i], p.Model.raceOf(i)
		if (n.routes() || n.Up) && !goes || raced[race] || len(tasks) > 0 && (one || p.rand.IntN(2) == 0) {
			continue
		}
		raced[race] = race >= 0
		tasks = append(tasks, dueTask{node: i, sent: n.takes()})
		if n.takes() && race < 0 && !one {
			tasks = append(tasks, dueTask{node: i, sent: true})
		}
	}
	return inOrder(tasks)
}

// forked makes the fork that the model has made already.
func (p *Pair) forked(ctx context.Context, what string, fork func() (checkpoint.ID, error)) (out Outcome, unseen bool, err error) {
	p.said = append(p.said, what)
	if p.last, err = fork(); err != nil {
		return out, false, fmt.Errorf("%s: %w", what, err)
	}
	snap, err := p.Thread.State(ctx)
	if err != nil {
		return out, false, err
	}
	out = p.Model.outcome("ready")
	if p.Model.done {
		out = p.Model.outcome("done")
	}
	return out, true, errors.Join(
		differ(what+": status", snap.Status.String(), out.Status),
		differ(what+": state", Text(snap.State), Text(out.State)),
		differ(what+": due", fmt.Sprint(snap.Next), fmt.Sprint(out.Next)),
	)
}

// as makes an edit as nodes, whose routes may fail at first (rule 16.8).
func (p *Pair) as(
	ctx context.Context, at Thread, k int, what string, nodes []dueTask, goes []target, opts []graph.UpdateOption,
) (out Outcome, unseen bool, err error) {
	var updates []graph.NodeUpdate[StateUpdate]
	for i, d := range nodes {
		updates = append(updates, graph.NodeUpdate[StateUpdate]{
			Node: graph.ID(p.spec.name(d.node)), Update: update(p.spec.editAs(p.Model.edits+1+i, i)),
		})
		what += " as " + p.spec.name(d.node)
	}
	try := func() (checkpoint.ID, error) {
		if len(updates) > 1 {
			return at.UpdateStates(ctx, updates, opts...)
		}
		return at.UpdateState(ctx, updates[0].Update, append(slices.Clip(opts), graph.AsNode(updates[0].Node))...)
	}
	if goes == nil && k != empty && p.Model.Trace[k].at.moreThan(nodes) { // rule 16.6
		if _, err := try(); !errors.Is(err, graph.ErrUnfinished) {
			return out, false, fmt.Errorf("%s: got error %w, want ErrUnfinished, since more is due", what, err)
		}
		opts = append(opts, graph.DiscardPending())
	}
	for !p.Model.ForkAs(k, nodes, goes) {
		if _, err := try(); failure(err) == "" {
			return out, false, fmt.Errorf("%s: got error %w, want that of the route", what, err)
		}
	}
	return p.forked(ctx, what, try)
}
