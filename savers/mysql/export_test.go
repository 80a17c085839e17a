package mysql

import "github.com/graphgen-go/graphgen/savers/internal/pack"

// Packing is an option that says when records are packed.
func Packing(p pack.Policy) Option { return func(o *options) { o.Packing = p } }
