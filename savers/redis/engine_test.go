package redis_test

import (
	"errors"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// TestEngine cuts the connections of the engines with a proxy.
func TestEngine(t *testing.T) {
	enginetest.Run(t, func(tb testing.TB) enginetest.Place {
		tb.Helper()
		addr, prefix := testenv.Redis(tb)
		proxy := testenv.NewProxy(tb, addr)
		return enginetest.Place{
			Open: func(tb testing.TB) worker.Engine {
				tb.Helper()
				client := goredis.NewClient(&goredis.Options{Addr: proxy.Addr})
				tb.Cleanup(func() { _ = client.Close() })
				return redis.NewEngine(client, prefix)
			},
			Interrupt: func(testing.TB) { proxy.Cut() },
		}
	})
}

// TestEngineOverRestarts kills the server.
func TestEngineOverRestarts(t *testing.T) {
	for _, c := range enginetest.Cases() {
		if !strings.Contains(c.Name, "interrupt") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			server := testenv.StartRedis(t, false)
			c.Test(t, enginetest.Place{
				Open: func(tb testing.TB) worker.Engine {
					tb.Helper()
					client := goredis.NewClient(&goredis.Options{Addr: server.Addr})
					tb.Cleanup(func() { _ = client.Close() })
					return redis.NewEngine(client, "p:")
				},
				Interrupt: func(tb testing.TB) {
					tb.Helper()
					if err := errors.Join(server.Kill(), server.Restart()); err != nil {
						tb.Error(err)
					}
				},
			})
		})
	}
}

// TestEngineOnACluster ends the subscriptions by the command of an administrator.
func TestEngineOnACluster(t *testing.T) {
	enginetest.Run(t, func(tb testing.TB) enginetest.Place {
		tb.Helper()
		addrs, prefix := testenv.RedisCluster(tb)
		return enginetest.Place{
			Open: func(tb testing.TB) worker.Engine {
				tb.Helper()
				client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
				tb.Cleanup(func() { _ = client.Close() })
				return redis.NewEngine(client, prefix)
			},
			Interrupt: func(tb testing.TB) {
				tb.Helper()
				for _, addr := range addrs {
					client := goredis.NewClient(&goredis.Options{Addr: addr})
					if err := client.Do(tb.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err(); err != nil {
						tb.Error(err)
					}
					if err := client.Close(); err != nil {
						tb.Error(err)
					}
				}
			},
		}
	})
}
