// Package redis implements a saver on a Redis server. Processes on several hosts can share its
// threads. The server is a single one, one with replicas behind sentinels, or a cluster. It is a
// [rows.Store] on Redis 7 or a server with the same commands and scripts, such as Valkey.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"}) // github.com/redis/go-redis/v9
//	saver, err := graphgenredis.New(client)
//
// # Keys
//
// All rows of a thread are one sorted set, prefix{id}, in which all scores are 0. A member is a
// row: its table, its key and its value. So the rows are in the order of their keys, and a range
// of rows is a range of members. In the name of the key, %25 stands for % and %7D for }. A thread
// expires, or is evicted, as a whole.
//
// The sorted set prefix{%}rows is the index. It has the ids of all threads, and the rows by which
// lists and Ready find threads. If the server has lost it, the next call that reads it makes it
// again, from all keys of the server.
//
// Each write is one script. On a single server a write changes the index, too, in the same script.
// On a cluster a thread and the index are on different nodes. There a write that changes the index
// is three scripts. It notes in the index that it is about to change the thread, changes the
// thread, and places the thread in the index. If it ends in between, a later call that reads the
// index finds the note, and places the thread as its row says. Once an hour, a call compares
// the index with all threads.
//
// The sorted set prefix{%}notes has these notes, and when threads expire. The hash
// prefix{%}placed has the places in the index of the threads that expire, and on a cluster of all
// threads. The string prefix{%}format is the format of the keys.
//
// The rows of the store are one sorted set, prefix{prefix items}:rows. So a batch is atomic, and
// one node of a cluster serves the whole store. The hash prefix{prefix items}:rows:sets says which
// vector indexes have a vector set: its key is that of the hash, a colon, and the index. Changes
// are published on the channel prefix{prefix items}:rows:changes.
//
// # Durability
//
// The settings of the server decide what survives. New reads them. It refuses a server that may
// lose acknowledged checkpoints, unless [AllowUnsafeSettings] is given. With appendonly yes,
// appendfsync always and maxmemory-policy noeviction, a killed server or a power cut loses no
// acknowledged checkpoint. Replicas are asynchronous: a failover may lose the newest commits. A
// run that continues after such a failover is refused by its fence, and fails.
//
// A call ends with its context. The client's ReadTimeout, 3 seconds by default, can be shorter
// than the remaining time of the context. Then a cancelled call ends after that timeout at the
// latest.
//
// A write can be sent twice and still happens once: it leaves a revision that no other write
// leaves. The saver therefore retries a write a few times if the reply was lost.
package redis

import (
	"context"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// Saver keeps threads on a Redis server. Use New to make one. All methods are safe for concurrent
// use, also with Savers of other processes with the same prefix.
type Saver struct {
	*rows.Saver
}

var _ checkpoint.Saver = (*Saver)(nil)

// Option is an option of New.
type Option func(*settings)

// settings are what the options of New set.
type settings struct {
	prefix  string
	ttl     time.Duration
	weaker  bool
	report  func(error)
	owned   bool
	packing pack.Policy
}

// Prefix sets the prefix of every key. The default is "graphgen:". Savers with different prefixes
// share nothing. The prefix must not contain braces, because braces select the part of a key that
// decides its slot.
func Prefix(prefix string) Option { return func(s *settings) { s.prefix = prefix } }

// TTL makes a thread expire d after its newest run ended as Done, or after its release. The
// precision is a millisecond. A thread with an unfinished open version, messages or a wake never
// expires. A thread expires with all its versions. The default is 0: threads stay until they are
// deleted.
func TTL(d time.Duration) Option {
	return func(s *settings) {
		s.ttl = 0
		if d > 0 {
			s.ttl = max(d, time.Millisecond)
		}
	}
}

// AllowUnsafeSettings makes New accept a server that may lose acknowledged writes. New calls
// report with a *SettingsError that lists the weak settings; report may be nil.
func AllowUnsafeSettings(report func(error)) Option {
	return func(s *settings) { s.weaker, s.report = true, report }
}

// CloseClient makes Close also close the client. By default the caller closes it.
func CloseClient() Option { return func(s *settings) { s.owned = true } }

// New returns a saver on the server of client, which must be a *redis.Client or a
// *redis.ClusterClient. It reads the settings of the server. It returns a *SettingsError if the
// server may lose acknowledged writes, or if the settings cannot be read, unless
// AllowUnsafeSettings is given. It refuses keys of another release. Other errors are those of the
// connection. New waits at most 30 seconds.
//
// Reads go to masters only, because a replica may be behind. The client's own retries are
// harmless.
func New(client goredis.UniversalClient, options ...Option) (*Saver, error) {
	o := settings{prefix: "graphgen:"}
	for _, option := range options {
		option(&o)
	}
	s := &server{client: client, owned: o.owned}
	switch c := client.(type) {
	case *goredis.Client:
		s.readTimeout, s.exact = c.Options().ReadTimeout, c.Options().ContextTimeoutEnabled
	case *goredis.ClusterClient:
		s.readTimeout, s.exact = c.Options().ReadTimeout, c.Options().ContextTimeoutEnabled
	default:
		// A Ring, for one, moves keys to another shard while theirs is down: a thread would be
		// there twice.
		return nil, fmt.Errorf("redis: a client of type %T; want *redis.Client, for one server or sentinels, or *redis.ClusterClient", client)
	}
	if strings.ContainsAny(o.prefix, "{}") {
		return nil, fmt.Errorf("redis: the prefix %q has braces; choose one without", o.prefix)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := tryTLS(ctx, client); err != nil {
		return nil, err
	}
	weak, err := checkSettings(ctx, client)
	if err != nil {
		return nil, guessTLS(client, err)
	}
	if weak != nil && !o.weaker {
		return nil, weak
	}
	if weak != nil && o.report != nil {
		o.report(weak)
	}
	t := newRowStore(s, o.prefix, o.ttl)
	t.packing = o.packing
	if err := t.open(ctx); err != nil {
		return nil, fmt.Errorf("redis: open: %w", err)
	}
	return &Saver{rows.New("redis", t, rows.Options{})}, nil
}
