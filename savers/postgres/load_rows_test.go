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
	fillThreads(t, named(t, dsn, filling), others)
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
