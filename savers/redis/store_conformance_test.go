package redis_test

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// ofSaver is a store that closes its saver.
type ofSaver struct {
	notifying
	saver *redis.Saver
}

type notifying interface {
	store.Backend
	store.Notifier
}

func (s ofSaver) Close() error { return s.saver.Close() }

// openStore opens a store, and with it the saver that it closes.
func openStore(client goredis.UniversalClient, prefix string) (store.Backend, error) {
	saver, err := redis.New(client, redis.Prefix(prefix), redis.AllowUnsafeSettings(nil), redis.CloseClient())
	if err != nil {
		return nil, err
	}
	return ofSaver{saver.Store().(notifying), saver}, nil
}

func TestStoreConformance(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Storage {
		tb.Helper()
		addr, prefix := testenv.Redis(tb)
		return storetest.Storage{Shared: true, Notifies: true, Open: func() (store.Backend, error) {
			return openStore(goredis.NewClient(&goredis.Options{Addr: addr, ReadTimeout: time.Minute}), prefix)
		}}
	})
}

func TestStoreConformanceWithVectorSets(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Storage {
		tb.Helper()
		addr, prefix := testenv.RedisVectorSets(tb)
		return storetest.Storage{Shared: true, Notifies: true, Open: func() (store.Backend, error) {
			return openStore(goredis.NewClient(&goredis.Options{Addr: addr}), prefix)
		}}
	})
}

func TestStoreConformanceOnACluster(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Storage {
		tb.Helper()
		addrs, prefix := testenv.RedisCluster(tb)
		return storetest.Storage{Shared: true, Notifies: true, Open: func() (store.Backend, error) {
			return openStore(goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs, ReadTimeout: time.Minute}), prefix)
		}}
	})
}
