package sqlite_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	driverpkg "modernc.org/sqlite"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// pages counts the pages that connections read from the file.
type pages struct {
	mu    sync.Mutex
	conns []driver.Conn
}

func (p *pages) wrap(c driver.Connector) driver.Connector {
	return &counted{Connector: c, p: p}
}

type counted struct {
	driver.Connector
	p *pages
}

func (c *counted) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err == nil {
		c.p.mu.Lock()
		defer c.p.mu.Unlock()
		c.p.conns = append(c.p.conns, conn)
	}
	return conn, err
}

// read returns how many pages were read since the last call.
func (p *pages) read(t *testing.T) (n int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		misses, _, err := c.(driverpkg.DBStatus).Status(driverpkg.DBStatusCacheMiss, true)
		if err != nil {
			t.Fatal(err)
		}
		n += misses
	}
	return n
}

// manyThreads makes n threads, named in order. Every hundredth waits for an answer.
func manyThreads(t *testing.T, path string, n int) {
	t.Helper()
	s, err := sqlite.Open(path, sqlite.Synchronous(sqlite.Normal))
	if err != nil {
		t.Fatal(err)
	}
	sqltest.Fill(t, sqlsaver.RowsOf(s.Saver), n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// createdAt returns when a thread was created.
func createdAt(t *testing.T, path, id string) time.Time {
	t.Helper()
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for thread, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Prefix: id, Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		return thread.Created
	}
	t.Fatalf("there is no thread %q", id)
	return time.Time{}
}

// TestPagesOfThreadsAreReadByIndex lists some of many threads, each with a state of 1,000
// bytes, and counts what was read of the file.
func TestPagesOfThreadsAreReadByIndex(t *testing.T) {
	const n = 10_000 // on many more pages of the file than a page of the list may read
	path := filepath.Join(t.TempDir(), "threads.db")
	manyThreads(t, path, n)
	middle := fmt.Sprintf("thread-%06d", n/2-1)
	newest := func(q checkpoint.ThreadQuery) checkpoint.ThreadQuery { // that with the smallest id
		if q.Order = checkpoint.NewestFirst; q.After != "" {
			q.AfterCreated = createdAt(t, path, q.After)
		}
		return q
	}
	for name, c := range map[string]struct {
		q     checkpoint.ThreadQuery
		first string
		found int
	}{
		"a page in the middle": {checkpoint.ThreadQuery{After: middle, Limit: 50}, fmt.Sprintf("thread-%06d", n/2), 50},
		"the first page":       {checkpoint.ThreadQuery{Limit: 50}, "thread-000000", 50},
		"a prefix":             {checkpoint.ThreadQuery{Prefix: "thread-00999"}, "thread-009990", 10},
		"those that wait and are idle": {
			newest(checkpoint.ThreadQuery{IdleSince: time.Now().Add(time.Hour), Status: checkpoint.Waiting, Limit: 50}), "thread-000099", 50,
		},
		"those that are idle": {
			newest(checkpoint.ThreadQuery{IdleSince: time.Now().Add(time.Hour), After: middle, Limit: 50}), fmt.Sprintf("thread-%06d", n/2), 50,
		},
		"none idle for so long": {newest(checkpoint.ThreadQuery{IdleSince: time.Unix(1, 0), Limit: 50}), "", 0},
		"of a label, waiting": {
			newest(checkpoint.ThreadQuery{Labels: map[string]string{"user": sqltest.UserOf(99)}, Status: checkpoint.Waiting, Limit: 10}), "thread-000099", 10,
		},
		"of a graph, failed": {newest(checkpoint.ThreadQuery{Graph: sqltest.GraphOf(7), Status: checkpoint.Failed}), "", 0},
		"of a graph, done": {
			newest(checkpoint.ThreadQuery{Graph: sqltest.GraphOf(7), Status: checkpoint.Done, Limit: 10}), "thread-000007", 10,
		},
		"created in no time": {newest(checkpoint.ThreadQuery{CreatedSince: time.Now().Add(time.Hour)}), "", 0},
		"the newest":         {newest(checkpoint.ThreadQuery{Limit: 100}), "thread-000000", 100},
		"the newest after one": {
			newest(checkpoint.ThreadQuery{After: middle, Limit: 50}), fmt.Sprintf("thread-%06d", n/2), 50,
		},
		"the newest that wait": {
			newest(checkpoint.ThreadQuery{Status: checkpoint.Waiting, After: middle, Limit: 50}), fmt.Sprintf("thread-%06d", n/2+99), 50,
		},
		"the newest of no such status": {newest(checkpoint.ThreadQuery{Status: checkpoint.Failed}), "", 0},
		"the newest of a graph": {
			newest(checkpoint.ThreadQuery{Graph: sqltest.GraphOf(7), After: middle, Limit: 10}), "thread-005007", 10,
		},
		"the newest of a graph, waiting": {
			newest(checkpoint.ThreadQuery{Graph: sqltest.GraphOf(99), Status: checkpoint.Waiting, Limit: 10}), "thread-000099", 10,
		},
		"the newest of a label": {
			newest(checkpoint.ThreadQuery{Labels: map[string]string{"user": sqltest.UserOf(42)}, After: middle, Limit: 3}), "thread-005042", 3,
		},
		"the newest with a prefix": {newest(checkpoint.ThreadQuery{Prefix: "thread-00999"}), "thread-009990", 10},
		"the newest since a time": {
			newest(checkpoint.ThreadQuery{CreatedSince: createdAt(t, path, middle), Limit: 50}), "thread-000000", 50,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := new(pages)
			s := open(t, path, sqlite.Readers(1), sqlite.WrapConnector(p.wrap))
			p.read(t)
			found := 0
			for thread, err := range s.Threads(t.Context(), c.q) {
				if err != nil {
					t.Fatal(err)
				}
				if found++; found == 1 && thread.ID != c.first {
					t.Errorf("the first is %q, want %q", thread.ID, c.first)
				}
				if waits := thread.Status == checkpoint.Waiting; waits != (len(thread.Questions) == 1) {
					t.Errorf("%q is %s and has %d questions", thread.ID, thread.Status, len(thread.Questions))
				}
			}
			if found != c.found {
				t.Errorf("found %d threads, want %d", found, c.found)
			}
			// A thread takes its row, the row of its head, and the rows of a question and its
			// base. Each is on one page at most, and takes some pages of an index.
			if got, most := p.read(t), 8*c.found+40; got > most {
				t.Errorf("read %d pages of the file, want at most %d", got, most)
			}
		})
	}
}
