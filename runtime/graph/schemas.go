package graph

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/shape"
)

// A record has the fingerprint of its state's schema. The description of each schema is stored
// once for each version of a thread, with the first opening that uses it. Tools need it to name
// the fields of states and questions.

// describe returns the descriptions of a graph and of its subgraphs, by fingerprint. Graphs over
// one state share a description, which has the questions and signals of all.
func (g *core) describe() map[uint64]*shape.Graph {
	type named struct {
		of         uint64
		kind, name string
	}
	all := make(map[uint64]*shape.Graph)
	known := make(map[named]bool)
	for _, g := range g.within() {
		d := all[g.fingerprint]
		if d == nil {
			d = &shape.Graph{State: g.shape()}
			all[g.fingerprint] = d
		}
		for i := range g.nodes {
			for _, q := range g.nodes[i].questions {
				if key := (named{g.fingerprint, "question", q.name}); !known[key] {
					known[key] = true
					d.Questions = append(d.Questions, q.shape())
				}
			}
			for _, s := range g.nodes[i].signals {
				if key := (named{g.fingerprint, "signal", s.name}); !known[key] {
					known[key] = true
					d.Signals = append(d.Signals, s.shape())
				}
			}
		}
	}
	return all
}

// within returns the graph and its subgraphs, each once.
func (g *core) within() []*core {
	seen := map[*core]bool{g: true}
	all := []*core{g}
	for next := 0; next < len(all); next++ {
		for i := range all[next].nodes {
			if sub := all[next].nodes[i].sub; sub != nil && !seen[sub] {
				seen[sub] = true
				all = append(all, sub)
			}
		}
	}
	return all
}

// describeSchemas returns the writes that store the descriptions.
func (g *core) describeSchemas() []checkpoint.Write {
	all := g.describe()
	var writes []checkpoint.Write
	for _, fingerprint := range slices.Sorted(maps.Keys(all)) {
		b, err := all[fingerprint].AppendWire(nil)
		if err != nil || len(b) > checkpoint.MaxSchema {
			continue // too large for a saver; tools work without it, and the run does not need it
		}
		writes = append(writes, checkpoint.SchemaWrite(fingerprint, b))
	}
	return writes
}

// schemaHash returns a hash of the fingerprints of a graph and its subgraphs. If all have the same
// fingerprint, it returns that one.
func (g *core) schemaHash() uint64 {
	var fingerprints []uint64
	for _, g := range g.within() {
		fingerprints = append(fingerprints, g.fingerprint)
	}
	slices.Sort(fingerprints)
	if fingerprints = slices.Compact(fingerprints); len(fingerprints) == 1 {
		return g.fingerprint
	}
	h := fnv.New64a()
	for _, fingerprint := range fingerprints {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, fingerprint))
	}
	return h.Sum64()
}
