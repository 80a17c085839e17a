package state

import "github.com/graphgen-go/graphgen/runtime/internal/live"

// Apply merges u into s and returns the new state. It is meant for tests of nodes and reducers.
// Fields of s that are not zero count as already written. Apply does not modify s. The result
// shares memory with s and u where nothing had to be copied. Apply returns an [*OverflowError] if
// a sum does not fit in the type of its field, and a [*MergeError] if a value cannot be stored. It
// does not recover panics of custom reducers.
func Apply[S, U any](schema *Schema[S, U], s S, u U) (S, error) {
	run := schema.New(live.Options{Check: true})
	run.Load(s)
	if err := run.Merge(0, &u); err != nil {
		return s, err
	}
	return run.View(), nil
}
