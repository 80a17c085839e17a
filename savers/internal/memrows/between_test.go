package memrows_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// places are two storages between which threads move.
type places struct{ a, b rows.Store }

func newPlaces() places { return places{newStore(), newStore()} }

// process returns the two places as a process has them whose calls of the stores go through a
// function; nil calls them directly.
func (p places) process(by func(call func() error) error) (a, b rows.Place) {
	open := func(name string, s rows.Store) rows.Place {
		if by != nil {
			s = &stepped{s, by}
		}
		return rows.Place{Name: name, Saver: rows.New(name, s, rows.Options{})}
	}
	return open("a", p.a), open("b", p.b)
}

// stepped is a Store whose calls a function makes.
type stepped struct {
	rows.Store
	by func(call func() error) error
}

func (s *stepped) Read(ctx context.Context, ranges ...rows.Range) (all [][]rows.Row, now time.Time, err error) {
	err = s.by(func() (err error) {
		all, now, err = s.Store.Read(ctx, ranges...)
		return err
	})
	return all, now, err
}

func (s *stepped) Apply(ctx context.Context, c *rows.Change) (rev uint64, all [][]rows.Row, err error) {
	err = s.by(func() (err error) {
		rev, all, err = s.Store.Apply(ctx, c)
		return err
	})
	return rev, all, err
}

// eventful stores a thread that has two versions, subgraphs, pending writes and messages.
func eventful(t *testing.T, s checkpoint.Saver) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	post := func(id string, kind checkpoint.MessageKind) {
		posted, err := s.Post(ctx, checkpoint.Post{Thread: "t", Graph: "g", Labels: map[string]string{"l": "v"}, Messages: []checkpoint.Message{
			{ID: id, Kind: kind, Name: "n", Payload: []byte(id)},
		}})
		must(errors.Join(err, posted[0].Err))
	}
	for version := range 2 {
		post(fmt.Sprint("in", version), checkpoint.InputMessage)
		first := opening(t, checkpoint.ID{})
		first.Records[0].Payload, first.Records[0].Commits = snapshot, checkpoint.ID{}
		_, err := s.Append(ctx, first)
		must(err)
		fence := first.Records[0].ID
		_, err = s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: fence, Lease: time.Hour, Writes: []checkpoint.Write{
			{Kind: checkpoint.Question, Base: fence, Task: "task", Name: "q", Payload: []byte{1}},
		}})
		must(err)
		sub, err := checkpoint.NewID()
		must(err)
		_, err = s.Append(ctx, checkpoint.Append{Thread: "t", Namespace: "call", Fence: fence, Lease: time.Hour, Records: []checkpoint.Record{
			{ID: sub, Base: sub, Source: checkpoint.Loop, Snapshot: true, Payload: snapshot},
		}})
		must(err)
		post(fmt.Sprint("signal", version), checkpoint.SignalMessage)
		if version == 0 {
			_, err = s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: fence, Status: checkpoint.Failed, End: true})
			must(err)
			_, err = s.Release(ctx, "t", checkpoint.ID{})
			must(err)
		}
	}
}

// contents returns all that a saver says of the thread. A move changes none of it.
func contents(ctx context.Context, s checkpoint.Saver) (all []any, err error) {
	add := func(v any, e error) {
		all = append(all, v)
		err = errors.Join(err, e)
	}
	for _, version := range []int{1, 2} {
		for item, e := range s.Export(ctx, "t", version) {
			add(item, e)
		}
		for _, ns := range []string{"", "call"} {
			chain, e := s.Load(ctx, checkpoint.Ref{Thread: "t", Version: version, Namespace: ns})
			add(chain, e)
		}
	}
	versions, e := s.Versions(ctx, "t")
	add(versions, e)
	for _, handled := range []bool{false, true} {
		mail, e := s.Mail(ctx, checkpoint.MailQuery{Thread: "t", Handled: handled})
		add(mail, e)
	}
	news, e := s.News(ctx, []string{"t"})
	add(news, e)
	return all, err
}

// same fails unless the thread is at a place as it was.
func same(t *testing.T, what string, p rows.Place, want []any) {
	t.Helper()
	got, err := contents(t.Context(), p.Saver)
	if err != nil {
		t.Fatalf("%s: the thread at %s: %v", what, p.Name, err)
	}
	noClock := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Now" }, cmp.Ignore())
	if diff := cmp.Diff(want, got, noClock, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s: the thread at %s differs (-want +got):\n%s", what, p.Name, diff)
	}
}

// elsewhere fails unless all calls for the thread say that it is at another place.
func elsewhere(t *testing.T, what string, p rows.Place, stage rows.Stage) {
	t.Helper()
	ctx, s := t.Context(), p.Saver
	id, fence := "t", checkpoint.ID{1}
	seq := func(err error) error { return err }
	calls := map[string]func() error{
		"append":    func() error { a := opening(t, checkpoint.ID{}); _, err := s.Append(ctx, a); return err },
		"put":       func() error { _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: id, Fence: fence}); return err },
		"load":      func() error { _, err := s.Load(ctx, checkpoint.Ref{Thread: id}); return err },
		"rewake":    func() error { return s.Rewake(ctx, checkpoint.Rewake{Thread: id, Fence: fence}) },
		"schemas":   func() error { _, err := s.Schemas(ctx, id, 0); return err },
		"versions":  func() error { _, err := s.Versions(ctx, id); return err },
		"release":   func() error { _, err := s.Release(ctx, id, fence); return err },
		"delete":    func() error { return s.Delete(ctx, id) },
		"prune":     func() error { _, err := s.Prune(ctx, id, checkpoint.Retention{Last: 1}); return err },
		"retention": func() error { _, err := s.Prune(ctx, id, checkpoint.Retention{Ended: time.Now()}); return err },
		"mail":      func() error { _, err := s.Mail(ctx, checkpoint.MailQuery{Thread: id}); return err },
		"handled":   func() error { _, err := s.Mail(ctx, checkpoint.MailQuery{Thread: id, Handled: true}); return err },
		"mail by id": func() error {
			_, err := s.Mail(ctx, checkpoint.MailQuery{Thread: id, ID: "none"})
			return err
		},
		"news": func() error { _, err := s.News(ctx, []string{"other", id}); return err },
		"pack": func() error { return s.Pack(ctx, id) },
		"post": func() error {
			posted, err := s.Post(ctx, checkpoint.Post{Thread: id, Graph: "g", Messages: []checkpoint.Message{{ID: "late", Kind: checkpoint.InputMessage}}})
			return errors.Join(err, posted[0].Err)
		},
		"outcome": func() error {
			posted, err := s.Post(ctx, checkpoint.Post{Thread: id, Outcomes: []checkpoint.Write{{Kind: checkpoint.Outcome, Base: fence, Task: "x", Name: "n"}}})
			return errors.Join(err, posted[0].Err)
		},
		"history": func() (err error) {
			for _, err = range s.History(ctx, checkpoint.Ref{Thread: id}, checkpoint.Query{}) {
			}
			return seq(err)
		},
		"export": func() (err error) {
			for _, err = range s.Export(ctx, id, 0) {
			}
			return seq(err)
		},
		"import": func() (err error) {
			return s.Import(ctx, id, func(yield func(checkpoint.ExportItem, error) bool) {
				yield(checkpoint.ExportItem{Thread: &checkpoint.Thread{ID: id, Status: checkpoint.Done}}, nil)
			})
		},
	}
	for name, call := range calls {
		var moved *rows.MovedError
		if err := call(); !errors.As(err, &moved) || moved.Stage != stage || moved.Thread != id {
			t.Errorf("%s: %s: got %v, want a *MovedError, %s", what, name, err, stage)
		}
	}
	got, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 9, Reserve: time.Second})
	if err != nil || len(got.Threads) > 0 {
		t.Errorf("%s: ready: got %v and %v, want no thread", what, got.Threads, err)
	}
}

var errDead = errors.New("the process is dead")

// TestAMoverDiesAtEachCall kills a mover before or after each of its calls. Another process ends
// the move. One place has the thread, whole; and then the thread moves, and is deleted.
func TestAMoverDiesAtEachCall(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at, over := 1, false; !over; at++ {
			synctest.Test(t, func(t *testing.T) {
				what, p := fmt.Sprintf("dead at call %d, after it %v", at, after), newPlaces()
				a, b := p.process(nil)
				eventful(t, a.Saver)
				want, err := contents(t.Context(), a.Saver)
				if err != nil {
					t.Fatal(err)
				}
				calls := 0
				src, dst := p.process(func(call func() error) error {
					if calls++; calls < at || calls == at && after {
						if err := call(); calls < at {
							return err
						}
					}
					return errDead
				})
				if err := rows.Move(t.Context(), src, dst, "t"); err == nil {
					over = calls < at
				}
				time.Sleep(time.Minute)
				if err := rows.Settle(t.Context(), a, b, "t"); err != nil {
					t.Fatalf("%s: settle: %v", what, err)
				}
				if _, err := a.Saver.Versions(t.Context(), "t"); err == nil {
					same(t, what, a, want)
					if n := count(t, b); n != 0 {
						t.Errorf("%s: %d threads at b, want none", what, n)
					}
				} else {
					elsewhere(t, what, a, rows.Left)
					same(t, what, b, want)
				}
				if err := rows.Move(t.Context(), a, b, "t"); err != nil {
					t.Fatalf("%s: the next move: %v", what, err)
				}
				same(t, what, b, want)
				time.Sleep(time.Hour) // the lease ends
				if err := b.Saver.Delete(t.Context(), "t"); err != nil {
					t.Fatal(err)
				}
				if err := rows.Sweep(t.Context(), a, b, "t"); err != nil || count(t, a)+count(t, b) != 0 {
					t.Errorf("%s: %v, and %d and %d threads are left, want none", what, err, count(t, a), count(t, b))
				}
			})
		}
	}
}

// count returns how many rows of threads a place has.
func count(t *testing.T, p rows.Place) int {
	t.Helper()
	all, err := rows.Walk(t.Context(), p.Saver, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestAMoverSleepsAtEachCall stops a mover at each of its calls. Others end its move, move the
// thread, and delete it. The mover wakes up, and does not bring the thread back.
func TestAMoverSleepsAtEachCall(t *testing.T) {
	for at, over := 1, false; !over; at++ {
		synctest.Test(t, func(t *testing.T) {
			what, p := fmt.Sprintf("asleep before call %d", at), newPlaces()
			a, b := p.process(nil)
			eventful(t, a.Saver)
			var calls atomic.Int64
			src, dst := p.process(func(call func() error) error {
				if calls.Add(1) == int64(at) {
					time.Sleep(3 * time.Hour)
				}
				return call()
			})
			var mover sync.WaitGroup
			mover.Go(func() {
				if err := rows.Move(t.Context(), src, dst, "t"); errors.Is(err, checkpoint.ErrDamaged) {
					t.Errorf("%s: got %v, although nothing is damaged", what, err)
				}
			})
			time.Sleep(time.Minute)
			over = calls.Load() < int64(at)
			if err := rows.Settle(t.Context(), a, b, "t"); err != nil {
				t.Fatalf("%s: settle: %v", what, err)
			}
			if err := rows.Move(t.Context(), a, b, "t"); err != nil {
				t.Fatalf("%s: move: %v", what, err)
			}
			time.Sleep(2*time.Hour - 10*time.Minute) // the lease ends
			if err := b.Saver.Delete(t.Context(), "t"); err != nil {
				t.Fatalf("%s: delete: %v", what, err)
			}
			mover.Wait()
			time.Sleep(time.Minute)
			if err := rows.Settle(t.Context(), a, b, "t"); err != nil {
				t.Fatalf("%s: settle: %v", what, err)
			}
			elsewhere(t, what, a, rows.Left)
			if n := count(t, b); n != 0 {
				t.Errorf("%s: got %d threads at b, want it deleted", what, n)
			}
		})
	}
}

// TestAMoverSleepsWhileAVersionIsReleased stops a mover at each of its calls. Others end its move,
// and release the open version at the old place. The move fails as one that can be tried again.
func TestAMoverSleepsWhileAVersionIsReleased(t *testing.T) {
	released := 0
	for at, over := 1, false; !over; at++ {
		synctest.Test(t, func(t *testing.T) {
			what, p := fmt.Sprintf("asleep before call %d", at), newPlaces()
			a, b := p.process(nil)
			eventful(t, a.Saver)
			var calls atomic.Int64
			src, dst := p.process(func(call func() error) error {
				if calls.Add(1) == int64(at) {
					time.Sleep(3 * time.Hour)
				}
				return call()
			})
			var mover sync.WaitGroup
			mover.Go(func() {
				if err := rows.Move(t.Context(), src, dst, "t"); err != nil && !errors.Is(err, checkpoint.ErrUnavailable) {
					t.Errorf("%s: got %v, want ErrUnavailable", what, err)
				}
			})
			time.Sleep(2 * time.Hour) // the lease ends
			over = calls.Load() < int64(at)
			if err := rows.Settle(t.Context(), a, b, "t"); err != nil {
				t.Fatalf("%s: settle: %v", what, err)
			}
			if _, err := a.Saver.Release(t.Context(), "t", checkpoint.ID{}); err == nil {
				released++
			} else if !errors.As(err, new(*rows.MovedError)) {
				t.Fatalf("%s: release: %v", what, err)
			}
			mover.Wait()
		})
	}
	if released == 0 {
		t.Error("no version was released at the old place")
	}
}

// TestAThreadThatMovesIsFenced looks at the thread from another process at each call of a mover.
// It is whole at one place, and the calls for it are refused at the others.
func TestAThreadThatMovesIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces()
		a, b := p.process(nil)
		eventful(t, a.Saver)
		want, err := contents(t.Context(), a.Saver)
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[rows.Stage]bool)
		calls := 0
		src, dst := p.process(func(call func() error) error {
			calls++
			what := fmt.Sprint("before call ", calls)
			for _, place := range []rows.Place{a, b} {
				all, err := rows.Walk(t.Context(), place.Saver, "", 10)
				if err != nil {
					t.Fatal(err)
				}
				for _, standee := range all {
					if seen[standee.Stage] = true; standee.Stage == 0 {
						same(t, what, place, want)
					} else {
						elsewhere(t, what, place, standee.Stage)
					}
				}
			}
			return call()
		})
		if err := rows.Move(t.Context(), src, dst, "t"); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 4 {
			t.Errorf("got the stages %v, want all four", seen)
		}
		same(t, "moved", b, want)
	})
}

// TestReadyReportsAMoveThatIsOverdue leaves a thread behind in each stage of a move.
func TestReadyReportsAMoveThatIsOverdue(t *testing.T) {
	for at, over, stages := 1, false, map[rows.Stage]bool{}; !over || len(stages) < 2; at++ {
		if over {
			t.Fatalf("got the stages %v, want Leaving and Arriving", stages)
		}
		synctest.Test(t, func(t *testing.T) {
			p := newPlaces()
			a, b := p.process(nil)
			posted, err := a.Saver.Post(t.Context(), checkpoint.Post{Thread: "t", Graph: "g", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}})
			if err := errors.Join(err, posted[0].Err); err != nil {
				t.Fatal(err)
			}
			calls := 0
			src, dst := p.process(func(call func() error) error {
				if calls++; calls > at {
					return errDead
				}
				return call()
			})
			over = rows.Move(t.Context(), src, dst, "t") == nil
			time.Sleep(time.Minute)
			found := false
			for _, place := range []rows.Place{a, b} {
				got, err := place.Saver.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 9})
				for _, m := range rows.Moved(err) {
					stages[m.Stage], found = true, true
					if !m.Overdue || m.Thread != "t" {
						t.Errorf("got %+v, want the overdue thread", m)
					}
				}
				found = found || len(got.Threads) == 1
			}
			if !found {
				t.Errorf("dead after call %d: no place has a due thread, or one that is overdue", at)
			}
		})
	}
}

// TestMoversAndDeletionsAtOnce moves a thread by several movers while it is created, changed and
// deleted. Each message that is acknowledged is there, once.
func TestMoversAndDeletionsAtOnce(t *testing.T) {
	p := newPlaces()
	var calls sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range 3 {
		calls.Go(func() {
			a, b := p.process(nil)
			for ctx.Err() == nil {
				_ = rows.Move(ctx, a, b, "t") // they disturb each other
				_ = rows.Move(ctx, b, a, "t")
			}
		})
	}
	a, b := p.process(nil)
	all := map[string]rows.Place{"a": a, "b": b}
	// at makes a call where the thread is.
	at := func(call func(s checkpoint.Saver) error) {
		for place := a; ; {
			err := call(place.Saver)
			var moved *rows.MovedError
			if !errors.As(err, &moved) {
				if err != nil {
					t.Error(err)
				}
				return
			}
			other := all[moved.Place]
			switch moved.Stage {
			case rows.Left:
				place = other
			case rows.Arriving:
				_ = rows.Settle(ctx, other, place, "t")
			}
		}
	}
	for round := range 20 {
		const n = 10
		for i := range n {
			at(func(s checkpoint.Saver) error {
				posted, err := s.Post(ctx, checkpoint.Post{Thread: "t", Graph: "g", Messages: []checkpoint.Message{
					{ID: fmt.Sprint(round, " ", i), Kind: checkpoint.InputMessage},
				}})
				return errors.Join(err, posted[0].Err)
			})
		}
		at(func(s checkpoint.Saver) error {
			mail, err := s.Mail(ctx, checkpoint.MailQuery{Thread: "t"})
			if err == nil && len(mail) != n {
				t.Errorf("round %d: got %d messages, want %d", round, len(mail), n)
			}
			return err
		})
		at(func(s checkpoint.Saver) error { return s.Delete(ctx, "t") })
		at(func(s checkpoint.Saver) error {
			if mail, err := s.Mail(ctx, checkpoint.MailQuery{Thread: "t"}); err != nil || len(mail) > 0 {
				return errors.Join(err, fmt.Errorf("round %d: %d messages after the deletion", round, len(mail)))
			}
			return nil
		})
	}
	cancel()
	calls.Wait()
}
