package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// unlocking is a Connector that unlocks a file after it could not connect.
type unlocking struct {
	driver.Connector
	unlock func() error
	failed int
}

func (u *unlocking) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := u.Connector.Connect(ctx)
	if err != nil {
		u.failed++
		return nil, errors.Join(err, u.unlock())
	}
	return conn, nil
}

// Another process has the file locked for a moment, such as one that closes it as the last.
func TestOpenWaitsForALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	db, err := sql.Open("sqlite", dsn(path)+"&_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	unlock := sync.OnceValue(lock.Rollback)
	var all []*unlocking
	open(t, path, sqlite.WrapConnector(func(c driver.Connector) driver.Connector {
		all = append(all, &unlocking{Connector: c, unlock: unlock})
		return all[len(all)-1]
	}))
	failed := 0
	for _, u := range all {
		failed += u.failed
	}
	if failed == 0 {
		t.Error("no connection met the lock")
	}
}
