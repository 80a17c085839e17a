package graphmodel

import (
	"context"
	"errors"
	"fmt"
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
	if err := p.Run(ctx); err != nil {
		return err
	}
	if n := p.World.Unended(); n > 0 && !p.spec.racy() {
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

// described prints what never changes of a snapshot.
func described(s graph.Snapshot[State]) string {
	return fmt.Sprint(s.Checkpoint, s.Parent, s.Step, s.Source, s.Node, s.Next, Text(s.State), s.Created)
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
		fmt.Fprintln(&got, snap.Step, Text(snap.State), snap.Next)
	}
	for i := range p.Model.Trace {
		pt := p.Model.Trace[len(snaps)-1-i]
		fmt.Fprintln(&want, pt.Step, Text(pt.State), pt.Next)
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
			p.Model.Fork(k, false)
			want := p.Model.resume()
			res, err := at.Resume(ctx, p.durability())
			return want, false, p.compare(ctx, fmt.Sprint("replay ", k), want, res, err)
		case 2:
			if starts || k == len(snaps)-1 { // rule 16.10
				continue
			}
			p.Model.Fork(k, true)
			return p.forked(ctx, at, fmt.Sprint("fork ", k))
		default:
			node := p.rand.IntN(len(p.spec.Nodes)+1) - 1
			if node < 0 {
				node = Start
			} else if p.spec.Nodes[node].routes() || p.spec.Nodes[node].Up { // rule 16.7
				continue
			}
			return p.as(ctx, at, k, node)
		}
	}
}

// forked makes the fork that the model has made already.
func (p *Pair) forked(
	ctx context.Context, at Thread, what string, opts ...graph.UpdateOption,
) (out Outcome, unseen bool, err error) {
	p.said = append(p.said, what)
	if p.last, err = at.UpdateState(ctx, update(p.spec.edit(p.Model.edits)), opts...); err != nil {
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

// as makes an edit as a node, whose route may fail at first (rule 16.8).
func (p *Pair) as(ctx context.Context, at Thread, k, node int) (out Outcome, unseen bool, err error) {
	what := fmt.Sprintf("fork %d as %s", k, p.spec.name(node))
	opts := []graph.UpdateOption{graph.AsNode(graph.ID(p.spec.name(node)))}
	try := func() error {
		_, err := at.UpdateState(ctx, update(p.spec.edit(p.Model.edits+1)), opts...)
		return err
	}
	if p.Model.Trace[k].at.moreThan(node) { // rule 16.6
		if err := try(); !errors.Is(err, graph.ErrUnfinished) {
			return out, false, fmt.Errorf("%s: got error %w, want ErrUnfinished, since more is due", what, err)
		}
		opts = append(opts, graph.DiscardPending())
	}
	for !p.Model.ForkAs(k, node) {
		if err := try(); failure(err) == "" {
			return out, false, fmt.Errorf("%s: got error %w, want that of the route", what, err)
		}
	}
	return p.forked(ctx, at, what, opts...)
}
