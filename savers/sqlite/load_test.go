package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// betweenReads is a database that calls change, once, after the first statement that reads outside
// a transaction.
type betweenReads struct {
	sqlsaver.DB
	queries int
	change  func()
}

func (d *betweenReads) Query(ctx context.Context, text string, args ...any) (sqlsaver.Rows, error) {
	if d.queries++; d.queries == 2 {
		d.change()
	}
	return d.DB.Query(ctx, text, args...)
}

// TestALoadSeesOneMoment changes a thread between the two statements of a load. The load must
// return what it returns after the change.
func TestALoadSeesOneMoment(t *testing.T) {
	middle := func(ids []checkpoint.ID) checkpoint.Ref { return checkpoint.Ref{Thread: "t", At: ids[len(ids)/2]} }
	head := func([]checkpoint.ID) checkpoint.Ref { return checkpoint.Ref{Thread: "t"} }
	released := func([]checkpoint.ID) checkpoint.Ref { return checkpoint.Ref{Thread: "t", Version: 1} }
	packed := func(ctx context.Context, s *sqlite.Saver) error { return s.Pack(ctx, "t") }
	release := func(ctx context.Context, s *sqlite.Saver) error {
		_, err := s.Release(ctx, "t", checkpoint.ID{})
		return err
	}
	var r *run
	var seen uint64
	opened := func(ctx context.Context, s *sqlite.Saver) (err error) {
		seen = 0
		r, err = begin(ctx, s, "t")
		return err
	}
	ended := func(ctx context.Context, s *sqlite.Saver) error {
		if err := opened(ctx, s); err != nil {
			return err
		}
		_, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: r.fence, End: true, Status: checkpoint.Failed})
		return err
	}
	post := func(ctx context.Context, s *sqlite.Saver) error {
		seen++
		_, err := s.Post(ctx, checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}})
		return err
	}
	rewake := func(ctx context.Context, s *sqlite.Saver) error {
		return s.Rewake(ctx, checkpoint.Rewake{Thread: "t", Fence: r.fence, Wake: time.Now().Add(time.Hour)})
	}
	// withResult stores the result of a task after another change. It does not renew the lease.
	withResult := func(change func(context.Context, *sqlite.Saver) error) func(context.Context, *sqlite.Saver) error {
		return func(ctx context.Context, s *sqlite.Saver) error {
			if err := change(ctx, s); err != nil {
				return err
			}
			_, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: r.fence, Lease: time.Hour, Messages: checkpoint.Handled{Seen: seen},
				Writes: []checkpoint.Write{{Base: r.head, Task: "task", Kind: checkpoint.Result, Payload: []byte("done")}}})
			return err
		}
	}
	for name, c := range map[string]struct {
		at             func(ids []checkpoint.ID) checkpoint.Ref
		before, change func(ctx context.Context, s *sqlite.Saver) error
	}{
		"a turn": {at: head, change: func(ctx context.Context, s *sqlite.Saver) error {
			chain, err := s.Load(ctx, checkpoint.Ref{Thread: "t"})
			if err == nil {
				_, err = packtest.Turn(ctx, 20, chain.Head, s)
			}
			return err
		}},
		"a question": {at: head, change: func(ctx context.Context, s *sqlite.Saver) error {
			r, err := begin(ctx, s, "t")
			if err != nil {
				return err
			}
			_, err = s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: r.fence, End: true, Status: checkpoint.Waiting,
				Writes: []checkpoint.Write{{Base: r.head, Task: "task", Kind: checkpoint.Question, Payload: []byte("?")}}})
			return err
		}},
		"a message, and a result of a run in progress": {at: head, before: opened, change: withResult(post)},
		"a message, and a result of an ended run":      {at: head, before: ended, change: withResult(post)},
		"a wake, and a result of an ended run":         {at: head, before: ended, change: withResult(rewake)},

		"a pack":            {at: head, change: packed},
		"a pack, of middle": {at: middle, change: packed},
		"a prune": {at: middle, change: func(ctx context.Context, s *sqlite.Saver) error {
			_, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 5})
			return err
		}},
		"a prune of packs": {at: head, before: packed, change: func(ctx context.Context, s *sqlite.Saver) error {
			_, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 20})
			return err
		}},
		"a release":            {at: head, change: release},
		"a release, by number": {at: released, change: release},
		"a deletion": {at: head, change: func(ctx context.Context, s *sqlite.Saver) error {
			return s.Delete(ctx, "t")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "threads.db")
			s := open(t, path, often)
			var last checkpoint.ID
			for n := range 20 {
				var err error
				if last, err = packtest.Turn(t.Context(), n, last, s); err != nil {
					t.Fatal(err)
				}
			}
			if c.before != nil {
				if err := c.before(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			at, changed := c.at(stored(t, s, "t")), false
			reader := open(t, path, sqlite.WrapDB(func(db sqlsaver.DB) sqlsaver.DB {
				return &betweenReads{DB: db, change: func() {
					changed = true
					if err := c.change(t.Context(), s); err != nil {
						t.Error(err)
					}
				}}
			}))
			got, gotErr := reader.Load(t.Context(), at)
			want, wantErr := s.Load(t.Context(), at)
			got.Thread.Now, want.Thread.Now = time.Time{}, time.Time{}
			if g, w := fmt.Sprintf("%+v %v", got, gotErr), fmt.Sprintf("%+v %v", want, wantErr); g != w {
				t.Errorf("got %s\nwant %s", g, w)
			}
			if !changed {
				t.Error("the load took one statement, want two with the change between them")
			}
		})
	}
}

// TestAPageOfTheNewestReadsNoPack reads a thread whose packs cannot be read.
func TestAPageOfTheNewestReadsNoPack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path, sqlite.Packing(pack.Policy{Every: 1 << 20, Keep: 20}))
	var head checkpoint.ID
	for n := range 20 {
		var err error
		if head, err = packtest.Turn(t.Context(), n, head, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Pack(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE graph_record SET data = x'0200' WHERE substr(data, 1, 1) = x'02'"); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 10, 50} {
		n := 0
		var failed error
		for _, err := range s.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{Limit: limit}) {
			if failed = err; err == nil {
				n++
			}
		}
		if limit <= 10 && (n != limit || failed != nil) || limit > 20 && !errors.Is(failed, checkpoint.ErrDamaged) {
			t.Errorf("limit %d: got %d records, %v; want ErrDamaged only from those that are packed", limit, n, failed)
		}
	}
}
