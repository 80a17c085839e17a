package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// The server takes a client that sends a large value for idle until all of it has come.
func TestALargeValueHasTimeToArrive(t *testing.T) {
	for _, c := range []struct {
		size int
		want []string
	}{
		{100, []string{"insert"}},
		{3 << 20, []string{"set local idle_in_transaction_session_timeout = 14000", "insert"}},
	} {
		q := &tx{batch: new(pgx.Batch)}
		before := q.queue("insert", []any{"key", make([]byte, c.size)})
		if before != len(c.want)-1 {
			t.Errorf("%d bytes: got %d statements before it, want %d", c.size, before, len(c.want)-1)
		}
		for i, got := range q.batch.QueuedQueries {
			if i >= len(c.want) || got.SQL != c.want[i] {
				t.Errorf("%d bytes: got statement %d %q, want %q", c.size, i, got.SQL, c.want)
			}
		}
	}
}
