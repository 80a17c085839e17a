package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// TestAValueThatTheServerCannotHoldIsTooLarge does not send such values: they have a gigabyte.
func TestAValueThatTheServerCannotHoldIsTooLarge(t *testing.T) {
	for _, e := range []*pgconn.PgError{
		{Code: "54000", Message: "array size exceeds the maximum allowed (1073741823)"},
		{Code: "XX000", Message: "invalid memory alloc request size 1073741824"},
	} {
		if got := postgres.Classify(e); got != sqlsaver.TooLarge {
			t.Errorf("%v: got fault %d, want %d", e, got, sqlsaver.TooLarge)
		}
	}
}
