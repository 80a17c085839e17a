package redis_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

func TestSaverOnOneServer(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		addr, prefix := testenv.Redis(tb)
		return savertest.Storage{Shared: true, Open: func() (checkpoint.Saver, error) {
			client := goredis.NewClient(&goredis.Options{Addr: addr})
			return redis.New(client, redis.Prefix(prefix), redis.AcceptWeaker(nil), redis.CloseClient())
		}}
	})
}

func TestSaverOnACluster(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		addrs, prefix := testenv.RedisCluster(tb)
		return savertest.Storage{Shared: true, Open: func() (checkpoint.Saver, error) {
			client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
			return redis.New(client, redis.Prefix(prefix), redis.AcceptWeaker(nil), redis.CloseClient())
		}}
	})
}
