package redis_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// servers are a server that syncs every write, and one that keeps nothing.
func servers(b *testing.B, f func(b *testing.B, client *goredis.Client, prefix string)) {
	b.Helper()
	b.Run("appendfsync=always", func(b *testing.B) {
		f(b, goredis.NewClient(&goredis.Options{Addr: testenv.StartRedis(b, true).Addr}), "")
	})
	b.Run("appendonly=no", func(b *testing.B) {
		addr, prefix := testenv.Redis(b)
		f(b, goredis.NewClient(&goredis.Options{Addr: addr}), prefix)
	})
}

// BenchmarkAppend commits step n of a thread, each with 200 bytes; bare is the driver writing as
// many bytes as a field of a hash.
func BenchmarkAppend(b *testing.B) {
	servers(b, func(b *testing.B, client *goredis.Client, prefix string) {
		b.Helper()
		s := openOn(b, client, redis.Prefix(prefix))
		payload := change(string(make([]byte, 190)))
		for _, n := range []int{10, 100, 1000, 10000} {
			b.Run(fmt.Sprint("step=", n), func(b *testing.B) {
				r := begin(b, s, fmt.Sprint(b.Name(), b.N))
				for range n {
					r.commit()
				}
				for b.Loop() {
					a := r.next()
					a.Records[0].Payload = payload
					if _, err := s.Append(context.Background(), a); err != nil {
						b.Fatal(err)
					}
					r.head = a.Records[0].ID
				}
			})
		}
		b.Run("bare", func(b *testing.B) {
			value, n := make([]byte, 260), 0
			for b.Loop() {
				n++
				if err := client.HSet(context.Background(), prefix+"bare", n, value).Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// BenchmarkAppendBesideBare alternates an append of 200 bytes with a bare write of 200 bytes by
// the driver. It reports the ratio of their medians.
func BenchmarkAppendBesideBare(b *testing.B) {
	servers(b, func(b *testing.B, client *goredis.Client, prefix string) {
		b.Helper()
		s := openOn(b, client, redis.Prefix(prefix))
		ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
		defer cancel()
		r, payload := begin(b, s, fmt.Sprint("beside", b.N)), change(string(make([]byte, 190)))
		value := make([]byte, 260)
		var appends, bare []time.Duration
		for b.Loop() {
			a := r.next()
			a.Records[0].Payload = payload
			start := time.Now()
			if _, err := s.Append(ctx, a); err != nil {
				b.Fatal(err)
			}
			between := time.Now()
			if err := client.HSet(ctx, prefix+"bare", len(bare), value).Err(); err != nil {
				b.Fatal(err)
			}
			appends, bare = append(appends, between.Sub(start)), append(bare, time.Since(between))
			r.head = a.Records[0].ID
		}
		slices.Sort(appends)
		slices.Sort(bare)
		mid := len(bare) / 2
		b.ReportMetric(float64(appends[mid].Nanoseconds()), "append-ns")
		b.ReportMetric(float64(bare[mid].Nanoseconds()), "bare-ns")
		b.ReportMetric(float64(appends[mid])/float64(bare[mid]), "append/bare")
	})
}

// BenchmarkLoad loads the head of a thread of n deltas of 200 bytes.
func BenchmarkLoad(b *testing.B) {
	addr, prefix := testenv.Redis(b)
	s := openOn(b, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix))
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint("deltas=", n), func(b *testing.B) {
			r := begin(b, s, b.Name())
			for range n {
				a := r.next()
				a.Records[0].Payload = change(string(make([]byte, 190)))
				if _, err := s.Append(context.Background(), a); err != nil {
					b.Fatal(err)
				}
				r.head = a.Records[0].ID
			}
			for b.Loop() {
				if _, err := s.Load(context.Background(), checkpoint.Ref{Thread: r.thread}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkThreads lists 100,000 threads; 100 of them wait.
func BenchmarkThreads(b *testing.B) {
	const count, waiting = 100_000, 100
	addr, prefix := testenv.Redis(b)
	s := openOn(b, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix))
	for i := range count {
		r, status := begin(b, s, fmt.Sprintf("thread %06d", i)), checkpoint.Done
		if i%(count/waiting) == 0 {
			status = checkpoint.Waiting
		}
		r.end(status)
	}
	for name, q := range map[string]checkpoint.ThreadQuery{
		"all": {}, "waiting": {Status: checkpoint.Waiting}, "page=100": {After: "thread 050000", Limit: 100},
	} {
		b.Run(name, func(b *testing.B) {
			want := map[string]int{"all": count, "waiting": waiting, "page=100": 100}[name]
			for b.Loop() {
				n := 0
				for _, err := range s.Threads(context.Background(), q) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != want {
					b.Fatalf("got %d threads, want %d", n, want)
				}
			}
		})
	}
}

// BenchmarkStored reports what a thread of 1,000 deltas of 200 bytes takes in the server's memory.
func BenchmarkStored(b *testing.B) {
	addr, prefix := testenv.Redis(b)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	s := openOn(b, client, redis.Prefix(prefix))
	for b.Loop() {
		r, size := begin(b, s, fmt.Sprint("thread", b.N)), 0
		for range 1000 {
			a := r.next()
			a.Records[0].Payload = change(string(make([]byte, 190)))
			size += len(a.Records[0].Payload)
			if _, err := s.Append(context.Background(), a); err != nil {
				b.Fatal(err)
			}
			r.head = a.Records[0].ID
		}
		key, err := client.Keys(context.Background(), prefix+"{[^%]*").Result()
		if err != nil || len(key) == 0 {
			b.Fatal(key, err)
		}
		used, err := client.MemoryUsage(context.Background(), key[0], 0).Result()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(used)/float64(size), "stored/payload")
		if err := s.Delete(context.Background(), r.thread); err == nil {
			b.Fatal("a thread that is held was deleted")
		}
		r.end(checkpoint.Done)
		if err := s.Delete(context.Background(), r.thread); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoadTurns loads the head of a conversation of 1,000 turns, 3,000 records, with and
// without packs.
func BenchmarkLoadTurns(b *testing.B) {
	addr, prefix := testenv.Redis(b)
	for name, policy := range map[string]pack.Policy{"packs": pack.Default, "records": {Every: 1 << 20}} {
		b.Run(name, func(b *testing.B) {
			option := redis.Packing(policy)
			s := openOn(b, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix+name), option)
			var head checkpoint.ID
			if chain, err := s.Load(context.Background(), checkpoint.Ref{Thread: packtest.Thread}); err != nil || chain.Empty() {
				for n := range 1000 {
					if head, err = packtest.Turn(context.Background(), n, head, s); err != nil {
						b.Fatal(err)
					}
				}
				if name == "packs" {
					if err := s.Pack(context.Background(), packtest.Thread); err != nil {
						b.Fatal(err)
					}
				}
			}
			least := time.Hour
			for b.Loop() {
				begun := time.Now()
				if _, err := s.Load(context.Background(), checkpoint.Ref{Thread: packtest.Thread}); err != nil {
					b.Fatal(err)
				}
				least = min(least, time.Since(begun))
			}
			b.ReportMetric(float64(least.Nanoseconds()), "least-ns")
		})
	}
}
