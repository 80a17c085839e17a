package pages_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// dueSaver is a saver with a fixed clock, and with threads that are due by it.
type dueSaver struct {
	checkpoint.Saver

	now     time.Time
	threads []checkpoint.ReadyThread
}

func (s *dueSaver) Ready(_ context.Context, q checkpoint.ReadyQuery) (got checkpoint.ReadyThreads, err error) {
	got.Now = s.now
	for _, t := range s.threads {
		if slices.Contains(q.Graphs, t.Graph) {
			got.Threads = append(got.Threads, t)
			if got.Next.IsZero() || t.Wake.Before(got.Next) {
				got.Next = t.Wake
			}
		}
	}
	slices.SortStableFunc(got.Threads, func(a, b checkpoint.ReadyThread) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.Wake.Compare(b.Wake))
	})
	got.Threads = got.Threads[:min(len(got.Threads), q.Limit)]
	return got, nil
}

// add makes n threads due, the first for age.
func (s *dueSaver) add(n int, graph string, p checkpoint.Priority, age time.Duration) {
	for i := range n {
		s.threads = append(s.threads, checkpoint.ReadyThread{
			ID: fmt.Sprintf("%s-%v-%d", graph, p, i), Graph: graph, Priority: p, Status: checkpoint.Ready,
			Wake: s.now.Add(time.Duration(i)*time.Second - age), Labels: map[string]string{"priority": p.String()},
		})
	}
}

// The age of the oldest due thread is exact if the page knows it. This saver leaves out an older
// thread of a low priority if there is a backlog of a high one.
func TestTheAgeOfTheOldestDueThread(t *testing.T) {
	s := &dueSaver{Saver: newSaver(t), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s.add(2, "few", checkpoint.High, time.Hour)
	s.add(1, "few", checkpoint.Low, 7*time.Hour)
	s.add(150, "many", checkpoint.Normal, 3*time.Hour)
	s.add(150, "mixed", checkpoint.High, 4*time.Hour)
	s.add(20, "mixed", checkpoint.Low, 9*time.Hour)
	pages := serve(t, s, inspect.Options{})
	pages.has("?graph=few", "<strong>few</strong> 3 due, the oldest for 7 h</a>")
	pages.has("?graph=many", "<strong>many</strong> 100+ due, the oldest for 3 h</a>")
	pages.has("?graph=mixed", "<strong>mixed</strong> 100+ due, the oldest for at least 4 h</a>")

	low := serve(t, s, inspect.Options{Authorize: func(_ *http.Request, a inspect.Access) error {
		if a.Thread != "" && a.Labels["priority"] != "low" {
			return errors.New("foreign")
		}
		return nil
	}})
	low.has("?graph=few", "<strong>few</strong> 1 due, the oldest for 7 h</a>")
	low.lacks("?graph=mixed", "the oldest for")
}

// A backlog hides older threads only if they have a lower priority. Then the age is a lower bound.
func TestTheOldestThreadOfABacklog(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		post := func(n int, graph string, p checkpoint.Priority) {
			t.Helper()
			var all []checkpoint.Post
			for i := range n {
				all = append(all, checkpoint.Post{Thread: fmt.Sprint(graph, p, i), Graph: graph, Priority: p,
					Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}})
			}
			if _, err := saver.Post(t.Context(), all...); err != nil {
				t.Fatal(err)
			}
		}
		post(1, "mixed", checkpoint.Low)
		post(1, "alike", checkpoint.Normal)
		for start := time.Now(); !time.Now().After(start.Add(time.Millisecond)); { // so that the others are due later
		}
		post(120, "mixed", checkpoint.High)
		post(120, "alike", checkpoint.Normal)
		s := serve(t, saver, inspect.Options{})
		s.has("?graph=mixed", "<strong>mixed</strong> 100+ due, the oldest for at least")
		s.has("?graph=alike", "<strong>alike</strong> 100+ due, the oldest for ")
		s.lacks("?graph=alike", "<strong>alike</strong> 100+ due, the oldest for at least")
	})
}

// briefly counts the lists of a saver by their status that are not brief.
type briefly struct {
	checkpoint.Saver
	brief, whole int
}

func (s *briefly) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	if q.Brief {
		s.brief++
	} else if q.Status != 0 {
		s.whole++
	}
	return s.Saver.Threads(ctx, q)
}

// The counts read no threads, unless Authorize must see them.
func TestTheCountsReadNoThreads(t *testing.T) {
	s := &briefly{Saver: newSaver(t)}
	serve(t, s, inspect.Options{}).get("")
	if s.brief != 4 || s.whole != 0 {
		t.Errorf("the list of threads made %d brief lists and %d whole ones of a status, want 4 and 0", s.brief, s.whole)
	}
	*s = briefly{Saver: s.Saver}
	serve(t, s, inspect.Options{Authorize: func(*http.Request, inspect.Access) error { return nil }}).get("")
	if s.brief != 0 || s.whole != 4 {
		t.Errorf("with Authorize, the list of threads made %d brief lists and %d whole ones of a status, want 0 and 4", s.brief, s.whole)
	}
}

// Counts of unfinished threads stand above the list, exact up to a bound that the page names.
func TestUnfinishedThreadsAreCounted(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		app := newShop(t, saver)
		begin(t, app, "order-1", "Ada")
		begin(t, app, "order-2", "Bob")
		fail(t, app, "order-3")
		var posts []checkpoint.Post
		for i := range 1010 {
			posts = append(posts, checkpoint.Post{Thread: fmt.Sprint("bulk-", i), Graph: "mail",
				Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}})
		}
		if _, err := saver.Post(t.Context(), posts...); err != nil {
			t.Fatal(err)
		}
		shop := `<strong>shop</strong> <a href="?graph=shop&amp;status=failed">1 failed</a> <a href="?graph=shop&amp;status=waiting">2 waiting</a></span>`
		serve(t, saver, inspect.Options{}).has("", `<strong>mail</strong> <a href="?graph=mail&amp;status=ready">1010 ready</a></span>`, shop)
		some := serve(t, saver, inspect.Options{Authorize: func(_ *http.Request, a inspect.Access) error {
			if a.Thread == "order-2" {
				return errors.New("foreign")
			}
			return nil
		}})
		some.has("", `<a href="?graph=mail&amp;status=ready">at least 1000 ready</a></span>`, `<a href="?graph=shop&amp;status=waiting">1 waiting</a></span>`)
	})
}
