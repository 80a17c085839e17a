package state

import "github.com/graphgen-go/graphgen/runtime/internal/live"

// Apply returns what s becomes when u is merged into it. It is for tests of nodes and reducers. Fields of s that are not
// zero count as written before. s is not changed; the result shares with s and u what it did not have to copy. It returns
// an [*OverflowError] for a sum that does not fit in its field's type. A custom reducer's panic passes through.
func Apply[S, U any](schema *Schema[S, U], s S, u U) (S, error) {
	run := schema.New(live.Options{})
	run.Load(s)
	if err := run.Merge(0, &u); err != nil {
		return s, err
	}
	return run.View(), nil
}
