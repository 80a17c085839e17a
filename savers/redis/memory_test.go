package redis_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// used returns the memory that a server uses.
func used(t *testing.T, client *goredis.Client) int {
	t.Helper()
	info, err := client.Info(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(info, "used_memory:")
	n, err := strconv.Atoi(strings.TrimSpace(after[:strings.IndexByte(after, '\r')]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A thread of one step has a label and places in the index. It takes less than 2,400 bytes of the
// server's memory. A record with a payload of 200 bytes takes less than 500.
func TestMemory(t *testing.T) {
	client := goredis.NewClient(&goredis.Options{Addr: testenv.StartRedis(t, false).Addr})
	s := openOn(t, client, redis.Packing(never))
	thread := func(id string) {
		t.Helper()
		a := opening(t, id, checkpoint.ID{})
		a.Records[0].Graph, a.Open.Labels = "orders", map[string]string{"customer": "a" + id[len(id)-1:]}
		if _, err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		r := &run{tb: t, saver: s, thread: id, fence: a.Records[0].ID, head: a.Records[0].ID}
		next := r.next()
		next.Records[0].Payload, next.End, next.Status = change(string(make([]byte, 190))), true, checkpoint.Done
		if _, err := s.Append(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	thread("thread 00000")
	const threads, records = 4000, 4000
	before := used(t, client)
	for i := range threads {
		thread(fmt.Sprintf("thread %05d", i+1))
	}
	perThread := (used(t, client) - before) / threads
	r := begin(t, s, "long")
	before = used(t, client)
	for range records {
		a := r.next()
		a.Records[0].Payload = change(string(make([]byte, 190)))
		if _, err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		r.head = a.Records[0].ID
	}
	perRecord := (used(t, client) - before) / records
	t.Logf("a thread of one step takes %d bytes, a record of 200 bytes %d", perThread, perRecord)
	if perThread >= 2400 || perRecord >= 500 {
		t.Errorf("a thread of one step takes %d bytes, a record of 200 bytes %d; want less than 2400 and 500", perThread, perRecord)
	}
}

// never packs nothing.
var never = pack.Policy{Every: 1 << 30, Keep: 1}
