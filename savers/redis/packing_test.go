package redis_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/redis"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// asked packs a log when the test asks for it, all but the newest four records.
var asked = redis.Packing(pack.Policy{Every: 1 << 20, Keep: 4})

// server is a server that tests share, with a prefix of its own for keys.
type server struct {
	addr, prefix string
	client       *goredis.Client
}

func shared(t *testing.T) *server {
	t.Helper()
	addr, prefix := testenv.Redis(t)
	s := &server{addr, prefix, goredis.NewClient(&goredis.Options{Addr: addr})}
	t.Cleanup(func() { _ = s.client.Close() })
	return s
}

func (s *server) open(t *testing.T, options ...redis.Option) *redis.Saver {
	t.Helper()
	return openOn(t, goredis.NewClient(&goredis.Options{Addr: s.addr}), append(options, redis.Prefix(s.prefix))...)
}

func (s *server) key() string { return redis.Key(s.prefix, packtest.Thread) }

// stored counts the records of the thread that are not in packs, the packs, and the bytes of all
// rows.
func (s *server) stored(t *testing.T) (records, packs, size int) {
	t.Helper()
	members, err := s.client.ZRange(t.Context(), s.key(), 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		size += len(m)
		if rows.Table(m[0]) != rows.Records {
			continue
		}
		_, value := redis.ParseMember(t, m)
		if value[0] == 1 {
			records++
		} else {
			packs++
		}
	}
	return records, packs, size
}

// turns runs turns of the thread on savers, and on a memory saver that is returned.
func turns(t *testing.T, n int, savers ...checkpoint.Saver) (*memory.Saver, checkpoint.ID) {
	t.Helper()
	want, head := memory.New(), checkpoint.ID{}
	for i := range n {
		var err error
		if head, err = packtest.Turn(t.Context(), i, head, append(savers, want)...); err != nil {
			t.Fatal(err)
		}
	}
	return want, head
}

func packNow(t *testing.T, s *redis.Saver) {
	t.Helper()
	if err := s.Pack(t.Context(), packtest.Thread); err != nil {
		t.Fatal(err)
	}
}

// TestTurnsArePacked has a conversation of 1,000 turns, which is 3,000 records.
func TestTurnsArePacked(t *testing.T) {
	const count = 1000
	on := shared(t)
	s, err := redis.New(goredis.NewClient(&goredis.Options{Addr: on.addr}), redis.Prefix(on.prefix), redis.AllowUnsafeSettings(nil), redis.CloseClient())
	if err != nil {
		t.Fatal(err)
	}
	want, head := turns(t, count, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	records, packs, size := on.stored(t)
	memory, err := on.client.MemoryUsage(t.Context(), on.key(), 0).Result()
	if err != nil {
		t.Fatal(err)
	}
	messages := float64(count * packtest.MessageSize)
	fields, held := float64(size)/messages, float64(memory)/messages
	t.Logf("fields of %.2f times the messages, MEMORY USAGE %.2f times; %d records and %d packs", fields, held, records, packs)
	if fields > 1.9 || held > 2 {
		t.Errorf("fields of %.2f times the messages, MEMORY USAGE %.2f times; want at most 1.9 and 2", fields, held)
	}
	if records >= 200 || packs == 0 || packs > 40 {
		t.Errorf("got %d records and %d packs; want fewer than 200 records, and a pack for each hundred", records, packs)
	}

	proxy := testenv.NewProxy(t, on.addr)
	cold := openOn(t, goredis.NewClient(&goredis.Options{Addr: proxy.Addr}), redis.Prefix(on.prefix))
	for range 2 { // the first brings the script
		trips := proxy.RoundTrips()
		chain, err := cold.Load(t.Context(), checkpoint.Ref{Thread: packtest.Thread})
		if err != nil || chain.Last.ID != head || chain.Chained != 3*count-1 || len(chain.Deltas) > records+packs {
			t.Fatalf("got %s after %d records in %d deltas, %v; want %s after %d in at most %d",
				chain.Last.ID, chain.Chained, len(chain.Deltas), err, head, 3*count-1, records+packs)
		}
		if trips = proxy.RoundTrips() - trips; trips > 3 {
			t.Errorf("load: %d round trips, want at most 3", trips)
		}
	}
	for r, err := range want.History(t.Context(), checkpoint.Ref{Thread: packtest.Thread}, checkpoint.Query{Limit: 400}) {
		if err != nil {
			t.Fatal(err)
		}
		trips := proxy.RoundTrips()
		chain, err := cold.Load(t.Context(), checkpoint.Ref{Thread: packtest.Thread, At: r.ID})
		if trips = proxy.RoundTrips() - trips; err != nil || chain.Last.ID != r.ID || trips > 3 {
			t.Fatalf("load of record %d: got %s in %d round trips, %v; want %s in at most 3", r.Seq, chain.Last.ID, trips, err, r.ID)
		}
	}
	packtest.Same(t, cold, want)
}

// TestPackingIsWholeOrNotAtAll cuts the connection at each part of the call that packs, and does
// not let it be repeated.
func TestPackingIsWholeOrNotAtAll(t *testing.T) {
	on := shared(t)
	proxy := testenv.NewProxy(t, on.addr)
	first := on.open(t, asked) // brings the scripts
	turns(t, 20, first)
	packNow(t, first)
	if err := first.Delete(t.Context(), packtest.Thread); err != nil {
		t.Fatal(err)
	}
	var before, after int
	for cut := range 25 {
		client := goredis.NewClient(&goredis.Options{Addr: proxy.Addr, MaxRetries: -1})
		s := openOn(t, client, redis.Prefix(on.prefix), asked)
		want, _ := turns(t, 20, s)
		client.AddHook(&between{left: 5, once: true, do: func() { // the thread and its logs, the thread and a log, the change
			if cut%3 == 0 {
				proxy.CutReply(0)
			} else {
				proxy.CutRequest(cut * 300)
			}
		}})
		cuts := proxy.Cuts()
		err := s.Pack(t.Context(), packtest.Thread)
		proxy.Disarm()
		if err == nil || proxy.Cuts() == cuts {
			t.Fatalf("cut %d: got %v and %d cuts, want an error by a cut", cut, err, proxy.Cuts()-cuts)
		}
		records, packs, _ := on.stored(t)
		switch {
		case records == 60 && packs == 0:
			before++
		case records == 4 && packs == 1:
			after++
		default:
			t.Fatalf("cut %d: got %d records and %d packs, want 60, or 4 and a pack", cut, records, packs)
		}
		packtest.Same(t, on.open(t), want)
		if err := s.Delete(t.Context(), packtest.Thread); err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("%d times nothing was packed, %d times all", before, after); before == 0 || after == 0 {
		t.Error("want both")
	}
}

// between calls do before the client sends its left-th command. If once, the commands after that
// one fail.
type between struct {
	left int
	once bool
	do   func()
}

func (b *between) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *between) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		b.left--
		if b.left == 0 {
			b.do()
		}
		if b.left < 0 && b.once {
			b.once = false
			return context.Canceled
		}
		return next(ctx, cmd)
	}
}

func (b *between) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error { return next(ctx, cmds) }
}

// TestPackersRunsAndReaders packs while a thread gets turns and is read, with two savers.
func TestPackersRunsAndReaders(t *testing.T) {
	const count = 60
	on := shared(t)
	fast := redis.Packing(pack.Policy{Every: 20, Keep: 3})
	savers := []*redis.Saver{on.open(t, fast), on.open(t, fast)}
	want, head := memory.New(), checkpoint.ID{}
	var done atomic.Int64 // turns
	var over atomic.Bool
	var all sync.WaitGroup
	until := func(call func() error) {
		all.Go(func() {
			for !over.Load() {
				if err := call(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for _, s := range savers {
		until(func() error { return s.Pack(t.Context(), packtest.Thread) })
		until(func() error { return packtest.WholeHistory(t.Context(), s, done.Load()) })
		until(func() error { return packtest.WholeState(t.Context(), s, done.Load()) })
	}
	for n := range count {
		var err error
		if head, err = packtest.Turn(t.Context(), n, head, savers[n%2], want); err != nil {
			t.Error(err)
			break
		}
		done.Store(int64(n + 1))
	}
	over.Store(true)
	all.Wait()
	packtest.Same(t, savers[1], want)
	if _, packs, _ := on.stored(t); packs == 0 {
		t.Error("nothing was packed")
	}
}

func TestRecordsArePackedAgain(t *testing.T) {
	on := shared(t)
	packtest.PacksAgain(t, func(tb testing.TB) checkpoint.Saver {
		tb.Helper()
		s, err := redis.New(goredis.NewClient(&goredis.Options{Addr: on.addr}), redis.Prefix(on.prefix), redis.AllowUnsafeSettings(nil), redis.CloseClient())
		if err != nil {
			tb.Fatal(err)
		}
		return s
	})
}
