package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// dsn names a file for a connection of a test, which waits while the saver packs or has the file
// locked for another reason.
func dsn(path string) string { return "file:" + path + "?_busy_timeout=10000" }

func mustExecute(t *testing.T, path, text string) {
	t.Helper()
	if err := execute(path, text); err != nil {
		t.Fatal(err)
	}
}

func execute(path, text string) error {
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err = db.Exec(text); err != nil {
		err = fmt.Errorf("%s: %w", text, err)
	}
	return err
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer.db")
	if err := open(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	mustExecute(t, newer, "INSERT INTO graph_schema VALUES (1000)")
	for name, c := range map[string]struct {
		path string
		opts []sqlite.Option
		want string
	}{
		"no path":        {"", nil, "path of a file"},
		"memory":         {":memory:", nil, "savers/memory"},
		"no folder":      {filepath.Join(dir, "none", "x.db"), nil, "create the folder first"},
		"a folder":       {dir, nil, "name a file in the folder"},
		"a busy time":    {filepath.Join(dir, "x.db"), []sqlite.Option{sqlite.BusyTimeout(-time.Second)}, "above zero"},
		"newer tables":   {newer, nil, "update the program"},
		"an unsafe mode": {filepath.Join(dir, "x.db"), []sqlite.Option{sqlite.Synchronous(7)}, "Full or Normal"},
	} {
		s, err := sqlite.Open(c.path, c.opts...)
		if err == nil {
			t.Errorf("%s: opened", name)
			_ = s.Close() // the test has failed
			continue
		}
		if !strings.HasPrefix(err.Error(), "sqlite: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error about %q", name, err, c.want)
		}
	}
}

func TestPathsAreTakenAsTheyAre(t *testing.T) {
	for _, name := range []string{"a b.db", "100%.db", "what?.db", "#1.db", "a&b=c.db", "%41.db"} {
		path := filepath.Join(t.TempDir(), name)
		if err := open(t, path).Close(); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if found, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); err != nil || len(found) != 1 || found[0] != path {
			t.Errorf("%q: got the files %q, %v; want it alone", name, found, err)
		}
	}
}

func TestReadableState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	open := func(decode ...func([]byte) ([]byte, error)) (checkpoint.Saver, error) {
		return sqlite.Open(path, sqlite.ReadableState(decode...))
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sqltest.ReadableState(t, open, func(thread string) (status string, seq int64) {
		row := db.QueryRow(`SELECT json_extract(s.state_json, '$.Status'), s.seq FROM graph_state s
			JOIN graph_thread t ON t.pk = s.thread AND t.version = s.version WHERE t.pk = ?`, []byte(thread))
		if err := row.Scan(&status, &seq); err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
		return status, seq
	})
}

func TestCorners(t *testing.T) {
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "threads.db"))
	if err != nil {
		t.Fatal(err)
	}
	sqltest.Corners(t, s)
}

func TestAHeadThatASaverKnowsMayBeNoneAnyMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	first, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	sqltest.TwoSavers(t, first, other)
}
