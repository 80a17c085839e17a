package mysql

import "github.com/graphgen-go/graphgen/savers/internal/sqlsaver"

// Packing is an option that says when records are packed.
func Packing(p sqlsaver.Packing) Option { return func(o *options) { o.packing = p } }
