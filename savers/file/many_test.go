package file_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// crowd is many workers on one folder, each with its own saver, as if each were a separate
// process.
type crowd struct {
	t      *testing.T
	mu     sync.Mutex
	follow map[string]checkpoint.ID // what was appended after a record of a thread
	count  map[string]int
}

// said counts a call by its outcome. It fails the test for an error that no other worker can
// cause.
func (c *crowd) said(what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.count[what]++
	case errors.Is(err, checkpoint.ErrConflict), errors.Is(err, checkpoint.ErrNotFound):
		c.count[what+", refused"]++
	default:
		c.t.Errorf("%s: %v", what, err)
	}
}

// appended notes that id was appended after a record: no other record may follow the same one.
func (c *crowd) appended(thread string, after, id checkpoint.ID) {
	if after.IsZero() {
		return // each version has a first record
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := thread + after.String()
	if other, found := c.follow[key]; found {
		c.t.Errorf("thread %s: both %s and %s were appended after %s", thread, other, id, after)
	}
	c.follow[key] = id
}

// work does random things to three threads.
func (c *crowd) work(ctx context.Context, s checkpoint.Saver, rng *rand.Rand, rounds int) {
	for range rounds {
		thread := fmt.Sprint("thread ", rng.IntN(3))
		switch n := rng.IntN(20); {
		case n < 10:
			c.run(ctx, s, thread, rng)
		case n < 11:
			_, err := s.Release(ctx, thread, checkpoint.ID{})
			c.said("release", err)
		case n < 12:
			c.said("delete", s.Delete(ctx, thread))
		case n < 13:
			_, err := s.Prune(ctx, thread, checkpoint.Retention{Last: 3, Released: 2})
			c.said("prune", err)
		case n < 14:
			c.said("copy", checkpoint.Copy(ctx, s, thread, 0, s, fmt.Sprint("copy ", rng.IntN(3))))
		case n < 15:
			c.said("delete a copy", s.Delete(ctx, fmt.Sprint("copy ", rng.IntN(3))))
		case n < 16:
			_, err := s.Versions(ctx, thread)
			c.said("versions", err)
		case n < 18:
			for _, err := range s.Threads(ctx, checkpoint.ThreadQuery{}) {
				c.said("threads", err)
			}
		default:
			for r, err := range s.History(ctx, checkpoint.Ref{Thread: thread}, checkpoint.Query{}) {
				if c.said("history", err); err == nil && string(r.Payload) != r.ID.String() {
					c.t.Errorf("record %s has payload %q", r.ID, r.Payload)
				}
			}
		}
	}
}

// run runs a few steps on a thread. It sometimes takes the thread over, and sometimes releases at
// the end.
func (c *crowd) run(ctx context.Context, s checkpoint.Saver, thread string, rng *rand.Rand) {
	a, err := startOf(s, thread, "a worker")
	if err != nil {
		c.said("load", err)
		return
	}
	a.Open.TakeOver = rng.IntN(4) == 0
	_, err = s.Append(ctx, a)
	c.said("open", err)
	if err != nil {
		return
	}
	fence := a.Records[0].ID
	c.appended(thread, a.After, fence)
	for i := range 3 {
		_, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: thread, Fence: fence, Writes: result(a.Records[0].ID, fmt.Sprint(i))})
		if c.said("put", err); err != nil {
			return
		}
		id, err := checkpoint.NewID()
		if err != nil {
			c.t.Error(err)
			return
		}
		last := a.Records[0].ID
		a = checkpoint.Append{Thread: thread, Fence: fence, After: last, End: i == 2, Release: i == 2 && rng.IntN(6) == 0}
		a.Records = []checkpoint.Record{{
			ID: id, Parent: last, Base: id, Line: fence, Commits: last, Source: checkpoint.Loop, Snapshot: true,
			Payload: []byte(id.String()),
		}}
		_, err = s.Append(ctx, a)
		if c.said("append", err); err != nil {
			return
		}
		c.appended(thread, last, id)
	}
}

func TestManySaversOnOneFolder(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 120
	}
	dir := t.TempDir()
	ctx := t.Context()
	c := &crowd{t: t, follow: make(map[string]checkpoint.ID), count: make(map[string]int)}
	var workers sync.WaitGroup
	for i := range 3 {
		s, err := file.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		file.Small(s, 2000)
		for j := range 2 {
			workers.Go(func() { c.work(ctx, s, rand.New(rand.NewPCG(uint64(i), uint64(j))), rounds) })
		}
	}
	workers.Wait()
	t.Log(c.count)
	s := open(t, dir)
	for thread, err := range s.Threads(ctx, checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		versions, err := s.Versions(ctx, thread.ID)
		if err != nil || len(versions) != thread.Versions || versions[len(versions)-1].Number != thread.Version {
			t.Errorf("%s: got versions %+v, %v; want %d, the last of them %d", thread.ID, versions, err, thread.Versions, thread.Version)
		}
		for i, v := range versions {
			if i > 0 && v.Number != versions[i-1].Number+1 {
				t.Errorf("%s: version %d follows %d", thread.ID, v.Number, versions[i-1].Number)
			}
			for _, err := range s.Export(ctx, thread.ID, v.Number) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, what := range []string{"open", "append", "put", "release", "delete", "prune", "copy", "threads", "history"} {
		if c.count[what] == 0 {
			t.Errorf("no %s ever succeeded: the test says nothing of it", what)
		}
	}
}

// A release moves two files. A reader in between sees the thread as before or as after.
func TestAReleaseIsSeenWhole(t *testing.T) {
	dir := t.TempDir()
	writer := open(t, dir)
	ctx, done := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 3 {
		s := open(t, dir)
		readers.Go(func() {
			for seen := 0; ctx.Err() == nil; {
				all, err := s.Versions(context.WithoutCancel(ctx), "t")
				if err != nil || len(all) < seen {
					t.Errorf("versions: got %d, %v, after %d", len(all), err, seen)
					return
				}
				if seen = len(all); seen == 0 {
					continue
				}
				if _, err := s.Load(context.WithoutCancel(ctx), checkpoint.Ref{Thread: "t", Version: seen}); err != nil {
					t.Errorf("load version %d: %v", seen, err)
					return
				}
			}
		})
	}
	for range 100 {
		a := opening(t, "t", checkpoint.ID{})
		a.End, a.Release = true, true
		mustAppend(t, writer, a)
	}
	done()
	readers.Wait()
}
