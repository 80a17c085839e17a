// Package redis is the saver for threads that many processes share on a Redis server: one server, one with replicas
// behind sentinels, or a cluster. It is tested with Redis 7; what speaks its protocol and runs its scripts will do.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"}) // github.com/redis/go-redis/v9
//	saver, err := graphgenredis.New(client)
//
// # What is kept where
//
// A thread is one hash, prefix{hash of the id}, with all its versions. So every call is one script on one key: it
// happens whole or not at all, never crosses slots, and a thread expires or is evicted whole. A commit is one round
// trip, and costs what it stores, however long the thread is.
//
// After a run, old records move into packs: fields of up to 64 KB with many records each. A pack is the log in another
// form, and never changes. A load is one round trip, whatever it reads, or two for some old checkpoints.
//
// Three more keys, prefix{index}:..., list the threads. They are a hint: a thread is put there before a run opens it,
// checked when it is listed, and what is found to be stale is taken out. On one server that goes in the same round
// trip as the opening; on a cluster it is one more.
//
// # What is kept safe
//
// Redis keeps what it was told to keep. New asks the server, and refuses one that may lose acknowledged checkpoints,
// unless [AcceptWeaker] says that this is known. With appendonly yes, appendfsync always and maxmemory-policy
// noeviction nothing acknowledged is lost by a kill or a power cut of the server. Replicas are asynchronous all the
// same: a failover may lose the newest commits; a run that goes on after one notices by its fence, and fails.
//
// A call ends with its context. When the client's ReadTimeout, 3 seconds unless set, is shorter than what is left of the
// context's time, a call that is cancelled ends by that timeout at the latest.
//
// Every write may be sent twice: records are known by their ids, and other calls by a token. So a write whose answer
// got lost is tried again, a few times, and happens once.
package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// Saver keeps threads on a Redis server. It is made by New. All methods may be called at the same time, also by
// Savers of other processes with the same prefix.
type Saver struct {
	client goredis.UniversalClient
	owned  bool
	prefix string
	ttl    string // milliseconds, or "" for none
	weaker bool
	report func(error)
	script scripts

	packing pack.Policy
	packer  *pack.Queue[job]

	readTimeout time.Duration // the client's; 0 for none
	exact       bool          // the client ends a call when its context's deadline has come

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	leases map[string]lease // by thread, of this saver's runs
	over   []listed         // threads that are done, to be taken from the index of those that are not
}

var _ checkpoint.Saver = (*Saver)(nil)

// Option is an option of New.
type Option func(*Saver)

// Prefix sets what every key begins with; "graphgen:" unless set. Savers with different prefixes share nothing. It
// must not have braces: they say which part of a key decides its slot.
func Prefix(prefix string) Option { return func(s *Saver) { s.prefix = prefix } }

// TTL makes a thread expire so long after its newest run was done and gave up its lease, or after its release when
// nothing came after. It is to the millisecond. A thread that runs, waits, is paused or has failed never expires, and
// its released versions stay with it: a thread goes whole. Unless set, or with 0, threads stay until they are deleted.
func TTL(d time.Duration) Option {
	return func(s *Saver) {
		s.ttl = ""
		if d > 0 {
			s.ttl = fmt.Sprint(max(d.Milliseconds(), 1))
		}
	}
}

// AcceptWeaker makes New accept a server that may lose what it acknowledged. What is weaker than it should be is
// handed to report as a *SettingsError; report may be nil.
func AcceptWeaker(report func(error)) Option {
	return func(s *Saver) { s.weaker, s.report = true, report }
}

// CloseClient makes Close close the client too. Unless set, the client stays its maker's.
func CloseClient() Option { return func(s *Saver) { s.owned = true } }

// New returns a saver on what client, a *redis.Client or a *redis.ClusterClient, is connected to. It asks the server how it keeps what it acknowledges: unless
// AcceptWeaker is among the options, settings that may lose some are a *SettingsError, as are settings that cannot be
// read. Other errors are those of the connection. A server that does not answer for 30 seconds is an error.
//
// Reads go to masters only, whatever the client's options say: a replica may be behind. The client's own retries do no
// harm.
func New(client goredis.UniversalClient, options ...Option) (*Saver, error) {
	s := &Saver{client: client, prefix: "graphgen:", leases: make(map[string]lease), script: newScripts(), packing: pack.Default}
	for _, o := range options {
		o(s)
	}
	s.packer = pack.NewQueue(s.pack)
	switch c := client.(type) {
	case *goredis.Client:
		s.readTimeout, s.exact = c.Options().ReadTimeout, c.Options().ContextTimeoutEnabled
	case *goredis.ClusterClient:
		s.readTimeout, s.exact = c.Options().ReadTimeout, c.Options().ContextTimeoutEnabled
	default:
		// A Ring, for one, moves keys to another shard while theirs is down: a thread would be there twice.
		return nil, fmt.Errorf("redis: a client of type %T; want *redis.Client, for one server or sentinels, or *redis.ClusterClient", client)
	}
	if strings.ContainsAny(s.prefix, "{}") {
		return nil, fmt.Errorf("redis: the prefix %q has braces; choose one without", s.prefix)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	weak, err := checkSettings(ctx, client)
	if err != nil {
		return nil, err
	}
	if weak != nil && !s.weaker {
		return nil, weak
	}
	if weak != nil && s.report != nil {
		s.report(weak)
	}
	return s, nil
}

// Close waits for calls under way and ends the leases of this saver's runs. It closes the client only with
// [CloseClient].
func (s *Saver) Close() error {
	s.packer.Close(closePatience)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	var failed error
	for thread, l := range s.leases {
		_, err := s.run(ctx, s.script.end, []string{s.key(thread)}, l.fence[:])
		failed = errors.Join(failed, err)
	}
	if len(s.over) > 0 {
		_, err := s.run(ctx, s.script.index, s.indexKeys(), indexArgs("", checkpoint.ID{}, s.over)...)
		failed = errors.Join(failed, err)
	}
	if s.owned {
		failed = errors.Join(failed, s.client.Close())
	}
	if failed != nil {
		return fmt.Errorf("redis: close: %w", failed)
	}
	return nil
}

// open reports whether a call may begin or go on.
func (s *Saver) open(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("redis: %w", checkpoint.ErrClosed)
	}
	return nil
}

// prompt reports whether a call that the caller's goroutine makes ends soon after ctx does. The client does not look at
// ctx while it waits for an answer; what ends that is its own timeout.
func (s *Saver) prompt(ctx context.Context) bool {
	if ctx.Done() == nil {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && (s.exact || s.readTimeout > 0 && time.Until(deadline) >= s.readTimeout)
}

// do calls f until it is known how that went. It returns when ctx ends, although the client may still wait for an
// answer then; or soon after, when that spares a goroutine, which would cost more than all else that is done here.
func (s *Saver) do(ctx context.Context, what string, f func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redis: %s: %w", what, err)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("redis: %s: %w", what, checkpoint.ErrClosed)
	}
	s.calls.Add(1)
	s.mu.Unlock()
	var err error
	if s.prompt(ctx) {
		err = again(ctx, f)
		s.calls.Done()
	} else {
		err = s.beside(ctx, f)
	}
	if err != nil && transient(err) {
		return fmt.Errorf("redis: %s: %w: %w", what, checkpoint.ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("redis: %s: %w", what, err)
	}
	return nil
}

// beside calls f in a goroutine of its own and returns when ctx ends.
func (s *Saver) beside(ctx context.Context, f func(context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		defer s.calls.Done()
		done <- again(ctx, f)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// again calls f, and calls it again when the server could not be reached or could not answer for now. Whatever f does
// may be done twice.
func again(ctx context.Context, f func(context.Context) error) error {
	wait := 10 * time.Millisecond
	for attempt := 1; ; attempt++ {
		err := f(ctx)
		if err == nil || attempt == 5 || !transient(err) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(ctx.Err(), err)
		}
		wait *= 4
	}
}

// transient reports whether err may be gone the next time.
func transient(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	for _, prefix := range []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"} {
		if goredis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}
