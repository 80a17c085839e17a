package redis_test

import (
	"slices"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// TestAReplicaIsRead reads all there is on a replica, whose index has a thread that a listing
// would take out of it.
func TestAReplicaIsRead(t *testing.T) {
	servers := testenv.StartRedisSentinel(t)
	primary := goredis.NewClient(&goredis.Options{Addr: servers.Primary.Addr})
	defer primary.Close()
	s, err := redis.New(primary)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // only then it would take the thread out itself
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Append(t.Context(), checkpoint.Append{
		Thread: "t", Open: &checkpoint.Opening{Labels: map[string]string{"user": "ada"}}, End: true, Status: checkpoint.Done,
		Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Graph: "g", Snapshot: true, Payload: []byte{0x80}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := primary.Do(t.Context(), "WAIT", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(&goredis.Options{Addr: servers.Replica.Addr})
	defer client.Close()
	replica, err := redis.New(client)
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]checkpoint.ThreadQuery{
		"by id": {}, "by status": {Status: checkpoint.Done}, "by another status": {Status: checkpoint.Waiting}, "by graph": {Graph: "g"},
		"by another label": {Labels: map[string]string{"user": "bob"}}, "newest first": {Order: checkpoint.NewestFirst}, "released": {Released: true},
	} {
		found := 0
		for _, err := range replica.Threads(t.Context(), q) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			found++
		}
		want := 1
		if q.Status == checkpoint.Waiting || q.Labels != nil {
			want = 0
		}
		if found != want {
			t.Errorf("%s: %d threads, want %d", name, found, want)
		}
	}
	if chain, err := replica.Load(t.Context(), checkpoint.Ref{Thread: "t"}); err != nil || chain.Last.ID != id {
		t.Errorf("load: got %v, %v, want %v", chain.Last.ID, err, id)
	}
}

// TestHostileSettings runs a part of the suite on a server with other settings. They change how it
// keeps and frees keys, which events it announces, and how long it keeps idle connections.
func TestHostileSettings(t *testing.T) {
	server := testenv.StartRedis(t, false)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr})
	defer client.Close()
	for name, value := range map[string]string{
		"hash-max-listpack-entries": "0", "zset-max-listpack-entries": "0", "zset-max-listpack-value": "0", "lazyfree-lazy-user-del": "yes",
		"lazyfree-lazy-server-del": "yes", "notify-keyspace-events": "KEA", "busy-reply-threshold": "1", "timeout": "1", "activerehashing": "no",
	} {
		if err := client.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	names := []string{"a record comes back as it was stored", "hostile names", "random calls match the memory saver", "prune keeps what loads"}
	ran := 0
	for _, c := range savertest.Cases() {
		if !slices.Contains(names, c.Name) {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			c.Test(t, savertest.Storage{Shared: true, Open: func() (checkpoint.Saver, error) {
				own := goredis.NewClient(&goredis.Options{Addr: server.Addr})
				return redis.New(own, redis.Prefix(c.Name), redis.AllowUnsafeSettings(nil), redis.CloseClient())
			}})
		})
	}
	if ran != len(names) {
		t.Errorf("%d cases ran, want %q", ran, names)
	}
}
