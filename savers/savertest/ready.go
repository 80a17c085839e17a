package savertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// atOnce is a Wake that is in the past.
var atOnce = time.Unix(1, 0)

// ended starts a thread of a graph and ends its run with a Wake.
func ended(tb testing.TB, s checkpoint.Saver, thread, graph string, status checkpoint.Status, wake time.Time) *run {
	tb.Helper()
	a := about(tb, thread, checkpoint.ID{}, graph, "", nil)
	a.Records[0].Payload = logSnapshot("first")
	r, _ := tryBegin(tb, s, a)
	r.putWith(checkpoint.PutWrites{End: true, Status: status, Wake: wake})
	return r
}

// ready calls Ready.
func ready(tb testing.TB, s checkpoint.Saver, q checkpoint.ReadyQuery) checkpoint.ReadyThreads {
	tb.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	got, err := s.Ready(tb.Context(), q)
	if err != nil {
		tb.Fatalf("ready %+v: %v", q, err)
	}
	if got.Now.IsZero() {
		tb.Errorf("ready %+v: got no time", q)
	}
	return got
}

// wantReady fails unless Ready, which changes nothing, returns these threads of a graph.
func wantReady(tb testing.TB, s checkpoint.Saver, what, graph, want string) checkpoint.ReadyThreads {
	tb.Helper()
	got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{graph}})
	if text := readyIDs(got); text != want {
		tb.Fatalf("%s: got %q ready, want %q", what, text, want)
	}
	return got
}

// readyIDs returns the ids of ready threads, in their order.
func readyIDs(r checkpoint.ReadyThreads) string {
	var ids []string
	for _, t := range r.Threads {
		ids = append(ids, t.ID)
	}
	return strings.Join(ids, " ")
}

// wakeOf returns the Wake of a thread.
func wakeOf(tb testing.TB, s checkpoint.Saver, thread string) time.Time {
	tb.Helper()
	return load(tb, s, checkpoint.Ref{Thread: thread}).Thread.Wake
}

// testReady checks that threads are ready when they are due.
func testReady(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	first := ended(tb, s, "first", "g", checkpoint.Ready, atOnce)
	ended(tb, s, "never", "g", checkpoint.Done, time.Time{})
	ended(tb, s, "other", "h", checkpoint.Ready, atOnce)
	later := load(tb, s, checkpoint.Ref{Thread: "first"}).Thread.Updated.Add(time.Hour).Truncate(time.Second)
	ended(tb, s, "later", "g", checkpoint.Waiting, later)
	until(tb, "the clock moves on", func() bool { // so that no two threads have one time
		return ready(tb, s, checkpoint.ReadyQuery{}).Now.After(wakeOf(tb, s, "first"))
	})
	ended(tb, s, "second", "g", checkpoint.Ready, atOnce)

	got := wantReady(tb, s, "a list", "g", "first second")
	if len(got.Threads) == 2 {
		t := got.Threads[0]
		if t.Graph != "g" || t.Status != checkpoint.Ready || t.Fence != first.fence || t.Attempts != 0 || t.Wake.After(got.Now) || t.Wake.Before(later.Add(-2*time.Hour)) {
			tb.Errorf("a ready thread: got %+v at %v; want graph g, ready, fence %s, no attempts, and a wake before now", t, got.Now, first.fence)
		}
	}
	if wake := wakeOf(tb, s, "later"); !wake.Equal(later) || !wakeOf(tb, s, "never").IsZero() {
		tb.Errorf("wakes: got %v and %v, want %v and none", wake, wakeOf(tb, s, "never"), later)
	}
	if next := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Except: []string{"first", "second"}}).Next; !next.Equal(later) {
		tb.Errorf("the next wake: got %v, want %v", next, later)
	}
	if next := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"none"}}).Next; !next.IsZero() {
		tb.Errorf("the next wake of a graph without threads: got %v, want none", next)
	}
	if got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"h", "g"}, Limit: 2}); readyIDs(got) != "other first" {
		tb.Errorf("of two graphs: got %q, want the one of the first graph and the oldest of the second", readyIDs(got))
	}
	if got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Except: []string{"first"}}); readyIDs(got) != "second" {
		tb.Errorf("except one: got %q, want the other", readyIDs(got))
	}
	reserved := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1, Reserve: time.Hour})
	if readyIDs(reserved) != "first" {
		tb.Errorf("reserved: got %q, want the oldest", readyIDs(reserved))
	}
	got = wantReady(tb, s, "after a reservation", "g", "second")
	if len(got.Threads) == 1 && (got.Next.IsZero() || got.Next.After(got.Threads[0].Wake)) {
		tb.Errorf("the next wake is %v, want that of the thread that was left, %v, or a time before", got.Next, got.Threads[0].Wake)
	}
	if next := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Reserve: time.Millisecond}).Next; !next.Equal(later) {
		tb.Errorf("the next wake of a call that reserves all due threads: got %v, want %v, that of another thread", next, later)
	}
	until(tb, "a short reservation ends", func() bool {
		return readyIDs(ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}})) == "second"
	})
	mustDelete(tb, s, "second")
	wantReady(tb, s, "after a delete", "g", "")
	for _, q := range []checkpoint.ReadyQuery{
		{Limit: 0}, {Limit: 1, Reserve: -1}, {Limit: 1, Graphs: []string{strings.Repeat("x", checkpoint.MaxGraph+1)}},
	} {
		_, err := s.Ready(tb.Context(), q)
		wantInvalid(tb, fmt.Sprintf("ready %+v", q), err)
	}
}

// testReadyFar has threads that are due in centuries. A double has all microseconds only until
// 2255, and an int64 until 294247. A Wake after the year 9999 is the end of that year.
func testReadyFar(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	for _, year := range []int{2096, 2097, 2153, 2154, 2255, 2256, 2318, 9999, 10000, 250000, 300000, 1000000} {
		name := fmt.Sprint(year)
		wake := time.Date(year, 12, 31, 23, 59, 58, 123457000, time.UTC)
		r := ended(tb, s, name, "of "+name, checkpoint.Waiting, wake)
		ended(tb, s, "also "+name, "all", checkpoint.Waiting, wake)
		if got := wakeOf(tb, s, name); year < 9999 && !got.Equal(wake) || year >= 9999 && got.Year() != 9999 {
			tb.Errorf("a wake: got %v, want %v", got, wake)
		}
		for _, reserve := range []time.Duration{0, time.Minute, 0} {
			got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"of " + name}, Reserve: reserve})
			if readyIDs(got) != "" || got.Next.After(wake) || !got.Next.After(got.Now) {
				tb.Errorf("a thread that is due in %d: got %q ready and the next at %v, want none ready, and the next then", year, readyIDs(got), got.Next)
			}
		}
		mustRewake(tb, s, checkpoint.Rewake{Thread: name, Fence: r.fence, Wake: wake.Add(time.Second)})
		wantReady(tb, s, "a thread that is due later still", "of "+name, "")
		mustRewake(tb, s, checkpoint.Rewake{Thread: name, Fence: r.fence, Wake: atOnce})
		wantReady(tb, s, "a thread that is due now after all", "of "+name, name)
	}
	if got := wantReady(tb, s, "threads that are due in centuries", "all", ""); got.Next.Year() > 2096 {
		tb.Errorf("of all: got the next at %v, want it in 2096", got.Next)
	}
	ended(tb, s, "due", "all", checkpoint.Ready, atOnce)
	wantReady(tb, s, "a thread among those", "all", "due")
}

// testReadyLabels lets runs and posts set labels.
func testReadyLabels(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	a := about(tb, "run", checkpoint.ID{}, "g", "", map[string]string{"tenant": "acme", "plan": "free"})
	a.Records[0].Payload = logSnapshot("first")
	r, _ := tryBegin(tb, s, a)
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Ready, Wake: atOnce})
	ended(tb, s, "none", "g", checkpoint.Ready, atOnce)
	if done := tryPost(tb, s, checkpoint.Post{Thread: "posted", Graph: "g", Messages: []checkpoint.Message{input("in")}, Labels: map[string]string{"tenant": "other"}}); done.Err != nil {
		tb.Fatal(done.Err)
	}
	want := map[string]map[string]string{"run": {"tenant": "acme", "plan": "free"}, "posted": {"tenant": "other"}, "none": nil}
	for _, reserve := range []time.Duration{0, time.Hour} {
		got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Reserve: reserve})
		if len(got.Threads) != len(want) {
			tb.Errorf("got %q ready, want %d threads", readyIDs(got), len(want))
		}
		for _, t := range got.Threads {
			if !maps.Equal(t.Labels, want[t.ID]) || t.Labels != nil && len(t.Labels) == 0 {
				tb.Errorf("thread %q, with a reservation of %v: got the labels %q, want %q", t.ID, reserve, t.Labels, want[t.ID])
			}
		}
	}
}

// testReadyLeases checks that a thread is ready when its lease has ended.
func testReadyLeases(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	held, _ := tryBegin(tb, s, about(tb, "held", checkpoint.ID{}, "g", "", nil))
	before := wakeOf(tb, s, "held")
	lease := load(tb, s, checkpoint.Ref{Thread: "held"}).Thread.Lease
	if before.IsZero() || lease.Sub(before).Abs() > time.Second {
		tb.Errorf("an opening set the wake %v, want the end of its lease, %v", before, lease)
	}
	held.putWith(checkpoint.PutWrites{Lease: 2 * time.Hour})
	held.commit("")
	next := held.next("")
	next.Status, next.Lease = checkpoint.Running, 2*time.Hour
	held.append(next)
	held.put(held.write("task", checkpoint.Result, "", "x"))
	if after := wakeOf(tb, s, "held"); !after.Equal(before) {
		tb.Errorf("renewals, commits and writes moved the wake from %v to %v", before, after)
	}
	short := about(tb, "short", checkpoint.ID{}, "g", "", nil)
	short.Lease = time.Millisecond
	r, _ := tryBegin(tb, s, short)
	until(tb, "a lease ends", func() bool { return readyIDs(ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}})) == "short" })
	r.putWith(checkpoint.PutWrites{Lease: time.Hour}) // the run lives after all
	got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Reserve: time.Second})
	if len(got.Threads) != 0 {
		tb.Errorf("while the lease is alive: got %q, want none", readyIDs(got))
	}
	if got = wantReady(tb, s, "with living leases", "g", ""); got.Next.Before(got.Now.Add(30 * time.Minute)) {
		tb.Errorf("the next wake is %v at %v, want the end of a lease", got.Next, got.Now)
	}
	r.putWith(checkpoint.PutWrites{End: true, Wake: atOnce})
	wantReady(tb, s, "after the end of the run", "g", "short")
	a := r.next("")
	a.End, a.Status = true, checkpoint.Done
	r.append(a)
	wantReady(tb, s, "after an end without a wake", "g", "")
	again := about(tb, "short", r.heads[""], "g", "", nil)
	again.End, again.Status, again.Wake = true, checkpoint.Ready, atOnce
	tryBegin(tb, s, again)
	wantReady(tb, s, "after an opening that ends", "g", "short")
}

// testRewake checks that a wake is set if the fence is that of the newest run.
func testRewake(tb testing.TB, place Storage) {
	tb.Helper()
	s, ctx := open(tb, place), tb.Context()
	r := ended(tb, s, "t", "g", checkpoint.Waiting, time.Time{})
	for _, wake := range []time.Time{atOnce, {}, atOnce} {
		mustRewake(tb, s, checkpoint.Rewake{Thread: "t", Fence: r.fence, Wake: wake})
		want := "t"
		if wake.IsZero() {
			want = ""
		}
		wantReady(tb, s, fmt.Sprintf("a wake of %v", wake), "g", want)
	}
	wantConflict(tb, "with another fence", s.Rewake(ctx, checkpoint.Rewake{Thread: "t", Fence: newID(tb)}))
	wantConflict(tb, "of a thread that does not exist", s.Rewake(ctx, checkpoint.Rewake{Thread: "none", Fence: r.fence}))
	wantInvalid(tb, "of no thread", s.Rewake(ctx, checkpoint.Rewake{Fence: r.fence}))
	wantReady(tb, s, "after refused calls", "g", "t")
	second, _ := tryBegin(tb, s, about(tb, "t", r.fence, "g", "", nil))
	wantConflict(tb, "with the fence of the run before", s.Rewake(ctx, checkpoint.Rewake{Thread: "t", Fence: r.fence}))
	wantBusy(tb, "of a held thread", s.Rewake(ctx, checkpoint.Rewake{Thread: "t", Fence: second.fence}), "t", "holder of "+second.fence.String())
	second.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Ready, Wake: atOnce})

	if err := checkpoint.Copy(ctx, s, "t", 0, s, "copy"); err != nil {
		tb.Fatal(err)
	}
	wantReady(tb, s, "after an import", "g", "t")
	if wake := wakeOf(tb, s, "copy"); !wake.IsZero() {
		tb.Errorf("an import has the wake %v, want none", wake)
	}
	mustRelease(tb, s, "t")
	wantReady(tb, s, "after a release", "g", "")
	wantConflict(tb, "after a release", s.Rewake(ctx, checkpoint.Rewake{Thread: "t", Fence: second.fence, Wake: atOnce}))
	wantConflict(tb, "of a released thread without messages", s.Rewake(ctx, checkpoint.Rewake{Thread: "t", Wake: atOnce}))
	wantReady(tb, s, "after refused calls", "g", "")
	mustRewake(tb, s, checkpoint.Rewake{Thread: "copy", Wake: atOnce})
	wantReady(tb, s, "an import that was woken", "g", "copy")
}

// testAttempts checks that attempts without progress are counted.
func testAttempts(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	head := checkpoint.ID{}
	opened := func(what string, retry bool, want int) *run {
		tb.Helper()
		a := about(tb, "t", head, "g", "", nil)
		a.Open.Retry, a.Open.TakeOver = retry, true
		r, done := tryBegin(tb, s, a)
		head = r.heads[""]
		if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread.Attempts; done.Attempts != want || got != want {
			tb.Errorf("%s: the opening returns %d attempts and the thread has %d, want %d", what, done.Attempts, got, want)
		}
		return r
	}
	opened("the first run", true, 0)
	opened("after a crash", true, 1)
	opened("after two crashes", true, 2).putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Failed})
	r := opened("after a failure", true, 3)
	r.putWith(checkpoint.PutWrites{Progress: true, Writes: []checkpoint.Write{r.write("a", checkpoint.Result, "", "x")}})
	r = opened("after a crash with a result", true, 1)
	next := r.next("")
	next.Progress = true
	r.append(next)
	head = r.heads[""]
	opened("after a crash with a commit", true, 1).putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting})
	opened("after a clean end", true, 0)
	opened("after a crash", true, 1)
	r = opened("by a person", false, 0)
	last := r.next("")
	last.End, last.Status = true, checkpoint.Failed
	r.append(last)
	head = r.heads[""]
	opened("after a failure", true, 1)
	if got := opened("after a crash", true, 2); got != nil {
		listed := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}})
		if len(listed.Threads) != 0 {
			tb.Errorf("a held thread is ready: %+v", listed)
		}
		last = got.next("")
		last.End, last.Status, last.Wake = true, checkpoint.Failed, atOnce
		got.append(last)
	}
	if got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}}).Threads; len(got) != 1 || got[0].Attempts != 2 {
		tb.Errorf("a failed thread: got %+v, want it with 2 attempts", got)
	}
}

// testReadyOnce lets several callers reserve threads immediately.
func testReadyOnce(tb testing.TB, place Storage) {
	tb.Helper()
	s, other := openTwo(tb, place)
	const n = 30
	for i := range n {
		ended(tb, s, fmt.Sprintf("t%02d", i), "g", checkpoint.Ready, atOnce)
	}
	var mu sync.Mutex
	var got []string
	var done sync.WaitGroup
	for i := range 4 {
		saver := []checkpoint.Saver{s, other}[i%2]
		done.Go(func() {
			for range 200 {
				found, err := saver.Ready(tb.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 4, Reserve: time.Hour})
				if err != nil {
					tb.Errorf("ready: %v", err)
					return
				}
				mu.Lock()
				for _, t := range found.Threads {
					got = append(got, t.ID)
				}
				all := len(got)
				mu.Unlock()
				if all >= n {
					return
				}
			}
		})
	}
	done.Wait()
	slices.Sort(got)
	if once := slices.Compact(slices.Clone(got)); len(got) != n || len(once) != n {
		tb.Errorf("got %d threads, %d of them different; want %d, each once", len(got), len(once), n)
	}
}

// testReadyTogether lets two callers share the due threads of a graph. Each must hear of those
// that neither of them got, or nobody would look for them.
func testReadyTogether(tb testing.TB, place Storage) {
	tb.Helper()
	s, other := openTwo(tb, place)
	for round := range 6 {
		graph := fmt.Sprintf("g%d", round)
		for i := range 12 {
			ended(tb, s, fmt.Sprintf("%s-%02d", graph, i), graph, checkpoint.Ready, atOnce)
		}
		var got [2]checkpoint.ReadyThreads
		var done sync.WaitGroup
		for i, saver := range []checkpoint.Saver{s, other} {
			done.Go(func() {
				var err error
				got[i], err = saver.Ready(tb.Context(), checkpoint.ReadyQuery{Graphs: []string{graph}, Limit: 8, Reserve: time.Hour})
				if err != nil {
					tb.Errorf("ready: %v", err)
				}
			})
		}
		done.Wait()
		left := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{graph}}).Threads
		for _, g := range got {
			if len(left) > 0 && (g.Next.IsZero() || g.Next.After(left[0].Wake)) {
				tb.Errorf("got %d and %d threads; %d are still due since %v, but one call says that the next is due at %v",
					len(got[0].Threads), len(got[1].Threads), len(left), left[0].Wake, g.Next)
			}
		}
	}
}
