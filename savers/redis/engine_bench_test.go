package redis_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// BenchmarkEngine has a server that syncs every write to disk.
func BenchmarkEngine(b *testing.B) {
	client := goredis.NewClient(&goredis.Options{Addr: testenv.StartRedis(b, true).Addr})
	s, err := redis.New(client, redis.AllowUnsafeSettings(nil), redis.CloseClient())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	enginetest.Benchmark(b, enginetest.Place{Open: func(testing.TB) worker.Engine { return redis.NewEngine(client, "graphgen:") }}, s)
}
