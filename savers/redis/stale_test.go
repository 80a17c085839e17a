package redis_test

import (
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// entries returns the ids of the threads with a wake in the index.
func (w *wakesOf) entries() (ids []string) {
	w.t.Helper()
	all, err := w.client.ZRange(w.t.Context(), w.key(), 0, -1).Result()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, id := range all {
		if id != "" { // says when the index was repaired
			ids = append(ids, id)
		}
	}
	return ids
}

// gone adds n threads that do not exist to a sorted set of the index.
func (w *wakesOf) gone(set string, n int, score float64) {
	w.t.Helper()
	all := make([]goredis.Z, n)
	for i := range all {
		all[i] = goredis.Z{Score: score, Member: fmt.Sprintf("gone %06d", i)}
	}
	if err := w.client.ZAdd(w.t.Context(), set, all...).Err(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wakesOf) submit(thread string) {
	w.t.Helper()
	done, err := w.Post(w.t.Context(), checkpoint.Post{
		Thread: thread, Graph: "g", Messages: []checkpoint.Message{message(checkpoint.InputMessage, "input of "+thread)},
	})
	if err != nil || done[0].Err != nil {
		w.t.Fatal(done, err)
	}
}

func TestADeletedThreadLeavesNoWake(t *testing.T) {
	w := openWakes(t)
	w.submit("posted")
	w.submit("opened")
	a := inGraph(t, "opened", checkpoint.ID{})
	a.Messages, a.End, a.Status = checkpoint.Handled{Seen: 1, Take: []uint64{1}}, true, checkpoint.Done
	a.Wake = time.Now().Add(time.Hour)
	if _, err := w.Append(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if got := len(w.entries()); got != 2 {
		t.Fatalf("the index has %d wakes, want 2; the test would prove nothing", got)
	}
	if err := w.Delete(t.Context(), "posted"); err != nil {
		t.Fatal(err)
	}
	done, err := w.Prune(t.Context(), "opened", checkpoint.Retention{Ended: time.Now().Add(time.Hour)})
	if err != nil || !done.Deleted {
		t.Fatalf("got %+v, %v; want the thread removed", done, err)
	}
	if got := w.entries(); len(got) > 0 {
		t.Errorf("after the deletion of all threads the index has the wakes of %q", got)
	}
}

// A Release, the expiry of a thread and a crash after a deletion leave a wake. The first Ready
// that sees it removes it, and continues.
func TestTheWakesOfThreadsThatAreGoneHoldUpNothing(t *testing.T) {
	w := openWakes(t)
	const many = 1500
	w.gone(w.key(), many, 1)
	w.submit("due")
	got, err := w.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1, Reserve: time.Minute})
	if err != nil || len(got.Threads) != 1 || got.Threads[0].ID != "due" {
		t.Errorf("got %+v ready and %v, want the thread that is due", got.Threads, err)
	}
	if got := w.entries(); len(got) != 1 || got[0] != "due" {
		t.Errorf("after a call of Ready the index has the wakes of %d threads, want that of the one that is due", len(got))
	}
}

// A repair reads the index in pages. Here every thread of the pages is gone but the last one.
func TestARepairReadsOverThreadsThatAreGone(t *testing.T) {
	for _, n := range []int{255, 256, 257, 600} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := openWakes(t)
			w.submit("z")
			w.gone(w.prefix+"{index}:live", n, 0)
			if err := w.client.Del(t.Context(), w.key()).Err(); err != nil {
				t.Fatal(err)
			}
			if got := due(t, w, 0); got != "z" {
				t.Errorf("after a repair: got %q ready, want z", got)
			}
		})
	}
}

// A list looks at the threads of its set, and takes out those that are gone: a page at a time.
func TestAListTakesThreadsThatAreGoneOutOfTheIndex(t *testing.T) {
	w := openWakes(t)
	w.submit("z")
	live := w.prefix + "{index}:live"
	w.gone(live, 2500, 0)
	for range 2 {
		found := 0
		for th, err := range w.Threads(t.Context(), checkpoint.ThreadQuery{Status: checkpoint.Ready}) {
			if found++; err != nil || th.ID != "z" {
				t.Errorf("got thread %q and %v, want z", th.ID, err)
			}
		}
		if found != 1 {
			t.Errorf("got %d threads, want z", found)
		}
	}
	if got := w.client.ZRange(t.Context(), live, 0, -1).Val(); len(got) != 1 || got[0] != "z" {
		t.Errorf("the index has %d threads that are not done, want z", len(got))
	}
}
