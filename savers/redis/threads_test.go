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

// indexed returns what the index has: all threads, and those not done.
func indexed(t *testing.T, client *goredis.Client, prefix string) (all, live []string) {
	t.Helper()
	ctx := context.Background()
	all, err1 := client.ZRange(ctx, prefix+"{index}:all", 0, -1).Result()
	live, err2 := client.ZRange(ctx, prefix+"{index}:live", 0, -1).Result()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return all, live
}

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

func TestTheIndexForgetsWhatIsOver(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer client.Close()
	s, ctx := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix)), t.Context()
	for i, status := range []checkpoint.Status{checkpoint.Waiting, checkpoint.Done, checkpoint.Failed, checkpoint.Done} {
		begin(t, s, fmt.Sprint("t", i)).end(status)
	}
	begin(t, s, "t4")
	begin(t, s, "t5").end(checkpoint.Done)
	if _, err := s.Release(ctx, "t5", checkpoint.ID{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, "t3"); err != nil {
		t.Fatal(err)
	}
	if got, want := listThreads(t, s, checkpoint.ThreadQuery{}), []string{"t0", "t1", "t2", "t4"}; !slices.Equal(got, want) {
		t.Errorf("threads: got %q, want %q", got, want)
	}
	for status, want := range map[checkpoint.Status][]string{
		checkpoint.Waiting: {"t0"}, checkpoint.Done: {"t1"}, checkpoint.Failed: {"t2"}, checkpoint.Running: {"t4"}, checkpoint.Paused: nil,
	} {
		if got := listThreads(t, s, checkpoint.ThreadQuery{Status: status}); !slices.Equal(got, want) {
			t.Errorf("threads that are %s: got %q, want %q", status, got, want)
		}
	}
	all, live := indexed(t, client, prefix)
	if !slices.Equal(all, []string{"t0", "t1", "t2", "t4"}) || !slices.Equal(live, []string{"t0", "t2", "t4"}) {
		t.Errorf("the index has %q, not done %q; want t0 t1 t2 t4, and t0 t2 t4", all, live)
	}
}

// TestTheSetsOfLabelsAndGraphsForgetWhatIsOver lists by label and graph, and looks which threads
// the sets have before and after.
func TestTheSetsOfLabelsAndGraphsForgetWhatIsOver(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer client.Close()
	s, ctx := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix)), t.Context()
	run := func(thread string, after checkpoint.ID, graph, user string) checkpoint.ID {
		t.Helper()
		a := opening(t, thread, after)
		a.Records[0].Graph, a.Open.Labels, a.End = graph, map[string]string{"user": user}, true
		if _, err := s.Append(ctx, a); err != nil {
			t.Fatal(err)
		}
		return a.Records[0].ID
	}
	head := run("moved", checkpoint.ID{}, "orders", "ada")
	run("deleted", checkpoint.ID{}, "orders", "ada")
	run("stays", checkpoint.ID{}, "orders", "ada")
	run("moved", head, "chats", "bob")
	if err := s.Delete(ctx, "deleted"); err != nil {
		t.Fatal(err)
	}
	for set, q := range map[string]checkpoint.ThreadQuery{
		"label:4:userada": {Labels: map[string]string{"user": "ada"}}, "graph:orders": {Graph: "orders"},
	} {
		key := prefix + "{index}:" + set
		if before := client.ZRange(ctx, key, 0, -1).Val(); !slices.Equal(before, []string{"deleted", "moved", "stays"}) {
			t.Errorf("%s has %q before a listing, want all three", set, before)
		}
		if got := listThreads(t, s, q); !slices.Equal(got, []string{"stays"}) {
			t.Errorf("%s: got %q, want the one that stays", set, got)
		}
		if after := client.ZRange(ctx, key, 0, -1).Val(); !slices.Equal(after, []string{"stays"}) {
			t.Errorf("%s has %q after a listing, want the one that stays", set, after)
		}
	}
	q := checkpoint.ThreadQuery{Labels: map[string]string{"user": "bob"}, Graph: "chats"}
	if got := listThreads(t, s, q); !slices.Equal(got, []string{"moved"}) {
		t.Errorf("by the new label: got %q, want the thread that moved", got)
	}
}

// A hint may be wrong: a run that was refused has put its thread there, a process died between, a
// key was removed by hand.
func TestTheIndexIsAHint(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer client.Close()
	s, ctx := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix)), t.Context()
	never := opening(t, "never", newID(t)) // after a head that does not exist
	if _, err := s.Append(ctx, never); !errors.Is(err, checkpoint.ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	done := begin(t, s, "done")
	done.end(checkpoint.Done)
	if _, err := s.Append(ctx, opening(t, "done", newID(t))); !errors.Is(err, checkpoint.ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	begin(t, s, "removed")
	begin(t, s, "there")
	for _, key := range keysOf(t, client, prefix) {
		if id := client.HGet(ctx, key, "id").Val(); id == "removed" {
			client.Del(ctx, key)
		}
	}
	if got, want := listThreads(t, s, checkpoint.ThreadQuery{}), []string{"done", "there"}; !slices.Equal(got, want) {
		t.Errorf("threads: got %q, want %q", got, want)
	}
	if got, want := listThreads(t, s, checkpoint.ThreadQuery{Status: checkpoint.Running}), []string{"there"}; !slices.Equal(got, want) {
		t.Errorf("running threads: got %q, want %q", got, want)
	}
	// A thread that a run may still open stays. Later it goes.
	if all, live := indexed(t, client, prefix); len(all) != 4 || len(live) != 4 {
		t.Errorf("the index has %q, not done %q; want 4 and 4", all, live)
	}
	for _, id := range []string{"never", "done", "removed", "there"} {
		stamp := client.HGet(ctx, prefix+"{index}:stamps", id).Val()
		client.HSet(ctx, prefix+"{index}:stamps", id, stamp[:16]+"1000000000")
	}
	listThreads(t, s, checkpoint.ThreadQuery{Status: checkpoint.Running})
	all, live := indexed(t, client, prefix)
	if !slices.Equal(all, []string{"done", "there"}) || !slices.Equal(live, []string{"there"}) {
		t.Errorf("then the index has %q, not done %q; want done there, and there", all, live)
	}
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

func TestHistorySaysWhenItWasPrunedMeanwhile(t *testing.T) {
	s, ctx := open(t), t.Context()
	r := begin(t, s, "a")
	for range 600 {
		r.commit()
	}
	r.end(checkpoint.Done)
	seen := 0
	var failed error
	for _, err := range s.History(ctx, checkpoint.Ref{Thread: "a"}, checkpoint.Query{}) {
		if err != nil {
			failed = err
			break
		}
		if seen++; seen == 1 {
			if _, err := s.Prune(ctx, "a", checkpoint.Retention{Last: 5}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !errors.Is(failed, checkpoint.ErrConflict) || seen >= 601 {
		t.Errorf("after %d records: got %v, want an error that is ErrConflict", seen, failed)
	}
	if got := logLength(t, s, "a"); got != 5 {
		t.Errorf("read again: %d records, want 5", got)
	}
}

func logLength(t *testing.T, s checkpoint.Saver, thread string) (n int) {
	t.Helper()
	for _, err := range s.History(context.Background(), checkpoint.Ref{Thread: thread}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
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
