package redis_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// commandCount counts the commands that a client sends. Each is one round trip.
type commandCount struct{ n atomic.Int64 }

func (c *commandCount) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (c *commandCount) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *commandCount) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmds)
	}
}

// On a cluster, each write that changes the index also notes that, and places the thread.
func TestRoundTrips(t *testing.T) {
	type trips struct{ opening, commit, end, load, post, ready int64 }
	count := func(t *testing.T, client goredis.UniversalClient, prefix string, want trips) {
		t.Helper()
		s, ctx, c := openOn(t, client, redis.Prefix(prefix)), t.Context(), new(commandCount)
		made := func(f func()) int64 {
			before := c.n.Load()
			f()
			return c.n.Load() - before
		}
		life := func(thread string) (got trips) {
			var r *run
			got.post = made(func() { post(t, s, thread+" posted", "g", message(checkpoint.InputMessage, "i")) })
			got.opening = made(func() { r = beginIn(t, s, thread) })
			got.commit = made(r.commit)
			got.end = made(func() { r.end(checkpoint.Waiting) })
			got.load = made(func() {
				if _, err := s.Load(ctx, checkpoint.Ref{Thread: thread}); err != nil {
					t.Fatal(err)
				}
			})
			got.ready = made(func() {
				found, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1, Reserve: time.Hour})
				if err != nil || len(found.Threads) != 1 {
					t.Fatalf("got %+v ready, %v; want one thread", found, err)
				}
			})
			return got
		}
		life("warm") // sends the scripts, and connects
		switch client := client.(type) {
		case *goredis.Client:
			client.AddHook(c)
		case *goredis.ClusterClient:
			client.AddHook(c)
		}
		if got := life("t"); got != want {
			t.Errorf("got %+v round trips, want %+v", got, want)
		}
	}
	t.Run("server", func(t *testing.T) {
		addr, prefix := testenv.Redis(t)
		count(t, goredis.NewClient(&goredis.Options{Addr: addr}), prefix, trips{opening: 1, commit: 1, end: 1, load: 1, post: 2, ready: 3})
	})
	t.Run("cluster", func(t *testing.T) {
		addrs, prefix := testenv.RedisCluster(t)
		client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
		count(t, client, prefix, trips{opening: 3, commit: 1, end: 3, load: 1, post: 4, ready: 5})
	})
}
