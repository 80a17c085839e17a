package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// rewritten makes a file with two threads of three records each, and runs a statement on it.
func rewritten(t *testing.T, statement string) *sqlite.Saver {
	t.Helper()
	path := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range []string{"a", "b"} {
		r, err := begin(t.Context(), s, thread)
		if err != nil {
			t.Fatal(err)
		}
		for _, payload := range [][]byte{[]byte("delta"), bytes.Repeat([]byte("large"), 200)} {
			if _, err := r.commit(t.Context(), payload); err != nil {
				t.Fatal(err)
			}
		}
		put := checkpoint.PutWrites{Thread: thread, Fence: r.fence, End: true, Writes: []checkpoint.Write{
			{Base: r.head, Task: "task", Kind: checkpoint.Question, Payload: []byte("question of " + thread)},
		}}
		if _, err := s.PutWrites(t.Context(), put); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	result, err := db.ExecContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s: changed %d rows, %v", statement, n, err)
	}
	return open(t, path)
}

func TestAChangedPackIsDamage(t *testing.T) {
	for name, c := range map[string]struct{ statement, want string }{
		"a body":             {"UPDATE graph_pack SET body = CAST(substr(body, 1, 40) || x'7f7f7f7f' || substr(body, 45) AS BLOB)", "records 1 to 38"},
		"its end":            {"UPDATE graph_pack SET body = substr(body, 1, 50)", "records 1 to 38"},
		"its place":          {"UPDATE graph_pack SET pos = pos - 1", "records 1 to 37"},
		"its first record":   {"UPDATE graph_pack SET first_seq = first_seq + 1", "record"},
		"that it is a whole": {"UPDATE graph_pack SET whole = 0", "record"},
		"that it is there":   {"DELETE FROM graph_pack", "record"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "threads.db")
			s, err := sqlite.Open(path, sqlite.Packing(pack.Policy{Every: 1000, Keep: 4}))
			if err != nil {
				t.Fatal(err)
			}
			var head checkpoint.ID
			for n := range 14 {
				if head, err = packtest.Turn(t.Context(), n, head, s); err != nil {
					t.Fatal(err)
				}
			}
			if err := sqlsaver.Pack(t.Context(), s.Saver, "t"); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := execute(path, c.statement); err != nil {
				t.Fatal(err)
			}
			s = open(t, path)
			_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
			if !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), `thread "t"`) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("load: got %v, want ErrDamaged of thread \"t\", %s", err, c.want)
			}
		})
	}
}

func TestChangedRowsAreDamage(t *testing.T) {
	const second = "(SELECT pos FROM graph_checkpoint ORDER BY pos LIMIT 1 OFFSET 1)"
	for name, statement := range map[string]string{
		"a step":                     "UPDATE graph_checkpoint SET step = step + 1 WHERE pos = " + second,
		"a time":                     "UPDATE graph_checkpoint SET flags = flags + (1 << 7) WHERE pos = " + second,
		"a source":                   "UPDATE graph_checkpoint SET flags = flags - 1 WHERE pos = " + second,
		"a parent":                   "UPDATE graph_checkpoint SET links = CAST(x'01' || zeroblob(50) AS BLOB) WHERE pos = " + second,
		"a commit":                   "UPDATE graph_checkpoint SET flags = flags & ~(1 << 4) WHERE pos = " + second,
		"a base":                     "UPDATE graph_checkpoint SET links = CAST(zeroblob(17) || x'01' || zeroblob(33) AS BLOB) WHERE pos = " + second,
		"what it commits":            "UPDATE graph_checkpoint SET flags = flags & ~(1 << 4), links = CAST(zeroblob(34) || x'01' || id AS BLOB) WHERE pos = " + second,
		"an id":                      "UPDATE graph_checkpoint SET id = CAST(substr(id, 1, 15) || x'41' AS BLOB) WHERE pos = " + second,
		"a body":                     "UPDATE graph_checkpoint SET body = x'00' WHERE pos = " + second,
		"a payload":                  "UPDATE graph_checkpoint SET payload = CAST('other' AS BLOB) WHERE pos = " + second,
		"a large payload":            "UPDATE graph_checkpoint SET payload = zeroblob(1000) WHERE pos = " + second + " + 1",
		"no payload":                 "UPDATE graph_checkpoint SET payload = NULL WHERE pos = " + second + " + 1",
		"the body of another record": "UPDATE graph_checkpoint SET body = (SELECT body FROM graph_checkpoint WHERE pos = " + second + " + 1) WHERE pos = " + second,
		"a graph":                    "UPDATE graph_line SET graph = x'41'",
		"a fingerprint":              "UPDATE graph_line SET fingerprint = 7",
		"the threads of two logs":    "UPDATE graph_thread SET thread_key = CASE thread_key WHEN CAST('a' AS BLOB) THEN CAST('b2' AS BLOB) ELSE CAST('a' AS BLOB) END",
		"the writes of two threads":  "UPDATE graph_write SET data = (SELECT w.data FROM graph_write w WHERE w.root <> graph_write.root)",
	} {
		t.Run(name, func(t *testing.T) {
			s := rewritten(t, statement)
			chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "a"})
			if !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), `thread "a"`) {
				t.Errorf("load: got %d records, %v; want an error that is ErrDamaged and names the thread", chain.Chained+1, err)
			}
		})
	}
}

func TestOlderTablesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"CREATE TABLE graph_schema (version INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO graph_schema VALUES (3)"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	s, err := sqlite.Open(path)
	if err == nil {
		_ = s.Close() // the test has failed
	}
	if err == nil || !strings.Contains(err.Error(), "version 3") || !strings.Contains(err.Error(), "version 24") {
		t.Errorf("got %v, want an error with both versions", err)
	}
}
