package redis_test

import (
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/redis"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

func TestConformance(t *testing.T) { conform(t, nil) }

// TestConformancePacked packs every record but the head as soon as it is stored.
func TestConformancePacked(t *testing.T) {
	conform(t, []savertest.Option{sqltest.Packed()}, atOnce)
}

var atOnce = redis.Packing(pack.Policy{Every: 2, Keep: 1, AtOnce: true})

func conform(t *testing.T, suite []savertest.Option, options ...redis.Option) {
	t.Helper()
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		addr, prefix := testenv.Redis(tb)
		damage := func(thread string) error {
			client := goredis.NewClient(&goredis.Options{Addr: addr})
			defer client.Close()
			return client.Set(tb.Context(), redis.Key(prefix, thread), "text", 0).Err()
		}
		return savertest.Storage{Shared: true, Damage: damage, Open: func() (checkpoint.Saver, error) {
			client := goredis.NewClient(&goredis.Options{Addr: addr})
			return redis.New(client, append(options, redis.Prefix(prefix), redis.AllowUnsafeSettings(nil), redis.CloseClient())...)
		}, Alter: func(tb testing.TB, stored, altered []byte) int {
			tb.Helper()
			return alterRows(tb, goredis.NewClient(&goredis.Options{Addr: addr}), prefix, stored, altered)
		}}
	}, suite...)
}

// alterRows replaces bytes in the rows of all threads whose keys have a prefix. It closes the
// client.
func alterRows(tb testing.TB, client *goredis.Client, prefix string, stored, altered []byte) (places int) {
	tb.Helper()
	defer client.Close()
	keys, err := client.Keys(tb.Context(), prefix+"{*}").Result()
	if err != nil {
		tb.Fatal(err)
	}
	more, err := client.Keys(tb.Context(), prefix+"{*}:rows").Result() // of items
	if err != nil {
		tb.Fatal(err)
	}
	for _, key := range append(keys, more...) {
		members, err := client.ZRange(tb.Context(), key, 0, -1).Result()
		if err != nil {
			tb.Fatal(err)
		}
		for _, m := range members {
			if n := strings.Count(m, string(stored)); n > 0 {
				places += n
				client.ZRem(tb.Context(), key, m)
				if err := client.ZAdd(tb.Context(), key, goredis.Z{Member: strings.ReplaceAll(m, string(stored), string(altered))}).Err(); err != nil {
					tb.Fatal(err)
				}
			}
		}
	}
	return places
}

// TestConformanceOnACluster packs too, so that one site proves both.
func TestConformanceOnACluster(t *testing.T) {
	oneSlot := savertest.Without("all keys of a thread are in one slot, so the scripts on them do the same as on one node; "+
		"only indexes, names and calls of many threads differ, and the random calls run each script",
		savertest.History, savertest.Writes, savertest.Outcomes, savertest.Schemas, savertest.Leases)
	conformOnACluster(t, oneSlot, atOnce)
}

func conformOnACluster(t *testing.T, suite savertest.Option, options ...redis.Option) {
	t.Helper()
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		addrs, prefix := testenv.RedisCluster(tb)
		return savertest.Storage{Shared: true, Open: func() (checkpoint.Saver, error) {
			client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
			return redis.New(client, append(options, redis.Prefix(prefix), redis.AllowUnsafeSettings(nil), redis.CloseClient())...)
		}}
	}, suite)
}

// open opens a saver with a prefix of its own on the server that tests share.
func open(tb testing.TB, options ...redis.Option) *redis.Saver {
	tb.Helper()
	addr, prefix := testenv.Redis(tb)
	return openOn(tb, goredis.NewClient(&goredis.Options{Addr: addr}), append(options, redis.Prefix(prefix))...)
}

// openOn opens a saver on a server that need not be durable, and closes it and the client with
// the test.
func openOn(tb testing.TB, client goredis.UniversalClient, options ...redis.Option) *redis.Saver {
	tb.Helper()
	s, err := redis.New(client, append(options, redis.AllowUnsafeSettings(nil), redis.CloseClient())...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
