package graph

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// What a record's Meta holds, by name. metaInput and metaNext are the other two.
const (
	// memoryOf begins the name under which the namespace of a subgraph's newest call is stored; the id
	// of its node follows.
	memoryOf = "memory:"
	// metaCall is the name of the callMark in each record of a subgraph call.
	metaCall = "call"
)

// meta returns what a record stores in addition to where the run stands.
func (r *run[S, U]) meta() map[string]string {
	if len(r.memory) == 0 && r.ns == "" {
		return nil
	}
	meta := make(map[string]string, len(r.memory)+1)
	for id, m := range r.memory {
		meta[memoryOf+string(id)] = m.namespace
	}
	if r.ns != "" {
		meta[metaCall] = callMark{base: r.outer.part.Base, begun: r.line.begun}.String()
	}
	return meta
}

// readMeta restores what meta stored, except the base in a callMark.
func (r *run[S, U]) readMeta(meta map[string]string) {
	r.memory = nil
	r.line.begun = readCallMark(meta).begun
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		namespace := meta[name]
		id, ok := strings.CutPrefix(name, memoryOf)
		if !ok {
			continue
		}
		if n, ok := r.g.former[ID(id)]; ok {
			id = string(r.g.nodes[n].id)
			if _, own := meta[memoryOf+id]; own {
				continue // it became another node, which has a memory of its own
			}
		}
		if r.memory == nil {
			r.memory = make(map[ID]memory)
		}
		r.memory[ID(id)] = memory{namespace: namespace}
	}
}

// callMark says to which step of the parent a subgraph call belongs. The namespace of a call is made of
// its task's key, which stays the same if a crash loses the parent's step and the step runs again, with
// another result. The base does not, so a call of the lost step is recognised and begins again.
type callMark struct {
	base  checkpoint.ID // the parent's record that made the call's task due
	begun int           // the call's step when it began: 0, or more if an earlier beginning counts for nothing
}

// String returns the mark as it is stored: the id, and begun as a uvarint.
func (m callMark) String() string {
	return string(binary.AppendUvarint(m.base[:], uint64(m.begun)))
}

// readCallMark returns the mark in a record's Meta; the zero mark for none.
func readCallMark(meta map[string]string) (m callMark) {
	stored := meta[metaCall]
	n := copy(m.base[:], stored)
	begun, _ := binary.Uvarint([]byte(stored[n:]))
	m.begun = int(begun)
	return m
}
