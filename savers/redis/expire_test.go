package redis_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// keysOf returns the keys with a prefix but those of the index.
func keysOf(t *testing.T, client *goredis.Client, prefix string) []string {
	t.Helper()
	keys, err := client.Keys(context.Background(), prefix+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, prefix+"{%}") })
}

func TestAThreadExpiresWholeAndOnlyWhenItIsDone(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	const ttl = time.Hour
	s, ctx := openOn(t, client, redis.Prefix(prefix), redis.TTL(ttl)), t.Context()
	expires := func(what string, least, most time.Duration) {
		t.Helper()
		keys := keysOf(t, client, prefix)
		if len(keys) != 1 {
			t.Fatalf("%s: the thread is %d keys, want 1: %q", what, len(keys), keys)
		}
		if got := client.PTTL(ctx, keys[0]).Val(); got < least || got > most {
			t.Errorf("%s: it expires in %v, want %v to %v", what, got, least, most)
		}
	}
	const never = time.Duration(-1)
	r := begin(t, s, "a")
	expires("running", never, never)
	r.commit()
	w := checkpoint.Write{Base: r.head, Task: "t", Kind: checkpoint.Question, Payload: []byte("?")}
	if _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "a", Fence: r.fence, Writes: []checkpoint.Write{w}, End: true, Status: checkpoint.Waiting}); err != nil {
		t.Fatal(err)
	}
	expires("waiting", never, never)
	for _, status := range []checkpoint.Status{checkpoint.Paused, checkpoint.Failed} {
		r.end(status)
		expires(status.String(), never, never)
	}
	r.end(checkpoint.Done)
	expires("done", ttl-time.Minute, ttl)

	again := opening(t, "a", r.head)
	if _, err := s.Append(ctx, again); err != nil {
		t.Fatal(err)
	}
	expires("running again", never, never)
	second := &run{tb: t, saver: s, thread: "a", fence: again.Records[0].ID, head: again.Records[0].ID}
	if _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "a", Fence: second.fence, Lease: time.Hour, Status: checkpoint.Done}); err != nil {
		t.Fatal(err)
	}
	expires("done, with the lease not given up", never, never)
	second.end(checkpoint.Waiting)
	expires("waiting again", never, never)
	if _, err := s.Release(ctx, "a", checkpoint.ID{}); err != nil {
		t.Fatal(err)
	}
	expires("released", ttl-time.Minute, ttl)
	third := begin(t, s, "a")
	expires("running next to a released version", never, never)
	third.end(checkpoint.Done)
	expires("done next to a released version", ttl-time.Minute, ttl)
	if err := checkpoint.Copy(ctx, s, "a", 1, s, "b"); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	expires("copied while waiting", never, never)

	// A saver without TTL that runs the thread again keeps it.
	plain := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix))
	if err := s.Delete(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	r = begin(t, s, "c")
	r.end(checkpoint.Done)
	expires("done", ttl-time.Minute, ttl)
	again = opening(t, "c", r.head)
	if _, err := plain.Append(ctx, again); err != nil {
		t.Fatal(err)
	}
	expires("run by a saver without TTL", never, never)
}

func TestAnExpiredThreadIsGone(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	s, ctx := openOn(t, client, redis.Prefix(prefix), redis.TTL(time.Millisecond)), t.Context()
	r := begin(t, s, "a")
	r.commit()
	r.end(checkpoint.Done)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for versions := []checkpoint.Version{{}}; len(versions) > 0; <-tick.C {
		var err error
		if versions, err = s.Versions(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	for thread, err := range s.Threads(ctx, checkpoint.ThreadQuery{}) {
		t.Errorf("an expired thread is listed: %+v, %v", thread, err)
	}
	// A run of the expired thread gets an error, and a new one starts with nothing.
	if _, err := s.Append(ctx, r.next()); err == nil {
		t.Error("an append to an expired thread succeeded")
	}
	begin(t, s, "a")
	if got := len(logIDs(t, s, "a")); got != 1 {
		t.Errorf("the new thread has %d records, want 1", got)
	}
}
