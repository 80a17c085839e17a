package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// index is a look into the index of a saver.
type index struct {
	t      *testing.T
	client goredis.UniversalClient
	prefix string
}

// members returns how many places the index has, without the mark that it is whole.
func (x *index) members() int {
	x.t.Helper()
	n, err := x.client.ZCard(x.t.Context(), redis.Places(x.prefix)[0]).Result()
	if err != nil {
		x.t.Fatal(err)
	}
	return int(n) - 1
}

// rest returns how many threads have notes, and places of their own.
func (x *index) rest() (notes, placed int64) {
	x.t.Helper()
	keys := redis.Places(x.prefix)
	placed, err1 := x.client.HLen(x.t.Context(), keys[1]).Result()
	notes, err2 := x.client.ZCard(x.t.Context(), keys[2]).Result()
	if x.client.ZScore(x.t.Context(), keys[2], "c").Err() == nil { // says when the index is compared with the threads
		notes--
	}
	if err := errors.Join(err1, err2); err != nil {
		x.t.Fatal(err)
	}
	return notes, placed
}

// age makes all notes so much older.
func (x *index) age(by time.Duration) {
	x.t.Helper()
	key := redis.Places(x.prefix)[2]
	all, err := x.client.ZRangeWithScores(x.t.Context(), key, 0, -1).Result()
	if err != nil {
		x.t.Fatal(err)
	}
	for _, z := range all {
		z.Score -= float64(by.Microseconds())
		if err := x.client.ZAdd(x.t.Context(), key, z).Err(); err != nil {
			x.t.Fatal(err)
		}
	}
}

// onEach runs a test on one server, and on a cluster.
func onEach(t *testing.T, test func(t *testing.T, x *index, open func() *redis.Saver)) {
	t.Helper()
	t.Run("server", func(t *testing.T) {
		addr, prefix := testenv.Redis(t)
		client := goredis.NewClient(&goredis.Options{Addr: addr})
		defer client.Close()
		test(t, &index{t, client, prefix}, func() *redis.Saver {
			return openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix))
		})
	})
	t.Run("cluster", func(t *testing.T) {
		addrs, prefix := testenv.RedisCluster(t)
		client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
		defer client.Close()
		test(t, &index{t, client, prefix}, func() *redis.Saver {
			return openOn(t, goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs}), redis.Prefix(prefix))
		})
	})
}

// A thread leaves nothing when it is deleted, also in the index.
func TestADeletedThreadLeavesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, x *index, open func() *redis.Saver) {
		t.Helper()
		s := open()
		r := begin(t, s, "a")
		r.commit()
		r.end(checkpoint.Waiting)
		post(t, s, "b", "g", message(checkpoint.InputMessage, "i"))
		if n := x.members(); n < 4 {
			t.Fatalf("the index has %d places, want the ids of two threads and more", n)
		}
		for _, id := range []string{"a", "b"} {
			if err := s.Delete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		notes, placed := x.rest()
		if n := x.members(); n+int(notes)+int(placed) > 0 {
			t.Errorf("left are %d places of the index, %d notes and %d threads", n, notes, placed)
		}
		for _, key := range []string{redis.Key(x.prefix, "a"), redis.Key(x.prefix, "b")} {
			if n, err := x.client.Exists(t.Context(), key).Result(); n != 0 || err != nil {
				t.Errorf("the key %q is left, %v", key, err)
			}
		}
	})
}

// A thread is in the places of its newest label and graph alone.
func TestTheIndexForgetsWhatIsOver(t *testing.T) {
	onEach(t, func(t *testing.T, x *index, open func() *redis.Saver) {
		t.Helper()
		s, head, before := open(), checkpoint.ID{}, 0
		for i, user := range []string{"ada", "bob", "ada", "bob"} {
			a := opening(t, "moved", head)
			a.Records[0].Graph, a.Open.Labels, a.End = "g"+user, map[string]string{"user": user}, true
			if _, err := s.Append(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			head = a.Records[0].ID
			if n := x.members(); i > 0 && n != before {
				t.Errorf("run %d: the index has %d places, want %d as before", i+1, n, before)
			}
			before = x.members()
		}
		for user, want := range map[string][]string{"ada": nil, "bob": {"moved"}} {
			q := checkpoint.ThreadQuery{Labels: map[string]string{"user": user}, Graph: "g" + user}
			if got := listThreads(t, s, q); !slices.Equal(got, want) {
				t.Errorf("of %s: got %q, want %q", user, got, want)
			}
		}
	})
}

// A server can lose the index, and have the threads.
func TestALostIndexIsMadeAgain(t *testing.T) {
	onEach(t, func(t *testing.T, x *index, open func() *redis.Saver) {
		t.Helper()
		s := open()
		var want []string
		for i := range 50 {
			id := fmt.Sprintf("t%02d %%}{", i)
			want = append(want, id)
			post(t, s, id, "g", message(checkpoint.InputMessage, "i"))
		}
		begin(t, s, "runs").end(checkpoint.Waiting)
		before := x.members()
		for _, key := range redis.Places(x.prefix) {
			if err := x.client.Del(t.Context(), key).Err(); err != nil {
				t.Fatal(err)
			}
		}
		post(t, s, "t00 %}{", "g", message(checkpoint.InputMessage, "while it is lost"))
		got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 100})
		if err != nil || len(got.Threads) != 50 {
			t.Errorf("got %d threads ready, %v, want 50", len(got.Threads), err)
		}
		if got := listThreads(t, s, checkpoint.ThreadQuery{}); !slices.Equal(got, append([]string{"runs"}, want...)) {
			t.Errorf("got the threads %q", got)
		}
		if n := x.members(); n != before {
			t.Errorf("the index has %d places, want %d", n, before)
		}
	})
}

// errCrash is the error of a command that a process does not live to send.
var errCrash = errors.New("the process is gone")

// crash makes a client send left more commands, and no others.
type crash struct{ left int }

func (c *crash) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (c *crash) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if c.left--; c.left < 0 {
			cmd.SetErr(errCrash)
			return errCrash
		}
		return next(ctx, cmd)
	}
}

func (c *crash) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// A process dies after each of the scripts of a write on a cluster. A call that reads the index a
// second later finds what the thread is now. A minute later, nothing is left of the write.
func TestACrashLeavesTheIndexWrongForASecond(t *testing.T) {
	addrs, prefix := testenv.RedisCluster(t)
	other := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
	x := &index{t, other, prefix}
	s := openOn(t, other, redis.Prefix(prefix))
	for name, c := range map[string]struct {
		prepare func(id string) *run
		write   func(s *redis.Saver, id string, r *run) error
		ready   string // whether the thread is ready after the write
	}{
		"a post to a new thread": {func(string) *run { return nil }, func(s *redis.Saver, id string, _ *run) error {
			_, err := s.Post(t.Context(), checkpoint.Post{Thread: id, Graph: "g", Messages: []checkpoint.Message{message(checkpoint.InputMessage, "i")}})
			return err
		}, "yes"},
		"a deletion": {func(id string) *run {
			post(t, s, id, "g", message(checkpoint.InputMessage, "i"))
			return nil
		}, func(s *redis.Saver, id string, _ *run) error { return s.Delete(t.Context(), id) }, "no"},
		"an end that is due": {func(id string) *run { return beginIn(t, s, id) }, func(s *redis.Saver, _ string, r *run) error {
			_, err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: r.thread, Fence: r.fence, End: true, Status: checkpoint.Waiting, Wake: time.Unix(1, 0)})
			return err
		}, "yes"},
	} {
		for left := range 6 {
			id := fmt.Sprint(name, " ", left)
			r := c.prepare(id)
			client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
			victim, err := redis.New(client, redis.Prefix(prefix), redis.AllowUnsafeSettings(nil))
			if err != nil {
				t.Fatal(err)
			}
			before := ready(t, s, id)
			client.AddHook(&crash{left: left})
			err = c.write(victim, id, r)
			stored := left >= 6 || changed(t, other, prefix, id, name)
			x.age(2 * time.Second)
			after := ready(t, s, id)
			want := before
			if stored {
				want = c.ready
			}
			if after != want {
				t.Errorf("%s, a crash after %d commands (%v), stored %t: ready: %s, before %s; want %s", name, left, err, stored, after, before, want)
			}
			x.age(2 * time.Minute)
			ready(t, s, id)
			if notes, _ := x.rest(); notes != 0 {
				t.Errorf("%s, a crash after %d commands: %d notes are left", name, left, notes)
			}
			_ = client.Close()
		}
	}
}

// beginIn begins a run in graph g.
func beginIn(t *testing.T, s checkpoint.Saver, thread string) *run {
	t.Helper()
	a := inGraph(t, thread, checkpoint.ID{})
	if _, err := s.Append(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	return &run{tb: t, saver: s, thread: thread, fence: a.Records[0].ID, head: a.Records[0].ID}
}

// ready returns whether a thread is ready.
func ready(t *testing.T, s checkpoint.Saver, id string) string {
	t.Helper()
	got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(got.Threads, func(r checkpoint.ReadyThread) bool { return r.ID == id }) {
		return "yes"
	}
	return "no"
}

// changed reports whether the write of TestACrash has changed the thread.
func changed(t *testing.T, client goredis.UniversalClient, prefix, id, what string) bool {
	t.Helper()
	n, err := client.Exists(t.Context(), redis.Key(prefix, id)).Result()
	if err != nil {
		t.Fatal(err)
	}
	switch what {
	case "a deletion":
		return n == 0
	case "a post to a new thread":
		return n == 1
	}
	s := openOn(t, client, redis.Prefix(prefix))
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: id})
	if err != nil {
		t.Fatal(err)
	}
	return chain.Thread.Status == checkpoint.Waiting
}

// A thread that has expired leaves the index, and one with its id is another thread.
func TestTheIndexForgetsExpiredThreads(t *testing.T) {
	for _, again := range []bool{false, true} {
		onEach(t, func(t *testing.T, x *index, _ func() *redis.Saver) {
			t.Helper()
			s, err := redis.New(x.client, redis.Prefix(x.prefix), redis.AllowUnsafeSettings(nil), redis.TTL(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				a := inGraph(t, fmt.Sprint("t", i), checkpoint.ID{})
				a.Open.Labels, a.End, a.Status = map[string]string{"user": "ada"}, true, checkpoint.Done
				if _, err := s.Append(t.Context(), a); err != nil {
					t.Fatal(err)
				}
				if err := x.client.Del(t.Context(), redis.Key(x.prefix, a.Thread)).Err(); err != nil { // as when it expires
					t.Fatal(err)
				}
			}
			want := 0
			if again {
				a := inGraph(t, "t0", checkpoint.ID{})
				a.Open.Labels, a.End, a.Status = map[string]string{"user": "bob"}, true, checkpoint.Done
				if _, err := s.Append(t.Context(), a); err != nil {
					t.Fatal(err)
				}
				want = x.members() / 3
			}
			if got := len(listThreads(t, s, checkpoint.ThreadQuery{Graph: "g"})); again != (got == 1) {
				t.Errorf("%d threads are listed", got)
			}
			x.age(time.Hour + 2*time.Second)
			if got := listThreads(t, s, checkpoint.ThreadQuery{Labels: map[string]string{"user": "ada"}}); len(got) != 0 {
				t.Errorf("expired threads are listed: %q", got)
			}
			if n := x.members(); n != want {
				t.Errorf("the index has %d places, want %d", n, want)
			}
		})
	}
}

// Keys of another release are refused.
func TestDataOfAnotherFormatIsRefused(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer client.Close()
	for name, c := range map[string]struct {
		store func(prefix string) error
		found string
	}{
		"before rows": {func(prefix string) error {
			return client.ZAdd(t.Context(), prefix+"{index}:all", goredis.Z{Member: "t"}).Err()
		}, "8"},
		"later": {func(prefix string) error { return client.Set(t.Context(), prefix+"{%}format", "77", 0).Err() }, "77"},
	} {
		own := prefix + name
		if err := c.store(own); err != nil {
			t.Fatal(err)
		}
		_, err := redis.New(client, redis.Prefix(own), redis.AllowUnsafeSettings(nil))
		if err == nil || !strings.Contains(err.Error(), "have format "+c.found) || !strings.Contains(err.Error(), "reads format 9") {
			t.Errorf("%s: got %v, want an error with both formats", name, err)
		}
	}
}

// Two processes post to the same threads at the same time. Each message is stored once, and
// nobody hears that it was known.
func TestPostsThatMeet(t *testing.T) {
	onEach(t, func(t *testing.T, _ *index, open func() *redis.Saver) {
		t.Helper()
		const threads, rounds = 12, 10
		var all sync.WaitGroup
		for p := range 3 {
			s := open()
			all.Go(func() {
				for round := range rounds {
					var posts []checkpoint.Post
					for i := range threads {
						id := fmt.Sprint(p, " ", round)
						posts = append(posts, checkpoint.Post{Thread: fmt.Sprint("t", i), Graph: "g", Messages: []checkpoint.Message{message(checkpoint.SignalMessage, id)}})
					}
					done, err := s.Post(t.Context(), posts...)
					if err != nil {
						t.Error(err)
						return
					}
					for i := range done {
						if done[i].Err != nil || done[i].Messages[0].Known {
							t.Errorf("post %d of round %d to t%d: got %+v", p, round, i, done[i])
						}
					}
				}
			})
		}
		all.Wait()
		s := open()
		for i := range threads {
			seen := make(map[string]bool)
			for _, m := range mail(t, s, checkpoint.MailQuery{Thread: fmt.Sprint("t", i)}) {
				seen[m.ID] = true
			}
			if got := mail(t, s, checkpoint.MailQuery{Thread: fmt.Sprint("t", i)}); len(seen) != 3*rounds || len(got) != 3*rounds {
				t.Errorf("t%d has %d messages with %d ids, want %d", i, len(got), len(seen), 3*rounds)
			}
		}
	})
}

// A failover to a replica that is behind loses the newest places in the index of a cluster, and
// not the threads. An hour later, a call finds them again.
func TestTheIndexOfAClusterIsComparedWithItsThreads(t *testing.T) {
	addrs, prefix := testenv.RedisCluster(t)
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
	x, s, ctx := &index{t, client, prefix}, openOn(t, client, redis.Prefix(prefix)), t.Context()
	for i := range 300 {
		beginIn(t, s, fmt.Sprintf("t%03d", i)).end(checkpoint.Waiting)
	}
	old := make(map[string]string)
	for _, key := range redis.Places(prefix) {
		old[key] = client.Dump(ctx, key).Val()
	}
	post(t, s, "t299", "g", message(checkpoint.SignalMessage, "s"))
	for key, value := range old {
		if err := client.RestoreReplace(ctx, key, 0, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if got := due(t, s, 0); got != "" {
		t.Fatalf("got %q ready after the failover, want none; the test would prove nothing", got)
	}
	x.age(time.Hour + 2*time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for due(t, s, 0) != "t299" {
		<-tick.C
	}
}
