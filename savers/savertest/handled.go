package savertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// take returns that a write takes messages.
func take(numbers ...uint64) checkpoint.Handled { return checkpoint.Handled{Take: numbers} }

// refuse returns that a write refuses messages.
func refuse(reason string, numbers ...uint64) (h checkpoint.Handled) {
	for _, n := range numbers {
		h.Refuse = append(h.Refuse, checkpoint.Refusal{Number: n, Reason: reason})
	}
	return h
}

// testTake checks that a write takes messages.
func testTake(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	ctx := tb.Context()
	post(tb, s, "t", input("a"), signal("b"), signal("c"), signal("d"), signal("e"), signal("f"), signal("g"))
	a := opening(tb, "t", checkpoint.ID{})
	a.Messages = take(1)
	r, _ := tryBegin(tb, s, a)
	wantMail(tb, s, "after an opening that takes", "t", "2:b 3:c 4:d 5:e 6:f 7:g")
	next := r.next("")
	next.Messages = take(3)
	r.append(next)
	wantMail(tb, s, "after a commit that takes", "t", "2:b 4:d 5:e 6:f 7:g")
	child := r.next("child")
	child.Messages = take(5)
	r.append(child)
	r.putWith(checkpoint.PutWrites{Messages: take(2), Writes: []checkpoint.Write{r.write("task", checkpoint.Answer, "q", "x")}})
	wantMail(tb, s, "after a child and a write that take", "t", "4:d 6:f 7:g")
	for range 2 { // the second is a repetition after a lost reply
		r.putWith(checkpoint.PutWrites{Messages: take(4, 4, 2, 99)})
	}
	if _, err := s.Append(ctx, next); err != nil {
		tb.Errorf("a commit that takes, sent again: %v", err)
	}
	wantMail(tb, s, "after repeated writes", "t", "6:f 7:g")
	stale := r.next("")
	stale.After, stale.Records[0].Parent, stale.Messages = r.fence, r.fence, take(6)
	stale.Records[0].Snapshot = true
	_, err := s.Append(ctx, stale)
	wantConflict(tb, "an append after another head", err)
	foreign := checkpoint.PutWrites{Thread: "t", Fence: newID(tb), Messages: take(6)}
	wantConflict(tb, "a put under another fence", putErr(s.PutWrites(ctx, foreign)))
	wantMail(tb, s, "after refused writes", "t", "6:f 7:g")
	last := r.next("")
	last.End, last.Messages = true, take(7)
	r.append(last)
	wantMail(tb, s, "after an end that takes", "t", "6:f")
	if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread; got.Inputs != 0 || got.Others != 1 {
		tb.Errorf("the thread has %d inputs and %d others, want none and one", got.Inputs, got.Others)
	}
}

// testRefuse checks that a refused message is kept.
func testRefuse(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	post(tb, s, "t", signal("a"), input("b"), signal("c"), signal("d"))
	r := begin(tb, s, "t", checkpoint.ID{})
	next := r.next("")
	next.Messages = refuse("no\x00 reason\xff", 3, 1)
	r.append(next)
	wantMail(tb, s, "after a refusal", "t", "2:b 4:d")
	wantRefused(tb, s, "after a refusal", "t", "1:a 3:c", "no\x00 reason\xff")
	for range 2 {
		r.putWith(checkpoint.PutWrites{Messages: refuse("another reason", 1, 3, 99)})
		r.putWith(checkpoint.PutWrites{Messages: take(1, 3)})
	}
	wantRefused(tb, s, "after repeated refusals", "t", "1:a 3:c", "no\x00 reason\xff")
	both := refuse("late", 4)
	both.Take = []uint64{4}
	r.putWith(checkpoint.PutWrites{Messages: both})
	wantRefused(tb, s, "after a message that was taken and refused", "t", "1:a 3:c", "")
	r.putWith(checkpoint.PutWrites{Messages: refuse("late", 2, 4)})
	wantRefused(tb, s, "after a refusal of a taken message", "t", "1:a 2:b 3:c", "")
	wantMail(tb, s, "after all", "t", "")
	q := checkpoint.MailQuery{Thread: "t", Handled: true, After: 1, Limit: 1}
	if got := mailText(mail(tb, s, q)); got != "2:b" {
		tb.Errorf("refused messages after 1, one of them: got %q, want 2:b", got)
	}
}

// numbered returns a message as a run returns it to the inbox.
func numbered(n uint64, m checkpoint.Message) checkpoint.Message {
	m.Number = n
	return m
}

// testReturn checks that a message is returned to the inbox.
func testReturn(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	c := checkpoint.Message{ID: "c", Kind: checkpoint.SignalMessage, Name: "name", Key: "key", Payload: []byte("c")}
	post(tb, s, "t", signal("a"), input("b"), c)
	c.Name, c.Key = "other", "other" // do not count
	before := mail(tb, s, checkpoint.MailQuery{Thread: "t", After: 2})
	r := begin(tb, s, "t", checkpoint.ID{})
	r.putWith(checkpoint.PutWrites{Messages: take(1, 2, 3)})
	wantMail(tb, s, "after a take", "t", "")
	back := checkpoint.Handled{Return: []checkpoint.Message{numbered(3, c), numbered(99, signal("none")), numbered(2, input("a")), numbered(1, signal("none"))}}
	next := r.next("")
	next.Messages = back
	r.append(next)
	after := mail(tb, s, checkpoint.MailQuery{Thread: "t"})
	if len(after) != 1 || mailText(after) != mailText(before) || after[0].Name != "name" || after[0].Key != "key" || string(after[0].Payload) != "c" ||
		!after[0].Posted.Equal(before[0].Posted) || after[0].Taken {
		tb.Errorf("a returned message: got %+v, want %+v", after, before)
	}
	back.Return[0].Payload = []byte("changed")
	r.putWith(checkpoint.PutWrites{Messages: back})
	if after = mail(tb, s, checkpoint.MailQuery{Thread: "t"}); len(after) != 1 || string(after[0].Payload) != "c" {
		tb.Errorf("a returned message, returned again: got %+v, want it as it was", after)
	}
	r.putWith(checkpoint.PutWrites{Messages: checkpoint.Handled{
		Return: []checkpoint.Message{numbered(2, input("b")), numbered(1, signal("a"))}, Take: []uint64{1},
	}})
	wantMail(tb, s, "after a return and a take in one write", "t", "2:b 3:c")
	if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread; got.Inputs != 1 || got.Others != 1 || got.Posted != 3 {
		tb.Errorf("after returns: got %d inputs, %d others and %d posted; want 1, 1 and 3", got.Inputs, got.Others, got.Posted)
	}
	if done := tryPost(tb, s, checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{signal("c")}}); done.Err != nil || !done.Messages[0].Known {
		tb.Errorf("a returned message, posted again: got %+v, want it known", done)
	}
}

// testReply checks that a write gives replies to messages, which are kept with their ids.
func testReply(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	post(tb, s, "t", signal("a"), signal("b"), signal("c"), signal("d"))
	r := begin(tb, s, "t", checkpoint.ID{})
	r.putWith(checkpoint.PutWrites{Messages: checkpoint.Handled{
		Take: []uint64{1, 2}, Refuse: []checkpoint.Refusal{{Number: 3, Reason: "late"}},
	}})
	reply := func(n uint64, id, payload string) checkpoint.Message {
		m := numbered(n, signal(id))
		m.Payload = []byte(payload)
		return m
	}
	all := checkpoint.Handled{Reply: []checkpoint.Message{
		reply(1, "a", "reply to a"), reply(3, "c", "not taken"), reply(4, "d", "untaken"), reply(99, "none", "unknown"), reply(2, "a", "another number"),
	}}
	want := func(what, replied string, replies uint64) {
		tb.Helper()
		var got []string
		for _, m := range mail(tb, s, checkpoint.MailQuery{Thread: "t", Handled: true}) {
			got = append(got, fmt.Sprintf("%d:%s taken %t: %s", m.Number, m.ID, m.Taken, m.Payload))
		}
		if text := strings.Join(got, "; "); text != replied {
			tb.Errorf("%s: got %q, want %q", what, text, replied)
		}
		news, err := s.News(tb.Context(), []string{"t"})
		if err != nil || news[0].Replies != replies {
			tb.Errorf("%s: news: got %+v and %v, want %d replies", what, news, err, replies)
		}
	}
	next := r.next("")
	next.Messages = all
	r.append(next)
	r.append(next) // its reply was lost
	want("replies", "1:a taken true: reply to a; 3:c taken false: payload of c", 1)
	wantMail(tb, s, "after replies", "t", "4:d")
	r.putWith(checkpoint.PutWrites{Messages: checkpoint.Handled{Reply: []checkpoint.Message{reply(1, "a", "another"), reply(2, "b", "reply to b")}}})
	want("another reply", "1:a taken true: another; 2:b taken true: reply to b; 3:c taken false: payload of c", 3)
	for id, kept := range map[string]string{"a": "another", "b": "reply to b", "c": "payload of c", "d": "payload of d", "none": ""} {
		found := mail(tb, s, checkpoint.MailQuery{Thread: "t", ID: id, After: 99, Handled: true})
		if text := mailText(found); kept == "" && len(found) > 0 || kept != "" && (len(found) != 1 || found[0].ID != id || string(found[0].Payload) != kept) {
			tb.Errorf("the message with the id %s: got %s, %+v; want the payload %q", id, text, found, kept)
		}
	}
	back := checkpoint.Handled{Return: []checkpoint.Message{numbered(1, signal("a"))}, Reply: []checkpoint.Message{reply(1, "a", "returned")}}
	r.putWith(checkpoint.PutWrites{Messages: back})
	want("a message that goes back", "2:b taken true: reply to b; 3:c taken false: payload of c", 3)
	r.putWith(checkpoint.PutWrites{Messages: take(1)})
	want("a message that is taken again", "2:b taken true: reply to b; 3:c taken false: payload of c", 3)
	if err := checkpoint.Copy(tb.Context(), s, "t", 0, s, "copy"); err != nil {
		tb.Fatal(err)
	}
	copied := mail(tb, s, checkpoint.MailQuery{Thread: "copy", ID: "b"})
	if len(copied) != 1 || !copied[0].Replied() || string(copied[0].Payload) != "reply to b" {
		tb.Errorf("a reply in a copy: got %+v, want it kept", copied)
	}
	if _, err := s.Release(tb.Context(), "t", checkpoint.ID{}); err == nil {
		tb.Error("a release under a lease succeeded")
	}
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Done})
	mustRelease(tb, s, "t")
	want("after a release", "2:b taken true: reply to b; 3:c taken false: payload of c; 4:d taken false: payload of d", 3)
	_, err := s.PutWrites(tb.Context(), checkpoint.PutWrites{
		Thread: "t", Fence: r.fence, Messages: checkpoint.Handled{Reply: []checkpoint.Message{numbered(1, checkpoint.Message{ID: "a", Kind: checkpoint.SignalMessage})}},
	})
	wantInvalid(tb, "an empty reply", err)
}

// testPosted checks that a write reports the newest message.
func testPosted(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	newest := post(tb, s, "t", signal("a"))
	a := opening(tb, "t", checkpoint.ID{})
	r, done := tryBegin(tb, s, a)
	want := func(what string, got uint64) {
		tb.Helper()
		if got != newest {
			tb.Errorf("%s reports message %d, want %d", what, got, newest)
		}
	}
	want("an opening", done.Posted)
	writes := map[string]func() (uint64, error){
		"a commit": func() (uint64, error) { return r.append(r.next("")).Posted, nil },
		"a child":  func() (uint64, error) { return r.append(r.next("child")).Posted, nil },
		"a status": func() (uint64, error) {
			done, err := s.PutWrites(tb.Context(), checkpoint.PutWrites{Thread: "t", Fence: r.fence, Status: checkpoint.Running})
			return done.Posted, err
		},
		"a renewal": func() (uint64, error) {
			done, err := s.PutWrites(tb.Context(), checkpoint.PutWrites{Thread: "t", Fence: r.fence})
			return done.Posted, err
		},
		"a result": func() (uint64, error) {
			w := r.write("task", checkpoint.Result, "", "x")
			done, err := s.PutWrites(tb.Context(), checkpoint.PutWrites{Thread: "t", Fence: r.fence, Writes: []checkpoint.Write{w}})
			return done.Posted, err
		},
		"a question and an answer": func() (uint64, error) {
			w := []checkpoint.Write{r.write("task", checkpoint.Question, "q", "x"), r.write("task", checkpoint.Answer, "q", "x")}
			done, err := s.PutWrites(tb.Context(), checkpoint.PutWrites{Thread: "t", Fence: r.fence, Writes: w})
			return done.Posted, err
		},
	}
	for range 2 {
		for what, f := range writes {
			got, err := f()
			if err != nil {
				tb.Fatalf("%s: %v", what, err)
			}
			want(what, got)
			newest = post(tb, s, "t", signal(what+" "+newID(tb).String()))
			got, err = f()
			if err != nil {
				tb.Fatalf("%s: %v", what, err)
			}
			want(what+" after a post", got)
		}
	}
	last := r.next("")
	last.End, last.Release, last.Status = true, true, checkpoint.Done
	want("an end that releases", r.append(last).Posted)
	again, err := s.Append(tb.Context(), last)
	if err != nil {
		tb.Fatal(err)
	}
	want("the same, sent again", again.Posted)
}

// testCancels counts the cancels of a thread that a run holds, of the next version, and of a copy.
func testCancels(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	ctx := tb.Context()
	want := func(what, thread string, cancels, others int) {
		tb.Helper()
		for by, got := range map[string]checkpoint.Thread{"Load": load(tb, s, checkpoint.Ref{Thread: thread}).Thread, "Threads": listed(tb, s, thread)} {
			if got.Cancels != cancels || got.Others != others {
				tb.Errorf("%s, by %s: got %d cancels of %d other messages, want %d of %d", what, by, got.Cancels, got.Others, cancels, others)
			}
		}
	}
	first := message("c1", checkpoint.CancelMessage)
	post := func(thread string, messages ...checkpoint.Message) {
		tb.Helper()
		if done := tryPost(tb, s, checkpoint.Post{Thread: thread, Graph: "g", Messages: messages}); done.Err != nil {
			tb.Fatal(done.Err)
		}
	}
	r := begin(tb, s, "t", checkpoint.ID{})
	want("without messages", "t", 0, 0)
	post("t", signal("s"), first, input("i"))
	post("t", first)
	want("a held thread", "t", 1, 2)
	post("t", message("c2", checkpoint.CancelMessage))
	want("a second cancel", "t", 2, 3)
	r.putWith(checkpoint.PutWrites{Messages: checkpoint.Handled{Take: []uint64{2}}})
	want("after one was taken", "t", 1, 2)
	r.putWith(checkpoint.PutWrites{Messages: checkpoint.Handled{Return: []checkpoint.Message{{Number: 2, ID: "c1", Kind: checkpoint.CancelMessage}}}})
	want("after it was returned", "t", 2, 3)
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Ready, Messages: checkpoint.Handled{Refuse: []checkpoint.Refusal{{Number: 2, Reason: "r"}}}})
	want("after it was refused", "t", 1, 2)
	if err := checkpoint.Copy(ctx, s, "t", 0, s, "copy"); err != nil {
		tb.Fatal(err)
	}
	want("a copy", "copy", 1, 2)
	mustRelease(tb, s, "t")
	if got := listed(tb, s, "t"); got.Cancels != 0 || got.Others != 0 {
		tb.Errorf("after a release: got %d cancels of %d other messages, want none", got.Cancels, got.Others)
	}
}
