package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// Every byte of a stored row counts.
func TestDamageIsReported(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer client.Close()
	s, ctx := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix)), t.Context()
	r := begin(t, s, "a")
	for range 2 {
		r.commit()
	}
	r.end(checkpoint.Done)
	key := redis.Key(prefix, "a")
	members, err := client.ZRange(ctx, key, 0, -1).Result()
	if err != nil || len(members) != 4 {
		t.Fatalf("got %d rows, %v; want that of the thread, and 3 records", len(members), err)
	}
	check := func(what string) {
		t.Helper()
		if chain, err := s.Load(ctx, checkpoint.Ref{Thread: "a"}); !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("%s: got %d records, %v, want ErrDamaged", what, chain.Chained+1, err)
		}
	}
	for i, m := range members {
		keyed, _ := redis.ParseMember(t, m)
		change := func(what, other string) {
			t.Helper()
			if err := errors.Join(client.ZRem(ctx, key, m).Err(), client.ZAdd(ctx, key, goredis.Z{Member: other}).Err()); err != nil {
				t.Fatal(err)
			}
			check(fmt.Sprintf("row %d: %s", i, what))
			if err := errors.Join(client.ZRem(ctx, key, other).Err(), client.ZAdd(ctx, key, goredis.Z{Member: m}).Err()); err != nil {
				t.Fatal(err)
			}
		}
		for at := len(keyed) + 8; at < len(m); at++ { // behind the revision of the thread
			b := []byte(m)
			b[at] ^= 0x20
			change(fmt.Sprint("byte ", at, " of the value"), string(b))
		}
		change("half", m[:len(keyed)+(len(m)-len(keyed))/2])
		change("no value", keyed)
	}
	client.Set(ctx, key, "text", 0)
	check("a key that is no sorted set")
	client.Del(ctx, key)
}

// A server without memory refuses a write whole: a script that had removed something before it
// was refused would have lost it.
func TestAServerWithoutMemoryRefusesAWriteWhole(t *testing.T) {
	server := testenv.StartRedis(t, true)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr})
	defer client.Close()
	s, ctx := openOn(t, goredis.NewClient(&goredis.Options{Addr: server.Addr})), t.Context()
	for range 2 { // two released versions, and an open one with a pending write
		r := begin(t, s, "a")
		r.end(checkpoint.Done)
		if _, err := s.Release(ctx, "a", checkpoint.ID{}); err != nil {
			t.Fatal(err)
		}
	}
	r := begin(t, s, "a")
	for range 4 {
		r.commit()
	}
	write := checkpoint.Write{Base: r.head, Task: "t", Kind: checkpoint.Result, Payload: []byte("kept")}
	put := checkpoint.PutWrites{Thread: "a", Fence: r.fence, Writes: []checkpoint.Write{write}, End: true, Status: checkpoint.Waiting}
	if _, err := s.PutWrites(ctx, put); err != nil {
		t.Fatal(err)
	}
	items := exported(t, s, "a")

	memory := func(limit string) {
		t.Helper()
		if err := client.ConfigSet(ctx, "maxmemory", limit).Err(); err != nil {
			t.Fatal(err)
		}
	}
	memory("1")
	next := r.next() // commits the base of the pending write
	for what, f := range map[string]func() error{
		"append":   func() error { _, err := s.Append(ctx, next); return err },
		"open":     func() error { _, err := s.Append(ctx, opening(t, "a", r.head)); return err },
		"put":      func() error { _, err := s.PutWrites(ctx, put); return err },
		"release":  func() error { _, err := s.Release(ctx, "a", checkpoint.ID{}); return err },
		"prune":    func() error { _, err := s.Prune(ctx, "a", checkpoint.Retention{Last: 1, Released: -1}); return err },
		"versions": func() error { _, err := s.Prune(ctx, "a", checkpoint.Retention{Released: -1}); return err },
		"import":   func() error { return checkpoint.Copy(ctx, s, "a", 0, s, "b") },
	} {
		if err := f(); !goredis.HasErrorPrefix(err, "OOM") {
			t.Errorf("%s without memory: got %v, want the server's OOM", what, err)
		}
	}
	memory("0")
	if got := exported(t, s, "a"); got != items {
		t.Errorf("after the refusals: got\n%swant\n%s", got, items)
	}
	if versions, err := s.Versions(ctx, "a"); err != nil || len(versions) != 3 || versions[0].Records != 1 {
		t.Errorf("after the refusals: versions %+v, %v, want 3", versions, err)
	}
	if versions, err := s.Versions(ctx, "b"); err != nil || len(versions) != 0 {
		t.Errorf("the import left versions %+v, %v", versions, err)
	}
	if _, err := s.Append(ctx, next); err != nil {
		t.Errorf("with memory again: %v", err)
	}
}

// exported prints what a thread's open version holds.
func exported(t *testing.T, s checkpoint.Saver, thread string) string {
	t.Helper()
	var b strings.Builder
	for i, err := range s.Export(context.Background(), thread, 0) {
		switch {
		case err != nil:
			t.Fatalf("export %q: %v", thread, err)
		case i.Thread != nil:
			of := *i.Thread
			of.Updated, of.Now, of.Lease = time.Time{}, time.Time{}, time.Time{} // by the server's clock
			fmt.Fprintf(&b, "%+v\n", of)
		case i.Record != nil:
			fmt.Fprintf(&b, "%+v\n", *i.Record)
		default:
			fmt.Fprintf(&b, "%+v\n", *i.Write)
		}
	}
	return b.String()
}
