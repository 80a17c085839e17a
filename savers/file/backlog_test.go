package file_test

import (
	"errors"
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

// A thread that a call makes due is found by the next call of Ready, although Ready knows more due
// threads than it returns.
func TestAThreadThatACallMakesDueIsFoundAtOnce(t *testing.T) {
	ended := func(s *file.Saver, fence checkpoint.ID, wake time.Time) error {
		_, err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "x", Fence: fence, End: true, Status: checkpoint.Ready, Wake: wake})
		return err
	}
	post := func(s *file.Saver, id string) error {
		done, err := s.Post(t.Context(), checkpoint.Post{
			Thread: "x", Messages: []checkpoint.Message{{ID: id, Kind: checkpoint.InputMessage}},
		})
		if err == nil {
			err = done[0].Err
		}
		return err
	}
	for name, c := range map[string]struct {
		before, change func(s *file.Saver, fence checkpoint.ID) error
	}{
		"an end with a wake": {change: func(s *file.Saver, fence checkpoint.ID) error { return ended(s, fence, time.Now()) }},
		"an end with mail": {
			before: func(s *file.Saver, _ checkpoint.ID) error { return post(s, "m") },
			change: func(s *file.Saver, fence checkpoint.ID) error { return ended(s, fence, time.Time{}) },
		},
		"a commit that ends": {change: func(s *file.Saver, fence checkpoint.ID) error {
			next := step(t, checkpoint.Append{Thread: "x", Records: []checkpoint.Record{{ID: fence, Base: fence, Line: fence}}}, fence)
			next.End, next.Status, next.Wake = true, checkpoint.Ready, time.Now()
			_, err := s.Append(t.Context(), next)
			return err
		}},
		"a release with an input": { // which the first call of Ready has reserved
			before: func(s *file.Saver, fence checkpoint.ID) error {
				return errors.Join(ended(s, fence, time.Time{}), post(s, "m"))
			},
			change: func(s *file.Saver, _ checkpoint.ID) error {
				_, err := s.Release(t.Context(), "x", checkpoint.ID{})
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := file.Open(t.TempDir(), file.NoSync())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for i := range 100 {
				_, err := s.Post(t.Context(), checkpoint.Post{
					Thread: fmt.Sprint("other ", i), Graph: "g", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			a := opening(t, "x", checkpoint.ID{})
			a.Open.Priority, a.Records[0].Graph, a.Lease = checkpoint.Urgent, "g", time.Hour
			mustAppend(t, s, a)
			if c.before != nil {
				if err := c.before(s, a.Records[0].ID); err != nil {
					t.Fatal(err)
				}
			}
			take := func() (ids []string) {
				got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 5, Reserve: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range got.Threads {
					ids = append(ids, r.ID)
				}
				return ids
			}
			take()
			if err := c.change(s, a.Records[0].ID); err != nil {
				t.Fatal(err)
			}
			if got := take(); !slices.Contains(got, "x") {
				t.Errorf("got %q, want the thread that is due now among them", got)
			}
		})
	}
}
