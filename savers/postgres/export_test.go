package postgres

import "github.com/jackc/pgx/v5/pgxpool"

// WithPool is an option that gives a test the pool.
func WithPool(use func(*pgxpool.Pool)) Option { return func(o *options) { o.use = use } }
