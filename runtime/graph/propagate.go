package graph

import (
	"context"
	"fmt"
	"maps"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/internal/value"
)

// Propagator stores values of contexts with a thread, and reads them where the thread continues:
// in another process, perhaps days later. Trace contexts, tenants and request ids are examples.
//
// The values are part of the Metadata of the run. So every checkpoint has them, and
// Snapshot.Metadata returns them. A value replaces one that the caller gave Metadata under the
// same key. All metadata of a run has at most 2,048 bytes.
//
// Runs call a Propagator concurrently.
type Propagator interface {
	// Inject returns the values of ctx to store; nil for none. Calls that start a run call it with
	// the context of the run, and Submit and SubmitMany with that of the caller. The caller of
	// Inject copies the map.
	Inject(ctx context.Context) map[string]string
	// Extract returns ctx, or a child of it with the stored values. A run calls it in three cases:
	//   - It continues a thread: stored is the metadata of the newest checkpoint.
	//   - It begins with a submitted input: stored is the metadata of that input.
	//   - A worker of a queue runs a task: stored is the metadata of the run.
	//
	// The run has that context then. Extract must not modify stored.
	Extract(ctx context.Context, stored map[string]string) context.Context
}

// Propagate adds a Propagator for the threads of the graph. There can be several. Its panic is an
// error of the call. Compile reports a nil p. It also reports a Propagator of a SubgraphOnly
// graph: pass it to the graph of the thread.
func Propagate(p Propagator) Option {
	return compileOption(func(o *options) { o.propagators = append(o.propagators, p) })
}

// checkPropagators reports propagators that cannot work.
func (c *compiler) checkPropagators() {
	for _, p := range c.g.opt.propagators {
		if value.IsNil(p) {
			c.fault("Propagate is given nil (%T); pass a Propagator, or leave the option out", p)
		}
		if c.g.opt.nested {
			c.fault("a SubgraphOnly graph has a Propagator; pass it to the graph of the thread")
		}
	}
}

// propagators are those of a graph.
type propagators []Propagator

// inject returns metadata with what the propagators store of ctx.
func (all propagators) inject(ctx context.Context, metadata map[string]string) (_ map[string]string, err error) {
	if len(all) == 0 {
		return metadata, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a Propagator: %w", newPanic(v))
		}
	}()
	merged := maps.Clone(metadata)
	for _, p := range all {
		for key, value := range p.Inject(ctx) {
			if key == "" {
				return nil, fmt.Errorf("%T injects a value with an empty key; name every value", p)
			}
			if merged == nil {
				merged = make(map[string]string)
			}
			merged[key] = value
		}
	}
	size := 0
	for key, value := range merged {
		size += len(key) + len(value)
	}
	if size > maxMetadata {
		return nil, fmt.Errorf("the metadata has %d bytes with the values of the propagators, more than the %d that a checkpoint can have",
			size, maxMetadata)
	}
	return merged, nil
}

// extract returns ctx with what the propagators read from stored metadata.
func (all propagators) extract(ctx context.Context, stored map[string]string) (_ context.Context, err error) {
	if len(all) == 0 || len(stored) == 0 {
		return ctx, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a Propagator: %w", newPanic(v))
		}
	}()
	for _, p := range all {
		if ctx = p.Extract(ctx, stored); ctx == nil {
			return nil, fmt.Errorf("%T extracts a nil context; return the given one if there is nothing to add", p)
		}
	}
	return ctx, nil
}

// continueAt restores the state at the last record of c, and gives the run the values that the
// thread stores there.
func (r *run) continueAt(c *checkpoint.Chain) error {
	if len(r.g.opt.propagators) > 0 {
		if err := r.propagate(journal.Metadata(c.Last.Meta), r.opt.metadata); err != nil {
			return err
		}
	}
	r.carry(c)
	return r.restore(c)
}

// propagate gives the run values that are stored, and makes it store them with its own metadata.
// A later run then has them, too.
func (r *run) propagate(stored, own map[string]string) error {
	ctx, err := r.g.opt.propagators.extract(r.ctx, stored)
	if err != nil {
		return fmt.Errorf("%s: %w", where(r.g.name, r.thread, -1), err)
	}
	r.ctx = ctx
	if r.opt.metadata, err = r.g.opt.propagators.inject(ctx, own); err != nil {
		return fmt.Errorf("%s: %w", where(r.g.name, r.thread, -1), err)
	}
	return nil
}
