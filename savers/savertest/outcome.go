package savertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// outcome returns an outcome for the head of a namespace.
func (r *run) outcome(namespace, task, name, payload string) checkpoint.Write {
	return checkpoint.Write{
		Namespace: namespace, Base: r.heads[namespace], Task: task, Kind: checkpoint.Outcome, Name: name, Payload: []byte(payload),
	}
}

// putOutcome stores an outcome, with messages.
func putOutcome(tb testing.TB, s checkpoint.Saver, thread string, w checkpoint.Write, messages ...checkpoint.Message) error {
	tb.Helper()
	done, err := s.Post(tb.Context(), checkpoint.Post{Thread: thread, Outcomes: []checkpoint.Write{w}, Messages: messages})
	if err == nil {
		err = done[0].Err
	}
	return err
}

// putOutcomes stores outcomes, each by a call of its own.
func putOutcomes(tb testing.TB, s checkpoint.Saver, thread string, outcomes ...checkpoint.Write) {
	tb.Helper()
	for _, w := range outcomes {
		if err := putOutcome(tb, s, thread, w); err != nil {
			tb.Fatalf("outcome %q of task %q of %.40q: %v", w.Name, w.Task, thread, err)
		}
	}
}

// outcomes returns the stored outcomes among those that have the names of some, which have one
// base. They are in the order of task and name.
func outcomes(tb testing.TB, s checkpoint.Saver, thread string, some ...checkpoint.Write) []checkpoint.Write {
	tb.Helper()
	c, err := s.Load(tb.Context(), checkpoint.Ref{Thread: thread, Namespace: some[0].Namespace, At: some[0].Base})
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		tb.Fatalf("load of %.40q: %v", thread, err)
	}
	found := slices.DeleteFunc(slices.Clone(c.Writes), func(w checkpoint.Write) bool {
		return w.Kind != checkpoint.Outcome || !slices.ContainsFunc(some, func(o checkpoint.Write) bool { return o.Task == w.Task && o.Name == w.Name })
	})
	slices.SortFunc(found, func(a, b checkpoint.Write) int { return strings.Compare(a.Task+"\x00"+a.Name, b.Task+"\x00"+b.Name) })
	return found
}

func testOutcome(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	r.commit("child")
	first, second := r.outcome("", "a", "1", "one"), r.outcome("", "a", "2", "two")
	other, inChild := r.outcome("", "b", "1", ""), r.outcome("child", "a", "1", "in the child")
	absent := r.outcome("", "c", "1", "")
	other.Payload = nil
	putOutcomes(tb, s, "t", first, second, other, inChild)
	wantWrites(tb, "outcomes by name", outcomes(tb, s, "t", first, absent, other), first, other)
	wantWrites(tb, "outcomes of a child", outcomes(tb, s, "t", inChild), inChild)
	wantWrites(tb, "outcomes by no name", outcomes(tb, s, "t", absent))
	wantWrites(tb, "a load", load(tb, s, checkpoint.Ref{Thread: "t"}).Writes, first, second, other)
	wantWrites(tb, "a load of the child", load(tb, s, checkpoint.Ref{Thread: "t", Namespace: "child"}).Writes, inChild)

	r.put(r.write("a", checkpoint.Discard, "", ""), r.write("a", checkpoint.Discard, "1", ""))
	wantWrites(tb, "outcomes after a discard", outcomes(tb, s, "t", first, second, other), first, second, other)
	r.put(r.write("a", checkpoint.Result, "", "r"))
	wantWrites(tb, "a load after a result", load(tb, s, checkpoint.Ref{Thread: "t"}).Writes, first, second, other, r.write("a", checkpoint.Result, "", "r"))
	r.end()
	late := r.outcome("", "late", "1", "after the end")
	putOutcomes(tb, s, "t", late)
	wantWrites(tb, "an outcome after the end of the run", outcomes(tb, s, "t", late), late)
}

// testOutcomeFirst stores outcomes of the same names from several goroutines. One of each wins,
// and all callers succeed.
func testOutcomeFirst(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	putOutcomes(tb, s, "t", r.outcome("", "a", "1", "first"), r.outcome("", "a", "1", "second"))
	wantWrites(tb, "an outcome stored twice", outcomes(tb, s, "t", r.outcome("", "a", "1", "")), r.outcome("", "a", "1", "first"))

	const writers, tasks = 4, 8
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			for i := range tasks {
				w := r.outcome("", fmt.Sprint("task ", i), "1", fmt.Sprint("by ", n))
				if err := putOutcome(tb, s, "t", w); err != nil {
					tb.Errorf("put outcome: %v", err)
				}
			}
		})
	}
	all.Wait()
	for i := range tasks {
		name := r.outcome("", fmt.Sprint("task ", i), "1", "")
		found := outcomes(tb, s, "t", name)
		if len(found) != 1 {
			tb.Fatalf("outcomes of task %d: got %d, want 1", i, len(found))
		}
		putOutcomes(tb, s, "t", name)
		wantWrites(tb, "an outcome stored again", outcomes(tb, s, "t", name), found...)
	}
	if got := len(load(tb, s, checkpoint.Ref{Thread: "t"}).Writes); got != 1+tasks {
		tb.Errorf("writes: got %d, want %d", got, 1+tasks)
	}
}

func testOutcomeAlone(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	a := opening(tb, "t", checkpoint.ID{})
	a.Status, a.Open.Retry = checkpoint.Waiting, true
	held, _ := tryBegin(tb, s, a)
	before := load(tb, s, checkpoint.Ref{Thread: "t"})
	putOutcomes(tb, s, "t", held.outcome("", "a", "1", "1"))
	after := load(tb, s, checkpoint.Ref{Thread: "t"})
	before.Thread.Now, after.Thread.Now = time.Time{}, time.Time{} // the times of the loads
	if got, want := fmt.Sprintf("%+v %s", after.Thread, after.Head), fmt.Sprintf("%+v %s", before.Thread, before.Head); got != want {
		tb.Fatalf("the thread after an outcome:\n got %s\nwant %s", got, want)
	}
	// Outcomes do not renew a lease: another run gets the thread.
	a = opening(tb, "expires", checkpoint.ID{})
	a.Lease = time.Millisecond
	r, _ := tryBegin(tb, s, a)
	next, n := opening(tb, "expires", r.fence), 0
	next.Records[0].Base, next.Records[0].Source = r.fence, checkpoint.Resume
	until(tb, "the lease expired", func() bool {
		n++
		putOutcomes(tb, s, "expires", r.outcome("", "a", fmt.Sprint(n), "1"))
		_, err := s.Append(tb.Context(), next)
		return err == nil
	})
	// A run that lost the fence cannot write, but its tasks can.
	w := checkpoint.PutWrites{Thread: "expires", Fence: r.fence, Writes: []checkpoint.Write{r.write("a", checkpoint.Result, "", "r")}}
	wantConflict(tb, "a write without the fence", putErr(s.PutWrites(tb.Context(), w)))
	late := r.outcome("", "late", "1", "late")
	putOutcomes(tb, s, "expires", late)
	wantWrites(tb, "an outcome of a run that lost the fence", outcomes(tb, s, "expires", late), late)
	wantHead(tb, s, "expires", "", next.Records[0].ID)
}

func testOutcomeCommitted(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	early, late := r.outcome("", "a", "1", "early"), r.outcome("", "a", "2", "late")
	putOutcomes(tb, s, "t", early)
	r.commit("")
	putOutcomes(tb, s, "t", late, early)
	wantWrites(tb, "outcomes of a committed base", outcomes(tb, s, "t", early, late))
	wantWrites(tb, "a load of a committed base", load(tb, s, checkpoint.Ref{Thread: "t", At: r.fence}).Writes)
	now := r.outcome("", "a", "1", "now")
	putOutcomes(tb, s, "t", now)
	wantWrites(tb, "outcomes of the next base", outcomes(tb, s, "t", now), now)
	r.end()
	a := opening(tb, "t", r.heads[""])
	a.Records[0].Base, a.Records[0].Source = r.heads[""], checkpoint.Resume
	_, done := tryBegin(tb, s, a)
	wantWrites(tb, "the writes of an opening", done.Writes, now)
}

func testOutcomeGone(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	unknown := checkpoint.Write{Base: newID(tb), Task: "a", Kind: checkpoint.Outcome, Name: "1"}
	wantErr(tb, "an outcome for no thread", putOutcome(tb, s, "t", unknown), checkpoint.ErrNotFound)
	r := begin(tb, s, "t", checkpoint.ID{})
	wantErr(tb, "an outcome for no record", putOutcome(tb, s, "t", unknown), checkpoint.ErrNotFound)
	stored, late := r.outcome("", "a", "1", "1"), r.outcome("", "a", "2", "2")
	putOutcomes(tb, s, "t", stored)
	r.end()
	mustRelease(tb, s, "t")
	gone := func(what string) {
		tb.Helper()
		wantErr(tb, what, putOutcome(tb, s, "t", late), checkpoint.ErrNotFound)
		wantErr(tb, what+" once more", putOutcome(tb, s, "t", stored), checkpoint.ErrNotFound)
		wantWrites(tb, what, outcomes(tb, s, "t", stored, late))
	}
	gone("an outcome after a release")
	next := begin(tb, s, "t", checkpoint.ID{})
	gone("an outcome for the version before")
	wantWrites(tb, "the new version", load(tb, s, checkpoint.Ref{Thread: "t"}).Writes)
	next.end()
	mustDelete(tb, s, "t")
	gone("an outcome after a delete")
	begin(tb, s, "t", checkpoint.ID{})
	gone("an outcome for a thread that was deleted")
}

// testOutcomeOpening stores outcomes while another run takes the thread. The run finds each
// outcome: in the result of its opening, or by its name.
func testOutcomeOpening(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		thread := fmt.Sprint("race ", round)
		r := begin(tb, s, thread, checkpoint.ID{})
		const tasks = 12
		names := make([]checkpoint.Write, tasks)
		started := make(chan bool)
		var writer sync.WaitGroup
		writer.Go(func() {
			for i := range tasks {
				if i == tasks/3 {
					close(started)
				}
				names[i] = r.outcome("", fmt.Sprintf("task %02d", i), "1", "r")
				if err := putOutcome(tb, s, thread, names[i]); err != nil {
					tb.Errorf("put outcome: %v", err)
				}
			}
		})
		<-started
		a := opening(tb, thread, r.fence)
		a.Open.TakeOver = true
		a.Records[0].Base, a.Records[0].Source = r.fence, checkpoint.Resume
		_, done := tryBegin(tb, s, a)
		writer.Wait()
		if len(done.Writes) < tasks/3 {
			tb.Errorf("round %d: the opening returned %d outcomes, %d had been stored before", round, len(done.Writes), tasks/3)
		}
		wantWrites(tb, "outcomes during an opening", outcomes(tb, s, thread, names...), names...)
	}
}

func testOutcomeCopied(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	ctx := tb.Context()
	r := begin(tb, s, "t", checkpoint.ID{})
	step := func(source checkpoint.Source) {
		a := r.next("")
		a.Records[0].Snapshot, a.Records[0].Source = true, source
		if source == checkpoint.Fork {
			a.Records[0].Commits = checkpoint.ID{} // the line before stays open
		}
		r.append(a)
	}
	step(checkpoint.Loop)
	w := r.outcome("", "a", "1", "1")
	step(checkpoint.Fork)
	step(checkpoint.Loop)
	step(checkpoint.Loop)
	putOutcomes(tb, s, "t", w)
	r.end()
	mustPrune(tb, s, "t", checkpoint.Retention{Last: 1})
	wantWrites(tb, "outcomes after a prune", outcomes(tb, s, "t", w), w)
	wantWrites(tb, "the base after a prune", load(tb, s, checkpoint.Ref{Thread: "t", At: w.Base}).Writes, w)
	if err := checkpoint.Copy(ctx, s, "t", 0, s, "copy"); err != nil {
		tb.Fatal(err)
	}
	wantWrites(tb, "outcomes of a copy", outcomes(tb, s, "copy", w), w)
	more := w
	more.Name = "2"
	putOutcomes(tb, s, "copy", more)
	wantWrites(tb, "outcomes of the original", outcomes(tb, s, "t", w, more), w)
}

func testOutcomeInvalid(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	valid := r.outcome("", "a", "1", "1")
	for what, change := range map[string]func(w *checkpoint.Write){
		"a result":  func(w *checkpoint.Write) { w.Kind = checkpoint.Result },
		"no task":   func(w *checkpoint.Write) { w.Task = "" },
		"no base":   func(w *checkpoint.Write) { w.Base = checkpoint.ID{} },
		"long name": func(w *checkpoint.Write) { w.Name = strings.Repeat("n", checkpoint.MaxNamespace+1) },
	} {
		w := valid
		change(&w)
		wantInvalid(tb, what, putOutcome(tb, s, "t", w))
	}
	wantInvalid(tb, "an outcome without a thread", putOutcome(tb, s, "", valid))
	wantInvalid(tb, "an outcome with a message", putOutcome(tb, s, "t", valid, checkpoint.Message{ID: "m", Kind: checkpoint.SignalMessage}))
	wantWrites(tb, "writes", load(tb, s, checkpoint.Ref{Thread: "t"}).Writes)
}

// testOutcomeWakes posts outcomes to threads that wait, and to one that a run holds.
func testOutcomeWakes(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	wake := checkpoint.Message{ID: "wake", Kind: checkpoint.WakeMessage}
	n := 0
	want := func(r *run, what string, posted uint64, messages ...checkpoint.Message) {
		tb.Helper()
		n++
		done, err := s.Post(tb.Context(), checkpoint.Post{
			Thread: r.thread, Outcomes: []checkpoint.Write{r.outcome("", "task", fmt.Sprint(n), "1")}, Messages: messages,
		})
		if err != nil || done[0].Err != nil || len(done[0].Messages) != len(messages) || len(messages) == 1 && done[0].Messages[0].Number != posted {
			tb.Errorf("%s: got %+v and %v, want message %d", what, done, err, posted)
		}
	}
	due := func(what string, want ...string) {
		tb.Helper()
		got, err := s.Ready(tb.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 10, Reserve: time.Hour})
		if err != nil {
			tb.Fatal(err)
		}
		var ids []string
		for _, t := range got.Threads {
			ids = append(ids, t.ID)
		}
		if !slices.Equal(ids, want) {
			tb.Errorf("due %s: got %q, want %q", what, ids, want)
		}
	}
	begun := func(thread string) *run {
		a := opening(tb, thread, checkpoint.ID{})
		a.Records[0].Graph = "g"
		r, _ := tryBegin(tb, s, a)
		return r
	}
	end := func(r *run, status checkpoint.Status) {
		tb.Helper()
		if _, err := s.PutWrites(tb.Context(), checkpoint.PutWrites{Thread: r.thread, Fence: r.fence, Status: status, End: true}); err != nil {
			tb.Fatal(err)
		}
	}

	waits := begun("waits")
	end(waits, checkpoint.Waiting)
	want(waits, "an outcome alone", 0)
	due("after an outcome alone")
	want(waits, "the first outcome with a wake", 1, wake)
	want(waits, "the second one", 0, wake)
	due("after the outcomes", "waits")
	want(waits, "an outcome after the thread was reserved", 2, wake)
	due("after the reservation", "waits")
	if err := putOutcome(tb, s, "waits", waits.outcome("", "task", "1", "again"), wake); err != nil {
		tb.Error(err)
	}
	due("after a known outcome")

	held := begun("held")
	want(held, "the first outcome under a lease", 1, wake)
	want(held, "the second one under a lease", 0, wake)
	due("under the lease")
	end(held, checkpoint.Waiting)
	due("after the end of the run", "held")

	failed := begun("failed")
	end(failed, checkpoint.Failed)
	want(failed, "an outcome of a failed thread", 0, wake)
	due("after an outcome of a failed thread")
}
