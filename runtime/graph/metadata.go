package graph

import "maps"

// maxMetadata is how many bytes the keys and values of Metadata may have together.
const maxMetadata = 2048

// Metadata describes a run or an edit, for example by the user who started it. Every checkpoint
// that the call stores contains it, also those of its subgraphs. Snapshot.Metadata returns it, so
// State and History show which run stored a checkpoint.
//
// Metadata belongs to one call. A Resume has its own, or none. Nodes do not see it: pass them
// values by the context, or by the state.
//
// The keys and values may have at most 2,048 bytes together. No key may be empty, or begin with
// two underscores: those are of graphgen, such as the one by which a child knows its caller.
// Otherwise the call returns an error before it stores anything. Metadata copies kv. An empty map
// stores nothing.
func Metadata(kv map[string]string) interface {
	InvokeOption
	ResumeOption
	UpdateOption
	SubmitOption
} {
	return singleRunOption("Metadata", func(o *runOptions) {
		size := 0
		for key, value := range kv {
			size += len(key) + len(value)
			if reserved(key) {
				o.fault("Metadata has the key %q, and those that begin with %q are reserved; choose another name", key, ReservedPrefix)
			}
		}
		if size > maxMetadata {
			o.fault("Metadata has %d bytes, more than the %d that a checkpoint can have; store large values in the state", size, maxMetadata)
			return
		}
		if _, ok := kv[""]; ok {
			o.fault("Metadata has an empty key; name every value")
			return
		}
		o.metadata = maps.Clone(kv)
	})
}
