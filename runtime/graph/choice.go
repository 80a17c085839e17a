package graph

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// The stored result of a node that routes is an array: the update as binary, then each target as an array of its id and
// what is sent to it, as binary or nil.

// appendChoice returns the result of an encoded update and what its node chose.
func appendChoice(update []byte, next Next) ([]byte, error) {
	if update == nil {
		update = []byte{} // that of Parent, or of a subgraph that chose nothing
	}
	return appendTargets(make([]byte, 0, len(update)+64), update, next)
}

// appendTargets appends an array of what is not nil of update, and each target.
func appendTargets(b, update []byte, next Next) ([]byte, error) {
	n := len(next.more)
	if update != nil {
		n++
	}
	if next.first.id == "" {
		return wire.AppendBytes(wire.AppendArrayLen(b, n), update), nil
	}
	b = wire.AppendArrayLen(b, n+1)
	if update != nil {
		b = wire.AppendBytes(b, update)
	}
	b, err := appendTarget(b, next.first)
	for i := 0; err == nil && i < len(next.more); i++ {
		b, err = appendTarget(b, next.more[i])
	}
	return b, err
}

func appendTarget(b []byte, t target) ([]byte, error) {
	b = wire.AppendString(wire.AppendArrayLen(b, 2), string(t.id))
	if t.sent == nil {
		return wire.AppendNil(b), nil
	}
	raw, err := appendSent(t.sent)
	return wire.AppendBytes(b, raw), err
}

// readChoice reads what appendChoice wrote.
func (r *run[S, U]) readChoice(from *node[S, U], b []byte) (update []byte, next Next, err error) {
	update, err = readTargets(b, true, func(id ID, raw []byte) (err error) {
		if n, ok := r.g.former[id]; ok {
			id = r.g.nodes[n].id
		}
		t := target{id: id}
		if raw != nil {
			if t.sent, err = r.unwrap(id, raw); err != nil {
				return err
			}
		}
		next.Add(Next{first: t})
		return nil
	})
	if err != nil {
		return nil, next, err
	}
	if err := from.allows(&r.g.nodes, next); err != nil {
		return nil, next, fmt.Errorf("%w: %w", ErrGraphChanged, err)
	}
	return update, next, nil
}

// readTargets reads what appendTargets wrote, and calls each with the targets in turn.
func readTargets(b []byte, updates bool, each func(id ID, raw []byte) error) (update []byte, err error) {
	in := wire.NewReader("result", b)
	n := in.ArrayLen()
	if updates {
		update = in.Bytes()
		n--
	}
	for range n {
		in.FixedArray(2)
		id, raw := ID(in.Str()), in.Bytes()
		if !in.OK() {
			break
		}
		if err := each(id, raw); err != nil {
			return nil, err
		}
	}
	err = in.End()
	in.Framed()
	return update, classed(err)
}

// unwrap decodes what was sent to a node, or what Parent is to do.
func (r *run[S, U]) unwrap(id ID, raw []byte) (_ payload, err error) {
	defer rescue(&err)
	if id == Parent {
		return readUpward(raw)
	}
	n, ok := r.g.find(string(id))
	if !ok || n <= start || r.g.nodes[n].decode == nil {
		return nil, fmt.Errorf("%w: %q is no task node any more", ErrGraphChanged, string(id))
	}
	return r.g.nodes[n].decode(raw)
}
