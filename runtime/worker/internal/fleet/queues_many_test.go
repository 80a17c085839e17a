//go:build unix

package fleet_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/open"
)

// cost is what a worker has and does while threads wait.
type cost struct{ calls, looks, goroutines, objects int }

// TestManyThreadsThatWaitForAQueueCostAWorkerNothing compares a worker with few threads that wait
// for a queue that nobody serves with one that has many.
func TestManyThreadsThatWaitForAQueueCostAWorkerNothing(t *testing.T) {
	few, many := 100, 10_000
	if testing.Short() {
		few, many = 10, 2_000
	}
	for _, kind := range kinds("sqlite", "postgres") {
		t.Run(kind, func(t *testing.T) {
			measured := make([]cost, 2)
			for i, n := range []int{few, many} {
				url := "sqlite://" + t.TempDir() + "/a.db"
				if kind == "postgres" {
					url = testenv.Postgres(t)
				}
				measured[i] = idleCost(t, url, n)
				t.Logf("%d threads that wait: %+v", n, measured[i])
			}
			// A timer, a goroutine or an entry of a map for each thread would be at least one
			// object.
			if m := measured; m[1].calls > m[0].calls || m[1].goroutines > m[0].goroutines+5 || m[1].objects > m[0].objects+(many-few)/4 {
				t.Errorf("%d and %d threads that wait: got %+v; want no more for many", few, many, m)
			}
		})
	}
}

// idleCost makes n threads wait, measures a worker during some looks, and submits to another
// graph.
func idleCost(t *testing.T, url string, n int) (c cost) {
	t.Helper()
	multiply(t, url, n)
	saver, err := open.Saver(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = saver.Close() }()
	s := &callCounter{Saver: saver, awaits: "l"}
	began := make(chan struct{})
	light := line(t, "light", s, func(context.Context, Job) (JobUpdate, error) { close(began); return said("light"), nil })
	g := heavy(t, s, say("gpu"))
	stop := running(worker.New(s, worker.Options{Slots: 2, Poll: 5 * time.Millisecond}, g, light))
	looksOf(s, 20)
	before := s.calls.Load()
	looksOf(s, 50)
	runtime.GC()
	runtime.GC() // which empties pools
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	c = cost{calls: int(s.calls.Load() - before), goroutines: runtime.NumGoroutine(), objects: int(mem.HeapObjects)}
	if _, err := light.Thread("l").Submit(t.Context(), said("in")); err != nil {
		t.Fatal(err)
	}
	s.stored.Store(true)
	<-began
	if c.looks = int(s.missed.Load()); c.looks > 20 {
		t.Errorf("%d threads wait: %d looks after the input of another graph was stored have missed it, want at most 20", n, c.looks)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	return c
}

// looksOf waits until the worker has looked so many times.
func looksOf(s *callCounter, n int64) {
	for until := s.ready.Load() + n; s.ready.Load() < until; {
		<-time.After(time.Millisecond)
	}
}

// multiply stores n threads that wait, each with a task of the queue: one that ran, and its
// copies.
func multiply(t *testing.T, url string, n int) {
	t.Helper()
	s, err := open.Saver(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	const thread = "first"
	if res, err := heavy(t, s, say("gpu")).Thread(thread).Invoke(t.Context(), said("in")); err != nil || res.Status != graph.Waiting {
		t.Fatalf("got %s, %v; want it waiting", res.Status, err)
	}
	var records []checkpoint.Record
	for r, err := range s.History(t.Context(), checkpoint.Ref{Thread: thread}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	slices.Reverse(records)
	wake := listed(t, s, thread).Wake
	next := make(chan string)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for id := range next {
				copied, err := renamed(records)
				if err == nil {
					_, err = s.Append(t.Context(), checkpoint.Append{
						Thread: id, Records: copied, Open: &checkpoint.Opening{Holder: "test"}, Status: graph.Waiting, End: true, Wake: wake,
					})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	var posts []checkpoint.Post
	for _, id := range ids("t", n-1) {
		next <- id
		posts = append(posts, checkpoint.Post{
			Thread: "__task-" + id, Graph: graph.QueueGraph("heavy", "gpu"),
			Messages: []checkpoint.Message{{Kind: checkpoint.InputMessage, ID: "task"}},
		})
	}
	close(next)
	all.Wait()
	for part := range slices.Chunk(posts, 500) {
		if _, err := s.Post(t.Context(), part...); err != nil {
			t.Fatal(err)
		}
	}
}

// renamed returns records with ids of their own.
func renamed(records []checkpoint.Record) ([]checkpoint.Record, error) {
	fresh := map[checkpoint.ID]checkpoint.ID{{}: {}}
	records = slices.Clone(records)
	var last checkpoint.ID
	for i := range records {
		id, err := checkpoint.NewIDAfter(last)
		if err != nil {
			return nil, err
		}
		fresh[records[i].ID], last = id, id
	}
	for i := range records {
		r := &records[i]
		r.ID, r.Parent, r.Base, r.Line, r.Commits = fresh[r.ID], fresh[r.Parent], fresh[r.Base], fresh[r.Line], fresh[r.Commits]
	}
	return records, nil
}
