package state

import "github.com/graphgen-go/graphgen/runtime/internal/live"

// Live is the state of one run.
type Live[S, U any] = live.Live[S, U]

// Options say how a Live behaves.
type Options = live.Options

// Fork forks a Live.
func Fork[S, U any](_ *Schema[S, U], from Live[S, U], opts Options) Live[S, U] {
	return from.Fork(opts)
}

// Changed returns the names of the fields that differ.
func (s *Schema[S, U]) Changed(a, b S) []string { return FieldNames(s.Diff(a, b)) }
