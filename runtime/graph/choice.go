package graph

import (
	"fmt"

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
	t := target{id: ID(stored.Node)}
	if n, ok := g.former[t.id]; ok {
		t.id = g.nodes[n].id
	}
	if stored.Sent != nil {
		if t.sent, err = g.unwrap(t.id, stored.Sent); err != nil {
			return err
		}
	}
	next.Add(Next{first: t})
	return nil
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
