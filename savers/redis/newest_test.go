package redis_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// commandCount counts the commands that a client sends.
type commandCount struct {
	goredis.Hook
	n atomic.Int64
}

func (c *commandCount) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (c *commandCount) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *commandCount) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		c.n.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// postMany creates threads of a graph, in the order of their names.
func postMany(t *testing.T, s checkpoint.Saver, n int) {
	t.Helper()
	var posts []checkpoint.Post
	for i := range n {
		graph := "many"
		if i%100 == 0 {
			graph = "few"
		}
		posts = append(posts, checkpoint.Post{
			Thread: fmt.Sprintf("t%05d", i), Graph: graph,
			Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}},
		})
	}
	for chunk := range slices.Chunk(posts, 500) {
		done, err := s.Post(t.Context(), chunk...)
		if err != nil || done[0].Err != nil {
			t.Fatal(err, done[0].Err)
		}
	}
}

// TestAPageOfTheNewestReadsItsThreadsOnly counts the commands of pages: one for each thread of the
// page, and few others.
func TestAPageOfTheNewestReadsItsThreadsOnly(t *testing.T) {
	const n = 3000
	addr, prefix := testenv.Redis(t)
	client, counts := goredis.NewClient(&goredis.Options{Addr: addr}), new(commandCount)
	client.AddHook(counts)
	s := openOn(t, client, redis.Prefix(prefix))
	postMany(t, s, n)
	newest := func(q checkpoint.ThreadQuery) (ids []string, last checkpoint.Thread) {
		t.Helper()
		q.Order = checkpoint.NewestFirst
		for thread, err := range s.Threads(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			ids, last = append(ids, thread.ID), thread
		}
		return ids, last
	}
	_, last := newest(checkpoint.ThreadQuery{Limit: n / 2}) // places the threads
	for name, q := range map[string]checkpoint.ThreadQuery{
		"the first page": {Limit: 100}, "a page in the middle": {Limit: 100, After: last.ID, AfterCreated: last.Created},
		"since": {Limit: 100, CreatedSince: last.Created}, "until": {Limit: 100, CreatedUntil: last.Created},
		"a large graph": {Limit: 100, Graph: "many"}, "a small graph": {Limit: 20, Graph: "few"},
		"a prefix": {Limit: 100, Prefix: "t0"}, "a status": {Limit: 100, Status: checkpoint.Ready},
	} {
		before := counts.n.Load()
		ids, _ := newest(q)
		if sent, most := int(counts.n.Load()-before), q.Limit+16; len(ids) != q.Limit || sent > most {
			t.Errorf("%s: %d threads with %d commands, want %d with at most %d", name, len(ids), sent, q.Limit, most)
		}
	}
}

// TestTheTimesOfTheIndexAreAHint lists threads newest first after keys of the index were removed
// or are wrong, and looks which threads have a time then.
func TestTheTimesOfTheIndexAreAHint(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer client.Close()
	s, ctx := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix)), t.Context()
	tag := prefix + "{index}:"
	var times []int64
	for i := range 5 {
		begin(t, s, fmt.Sprint("t", i)).end(checkpoint.Done)
		times = append(times, loaded(t, s, fmt.Sprint("t", i)).Created.UnixMicro())
	}
	want := []string{"t4", "t3", "t2", "t1", "t0"}
	if !slices.IsSorted(times) || len(slices.Compact(slices.Clone(times))) < len(times) {
		t.Fatalf("the threads were created at %v, want ascending times", times)
	}
	for name, change := range map[string]func(){
		"as it is":             func() {},
		"without the times":    func() { client.Del(ctx, tag+"created") },
		"without the unplaced": func() { client.Del(ctx, tag+"unplaced", tag+"created") },
		"without one":          func() { client.ZRem(ctx, tag+"created", "t2") },
		"with an old time that is known to be wrong": func() {
			client.ZAdd(ctx, tag+"created", goredis.Z{Score: 1, Member: "t4"})
			client.ZAdd(ctx, tag+"unplaced", goredis.Z{Member: "t4"})
		},
		"with a thread that is gone": func() {
			client.ZAdd(ctx, tag+"created", goredis.Z{Score: 1, Member: "gone"})
			client.ZAdd(ctx, tag+"all", goredis.Z{Member: "gone"})
			client.HSet(ctx, tag+"stamps", "gone", "0123456789abcdef1000000000")
		},
	} {
		change()
		if got := listThreads(t, s, checkpoint.ThreadQuery{Order: checkpoint.NewestFirst}); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		placed := client.ZRangeWithScores(ctx, tag+"created", 0, -1).Val()
		for i, z := range placed {
			if i < len(times) && int64(z.Score) != times[i] {
				t.Errorf("%s: %v has the time %.0f, want %d", name, z.Member, z.Score, times[i])
			}
		}
		if left := client.ZCard(ctx, tag+"unplaced").Val(); len(placed) != 5 || left != 0 {
			t.Errorf("%s: then %d threads have a time and %d are unplaced, want 5 and none", name, len(placed), left)
		}
	}
	if err := s.Delete(ctx, "t2"); err != nil {
		t.Fatal(err)
	}
	if got := client.ZRange(ctx, tag+"created", 0, -1).Val(); !slices.Equal(got, []string{"t0", "t1", "t3", "t4"}) {
		t.Errorf("after t2 was deleted, %q have a time", got)
	}
}

// TestWritersPlaceTheThreadsThatTheyCreate looks how many threads a listing would have to place.
func TestWritersPlaceTheThreadsThatTheyCreate(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer client.Close()
	s, err := redis.New(goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix), redis.AllowUnsafeSettings(nil), redis.CloseClient())
	if err != nil {
		t.Fatal(err)
	}
	unplaced := func() int64 { return client.ZCard(t.Context(), prefix+"{index}:unplaced").Val() }
	for i := range 20 {
		begin(t, s, fmt.Sprint("t", i)).end(checkpoint.Waiting)
	}
	if n := unplaced(); n != 1 {
		t.Errorf("after 20 runs, %d threads are unplaced; want the newest one", n)
	}
	postMany(t, s, 500)
	begin(t, s, "last")
	if n := unplaced(); n > 1 {
		t.Errorf("after 500 posts and a run, %d threads are unplaced; want the newest one", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := unplaced(); n != 0 {
		t.Errorf("after Close, %d threads are unplaced; want none", n)
	}
}

func loaded(t *testing.T, s checkpoint.Saver, thread string) checkpoint.Thread {
	t.Helper()
	c, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread})
	if err != nil {
		t.Fatal(err)
	}
	return c.Thread
}
