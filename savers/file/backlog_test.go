package file_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// Two processes take turns with many due threads. Each gets threads that it has found earlier, but
// no thread that the other has taken, or that has ended meanwhile. A thread that becomes due is
// found too, whichever process posts to it.
func TestManyDueThreadsAreReturnedOnce(t *testing.T) {
	const n = 200
	dir := t.TempDir()
	var savers [2]*file.Saver
	for i := range savers {
		s, err := file.Open(dir, file.NoSync())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		savers[i] = s
	}
	post := func(s *file.Saver, thread string, p checkpoint.Priority) {
		done, err := s.Post(t.Context(), checkpoint.Post{
			Thread: thread, Graph: "g", Priority: p, Messages: []checkpoint.Message{{ID: "input", Kind: checkpoint.InputMessage}},
		})
		if err != nil || done[0].Err != nil {
			t.Fatal(err, done)
		}
	}
	for i := range n {
		post(savers[i%2], fmt.Sprintf("thread %03d", i), 0)
	}
	found := make(map[string]int)
	take := func(s *file.Saver) (ids []string) {
		ready, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 7, Reserve: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range ready.Threads {
			found[r.ID]++
			ids = append(ids, r.ID)
		}
		return ids
	}
	take(savers[0])
	take(savers[1])
	post(savers[1], "posted here", checkpoint.Urgent)
	if ids := take(savers[1]); len(ids) != 7 || !slices.Contains(ids, "posted here") {
		t.Errorf("got %q after an urgent post of the same process, want the new thread among them", ids)
	}
	post(savers[1], "posted elsewhere", checkpoint.Urgent)
	if err := savers[1].Delete(t.Context(), "thread 150"); err != nil {
		t.Fatal(err)
	}
	for round := 0; len(found) < n+1; round++ {
		if ids := take(savers[round%2]); len(ids) == 0 {
			break
		}
	}
	for id, times := range found {
		if times != 1 {
			t.Errorf("thread %q was returned %d times, want once", id, times)
		}
	}
	if len(found) != n+1 || found["thread 150"] != 0 || found["posted elsewhere"] != 1 {
		t.Errorf("got %d threads, %d times the deleted one, %d times the last one; want %d, 0 and 1",
			len(found), found["thread 150"], found["posted elsewhere"], n+1)
	}
}
