package main

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/shape/value"
)

// descriptions are the descriptions of schemas that a version of a thread stores, by fingerprint.
type descriptions map[uint64]*shape.Graph

// describe reads the descriptions of a version.
func describe(ctx context.Context, s checkpoint.Saver, thread string, version int) (descriptions, error) {
	stored, err := s.Schemas(ctx, thread, version)
	if err != nil {
		return nil, err
	}
	return readable(stored), nil
}

// readable returns stored descriptions without those in an unknown format, because values can be
// shown without them.
func readable(stored map[uint64][]byte) descriptions {
	all := make(descriptions, len(stored))
	for fingerprint, b := range stored {
		var d shape.Graph
		if d.DecodeWire(b) == nil {
			all[fingerprint] = &d
		}
	}
	return all
}

// state returns the description of the state with a fingerprint, or nil.
func (d descriptions) state(fingerprint uint64) *shape.State {
	if g := d[fingerprint]; g != nil {
		return &g.State
	}
	return nil
}

// question returns the description of a question in a graph with the fingerprint. If that one does
// not have it, and exactly one other does, it returns the other. Otherwise it returns nil.
func (d descriptions) question(fingerprint uint64, name string) *shape.Question {
	return described(d, fingerprint, func(g *shape.Graph) *shape.Question { return g.Question(name) })
}

// signal returns the description of a signal as question does for a question.
func (d descriptions) signal(fingerprint uint64, name string) *shape.Signal {
	return described(d, fingerprint, func(g *shape.Graph) *shape.Signal { return g.Signal(name) })
}

func described[T any](d descriptions, fingerprint uint64, find func(*shape.Graph) *T) *T {
	if g := d[fingerprint]; g != nil {
		if found := find(g); found != nil {
			return found
		}
	}
	var only *T
	for _, g := range d {
		if found := find(g); found != nil {
			if only != nil {
				return nil
			}
			only = found
		}
	}
	return only
}

// fingerprintOf returns the fingerprint of the newest record of a namespace; 0 if there is none.
func fingerprintOf(ctx context.Context, s checkpoint.Saver, ref checkpoint.Ref) (uint64, error) {
	for r, err := range s.History(ctx, ref, checkpoint.Query{Headers: true, Limit: 1, Sources: tree.Sources()}) {
		return r.Fingerprint, err
	}
	return 0, nil
}

// stateOf returns the state at the last record of a chain.
func stateOf(c *checkpoint.Chain, d descriptions) (value.Value, error) {
	if err := sealed(c.Snapshot); err != nil {
		return value.Value{}, fmt.Errorf("the state cannot be read: %w", err)
	}
	b, err := checkpoint.Fold(c.Snapshot, c.Deltas...)
	if err != nil {
		return value.Value{}, fmt.Errorf("the state cannot be read: %w", err)
	}
	v, err := value.State(d.state(c.Last.Fingerprint), b)
	if err != nil {
		return value.Value{}, fmt.Errorf("the state cannot be read: %w: %w", checkpoint.ErrDamaged, err)
	}
	return v, nil
}

// inline returns a value as JSON for one cell. It shortens the JSON to at most width characters; 0
// is no limit.
func inline(v *value.Value, width int) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	text := string(safeJSON(b))
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-3]) + "..."
}
