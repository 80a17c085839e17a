package postgres_test

import (
	"crypto/rand"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// A connection keeps the plans of the functions that load. They must not depend on how small the
// tables were when the connection made them.
func TestLoadReadsFewRowsOfTablesThatGrew(t *testing.T) {
	const others, limit = 3_000, 40
	dsn := testenv.Postgres(t)
	s := openCounted(t, dsn)
	if s == nil {
		return
	}
	filling := "filling " + rand.Text()
	exec(t, named(t, dsn, filling), `ALTER TABLE graph_thread SET (autovacuum_enabled = false);
		ALTER TABLE graph_version SET (autovacuum_enabled = false);
		ALTER TABLE graph_log SET (autovacuum_enabled = false);
		ALTER TABLE graph_line SET (autovacuum_enabled = false);
		ALTER TABLE graph_checkpoint SET (autovacuum_enabled = false);
		ALTER TABLE graph_write SET (autovacuum_enabled = false)`)
	first, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Append(t.Context(), checkpoint.Append{
		Thread: "t", Open: &checkpoint.Opening{}, Status: checkpoint.Running, Records: []checkpoint.Record{{
			ID: first, Base: first, Line: first, Source: checkpoint.Input, Graph: "g", Snapshot: true, Payload: []byte{0x80},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: first, Writes: []checkpoint.Write{{
		Base: first, Task: "node:", Name: "question", Kind: checkpoint.Question, Payload: []byte{0xc0},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	load := func() {
		chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if err != nil || chain.Last.ID != first || len(chain.Writes) != 1 {
			t.Fatalf("got %v and %d writes, %v; want %v and a question", chain.Last.ID, len(chain.Writes), err, first)
		}
	}
	for range 10 { // after the fifth execution, a server may keep a plan
		load()
	}
	exec(t, named(t, dsn, filling), `INSERT INTO graph_thread (thread_key, last_version, version, root, versions, status, fence, holder, lease_until, updated, asked)
			SELECT convert_to(n::text, 'UTF8'), 1, 1, 1000000 + n, 1, status, fence, holder, lease_until, updated, asked
			FROM graph_thread, generate_series(1, 3000) n;
		INSERT INTO graph_version (thread_no, number, root, status, updated, released)
			SELECT 1000000 + n, number, 1000000 + n, status, updated, released FROM graph_version, generate_series(1, 3000) n;
		INSERT INTO graph_log (thread_no, version, ns_key) SELECT 1000000 + n, version, ns_key FROM graph_log, generate_series(1, 3000) n;
		INSERT INTO graph_line (root, line_no, line, fingerprint, graph)
			SELECT 1000000 + n, line_no, line, fingerprint, graph FROM graph_line, generate_series(1, 3000) n;
		INSERT INTO graph_checkpoint (log_no, seq, root, line_no, step, created, source, snapshot, commits_previous, id, base, body)
			SELECT 1000000 + n, seq, 1000000 + n, line_no, step, created, source, snapshot, commits_previous, id, base, body
			FROM graph_checkpoint, generate_series(1, 3000) n;
		INSERT INTO graph_write (root, base, write_key, kind, data)
			SELECT 1000000 + n, base, write_key, kind, data FROM graph_write, generate_series(1, 3000) n`)
	waitForEnd(t, s.conn, filling)
	const read = `SELECT CAST((SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = current_schema())
		+ (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = current_schema()) AS integer)`
	before := s.count(t, read)
	load()
	if got := s.count(t, read) - before; got == 0 || got > limit {
		t.Errorf("a load among %d other threads read %d rows and index entries, want 1 to %d", others, got, limit)
	} else {
		t.Logf("a load among %d other threads read %d rows and index entries", others, got)
	}
}
