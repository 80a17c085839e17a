package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// WithPool is an option that gives a test the pool.
func WithPool(use func(*pgxpool.Pool)) Option { return func(o *options) { o.use = use } }

// Packing is an option that says when records are packed.
func Packing(p pack.Policy) Option { return func(o *options) { o.packing = p } }
