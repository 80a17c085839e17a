package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// Classify returns what an error means for a call.
var Classify = classify

// WithPool is an option that gives a test the pool.
func WithPool(use func(*pgxpool.Pool)) Option { return func(o *options) { o.use = use } }

// Packing is an option that says when records are packed.
func Packing(p pack.Policy) Option { return func(o *options) { o.Packing = p } }

// CheckTimes is an option that sets after which time an engine checks its connection, and how long
// a notification to itself may take.
func CheckTimes(idle, limit time.Duration) EngineOption {
	return func(e *Engine) { e.idle, e.limit = idle, limit }
}
