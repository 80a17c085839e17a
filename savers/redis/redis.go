// Package redis implements a saver on a Redis server. Processes on several hosts can share its
// threads. The server is a single one, one with replicas behind sentinels, or a cluster. The
// package is tested with Redis 7. Other servers with the same protocol and scripts should work.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"}) // github.com/redis/go-redis/v9
//	saver, err := graphgenredis.New(client)
//
// # Keys
//
// A thread with all its versions is one hash, prefix{hash of the id}. Each call is one script on
// one key, so it is atomic and never crosses slots. A thread expires, or is evicted, as a whole.
// A commit is one round trip. Its cost depends on the stored record, and not on the length of the
// thread.
//
// After a run, old records move into packs: fields of up to 64 KB with many records each. A pack
// never changes. A load is one round trip, or two for some old checkpoints.
//
// More keys, prefix{index}:..., list the threads, and when they are due. They are a hint. A thread
// is added before a run opens it or somebody posts to it, and checked when it is listed. A listing
// removes stale entries. One key has the creation times, for the order NewestFirst. A thread that
// a call can create is noted as unplaced before the call. A later call of the saver that made it,
// or a listing, stores its creation time. On a single server, the entry is added in the round trip
// of the opening or post; on a cluster, it takes one more. [Saver.Ready] adds the due threads that
// are missing, if the server has lost the keys, and once an hour.
//
// Messages to a thread are fields of its hash. So a write and the messages that it takes are one
// step.
//
// The keys of the store, prefix{prefix store}:..., are described in lua/store.lua.
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
// A write can be sent twice and still happens once: records have ids, and other calls have a
// token. The saver therefore retries a write a few times if the reply was lost. Writes of the
// store have none, so they fail with store.ErrUnavailable instead; repeat them with store.Once.
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
	"github.com/graphgen-go/graphgen/savers/internal/connecting"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// Saver keeps threads on a Redis server. Use New to make one. All methods are safe for concurrent
// use, also with Savers of other processes with the same prefix.
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
	over   []listed         // done threads, to remove from the index of unfinished ones

	turns      ledger.Turns
	priorities map[string]checkpoint.Priority // of threads that Ready returned, see notePriority

	unhealed   map[string]bool // graphs whose wakes were not repaired, see repair
	repairedTo string          // where in the index that repair continues
}

var _ checkpoint.Saver = (*Saver)(nil)

// Option is an option of New.
type Option func(*Saver)

// Prefix sets the prefix of every key. The default is "graphgen:". Savers with different prefixes
// share nothing. The prefix must not contain braces, because braces select the part of a key that
// decides its slot.
func Prefix(prefix string) Option { return func(s *Saver) { s.prefix = prefix } }

// TTL makes a thread expire d after its newest run ended as Done, or after its release. The
// precision is a millisecond. A thread with an unfinished open version never expires. A thread
// expires with all its versions. The default is 0: threads stay until they are deleted.
func TTL(d time.Duration) Option {
	return func(s *Saver) {
		s.ttl = ""
		if d > 0 {
			s.ttl = fmt.Sprint(max(d.Milliseconds(), 1))
		}
	}
}

// AllowUnsafeSettings makes New accept a server that may lose acknowledged writes. New calls
// report with a *SettingsError that lists the weak settings; report may be nil.
func AllowUnsafeSettings(report func(error)) Option {
	return func(s *Saver) { s.weaker, s.report = true, report }
}

// CloseClient makes Close also close the client. By default the caller closes it.
func CloseClient() Option { return func(s *Saver) { s.owned = true } }

// New returns a saver on the server of client, which must be a *redis.Client or a
// *redis.ClusterClient. It reads the settings of the server. It returns a *SettingsError if the
// server may lose acknowledged writes, or if the settings cannot be read, unless
// AllowUnsafeSettings is given. Other errors are those of the connection. New waits at most 30
// seconds.
//
// Reads go to masters only, because a replica may be behind. The client's own retries are
// harmless.
func New(client goredis.UniversalClient, options ...Option) (*Saver, error) {
	s := &Saver{client: client, prefix: "graphgen:", leases: make(map[string]lease), unhealed: make(map[string]bool), priorities: make(map[string]checkpoint.Priority), script: newScripts(), packing: pack.Default}
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
		// A Ring, for one, moves keys to another shard while theirs is down: a thread would be
		// there twice.
		return nil, fmt.Errorf("redis: a client of type %T; want *redis.Client, for one server or sentinels, or *redis.ClusterClient", client)
	}
	if strings.ContainsAny(s.prefix, "{}") {
		return nil, fmt.Errorf("redis: the prefix %q has braces; choose one without", s.prefix)
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
	if weak != nil && !s.weaker {
		return nil, weak
	}
	if weak != nil && s.report != nil {
		s.report(weak)
	}
	return s, nil
}

// Close waits for current calls and for packing, and ends the leases of this saver's runs. It
// closes the client only with [CloseClient].
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
		_, err := s.run(ctx, s.script.index, s.indexKeys(), indexArgs("", checkpoint.ID{}, "", false, s.over)...)
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

// open returns an error if a call must not begin or continue.
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

// prompt reports whether a call that the caller's goroutine makes ends soon after ctx does. The
// client does not look at ctx while it waits for an answer; what ends that is its own timeout.
func (s *Saver) prompt(ctx context.Context) bool {
	if ctx.Done() == nil {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && (s.exact || s.readTimeout > 0 && time.Until(deadline) >= s.readTimeout)
}

// do calls f until its outcome is known. It returns when ctx ends, although the client may still
// wait for an answer. It may return slightly later if that saves a goroutine, which would cost
// more than the rest of this function.
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
		err = s.apart(ctx, f)
	}
	if isReplica(err) {
		err = fmt.Errorf("%w: connect to the master, or through sentinels", err)
	}
	if err != nil && transient(err) {
		return fmt.Errorf("redis: %s: %w: %w", what, checkpoint.ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("redis: %s: %w", what, err)
	}
	return nil
}

// apart calls f in a goroutine of its own and returns when ctx ends.
func (s *Saver) apart(ctx context.Context, f func(context.Context) error) error {
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

// again calls f, and calls it again when the server could not be reached or could not answer for
// now. Calling f twice must be harmless.
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
	if errors.Is(err, checkpoint.ErrTooLarge) {
		return false
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || connecting.Hopeless(err) {
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
