//nolint:thelper // a case is a test, not a helper: its lines are those a failure points to
package savertest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// testBusy checks that a lease keeps others out.
func testBusy(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	a := opening(tb, "t", checkpoint.ID{})
	a.Open.Holder = "host 1, process 2: \"name\"\n"
	r, _ := tryBegin(tb, s, a)
	for name, after := range map[string]checkpoint.ID{"the head": r.fence, "a head that is old": {}} {
		_, err := s.Append(ctx, opening(tb, "t", after))
		wantBusy(tb, "an opening after "+name, err, "t", a.Open.Holder)
	}
	_, err := s.Release(ctx, "t", checkpoint.ID{})
	wantBusy(tb, "release", err, "t", a.Open.Holder)
	wantBusy(tb, "delete", s.Delete(ctx, "t"), "t", a.Open.Holder)
	_, err = s.Prune(ctx, "t", checkpoint.Retention{Last: 1})
	wantBusy(tb, "prune", err, "t", a.Open.Holder)
	wantHead(tb, s, "t", "", r.fence)
	for _, thread := range []checkpoint.Thread{load(tb, s, checkpoint.Ref{Thread: "t"}).Thread, threads(tb, s, checkpoint.ThreadQuery{})[0]} {
		if thread.Holder != a.Open.Holder {
			tb.Errorf("holder: got %q, want %q", thread.Holder, a.Open.Holder)
		}
	}
	r.commit("")
	begin(tb, s, "another", checkpoint.ID{})
}

// testTakeOver checks that a lease is taken over.
func testTakeOver(tb testing.TB, place Storage) {
	s := open(tb, place)
	old := begin(tb, s, "t", checkpoint.ID{})
	a := opening(tb, "t", old.fence)
	a.Open.TakeOver, a.Open.Holder = true, "the new one"
	r, _ := tryBegin(tb, s, a)
	_, err := s.Append(tb.Context(), opening(tb, "t", r.fence))
	wantBusy(tb, "an opening after a take-over", err, "t", "the new one")
	_, err = s.Append(tb.Context(), old.next(""))
	wantConflict(tb, "an append of the old run", err)
	r.commit("")
	r.end()
	begin(tb, s, "t", r.heads[""])
}

// testExpiry checks that a lease expires.
func testExpiry(tb testing.TB, place Storage) {
	s := open(tb, place)
	a := opening(tb, "t", checkpoint.ID{})
	a.Lease = time.Millisecond
	old, _ := tryBegin(tb, s, a)
	var r *run
	next := opening(tb, "t", old.fence)
	until(tb, "the lease expired", func() bool {
		_, err := s.Append(tb.Context(), next)
		if err != nil && !errors.As(err, new(*checkpoint.BusyError)) {
			tb.Fatalf("an opening: got %v, want success or a *BusyError", err)
		}
		return err == nil
	})
	r = &run{tb: tb, s: s, thread: "t", fence: next.Records[0].ID, heads: map[string]checkpoint.ID{"": next.Records[0].ID}}
	_, err := s.Append(tb.Context(), old.next(""))
	wantConflict(tb, "an append of the run whose lease expired", err)
	_, err = s.Append(tb.Context(), opening(tb, "t", r.fence))
	wantBusy(tb, "an opening under the new lease", err, "t", next.Open.Holder)
	r.commit("")
}

// testRenewal checks that a lease is renewed by every write.
func testRenewal(tb testing.TB, place Storage) {
	s := open(tb, place)
	busy := func(r *run) bool {
		_, err := s.Append(tb.Context(), opening(tb, r.thread, newID(tb))) // fails in any case, because the head differs
		return errors.As(err, new(*checkpoint.BusyError))
	}
	for name, renew := range map[string]func(r *run, lease time.Duration){
		"a put of nothing": func(r *run, lease time.Duration) { r.putWith(checkpoint.PutWrites{Lease: lease}) },
		"a put": func(r *run, lease time.Duration) {
			r.putWith(checkpoint.PutWrites{Lease: lease, Writes: []checkpoint.Write{r.write("a", checkpoint.Result, "", "")}})
		},
		"an append": func(r *run, lease time.Duration) {
			a := r.next("")
			a.Lease = lease
			r.append(a)
		},
		"an append to a child": func(r *run, lease time.Duration) {
			a := r.next("child")
			a.Lease = lease
			r.append(a)
		},
	} {
		a := opening(tb, name, checkpoint.ID{})
		r, _ := tryBegin(tb, s, a)
		renew(r, time.Millisecond)
		until(tb, "a lease shortened by "+name+" expired", func() bool { return !busy(r) })
		renew(r, time.Hour) // no other run took the thread, so the run continues
		if !busy(r) {
			tb.Errorf("%s did not renew the lease", name)
		}
	}
	a := opening(tb, "default", checkpoint.ID{})
	a.Lease = 0
	if r, _ := tryBegin(tb, s, a); !busy(r) {
		tb.Error("a lease of zero does not live, want DefaultLease")
	}
}

// testEnd checks that a lease ends with its run.
func testEnd(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting})
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting}) // a repeated call
	if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread; got.Status != checkpoint.Waiting || got.Holder != "" {
		tb.Errorf("after the run: got status %s, holder %q; want waiting, none", got.Status, got.Holder)
	}
	r.putWith(checkpoint.PutWrites{}) // a late renewal must not grant a lease
	second := begin(tb, s, "t", r.fence)
	a := second.next("")
	a.End, a.Status = true, checkpoint.Done
	second.append(a)
	third := opening(tb, "t", second.heads[""])
	third.End = true
	last, _ := tryBegin(tb, s, third)
	if got := threads(tb, s, checkpoint.ThreadQuery{})[0]; got.Status != checkpoint.Done || got.Holder != "" || got.Head != last.fence {
		tb.Errorf("after the third run: got %+v, want done, no holder, head %s", got, last.fence)
	}
	begin(tb, s, "t", last.heads[""])
}

// testZombie checks that a run that lost its fence is refused everywhere.
func testZombie(tb testing.TB, place Storage) {
	s := open(tb, place)
	zombie := begin(tb, s, "t", checkpoint.ID{})
	zombie.commit("")
	zombie.commit("child")
	a := opening(tb, "t", zombie.heads[""])
	a.Open.TakeOver = true
	r, _ := tryBegin(tb, s, a)
	refused := func(when string) {
		tb.Helper()
		for _, namespace := range []string{"", "child", "a new child"} {
			_, err := s.Append(tb.Context(), zombie.next(namespace))
			wantConflict(tb, fmt.Sprintf("%s, an append to namespace %q", when, namespace), err)
			next := zombie.next(namespace)
			next.After = load(tb, s, checkpoint.Ref{Thread: "t", Namespace: namespace}).Head
			next.Records[0].Parent, next.Records[0].Snapshot = next.After, true
			_, err = s.Append(tb.Context(), next)
			wantConflict(tb, fmt.Sprintf("%s, an append after the head of namespace %q", when, namespace), err)
		}
		for name, w := range map[string]checkpoint.PutWrites{
			"a result": {Writes: []checkpoint.Write{zombie.write("a", checkpoint.Result, "", "r")}},
			"an end":   {End: true}, "a status": {Status: checkpoint.Failed}, "a renewal": {},
		} {
			w.Thread, w.Fence = "t", zombie.fence
			wantConflict(tb, when+", "+name, putErr(s.PutWrites(tb.Context(), w)))
		}
	}
	refused("while another runs")
	if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread; got.Holder != a.Open.Holder || got.Status != checkpoint.Running {
		tb.Errorf("the thread after the zombie's writes: got holder %q, status %s; want %q, running", got.Holder, got.Status, a.Open.Holder)
	}
	r.heads["child"] = zombie.heads["child"]
	r.commit("child") // the new run has the records of the old one
	r.commit("")
	r.end()
	refused("when the other has ended")
	wantHead(tb, s, "t", "", r.heads[""])
	wantHead(tb, s, "t", "child", r.heads["child"])
	wantHead(tb, s, "t", "a new child", checkpoint.ID{})
}

// testWriters lets many writers append after the same head concurrently, in several rounds. A
// writer whose Append succeeded must find its record as the head, and no other record may exist.
func testWriters(tb testing.TB, place Storage) {
	savers := []checkpoint.Saver{open(tb, place)}
	if place.Shared {
		savers = append(savers, open(tb, place))
	}
	const writers, rounds = 8, 12
	r := begin(tb, savers[0], "t", checkpoint.ID{})
	r.end()
	want := []checkpoint.ID{r.fence}
	for range rounds {
		winners := race(tb, savers, writers)
		if len(winners) != 1 {
			tb.Fatalf("%d openings after one head succeeded, want one", len(winners))
		}
		want = append(want, winners[0])
	}
	got := history(tb, savers[0], checkpoint.Ref{Thread: "t"}, checkpoint.Query{})
	if len(got) != len(want) {
		tb.Fatalf("got %d records, want the %d that were acknowledged", len(got), len(want))
	}
	for i, rec := range got {
		seq := len(got) - i
		if rec.Seq != uint64(seq) || rec.ID != want[seq-1] {
			tb.Errorf("record %d from the end: got %s with seq %d, want %s", i, rec.ID, rec.Seq, want[seq-1])
		}
	}
}

// testStarts lets many runs start on a new thread concurrently. One of them gets the thread, and
// the others get a *BusyError. A reader that sees the thread also sees its holder.
func testStarts(tb testing.TB, place Storage) {
	savers := []checkpoint.Saver{open(tb, place)}
	if place.Shared {
		savers = append(savers, open(tb, place))
	}
	const rounds, starts = 5, 16
	for n := range rounds {
		thread := fmt.Sprint("t", n)
		begin, errs, seen := make(chan struct{}), make([]error, starts), make([]checkpoint.Chain, starts)
		var all sync.WaitGroup
		for i := range starts {
			s, a := savers[i%len(savers)], opening(tb, thread, checkpoint.ID{})
			all.Go(func() {
				<-begin
				_, errs[i] = s.Append(tb.Context(), a)
			})
			all.Go(func() {
				<-begin
				for seen[i].Empty() && tb.Context().Err() == nil {
					seen[i], _ = s.Load(tb.Context(), checkpoint.Ref{Thread: thread}) // an error has no records
				}
			})
		}
		close(begin)
		all.Wait()
		winners := 0
		for i, err := range errs {
			if err == nil {
				winners++
			} else if !errors.As(err, new(*checkpoint.BusyError)) {
				tb.Errorf("a start that lost: got %v, want a *BusyError", err)
			}
			if got := seen[i].Thread; got.Holder == "" {
				tb.Errorf("seen while it started: got status %s and no holder, want the run that has the thread", got.Status)
			}
		}
		if winners != 1 {
			tb.Errorf("%d of %d starts got the thread, want one", winners, starts)
		}
	}
}

// race lets writers open runs after the same head concurrently, and returns the records of those
// that succeeded.
func race(tb testing.TB, savers []checkpoint.Saver, writers int) (winners []checkpoint.ID) {
	tb.Helper()
	var mu sync.Mutex
	var loaded, all sync.WaitGroup
	loaded.Add(writers)
	for n := range writers {
		s := savers[n%len(savers)]
		all.Go(func() {
			chain, err := s.Load(tb.Context(), checkpoint.Ref{Thread: "t"})
			loaded.Done()
			loaded.Wait()
			if err != nil {
				tb.Errorf("load: %v", err)
				return
			}
			a := opening(tb, "t", chain.Head)
			a.End = true
			_, err = s.Append(tb.Context(), a)
			switch {
			case err == nil:
				mu.Lock()
				winners = append(winners, a.Records[0].ID)
				mu.Unlock()
			case !errors.Is(err, checkpoint.ErrConflict):
				tb.Errorf("an append that lost: got %v, want a conflict", err)
			}
		})
	}
	all.Wait()
	return winners
}

// testSameFence checks that one of many appends under a fence wins.
func testSameFence(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	for range 10 {
		const writers = 8
		appends := make([]checkpoint.Append, writers)
		for i := range appends {
			appends[i] = r.next("")
		}
		errs := make([]error, writers)
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() { _, errs[i] = s.Append(tb.Context(), appends[i]) })
		}
		all.Wait()
		winner := checkpoint.ID{}
		for i, err := range errs {
			switch {
			case err != nil:
				wantConflict(tb, "an append that lost", err)
			case !winner.IsZero():
				tb.Error("two appends after one head succeeded, want one")
			default:
				winner = appends[i].Records[0].ID
			}
		}
		wantHead(tb, s, "t", "", winner)
		r.heads[""] = winner
	}
}
