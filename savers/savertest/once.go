package savertest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// testTakeOnce opens runs by an inbox that was read before another run took the messages.
func testTakeOnce(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	ctx := tb.Context()
	stale := func(what, thread string, after checkpoint.ID, h checkpoint.Handled) {
		tb.Helper()
		a := opening(tb, thread, after)
		a.Messages = h
		_, err := s.Append(ctx, a)
		wantConflict(tb, what, err)
	}
	untouched := func(what, thread, mail string, version int) {
		tb.Helper()
		wantMail(tb, s, what, thread, mail)
		if got := listed(tb, s, thread); got.Version != version || got.Holder != "" {
			tb.Errorf("%s: got version %d held by %q, want version %d and no holder", what, got.Version, got.Holder, version)
		}
	}
	releases := map[string]func(r *run){
		"a release": func(r *run) {
			r.end()
			mustRelease(tb, s, r.thread)
		},
		"an end that releases": func(r *run) {
			a := r.next("")
			a.End, a.Release, a.Status = true, true, checkpoint.Done
			r.append(a)
		},
	}
	for how, release := range releases {
		thread := "after " + how
		post(tb, s, thread, input("a"), input("b"), input("c"))
		first := opening(tb, thread, checkpoint.ID{})
		first.Messages = take(1)
		first.Messages.Refuse = refuse("late", 2).Refuse
		r, _ := tryBegin(tb, s, first)
		if _, err := s.Append(ctx, first); err != nil {
			tb.Errorf("an opening that takes and refuses, sent again: %v", err)
		}
		release(r)
		stale("an opening that takes a message again after "+how, thread, checkpoint.ID{}, take(1))
		stale("an opening that refuses a message again after "+how, thread, checkpoint.ID{}, refuse("r", 2))
		stale("an opening that takes a refused message after "+how, thread, checkpoint.ID{}, take(3, 2))
		stale("an opening that takes a message that does not exist after "+how, thread, checkpoint.ID{}, take(3, 99))
		none := take(99)
		none.Return = []checkpoint.Message{numbered(99, input("none"))}
		stale("an opening that returns and takes a message that does not exist after "+how, thread, checkpoint.ID{}, none)
		untouched("after openings that were refused after "+how, thread, "3:c", 0)
		back := opening(tb, thread, checkpoint.ID{})
		back.Messages = checkpoint.Handled{Take: []uint64{1, 3, 3}, Return: []checkpoint.Message{numbered(1, input("a"))}}
		tryBegin(tb, s, back)
		wantMail(tb, s, "after an opening that returns and takes", thread, "")
	}

	// A put leaves the head as it is, so the head does not tell that a message was taken.
	r := begin(tb, s, "t", checkpoint.ID{})
	post(tb, s, "t", signal("a"), signal("b"))
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting, Messages: take(1)})
	stale("an opening that takes what a put took", "t", r.heads[""], take(2, 1))
	untouched("after an opening that was refused at the head", "t", "2:b", 1)

	mustDelete(tb, s, "t")
	stale("an opening that takes a message of a thread that was deleted", "t", checkpoint.ID{}, take(2))
	if left := threads(tb, s, checkpoint.ThreadQuery{Prefix: "t", Released: true}); len(left) > 0 {
		tb.Errorf("after an opening that was refused there is %+v, want no thread", left)
	}
	post(tb, s, "t", input("new"))
	wantMail(tb, s, "after a deletion and a refused opening", "t", "1:new")
}

// testBirth makes the calls of a caller that has read a thread, and the inbox of it, before
// another thread got the id.
func testBirth(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	ctx := tb.Context()
	known := make(map[checkpoint.ID]string)
	// other fails unless a thread has a Birth that was not seen before.
	other := func(what string, birth checkpoint.ID) {
		tb.Helper()
		if before, found := known[birth]; found || birth.IsZero() {
			tb.Errorf("%s has the birth %s, want one of its own; seen with %q", what, birth, before)
		}
		known[birth] = what
	}
	// same fails unless a thread still has a Birth.
	same := func(what string, got, want checkpoint.ID) {
		tb.Helper()
		if got != want {
			tb.Errorf("%s: the birth is %s, want %s", what, got, want)
		}
	}

	post(tb, s, "t", input("a"))
	first := readyThread(tb, s, "a posted thread")
	other("a posted thread", first.Birth)
	mustDelete(tb, s, "t")
	early := about(tb, "t", checkpoint.ID{}, "g", "", nil)
	early.Open.Birth = first.Birth
	_, err := s.Append(ctx, early)
	wantConflict(tb, "an opening by the birth of a thread that was deleted", err)

	post(tb, s, "t", input("b"))
	second := readyThread(tb, s, "another posted thread")
	other("another posted thread", second.Birth)
	if second.Posted != first.Posted || second.Fence != first.Fence {
		tb.Fatalf("the threads are %+v and %+v, want only the birth to tell them apart", first, second)
	}
	err = s.Rewake(ctx, checkpoint.Rewake{Thread: "t", Fence: first.Fence, Posted: first.Posted, Birth: first.Birth})
	wantConflict(tb, "a rewake by the birth of another thread", err)
	wantReady(tb, s, "after a rewake by the birth of another thread", "g", "t")
	late := about(tb, "t", checkpoint.ID{}, "g", "", nil)
	late.Open.Birth, late.Messages = first.Birth, take(1)
	_, err = s.Append(ctx, late)
	wantConflict(tb, "an opening by the birth of another thread", err)
	wantMail(tb, s, "after an opening by the birth of another thread", "t", "1:b")
	if got := listed(tb, s, "t"); got.Version != 0 || got.Versions != 0 {
		tb.Errorf("after refused openings: got %d versions, want none", got.Versions)
	}

	late.Open.Birth = second.Birth
	r, done := tryBegin(tb, s, late)
	same("an opening", done.Birth, second.Birth)
	if done, err = s.Append(ctx, late); err != nil {
		tb.Fatal(err)
	}
	same("an opening sent again", done.Birth, second.Birth)
	same("a loaded thread", load(tb, s, checkpoint.Ref{Thread: "t"}).Birth, second.Birth)
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Done, Messages: checkpoint.Handled{Seen: 1}})
	mustPrune(tb, s, "t", checkpoint.Retention{Last: 1})
	mustRelease(tb, s, "t")
	if _, done = tryBegin(tb, s, about(tb, "t", checkpoint.ID{}, "g", "", nil)); done.Version != 2 {
		tb.Errorf("got version %d, want 2", done.Version)
	}
	same("the next version", done.Birth, second.Birth)

	opened, done := tryBegin(tb, s, opening(tb, "opened", checkpoint.ID{}))
	other("a thread that an opening created", done.Birth)
	post(tb, s, "opened", signal("a"))
	same("a thread with a message", load(tb, s, checkpoint.Ref{Thread: "opened"}).Birth, done.Birth)
	opened.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting})

	items, err := collect(s.Export(ctx, "opened", 0))
	if err != nil {
		tb.Fatal(err)
	}
	head, before := opened.heads[""], done.Birth
	for _, what := range []string{"an imported thread", "a thread that was imported again"} {
		mustDelete(tb, s, "opened")
		if err := s.Import(ctx, "opened", seq(items...)); err != nil {
			tb.Fatal(err)
		}
		got := load(tb, s, checkpoint.Ref{Thread: "opened"})
		other(what, got.Birth)
		a := opening(tb, "opened", head) // the copy has the same head
		a.Open.Birth, a.Messages = before, take(1)
		_, err := s.Append(ctx, a)
		wantConflict(tb, "an opening at the head of "+what, err)
		wantMail(tb, s, "an opening at the head of "+what, "opened", "1:a")
		before = got.Birth
	}
}

// The number of inputs of testInputsOnce, and of the threads to which they are posted. The number
// of inputs of each thread that is removed, and of the callers that take them.
const (
	onceInputs  = 40
	onceThreads = 3
	onceAgain   = 10
	onceTakers  = 4
	onceFinds   = 6 // that a caller keeps, and picks from
)

// onceFind is a thread with its untaken messages, as a caller has read them.
type onceFind struct {
	found   checkpoint.ReadyThread
	waiting []checkpoint.Message
}

// testInputsOnce posts inputs, also with Idle and behind cancels, to threads whose versions are
// released, and that are pruned when they have ended. Two more threads are removed before each
// input; one gets it by an import. Callers take what Ready and Mail return, late. Each input is
// taken or refused once.
func testInputsOnce(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	o := &onceRun{tb: tb, s: s, ended: make(map[string]int)}
	var all sync.WaitGroup
	for range onceTakers {
		all.Go(func() {
			var finds []onceFind
			for o.left() && tb.Context().Err() == nil {
				finds = append(finds, o.find()...)
				if finds = finds[max(len(finds)-onceFinds, 0):]; len(finds) > 0 {
					o.take(&finds[rand.IntN(len(finds))])
				}
			}
		})
	}
	all.Go(func() { o.again("removed", o.post) })
	all.Go(func() { o.again("imported", o.give) })
	for n := range onceInputs {
		p := checkpoint.Post{Thread: fmt.Sprint("t", n%onceThreads), Graph: "g", Idle: n%5 == 1}
		if n%5 == 2 {
			p.Messages = append(p.Messages, message(fmt.Sprint("cancel ", n), checkpoint.CancelMessage))
		}
		p.Messages = append(p.Messages, input(fmt.Sprint("input ", n)))
		if done := tryPost(tb, s, p); errors.Is(done.Err, checkpoint.ErrNotIdle) {
			o.end(fmt.Sprint("input ", n))
		} else if done.Err != nil {
			tb.Errorf("post: %v", done.Err)
		}
	}
	all.Wait()
	for _, id := range slices.Sorted(maps.Keys(o.ended)) {
		if o.ended[id] != 1 {
			tb.Errorf("%s was taken or refused %d times, want once", id, o.ended[id])
		}
	}
}

// onceRun counts how often each input was taken or refused.
type onceRun struct {
	tb testing.TB
	s  checkpoint.Saver

	mu     sync.Mutex
	ended  map[string]int
	failed bool
}

// end counts inputs that were taken or refused.
func (o *onceRun) end(ids ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		o.ended[id]++
	}
}

// again gives a thread one input after another. It removes the thread when the input has ended.
func (o *onceRun) again(thread string, give func(thread, id string) bool) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for n := range onceAgain {
		id := fmt.Sprint(thread, " ", n)
		if !give(thread, id) {
			return
		}
		for over := false; !over; {
			select {
			case <-tick.C:
			case <-o.tb.Context().Done():
				return
			}
			o.mu.Lock()
			over = o.ended[id] > 0
			failed := o.failed
			o.mu.Unlock()
			if failed {
				return
			}
			if over {
				err := o.s.Delete(o.tb.Context(), thread)
				over = o.check("delete", err) || errors.Is(err, checkpoint.ErrNotFound)
			}
		}
	}
}

// post posts an input. It reports whether that succeeded.
func (o *onceRun) post(thread, id string) bool {
	done, err := o.s.Post(o.tb.Context(), checkpoint.Post{Thread: thread, Graph: "g", Messages: []checkpoint.Message{input(id)}})
	return o.check("post", err) && o.check("post", done[0].Err)
}

// give imports a thread with an input, as message 1. It reports whether that succeeded.
func (o *onceRun) give(thread, id string) bool {
	m := numbered(1, input(id))
	m.Posted = created
	about := checkpoint.Thread{ID: thread, Graph: "g", Status: checkpoint.Ready, Created: created, Updated: created, Wake: created, Posted: 1, Inputs: 1}
	if !o.check("import", o.s.Import(o.tb.Context(), thread, seq(checkpoint.ExportItem{Thread: &about}, checkpoint.ExportItem{Message: &m}))) {
		return false
	}
	wake := checkpoint.Post{Thread: thread, Graph: "g", Messages: []checkpoint.Message{{ID: "wake", Kind: checkpoint.WakeMessage}}}
	done, err := o.s.Post(o.tb.Context(), wake) // a copy is not due by itself
	return o.check("wake", err) && o.check("wake", done[0].Err)
}

// left reports whether inputs wait.
func (o *onceRun) left() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.ended) < onceInputs+2*onceAgain && !o.failed
}

// check reports whether a call succeeded. A conflict is no failure.
func (o *onceRun) check(what string, err error) bool {
	if err != nil && !errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, checkpoint.ErrNotFound) && o.tb.Context().Err() == nil {
		o.tb.Errorf("%s: %v", what, err)
		o.mu.Lock()
		o.failed = true
		o.mu.Unlock()
	}
	return err == nil
}

// find reads the inboxes of the threads that are due.
func (o *onceRun) find() (finds []onceFind) {
	ctx := o.tb.Context()
	got, err := o.s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: onceThreads + 2})
	if !o.check("ready", err) {
		return nil
	}
	for _, found := range got.Threads {
		waiting, err := o.s.Mail(ctx, checkpoint.MailQuery{Thread: found.ID})
		if o.check("mail", err) {
			finds = append(finds, onceFind{found, waiting})
		}
	}
	return finds
}

// take opens a run with the messages of a find up to the first input after the newest cancel,
// which refuses the inputs before it. Then it ends the run. If no message waited, the thread is
// not due any more.
func (o *onceRun) take(l *onceFind) {
	ctx, found, waiting, after := o.tb.Context(), &l.found, l.waiting, checkpoint.ID{}
	if len(waiting) == 0 {
		o.check("rewake", o.s.Rewake(ctx, checkpoint.Rewake{Thread: found.ID, Fence: found.Fence, Posted: found.Posted, Birth: found.Birth}))
		return
	}
	if !found.Fence.IsZero() {
		c, err := o.s.Load(ctx, checkpoint.Ref{Thread: found.ID})
		if !o.check("load", err) {
			return
		}
		after = c.Head
	}
	a := about(o.tb, found.ID, after, "g", "", nil)
	cancel := -1
	for i := range waiting {
		if waiting[i].Kind == checkpoint.CancelMessage {
			cancel = i
		}
	}
	handled := waiting[:min(cancel+2, len(waiting))]
	var ended []string
	for i := range handled {
		m := &handled[i]
		if m.Kind == checkpoint.InputMessage {
			ended = append(ended, m.ID)
		}
		if m.Kind == checkpoint.InputMessage && i < cancel {
			a.Messages.Refuse = append(a.Messages.Refuse, checkpoint.Refusal{Number: m.Number, Reason: "cancelled"})
		} else {
			a.Messages.Take = append(a.Messages.Take, m.Number)
		}
	}
	a.Open.Birth = found.Birth
	_, err := o.s.Append(ctx, a)
	if !o.check("append", err) {
		return
	}
	o.end(ended...)
	wake := time.Time{}
	if len(waiting) > len(handled) {
		wake = atOnce
	}
	fence, seen := a.Records[0].ID, checkpoint.Handled{Seen: waiting[len(waiting)-1].Number}
	how := rand.IntN(4)
	if how == 0 {
		r := run{tb: o.tb, s: o.s, thread: found.ID, fence: fence, heads: map[string]checkpoint.ID{"": fence}}
		end := r.next("")
		end.End, end.Release, end.Status, end.Messages = true, true, checkpoint.Done, seen
		_, err = o.s.Append(ctx, end)
	} else {
		_, err = o.s.PutWrites(ctx, checkpoint.PutWrites{
			Thread: found.ID, Fence: fence, End: true, Status: checkpoint.Done, Wake: wake, Messages: seen,
		})
	}
	o.check("end", err)
	switch how {
	case 1:
		_, err = o.s.Release(ctx, found.ID, checkpoint.ID{})
	case 0, 2:
		_, err = o.s.Prune(ctx, found.ID, checkpoint.Retention{Ended: farOff})
	}
	o.check("release or prune", err)
}
