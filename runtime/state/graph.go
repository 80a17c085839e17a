package state

import "github.com/graphgen-go/graphgen/runtime/internal/live"

// Live is the state of one run. Deprecated: package graph uses package live.
type Live[S, U any] = live.Live[S, U]

// Options say how a Live behaves. Deprecated: package graph uses package live.
type Options = live.Options

// Fork forks a Live. Deprecated: use its method.
func Fork[S, U any](_ *Schema[S, U], from Live[S, U], opts Options) Live[S, U] { return from.Fork(opts) }

// Changed returns the names of the fields that differ. Deprecated: use Diff.
func (s *Schema[S, U]) Changed(a, b S) []string { return FieldNames(s.Diff(a, b)) }
