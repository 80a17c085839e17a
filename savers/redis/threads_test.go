package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
)

func listThreads(t *testing.T, s checkpoint.Saver, q checkpoint.ThreadQuery) []string {
	t.Helper()
	var ids []string
	for thread, err := range s.Threads(context.Background(), q) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, thread.ID)
	}
	return ids
}

// An opening that is sent again after its version was released starts the next version. The note
// about the finished run must not remove that version from the index.
func TestAnOpeningSentAgainAfterItsReleaseIsListed(t *testing.T) {
	s, ctx := open(t), t.Context()
	a := opening(t, "a", checkpoint.ID{})
	for version := 1; version <= 2; version++ {
		done, err := s.Append(ctx, a)
		if err != nil || done.Version != version {
			t.Fatalf("opening: version %d, %v, want %d", done.Version, err, version)
		}
		for _, status := range []checkpoint.Status{0, checkpoint.Running} {
			if got := listThreads(t, s, checkpoint.ThreadQuery{Status: status}); !slices.Equal(got, []string{"a"}) {
				t.Errorf("version %d, threads with status %d: got %q, want a", version, status, got)
			}
		}
		(&run{tb: t, saver: s, thread: "a", fence: a.Records[0].ID}).end(checkpoint.Waiting)
		if _, err := s.Release(ctx, "a", checkpoint.ID{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestThreadsArePagedByTheirBytes(t *testing.T) {
	s := open(t)
	var want []string
	for i := range 400 {
		id := fmt.Sprintf("a%c%c", i/20, i%20+0xf0)
		want = append(want, id, "b"+id)
		begin(t, s, id)
		begin(t, s, "b"+id).end(checkpoint.Waiting)
	}
	slices.Sort(want)
	if got := listThreads(t, s, checkpoint.ThreadQuery{}); !slices.Equal(got, want) {
		t.Errorf("threads: got %d, want %d in order", len(got), len(want))
	}
	var paged []string
	for q := (checkpoint.ThreadQuery{Limit: 37}); ; q.After = paged[len(paged)-1] {
		page := listThreads(t, s, q)
		if paged = append(paged, page...); len(page) < q.Limit {
			break
		}
	}
	if !slices.Equal(paged, want) {
		t.Errorf("in pages: got %d, want %d in order", len(paged), len(want))
	}
	got := listThreads(t, s, checkpoint.ThreadQuery{Prefix: "b", Status: checkpoint.Waiting, Limit: 1000})
	if slices.Sort(got); !slices.Equal(got, want[400:]) {
		t.Errorf("by prefix: got %d, want 400", len(got))
	}
	if got := listThreads(t, s, checkpoint.ThreadQuery{Prefix: "\xff\xff"}); len(got) != 0 {
		t.Errorf("by a prefix that none has: got %q", got)
	}
}

func TestCloseEndsTheLeasesOfItsRuns(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	s := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix))
	other := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix))
	r, ctx := begin(t, s, "a"), t.Context()
	taken := begin(t, s, "b")
	over := opening(t, "b", taken.head)
	over.Open.TakeOver = true
	if _, err := other.Append(ctx, over); err != nil {
		t.Fatal(err)
	}
	var busy *checkpoint.BusyError
	if _, err := other.Append(ctx, opening(t, "a", r.head)); !errors.As(err, &busy) {
		t.Fatalf("got %v, want a *BusyError", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Append(ctx, opening(t, "a", r.head)); err != nil {
		t.Errorf("after Close: %v", err)
	}
	if _, err := other.Append(ctx, opening(t, "b", over.Records[0].ID)); !errors.As(err, &busy) {
		t.Errorf("a thread that another saver took over: got %v, want a *BusyError still", err)
	}
}
