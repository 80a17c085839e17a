package etcd_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/graphgen-go/graphgen/examples/etcd"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/rows/rowstest"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// start starts a server in this process, and returns a client of it.
func start(t *testing.T, set func(*embed.Config)) *clientv3.Client {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a server")
	}
	c := embed.NewConfig()
	c.Dir, c.LogLevel, c.UnsafeNoFsync = t.TempDir(), "error", true
	at := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	c.ListenClientUrls, c.AdvertiseClientUrls, c.ListenPeerUrls, c.AdvertisePeerUrls = at, at, at, at
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	set(c)
	server, err := embed.StartEtcd(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	<-server.Server.ReadyNotify()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Clients[0].Addr().String()}, MaxCallSendMsgSize: int(c.MaxRequestBytes)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// raised sets the limits that the page about backends tells.
func raised(c *embed.Config) { c.MaxTxnOps, c.MaxRequestBytes = 100_000, 64<<20 }

// places numbers the tests that share a server.
type places struct {
	client *clientv3.Client
	last   atomic.Int64
}

func (p *places) open(testing.TB) rows.Store {
	return etcd.New(p.client, fmt.Sprint(p.last.Add(1), "/"))
}

func TestStore(t *testing.T) {
	p := places{client: start(t, raised)}
	rowstest.Run(t, p.open)
}

// With the default size of a request, larger values are refused and nothing else.
func TestStoreWithDefaultSizes(t *testing.T) {
	p := places{client: start(t, func(c *embed.Config) { c.MaxTxnOps = 100_000 })}
	rowstest.Run(t, p.open, rowstest.MaxValue(embed.DefaultMaxRequestBytes-4096))
}

func TestSaver(t *testing.T) {
	p := places{client: start(t, raised)}
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		store := p.open(tb)
		prefix := fmt.Sprint(p.last.Load(), "/")
		return savertest.Storage{
			Shared: true,
			Open:   func() (checkpoint.Saver, error) { return rows.New("etcd", store, rows.Options{}), nil },
			Damage: func(string) error {
				return p.change(prefix, rows.Writes, func([]byte) []byte { return []byte{0x7f} })
			},
			Alter: func(tb testing.TB, stored, altered []byte) (n int) {
				tb.Helper()
				for _, table := range []rows.Table{rows.Records, rows.Writes} {
					if err := p.change(prefix, table, func(value []byte) []byte {
						n += bytes.Count(value, stored)
						return bytes.ReplaceAll(value, stored, altered)
					}); err != nil {
						tb.Fatal(err)
					}
				}
				return n
			},
		}
	})
}

// ofSaver is a store that closes its saver.
type ofSaver struct {
	store.Backend
	saver *rows.Saver
}

func (s ofSaver) Close() error { return s.saver.Close() }

func TestStoreOfItems(t *testing.T) {
	p := places{client: start(t, raised)}
	storetest.Run(t, func(tb testing.TB) storetest.Storage {
		tb.Helper()
		rowStore := p.open(tb)
		return storetest.Storage{Shared: true, Open: func() (store.Backend, error) {
			saver := rows.New("etcd", rowStore, rows.Options{})
			return ofSaver{saver.Store(), saver}, nil
		}}
	})
}

// change changes the values of a table without its Store.
func (p *places) change(prefix string, t rows.Table, value func([]byte) []byte) error {
	ctx := context.Background()
	found, err := p.client.Get(ctx, prefix+string(rune('a'+t)), clientv3.WithPrefix())
	if err != nil {
		return err
	}
	for _, kv := range found.Kvs {
		if _, err := p.client.Put(ctx, string(kv.Key), string(value(kv.Value))); err != nil {
			return err
		}
	}
	return nil
}
