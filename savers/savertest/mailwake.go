package savertest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// later is a Wake that does not come during a test.
func later(tb testing.TB, s checkpoint.Saver) time.Time {
	tb.Helper()
	return ready(tb, s, checkpoint.ReadyQuery{}).Now.Add(time.Hour).Truncate(time.Second)
}

// readyThread returns the one thread of graph g that is due.
func readyThread(tb testing.TB, s checkpoint.Saver, what string) checkpoint.ReadyThread {
	tb.Helper()
	got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}})
	if len(got.Threads) != 1 {
		tb.Fatalf("%s: got %q ready, want one thread", what, readyIDs(got))
	}
	return got.Threads[0]
}

// testMailWakes checks that a message makes a thread due.
func testMailWakes(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	wake := later(tb, s)
	r := ended(tb, s, "t", "g", checkpoint.Waiting, wake)
	n := uint64(0)
	for _, kind := range []checkpoint.MessageKind{checkpoint.InputMessage, checkpoint.AnswerMessage, checkpoint.SignalMessage, checkpoint.CancelMessage} {
		for _, wake := range []time.Time{wake, {}} {
			r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting, Wake: wake, Messages: checkpoint.Handled{Seen: n}})
			wantReady(tb, s, "before a message", "g", "")
			n = post(tb, s, "t", message(fmt.Sprint(kind, wake.IsZero()), kind))
			if t := readyThread(tb, s, "after a message "+kind.String()); t.Posted != n || t.Fence != r.fence {
				tb.Errorf("a ready thread: got %+v, want %d posted and fence %s", t, n, r.fence)
			}
		}
	}
	first := wakeOf(tb, s, "t")
	until(tb, "the clock moves on", func() bool { return ready(tb, s, checkpoint.ReadyQuery{}).Now.After(first) })
	post(tb, s, "t", signal("one more"))
	if got := wakeOf(tb, s, "t"); !got.Equal(first) {
		tb.Errorf("a message to a thread that is due moved its wake from %v to %v", first, got)
	}
	for _, graph := range []string{"g", "another graph"} {
		ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Reserve: time.Hour})
		wantReady(tb, s, "after a reservation", "g", "")
		tryPost(tb, s, checkpoint.Post{Thread: "t", Graph: graph, Messages: []checkpoint.Message{signal("after a reservation " + graph)}})
		wantReady(tb, s, "after a message for "+graph+" to a reserved thread", "g", "t")
	}

	held, _ := tryBegin(tb, s, about(tb, "t", r.heads[""], "g", "", nil))
	before := wakeOf(tb, s, "t")
	n = post(tb, s, "t", signal("to a held thread"))
	if got := wakeOf(tb, s, "t"); !got.Equal(before) {
		tb.Errorf("a message to a held thread moved its wake from %v to %v", before, got)
	}
	held.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting, Wake: wake, Messages: checkpoint.Handled{Seen: n}})
	if got := wakeOf(tb, s, "t"); !got.Equal(wake) {
		tb.Errorf("an end with all messages seen: the wake is %v, want %v", got, wake)
	}
	wantReady(tb, s, "after an end with all messages seen", "g", "")
	short := about(tb, "t", held.heads[""], "g", "", nil)
	short.Lease = time.Millisecond
	tryBegin(tb, s, short)
	until(tb, "a lease ends", func() bool { return readyIDs(ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}})) == "t" })
}

// testReadyMail checks that Ready returns the messages of the threads that it reserves.
func testReadyMail(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	due := func(what string, q checkpoint.ReadyQuery) map[string]checkpoint.ReadyThread {
		tb.Helper()
		q.Graphs = []string{"g"}
		all := make(map[string]checkpoint.ReadyThread)
		for _, t := range ready(tb, s, q).Threads {
			all[t.ID] = t
			want := messagesText(mail(tb, s, checkpoint.MailQuery{Thread: t.ID}))
			if got := messagesText(t.Mail); t.HasMail && got != want || !t.HasMail && got != "" {
				tb.Errorf("%s: %s is ready with the messages %q, %v; want %q", what, t.ID, got, t.HasMail, want)
			}
		}
		return all
	}
	r := ended(tb, s, "again", "g", checkpoint.Done, time.Time{})
	if got := load(tb, s, checkpoint.Ref{Thread: "again"}).Fence; got != r.fence {
		tb.Errorf("the fence of a load: got %s, want that of the newest run, %s", got, r.fence)
	}
	post(tb, s, "new", input("first"), input("second"))
	post(tb, s, "many", input("1"), input("2"), input("3"), input("4"))
	post(tb, s, "again", signal("taken"), input("refused"), signal("left"), input("first"))
	r.putWith(checkpoint.PutWrites{Messages: checkpoint.Handled{Take: []uint64{1}, Refuse: []checkpoint.Refusal{{Number: 2, Reason: "no"}}}})
	ended(tb, s, "none", "g", checkpoint.Ready, atOnce)
	for what, q := range map[string]checkpoint.ReadyQuery{"without messages": {Reserve: time.Millisecond}, "without a reservation": {Mail: 3}} {
		for id, t := range due(what, q) {
			if t.HasMail {
				tb.Errorf("%s: %s has messages", what, id)
			}
		}
	}
	all := make(map[string]checkpoint.ReadyThread)
	until(tb, "short reservations end", func() bool {
		maps.Copy(all, due("with messages", checkpoint.ReadyQuery{Reserve: time.Hour, Mail: 3}))
		return len(all) == 4
	})
	for id, want := range map[string]string{"new": "1:first 2:second", "again": "3:left 4:first", "none": ""} {
		if t := all[id]; !t.HasMail || mailText(t.Mail) != want || t.Fence != load(tb, s, checkpoint.Ref{Thread: id}).Fence {
			tb.Errorf("%s is ready with the messages %q, %v, and the fence %s; want %q and that of a load", id, mailText(t.Mail), t.HasMail, t.Fence, want)
		}
	}
	if all["many"].HasMail {
		tb.Error("a thread with more messages than a call asks for has messages")
	}
	a := about(tb, "new", checkpoint.ID{}, "g", "", nil)
	a.Messages = take(1)
	next, _ := tryBegin(tb, s, a)
	next.end()
	wantMail(tb, s, "after an opening that takes", "new", "2:second")
	mustRelease(tb, s, "new")
	if got := load(tb, s, checkpoint.Ref{Thread: "new", Version: 1}).Fence; !got.IsZero() {
		tb.Errorf("the fence of a released version: got %s, want none", got)
	}
	if t := due("after a release", checkpoint.ReadyQuery{Reserve: time.Hour, Mail: 1})["new"]; !t.HasMail || mailText(t.Mail) != "2:second" {
		tb.Errorf("after a release: the thread is ready with the messages %q, %v; want the second", mailText(t.Mail), t.HasMail)
	}
}

// testReadyMailBytes checks that a Ready returns few bytes of messages, and all threads.
func testReadyMailBytes(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	const size = checkpoint.MaxReadyMail/2 - 4<<10
	random := rand.NewChaCha8([32]byte{})
	send := func(thread, id string, bytes int) {
		tb.Helper()
		m := input(id)
		m.Payload = make([]byte, bytes)
		_, _ = random.Read(m.Payload) // it cannot be compressed
		post(tb, s, thread, m)
	}
	for n := range 4 {
		send(fmt.Sprint("large ", n), "1", size)
	}
	send("larger", "1", checkpoint.MaxReadyMail+1)
	send("small", "1", 1)
	got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Reserve: time.Hour, Mail: 100})
	total, with := 0, 0
	for _, t := range got.Threads {
		for _, m := range t.Mail {
			total += len(m.Payload)
		}
		if t.HasMail {
			with++
		}
		if t.ID == "larger" && t.HasMail {
			tb.Errorf("a thread with more than %d bytes of messages has messages", checkpoint.MaxReadyMail)
		}
	}
	if len(got.Threads) != 6 || with < 2 || with > 3 || total > checkpoint.MaxReadyMail {
		tb.Errorf("got %d threads, %d of them with %d bytes of messages; want 6, and at most %d bytes of 2 or 3 threads", len(got.Threads), with, total, checkpoint.MaxReadyMail)
	}
	// Its messages are taken, so it has room for others.
	a := about(tb, "larger", checkpoint.ID{}, "g", "", nil)
	a.Messages = take(1)
	next, _ := tryBegin(tb, s, a)
	next.end()
	send("larger", "2", 1)
	again := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Reserve: time.Hour, Mail: 100}).Threads
	if len(again) != 1 || !again[0].HasMail || len(again[0].Mail) != 1 || again[0].Mail[0].ID != "2" {
		tb.Errorf("after its large message was taken, the thread is ready with %v; want the small message", again)
	}
}

// testUnseen checks that a run that ends with unseen messages is due.
func testUnseen(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	wake := later(tb, s)
	head := checkpoint.ID{}
	for name, end := range map[string]func(r *run, seen uint64){
		"a put": func(r *run, seen uint64) {
			r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting, Wake: wake, Messages: checkpoint.Handled{Seen: seen}})
		},
		"a put with a write": func(r *run, seen uint64) {
			w := []checkpoint.Write{r.write("task", checkpoint.Question, "q", "x")}
			r.putWith(checkpoint.PutWrites{End: true, Writes: w, Messages: checkpoint.Handled{Seen: seen}})
		},
		"an append": func(r *run, seen uint64) {
			a := r.next("")
			a.End, a.Status, a.Messages.Seen = true, checkpoint.Done, seen
			r.append(a)
		},
	} {
		a := about(tb, "t", head, "g", "", nil)
		r, done := tryBegin(tb, s, a)
		newest := post(tb, s, "t", signal(name+" 1"), signal(name+" 2"))
		end(r, done.Posted)
		wantReady(tb, s, name+" that ends a run with unseen messages", "g", "t")
		end(r, newest-1)
		wantReady(tb, s, name+" that ends a run with an unseen message", "g", "t")
		end(r, newest)
		wantReady(tb, s, name+" that ends a run with all messages seen", "g", "")
		head = r.heads[""]
	}
	a := about(tb, "t", head, "g", "", nil)
	a.End, a.Status = true, checkpoint.Ready
	tryBegin(tb, s, a)
	wantReady(tb, s, "an opening that ends with unseen messages", "g", "t")
}

// testWakeMessage checks that a wake message starts a failed thread.
func testWakeMessage(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	failed := func(head checkpoint.ID) *run {
		a := about(tb, "t", head, "g", "", nil)
		a.Open.Retry, a.Open.TakeOver = true, true
		r, _ := tryBegin(tb, s, a)
		return r
	}
	r := failed(failed(checkpoint.ID{}).heads[""])
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Failed})
	if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread; got.Attempts != 1 || !got.Wake.IsZero() {
		tb.Fatalf("a failed thread has %d attempts and the wake %v, want one and none", got.Attempts, got.Wake)
	}
	seen := ready(tb, s, checkpoint.ReadyQuery{}).Now
	for n := range uint64(2) {
		if got := post(tb, s, "t", message("wake", checkpoint.WakeMessage)); got != n+1 {
			tb.Errorf("a wake message has number %d, want %d", got, n+1)
		}
		if t := readyThread(tb, s, "after a wake message"); t.Attempts != 0 || t.Posted != n+1 || t.Wake.Before(seen) {
			tb.Errorf("a woken thread: got %+v, want no attempts, %d posted and a wake after %v", t, n+1, seen)
		}
		stale := checkpoint.Rewake{Thread: "t", Fence: r.fence, Posted: n}
		wantConflict(tb, "a rewake by a look before the message", s.Rewake(tb.Context(), stale))
		stale.Posted++
		if err := s.Rewake(tb.Context(), stale); err != nil {
			tb.Errorf("a rewake by a look after the message: %v", err)
		}
		wantReady(tb, s, "after a rewake", "g", "")
	}
	wantMail(tb, s, "after wake messages", "t", "")
	held := failed(r.heads[""])
	post(tb, s, "t", message("wake", checkpoint.WakeMessage))
	if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread.Attempts; got != 0 {
		tb.Errorf("a held thread has %d attempts after a wake message, want none", got)
	}
	held.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Failed, Messages: checkpoint.Handled{Seen: 2}})
	wantReady(tb, s, "after the end of a run that did not see the wake message", "g", "t")
}

// testNoVersion checks that a thread has messages before its first version.
func testNoVersion(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	ctx := tb.Context()
	labels := map[string]string{"tenant": "a"}
	p := checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{signal("early")}}
	before := ready(tb, s, checkpoint.ReadyQuery{}).Now
	if done := tryPost(tb, s, p); done.Err != nil {
		tb.Fatal(done.Err)
	}
	if got := threads(tb, s, checkpoint.ThreadQuery{}); len(got) != 0 {
		tb.Errorf("a thread with a signal is listed: %+v", got)
	}
	p = checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{input("a"), input("b")}, Graph: "g", Title: "ignored", Labels: labels}
	tryPost(tb, s, p)
	p.Graph, p.Messages = "other", []checkpoint.Message{input("c")}
	tryPost(tb, s, p)
	t := readyThread(tb, s, "after an input")
	if t.Graph != "g" || t.Status != checkpoint.Ready || !t.Fence.IsZero() || t.Attempts != 0 || t.Posted != 4 || t.Wake.Before(before) {
		tb.Errorf("a ready thread: got %+v, want graph g, status ready, no fence, and 4 posted", t)
	}
	all, err := collect(s.Threads(ctx, checkpoint.ThreadQuery{Status: checkpoint.Ready, Graph: "g"}))
	if err != nil || len(all) != 1 {
		tb.Fatalf("threads: got %+v and %v, want one", all, err)
	}
	got := all[0]
	if got.ID != "t" || got.Version != 0 || got.Versions != 0 || !got.Head.IsZero() || got.Title != "" || got.Labels != nil ||
		got.Inputs != 3 || got.Others != 1 || got.Posted != 4 || !got.Wake.Equal(t.Wake) || got.Created.Before(before) || !got.Updated.Equal(got.Created) {
		tb.Errorf("a thread without a version: got %+v", got)
	}
	if chain := load(tb, s, checkpoint.Ref{Thread: "t"}); !chain.Empty() || chain.Version != 0 {
		tb.Errorf("load: got %+v, want an empty chain", chain)
	}
	if versions, err := s.Versions(ctx, "t"); err != nil || len(versions) != 0 {
		tb.Errorf("versions: got %+v and %v, want none", versions, err)
	}
	_, err = s.Release(ctx, "t", checkpoint.ID{})
	wantErr(tb, "a release without a version", err, checkpoint.ErrNotFound)
	wantConflict(tb, "a rewake with a fence", s.Rewake(ctx, checkpoint.Rewake{Thread: "t", Posted: 4, Fence: newID(tb)}))
	wantConflict(tb, "a rewake by an old look", s.Rewake(ctx, checkpoint.Rewake{Thread: "t", Posted: 3}))
	if err := s.Rewake(ctx, checkpoint.Rewake{Thread: "t", Posted: 4}); err != nil {
		tb.Error(err)
	}
	wantReady(tb, s, "after a rewake", "g", "")
	created := got.Created
	a := about(tb, "t", checkpoint.ID{}, "g", "", nil)
	a.Messages = take(2)
	r, done := tryBegin(tb, s, a)
	got = load(tb, s, checkpoint.Ref{Thread: "t"}).Thread
	if done.Version != 1 || got.Version != 1 || got.Inputs != 2 || !got.Created.Equal(created) {
		tb.Errorf("the first run: got version %d and %+v, want version 1, 2 inputs, created at %v", done.Version, got, created)
	}
	wantMail(tb, s, "after the first run took one", "t", "1:early 3:b 4:c")
	r.end()
	tryPost(tb, s, checkpoint.Post{Thread: "new", Messages: []checkpoint.Message{input("a")}, Graph: "h", Title: "title", Labels: labels})
	all, err = collect(s.Threads(ctx, checkpoint.ThreadQuery{Labels: labels}))
	if err != nil || len(all) != 1 || all[0].ID != "new" || all[0].Title != "title" || all[0].Graph != "h" {
		tb.Errorf("threads by label: got %+v and %v, want the one that a post described", all, err)
	}
}

// testPosters lets several callers post to two threads while a run opens one of them.
func testPosters(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	const posters, each = 6, 15
	var done sync.WaitGroup
	for i := range posters {
		done.Go(func() {
			for n := range each {
				p := checkpoint.Post{Thread: "t", Graph: "g", Messages: []checkpoint.Message{signal(fmt.Sprint(i, " ", n)), input(fmt.Sprint(i, " i", n))}}
				shared := checkpoint.Post{Thread: "shared", Graph: "h", Messages: []checkpoint.Message{signal(fmt.Sprint(n))}}
				got, err := s.Post(tb.Context(), p, shared)
				if err != nil || len(got) != 2 || got[0].Err != nil || got[1].Err != nil {
					tb.Errorf("post: got %+v and %v", got, err)
					return
				}
				if m := got[0].Messages; m[1].Number != m[0].Number+1 {
					tb.Errorf("two messages of one post: got %+v, want numbers in sequence", m)
				}
			}
		})
	}
	var taken []uint64
	done.Go(func() {
		r, err := s.Append(tb.Context(), about(tb, "t", checkpoint.ID{}, "g", "", nil))
		if err != nil || r.Version != 1 {
			tb.Errorf("a run while others post: got version %d and %v, want 1", r.Version, err)
		}
	})
	done.Wait()
	chain := load(tb, s, checkpoint.Ref{Thread: "t"})
	for _, m := range mail(tb, s, checkpoint.MailQuery{Thread: "t"}) {
		taken = append(taken, m.Number)
	}
	dense := func() bool {
		for i, n := range taken {
			if n != uint64(i+1) {
				return false
			}
		}
		return len(taken) == 2*posters*each
	}
	if n := len(taken); !dense() || chain.Thread.Posted != uint64(n) {
		tb.Errorf("%d messages were posted: got the numbers %v and %d posted, want each number once", 2*posters*each, taken, chain.Thread.Posted)
	}
	if got := mail(tb, s, checkpoint.MailQuery{Thread: "shared"}); len(got) != each || got[each-1].Number != each {
		tb.Errorf("messages that all posted: got %s, want each once", mailText(got))
	}
}

// testPostAtEnd posts while a run ends. The thread must be due if no run saw the message.
func testPostAtEnd(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	head := checkpoint.ID{}
	for n := range rounds {
		r, done := tryBegin(tb, s, about(tb, "t", head, "g", "", nil))
		var both sync.WaitGroup
		calls := [...]func(){func() { post(tb, s, "t", signal(fmt.Sprint(n))) }, func() {
			w := checkpoint.PutWrites{Thread: "t", Fence: r.fence, End: true, Status: checkpoint.Waiting, Messages: checkpoint.Handled{Seen: done.Posted}}
			if n%2 == 0 {
				w.Writes = []checkpoint.Write{r.write("task", checkpoint.Question, "q", "x")}
			}
			if _, err := s.PutWrites(tb.Context(), w); err != nil {
				tb.Errorf("end: %v", err)
			}
		}}
		both.Go(calls[n/2%2]) // each order, since the one that starts last is often the first
		both.Go(calls[1-n/2%2])
		both.Wait()
		wantReady(tb, s, "after a message that the run did not see", "g", "t")
		head = r.heads[""]
	}
}

// testMailLasts checks that two savers share an inbox.
func testMailLasts(tb testing.TB, place Storage) {
	tb.Helper()
	first := open(tb, place)
	if !place.Shared {
		return
	}
	second := open(tb, place)
	post(tb, first, "t", signal("a"), input("b"), signal("c"))
	wantMail(tb, second, "another saver", "t", "1:a 2:b 3:c")
	wantReady(tb, second, "another saver", "g", "t")
	r, done := tryBegin(tb, second, about(tb, "t", checkpoint.ID{}, "g", "", nil))
	if done.Posted != 3 {
		tb.Errorf("a run by another saver: got %d posted, want 3", done.Posted)
	}
	r.putWith(checkpoint.PutWrites{Messages: checkpoint.Handled{Take: []uint64{1}, Refuse: []checkpoint.Refusal{{Number: 3, Reason: "late"}}}})
	wantMail(tb, first, "the first saver after another took some", "t", "2:b")
	newest := post(tb, first, "t", signal("d"))
	put, err := second.PutWrites(tb.Context(), checkpoint.PutWrites{Thread: "t", Fence: r.fence})
	news, newsErr := second.News(tb.Context(), []string{"t"})
	if err != nil || newsErr != nil || put.Posted != newest || news[0].Posted != newest {
		tb.Errorf("the holder learns of message %d and %v, %v and %v; want %d", put.Posted, news, err, newsErr, newest)
	}
	r.putWith(checkpoint.PutWrites{End: true, Messages: checkpoint.Handled{Seen: 3}})
	third := open(tb, place)
	for _, s := range []checkpoint.Saver{first, second, third} {
		wantMail(tb, s, "every saver", "t", "2:b 4:d")
		wantRefused(tb, s, "every saver", "t", "3:c", "late")
		wantReady(tb, s, "every saver", "g", "t")
	}
	if again := tryPost(tb, third, checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{signal("a")}}); !again.Messages[0].Known {
		tb.Errorf("a taken message, posted again by a new saver: got %+v, want it known", again)
	}
}
