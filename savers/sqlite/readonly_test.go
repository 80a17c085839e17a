package sqlite_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// written makes a file with a thread of three records, and returns its path and the saver, which
// is open.
func written(t *testing.T) (path string, s *sqlite.Saver) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := begin(t.Context(), s, "t")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.commit(t.Context(), []byte("delta")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: r.fence, End: true, Status: checkpoint.Done}); err != nil {
		t.Fatal(err)
	}
	return path, s
}

// sum returns the hash of a file.
func sum(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

// reads fails unless all that written made can be read.
func reads(t *testing.T, what string, s *sqlite.Saver) {
	t.Helper()
	ctx := t.Context()
	chain, err := s.Load(ctx, checkpoint.Ref{Thread: "t"})
	if err != nil || chain.Chained != 2 {
		t.Errorf("%s: load: got %d records after the snapshot, %v; want 2", what, chain.Chained, err)
	}
	records, threads, items := 0, 0, 0
	for _, err := range s.History(ctx, checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatalf("%s: history: %v", what, err)
		}
		records++
	}
	for _, err := range s.Threads(ctx, checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Fatalf("%s: threads: %v", what, err)
		}
		threads++
	}
	for _, err := range s.Export(ctx, "t", 0) {
		if err != nil {
			t.Fatalf("%s: export: %v", what, err)
		}
		items++
	}
	versions, err := s.Versions(ctx, "t")
	if err != nil || len(versions) != 1 || records != 3 || threads != 1 || items < 4 {
		t.Errorf("%s: got %d versions, %v, %d records, %d threads and %d items", what, len(versions), err, records, threads, items)
	}
	if _, err := s.Schemas(ctx, "t", 0); err != nil {
		t.Errorf("%s: schemas: %v", what, err)
	}
	if _, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"test"}, Limit: 1}); err != nil {
		t.Errorf("%s: ready, without a reservation: %v", what, err)
	}
	if _, err := s.Mail(ctx, checkpoint.MailQuery{Thread: "t"}); err != nil {
		t.Errorf("%s: mail: %v", what, err)
	}
}

// writes fails unless each call that writes is refused.
func writes(t *testing.T, s *sqlite.Saver, head checkpoint.ID) {
	t.Helper()
	ctx := t.Context()
	open := func(thread string, after checkpoint.ID) error {
		a, err := opening(thread, after)
		if err == nil {
			_, err = s.Append(ctx, a)
		}
		return err
	}
	commit := func() error {
		a, err := next("t", head, head, []byte("delta"))
		if err == nil {
			_, err = s.Append(ctx, a)
		}
		return err
	}
	for name, call := range map[string]func() error{
		"an opening":             func() error { return open("t", head) },
		"an opening of a thread": func() error { return open("new", checkpoint.ID{}) },
		"a commit":               commit,
		"a renewal":              func() error { _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: head}); return err },
		"a release":              func() error { _, err := s.Release(ctx, "t", checkpoint.ID{}); return err },
		"a deletion":             func() error { return s.Delete(ctx, "t") },
		"a prune":                func() error { _, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 1}); return err },
		"a rewake":               func() error { return s.Rewake(ctx, checkpoint.Rewake{Thread: "t", Fence: head, Wake: time.Now()}) },
		"an import":              func() error { return checkpoint.Copy(ctx, s, "t", 0, s, "copy") },
		"a message to the thread": func() error {
			m := checkpoint.Message{ID: "m", Kind: checkpoint.SignalMessage, Name: "n", Payload: []byte("p")}
			done, err := s.Post(ctx, checkpoint.Post{Thread: "t", Graph: "test", Messages: []checkpoint.Message{m}})
			if err == nil && len(done) > 0 {
				err = done[0].Err
			}
			return err
		},
	} {
		if err := call(); !errors.Is(err, checkpoint.ErrReadOnly) {
			t.Errorf("%s: got %v, want ErrReadOnly", name, err)
		}
	}
}

func TestReadOnlyReadsAndNeverWrites(t *testing.T) {
	path, s := written(t)
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	live := open(t, path, sqlite.ReadOnly()) // while another saver has the file
	reads(t, "alongside a writer", live)
	r, err := begin(t.Context(), s, "t")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := live.Load(t.Context(), checkpoint.Ref{Thread: "t"}); err != nil || got.Head != r.fence {
		t.Errorf("after another commit: got %s, %v; want the head %s", got.Head, err, r.fence)
	}
	if _, err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: r.fence, End: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := sum(t, path)
	writes(t, open(t, path, sqlite.ReadOnly()), chain.Head)
	if sum(t, path) != before {
		t.Error("the file has changed")
	}
}

// On a read-only medium SQLite cannot open its -shm file. The same happens if a socket is in its
// place, also for root.
func TestReadOnlyOnAMediumThatIsReadOnly(t *testing.T) {
	path, s := written(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(path)) // the name of a socket must be short
	socket, err := net.Listen("unix", filepath.Base(path)+"-shm")
	if err != nil {
		t.Skipf("no sockets here: %v", err)
	}
	defer socket.Close()
	reads(t, "without a -shm file", open(t, path, sqlite.ReadOnly()))

	// The newest commits are in a -wal file that cannot be read.
	if err := os.WriteFile(path+"-wal", []byte("commits"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(path, sqlite.ReadOnly())
	if err == nil || !strings.Contains(err.Error(), "copy both files to a folder that can be written") {
		t.Errorf("with a -wal file: got %v, want what to do", err)
	}
}

func TestReadOnlyInAFolderThatIsReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write to every folder")
	}
	path, s := written(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // so that the test can remove it
	reads(t, "in a read-only folder", open(t, path, sqlite.ReadOnly()))
}

func TestReadOnlyNeedsAFileWithTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	_, err := sqlite.Open(path, sqlite.ReadOnly())
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v, want fs.ErrNotExist", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: Open made one (%v)", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(path, sqlite.ReadOnly()); err == nil || !strings.Contains(err.Error(), "of version 0") {
		t.Errorf("an empty file: got %v, want the version of its tables", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 0 {
		t.Errorf("an empty file: Open wrote to it (%v)", err)
	}
}

func TestReadOnlyLeavesTablesOfAnotherVersion(t *testing.T) {
	path, s := written(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(context.Background(), "INSERT INTO graph_schema (version) VALUES (9999)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(path, sqlite.ReadOnly()); err == nil || !strings.Contains(err.Error(), "update the program") {
		t.Errorf("got %v, want that the tables are newer", err)
	}
}
