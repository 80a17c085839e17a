package graph

import (
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// encodeTargets returns the choice of a node or route in its stored form.
func encodeTargets(next Next) ([]journal.Target, error) {
	if next.first.id == "" {
		return nil, nil
	}
	targets := make([]journal.Target, 0, len(next.more)+1)
	for t := range next.targets {
		stored := journal.Target{Node: string(t.id)}
		if t.sent != nil {
			var err error
			if stored.Sent, err = appendSent(t.sent); err != nil {
				return nil, err
			}
		}
		targets = append(targets, stored)
	}
	return targets, nil
}

// readChoice reads the stored result of a node that routes.
func (g *core) readChoice(from *node, b []byte) (update []byte, next Next, err error) {
	update, err = journal.ReadChoice(b, func(t journal.Target) error { return g.addTarget(&next, t) })
	if err != nil {
		return nil, next, classed(err)
	}
	if err := from.allows(&g.nodes, next); err != nil {
		return nil, next, fmt.Errorf("%w: %w", ErrGraphChanged, err)
	}
	return update, next, nil
}

// addTarget adds a stored target. Its node may have another id since then.
func (g *core) addTarget(next *Next, stored journal.Target) (err error) {
	t := target{id: g.present(ID(stored.Node), stored.Sent != nil)}
	if stored.Sent != nil {
		if t.sent, err = g.unwrap(t.id, stored.Sent); err != nil {
			return err
		}
	}
	next.Add(Next{first: t})
	return nil
}

// present returns the present id of a stored target. sent says that the target is a send.
func (g *core) present(id ID, sent bool) ID {
	if n, ok := g.former[id]; ok {
		return g.nodes[n].id
	}
	if _, ok := g.index[id]; !ok && sent && g.catchAll > 0 {
		return g.nodes[g.catchAll].id
	}
	return id
}

// unwrap decodes the payload of a send to a node, or the choice for Parent.
func (g *core) unwrap(id ID, raw []byte) (_ payload, err error) {
	defer rescue(&err)
	if id == Parent {
		return readUpward(raw)
	}
	n, ok := g.find(string(id))
	if !ok || n <= start || g.nodes[n].decode == nil {
		return nil, fmt.Errorf("%w: %q is no task node any more", ErrGraphChanged, string(id))
	}
	return g.nodes[n].decode(raw)
}

// ToParent returns a Next that ends a subgraph and makes next due in its parent graph. It replaces
// the route of the subgraph's node; edges of that node fire as usual. next may itself be a
// ToParent.
//
// The route or routing node that returns it declares Parent among its targets. The subgraph's node
// lists the targets of next in Targets. No other node may be due in the subgraph at that time.
func ToParent(next Next) Next { return Next{first: target{Parent, upward{next}}} }

// upward is the choice for Parent. In a subgraph, the payloads of its sends are bytes.
type upward struct{ next Next }

func (u upward) AppendWire(b []byte) ([]byte, error) {
	targets, err := encodeTargets(u.next)
	return journal.AppendTargets(b, targets), err
}

// raw is the stored payload of a send to a node of a parent graph.
type raw []byte

func (r raw) AppendWire(b []byte) ([]byte, error) { return append(b, r...), nil }

func (u upward) of() string { return "choice for Parent" }

func (r raw) of() string { return "stored payload" }

// readUpward reads a stored choice for Parent.
func readUpward(b []byte) (payload, error) {
	var u upward
	err := journal.ReadTargets(b, func(stored journal.Target) error {
		t := target{id: ID(stored.Node)}
		if stored.Sent != nil {
			t.sent = raw(stored.Sent)
		}
		u.next.Add(Next{first: t})
		return nil
	})
	return u, classed(err)
}

// translateChoice returns the choice of a subgraph with the present ids and payload types of this
// graph's nodes. The choice may have been stored before the graph changed.
func (g *core) translateChoice(next Next) (got Next, err error) {
	if next.first.id == "" {
		return got, nil
	}
	for t := range next.targets {
		t.id = g.present(t.id, t.sent != nil)
		if b, ok := t.sent.(raw); ok {
			if t.sent, err = g.unwrap(t.id, b); err != nil {
				return got, err
			}
		}
		got.Add(Next{first: t})
	}
	return got, nil
}

// chooseForParent adds a choice for Parent.
func (r *run) chooseForParent(u upward) error {
	switch {
	case r.call == nil:
		return errors.New("the target Parent is chosen, but the graph is not a subgraph; choose a node of the graph")
	case u.next.first.id == "":
		return errors.New("ToParent has no target; return graph.To(graph.End) to finish")
	}
	r.state.up().Add(u.next)
	return nil
}

// checkParentChoice returns an error if a subgraph chose for its Parent although something is due
// in it.
func (r *run) checkParentChoice() error {
	if r.call == nil || r.state.up().first.id == "" {
		return nil
	}
	others := r.plan.Chosen()
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("%s: Parent is chosen while %v is due in the subgraph; end or join the branches of the subgraph first", where(r.g.name, r.thread, r.plan.Step), r.g.names.Of(others))
}

// keepUpdates keeps the updates of the superstep that was just merged, in a subgraph over the same
// state.
func (r *run) keepUpdates() {
	if !r.call.Same || r.plan.Input() {
		return
	}
	for i := range r.exec.Tasks {
		if sl := &r.exec.Tasks[i]; sl.Progress != exec.Beaten {
			r.state.keep(i, &r.g.nodes[sl.Node])
		}
	}
}

// partWrites returns the writes that a subgraph over the same state stores with its record: the
// updates of the superstep.
func (r *run) partWrites() ([]checkpoint.Write, error) {
	writes, err := r.call.Unreported(r.plan.Step, r.state.kept(), r.state.appendKept)
	if err != nil {
		err = fmt.Errorf("%s: encode the updates of its nodes: %w", where(r.g.name, r.thread, r.plan.Step), err)
	}
	return writes, err
}
