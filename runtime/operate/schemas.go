package operate

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
	"github.com/graphgen-go/graphgen/shape"
)

// Schemas are the descriptions of graphs that a version of a thread stores, by the fingerprints of
// its records. The caller must not modify them.
type Schemas map[uint64]*shape.Graph

// readSchemas returns the result of Saver.Schemas without the descriptions in an unknown format,
// because values can be shown without them.
func readSchemas(stored map[uint64][]byte) Schemas {
	all := make(Schemas, len(stored))
	for fingerprint, b := range stored {
		g := new(shape.Graph)
		if g.DecodeWire(b) == nil {
			all[fingerprint] = g
		}
	}
	return all
}

// Schemas reads the descriptions that a version of a thread stores; 0 is the open version.
func (o *Operator) Schemas(ctx context.Context, thread string, version int) (Schemas, error) {
	stored, err := o.Saver.Schemas(ctx, thread, version)
	return readSchemas(stored), err
}

// State returns the description of the state with a fingerprint, or nil.
func (s Schemas) State(fingerprint uint64) *shape.State {
	if g := s[fingerprint]; g != nil {
		return &g.State
	}
	return nil
}

// Question returns the description of a question in the graph with the fingerprint. If that graph
// does not have it, and exactly one other does, it returns the other. Otherwise it returns nil.
func (s Schemas) Question(fingerprint uint64, name string) *shape.Question {
	return described(s, fingerprint, func(g *shape.Graph) *shape.Question { return g.Question(name) })
}

// Signal returns the description of a signal as Question does for a question.
func (s Schemas) Signal(fingerprint uint64, name string) *shape.Signal {
	return described(s, fingerprint, func(g *shape.Graph) *shape.Signal { return g.Signal(name) })
}

// described returns what find finds in one of the graphs.
func described[T any](s Schemas, fingerprint uint64, find func(*shape.Graph) *T) *T {
	if g := s[fingerprint]; g != nil {
		if found := find(g); found != nil {
			return found
		}
	}
	var only *T
	for _, g := range s {
		if found := find(g); found != nil {
			if only != nil {
				return nil
			}
			only = found
		}
	}
	return only
}

// newest returns the number of the open version of a thread, or of the last released one.
func newest(t *checkpoint.Thread) int {
	if t.Version == 0 {
		return t.Versions
	}
	return t.Version
}

// fingerprint returns the fingerprint of the newest record of a namespace; 0 if there is none.
func (o *Operator) fingerprint(ctx context.Context, ref checkpoint.Ref) (uint64, error) {
	for r, err := range o.Saver.History(ctx, ref, checkpoint.Query{Headers: true, Limit: 1, Sources: tree.Sources()}) {
		return r.Fingerprint, err
	}
	return 0, nil
}

// Described returns the descriptions that the newest version of a thread stores. It also returns
// the one of its newest checkpoint, or nil.
func (o *Operator) Described(ctx context.Context, t *checkpoint.Thread) (Schemas, *shape.Graph, error) {
	all, err := o.Schemas(ctx, t.ID, newest(t))
	if err != nil || len(all) == 0 {
		return all, nil, err
	}
	fingerprint, err := o.fingerprint(ctx, checkpoint.Ref{Thread: t.ID, Version: newest(t)})
	return all, all[fingerprint], err
}

// searched is the number of threads of a graph that Describe searches for a description.
const searched = 10

// Describe returns the description of a graph: that of Graphs, or one that a thread of the graph
// stores. It searches the threads like first, and then the first 10 of the graph. It returns nil
// if none has a description.
func (o *Operator) Describe(ctx context.Context, name string, like ...string) (*shape.Graph, error) {
	if g, ok := o.Graphs[name]; ok {
		return g.Shape(), nil
	}
	for _, id := range like {
		t, err := o.Find(ctx, id)
		if err != nil || t.Graph != name || o.Sees != nil && !o.Sees(&t) {
			continue
		}
		if _, d, err := o.Described(ctx, &t); d != nil || err != nil {
			return d, err
		}
	}
	for t, err := range o.Saver.Threads(ctx, checkpoint.ThreadQuery{Graph: name, Limit: searched}) {
		if err != nil && !OfOneThread(&t, err) {
			return nil, err
		}
		if err != nil || o.Sees != nil && !o.Sees(&t) {
			continue
		}
		if _, d, err := o.Described(ctx, &t); d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil //nolint:nilnil // no thread has a description
}
