package savertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// alone makes a case of a test that needs one saver.
func alone(test func(tb testing.TB, s checkpoint.Saver)) func(tb testing.TB, place Storage) {
	return func(tb testing.TB, place Storage) {
		tb.Helper()
		test(tb, open(tb, place))
	}
}

// message returns a message with a payload.
func message(id string, kind checkpoint.MessageKind) checkpoint.Message {
	return checkpoint.Message{ID: id, Kind: kind, Payload: []byte("payload of " + id)}
}

// signal returns a signal with the id.
func signal(id string) checkpoint.Message { return message(id, checkpoint.SignalMessage) }

// input returns an input with the id.
func input(id string) checkpoint.Message { return message(id, checkpoint.InputMessage) }

// tryPost posts to one thread.
func tryPost(tb testing.TB, s checkpoint.Saver, p checkpoint.Post) checkpoint.Posted {
	tb.Helper()
	done, err := s.Post(tb.Context(), p)
	if err != nil || len(done) != 1 {
		tb.Fatalf("post to %.40q: got %d results and %v, want one", p.Thread, len(done), err)
	}
	return done[0]
}

// post posts messages to a thread of graph g and returns the number of the last one.
func post(tb testing.TB, s checkpoint.Saver, thread string, messages ...checkpoint.Message) uint64 {
	tb.Helper()
	done := tryPost(tb, s, checkpoint.Post{Thread: thread, Graph: "g", Messages: messages})
	if done.Err != nil || len(done.Messages) != len(messages) {
		tb.Fatalf("post %d messages to %.40q: got %+v", len(messages), thread, done)
	}
	return done.Messages[len(messages)-1].Number
}

// mail returns the messages that q selects, or ends the test.
func mail(tb testing.TB, s checkpoint.Saver, q checkpoint.MailQuery) []checkpoint.Message {
	tb.Helper()
	found, err := s.Mail(tb.Context(), q)
	if err != nil {
		tb.Fatalf("mail %+v: %v", q, err)
	}
	return found
}

// mailText returns messages as text, by number and id.
func mailText(messages []checkpoint.Message) string {
	var all []string
	for i := range messages {
		all = append(all, fmt.Sprintf("%d:%s", messages[i].Number, messages[i].ID))
	}
	return strings.Join(all, " ")
}

// wantMail fails unless a thread has these untaken messages, and its description counts them.
func wantMail(tb testing.TB, s checkpoint.Saver, what, thread, want string) {
	tb.Helper()
	got := mail(tb, s, checkpoint.MailQuery{Thread: thread})
	if text := mailText(got); text != want {
		tb.Errorf("%s: the untaken messages are %q, want %q", what, text, want)
	}
}

// wantRefused fails unless a thread keeps these refused messages with their payloads and reason.
func wantRefused(tb testing.TB, s checkpoint.Saver, what, thread, want, reason string) {
	tb.Helper()
	got := mail(tb, s, checkpoint.MailQuery{Thread: thread, Handled: true})
	if text := mailText(got); text != want {
		tb.Errorf("%s: the refused messages are %q, want %q", what, text, want)
	}
	for _, m := range got {
		if m.Refused == "" || reason != "" && m.Refused != reason || m.Taken || string(m.Payload) != "payload of "+m.ID {
			tb.Errorf("%s: a refused message is %+v, want its payload and the reason %q", what, m, reason)
		}
	}
}

// testPostMany checks that one call posts to a thousand threads. One of them refuses its message,
// and another one has it already.
func testPostMany(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	post(tb, s, "t 17", input("known"))
	post(tb, s, "t 5", input("a"), input("b"))
	posts := make([]checkpoint.Post, 1000)
	for i := range posts {
		posts[i] = checkpoint.Post{Thread: fmt.Sprint("t ", i), Graph: "g", Messages: []checkpoint.Message{input("in")}}
	}
	posts[17].Messages[0].ID, posts[5].MaxInputs = "known", 2
	for try := range 2 {
		all, err := s.Post(tb.Context(), posts...)
		if err != nil || len(all) != len(posts) {
			tb.Fatalf("post to %d threads: got %d results and %v", len(posts), len(all), err)
		}
		for i, done := range all {
			full, known := i == 5, try > 0 || i == 17
			if full && !errors.Is(done.Err, checkpoint.ErrInboxFull) ||
				!full && (done.Err != nil || done.Messages[0] != checkpoint.PostedMessage{Number: 1, Known: known}) {
				tb.Fatalf("call %d: thread %d got %+v; want the number 1, known %t, and thread 5 to be full", try+1, i, done, known)
			}
		}
	}
	if got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1001}); len(got.Threads) != len(posts) {
		tb.Errorf("after the posts %d threads are due, want %d", len(got.Threads), len(posts))
	}
}

// testMail checks that messages come back as they were posted.
func testMail(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	all := []checkpoint.Message{
		{ID: "nul\x00\xff", Kind: checkpoint.InputMessage, Payload: []byte("\x00\xff payload"), Number: 77, Taken: true, Refused: "x"},
		{ID: "answer", Kind: checkpoint.AnswerMessage, Name: "question\xfe", Payload: []byte{}},
		{ID: strings.Repeat("s", checkpoint.MaxMessageID), Kind: checkpoint.SignalMessage, Name: "paid", Key: "or\x00der"},
		{ID: "large", Kind: checkpoint.CancelMessage, Payload: bytes.Repeat([]byte("1 MB\xff"), 1<<20/5)},
	}
	sent := slices.Clone(all)
	sent[0].Payload = slices.Clone(all[0].Payload)
	before := ready(tb, s, checkpoint.ReadyQuery{}).Now
	done := tryPost(tb, s, checkpoint.Post{Thread: "t\x00", Messages: sent})
	after := ready(tb, s, checkpoint.ReadyQuery{}).Now
	sent[0].Payload[0] = 'x'
	sent[1].ID = "changed"
	if done.Err != nil || len(done.Messages) != len(all) {
		tb.Fatalf("post: got %+v, want %d messages", done, len(all))
	}
	got := mail(tb, s, checkpoint.MailQuery{Thread: "t\x00"})
	if len(got) != len(all) {
		tb.Fatalf("mail: got %s, want %d messages", mailText(got), len(all))
	}
	for i, m := range got {
		want := all[i]
		want.Number, want.Posted, want.Taken, want.Refused = uint64(i+1), m.Posted, false, ""
		payload := bytes.Equal(m.Payload, want.Payload)
		m.Payload, want.Payload = nil, nil
		if fmt.Sprintf("%+v", m) != fmt.Sprintf("%+v", want) || !payload || done.Messages[i] != (checkpoint.PostedMessage{Number: want.Number}) {
			tb.Errorf("message %d: got %+v with its payload: %t, posted %+v; want %+v", i, m, payload, done.Messages[i], want)
		}
		if m.Posted.Before(before) || m.Posted.After(after) || m.Posted.Location() != time.UTC {
			tb.Errorf("message %d was posted at %v, want a time between %v and %v", i, m.Posted, before, after)
		}
	}
	for q, want := range map[checkpoint.MailQuery]string{
		{After: 2}: mailText(got[2:]), {Limit: 1}: mailText(got[:1]), {After: 1, Limit: 2}: mailText(got[1:3]), {After: 4}: "", {Handled: true}: "",
	} {
		q.Thread = "t\x00"
		if text := mailText(mail(tb, s, q)); text != want {
			tb.Errorf("mail %+v: got %.60q, want %.60q", q, text, want)
		}
	}
	wantMail(tb, s, "another thread", "t", "")
	post(tb, s, "u", signal("one"))
	news, err := s.News(tb.Context(), []string{"u", "none", "t\x00", "u"})
	var numbers []uint64
	for _, n := range news {
		numbers = append(numbers, n.Posted)
	}
	if err != nil || !slices.Equal(numbers, []uint64{1, 0, 4, 1}) {
		tb.Errorf("news: got %v and %v, want 1, 0, 4 and 1 messages", news, err)
	}
}

// testNewsOfRuns checks that News shows each beginning and each end of a run.
func testNewsOfRuns(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	check := func(what string, want checkpoint.News) {
		tb.Helper()
		news, err := s.News(tb.Context(), []string{"r", "none"})
		if err != nil || len(news) != 2 || news[0] != want || news[1] != (checkpoint.News{}) {
			tb.Errorf("news %s: got %+v and %v, want %+v and nothing", what, news, err, want)
		}
	}
	check("of no thread", checkpoint.News{})
	r := begin(tb, s, "r", checkpoint.ID{})
	check("of a run", checkpoint.News{Version: 1, Status: checkpoint.Running, Fence: r.fence, Due: true})
	r.putWith(checkpoint.PutWrites{Status: checkpoint.Failed, End: true, Wake: time.Now().Add(time.Hour)})
	check("of a failed run that is repeated", checkpoint.News{Version: 1, Status: checkpoint.Failed, Fence: r.fence, Due: true})
	mustRewake(tb, s, checkpoint.Rewake{Thread: "r", Fence: r.fence})
	check("of a failed run", checkpoint.News{Version: 1, Status: checkpoint.Failed, Fence: r.fence})
	mustRelease(tb, s, "r")
	check("of a released thread", checkpoint.News{})
	post(tb, s, "r", message("i", checkpoint.InputMessage))
	check("of an input", checkpoint.News{Posted: 1, Inputs: 1, Due: true})
	again := begin(tb, s, "r", checkpoint.ID{})
	check("of the next version", checkpoint.News{Posted: 1, Inputs: 1, Version: 2, Status: checkpoint.Running, Fence: again.fence, Due: true})
	post(tb, s, "r", message("c", checkpoint.CancelMessage))
	check("of a cancel", checkpoint.News{Posted: 2, Inputs: 1, Version: 2, Status: checkpoint.Running, Fence: again.fence, Due: true, Cancels: 1})
}

// testMailInvalid checks that invalid messages are refused.
func testMailInvalid(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	ctx, long := tb.Context(), strings.Repeat("x", checkpoint.MaxMessageID+1)
	good := checkpoint.Post{Thread: "good", Messages: []checkpoint.Message{signal("a")}}
	for what, p := range map[string]checkpoint.Post{
		"to no thread":       {Messages: good.Messages},
		"to a long thread":   {Thread: strings.Repeat("x", checkpoint.MaxThread+1), Messages: good.Messages},
		"of nothing":         {Thread: "t"},
		"without an id":      {Thread: "t", Messages: []checkpoint.Message{signal("")}},
		"with a long id":     {Thread: "t", Messages: []checkpoint.Message{signal(long)}},
		"with a long name":   {Thread: "t", Messages: []checkpoint.Message{{ID: "a", Kind: checkpoint.SignalMessage, Name: long}}},
		"with a long key":    {Thread: "t", Messages: []checkpoint.Message{{ID: "a", Kind: checkpoint.SignalMessage, Key: long}}},
		"of no kind":         {Thread: "t", Messages: []checkpoint.Message{message("a", 0)}},
		"of another kind":    {Thread: "t", Messages: []checkpoint.Message{message("a", checkpoint.WakeMessage+1)}},
		"of an id twice":     {Thread: "t", Messages: []checkpoint.Message{signal("a"), signal("a")}},
		"with a limit":       {Thread: "t", Messages: good.Messages, MaxInputs: -1},
		"with another limit": {Thread: "t", Messages: good.Messages, MaxOthers: -1},
		"with a long title":  {Thread: "t", Messages: good.Messages, Title: strings.Repeat("x", checkpoint.MaxTitle+1)},
		"with a long graph":  {Thread: "t", Messages: good.Messages, Graph: strings.Repeat("x", checkpoint.MaxGraph+1)},
	} {
		_, err := s.Post(ctx, good, p)
		wantInvalid(tb, "a post "+what, err)
	}
	wantMail(tb, s, "after an invalid call", "good", "")
	_, err := s.Mail(ctx, checkpoint.MailQuery{})
	wantInvalid(tb, "mail of no thread", err)
	_, err = s.News(ctx, []string{"t", ""})
	wantInvalid(tb, "news of no thread", err)
	if done, err := s.Post(ctx); err != nil || len(done) != 0 {
		tb.Errorf("no posts: got %v and %v, want nothing", done, err)
	}
	r := begin(tb, s, "r", checkpoint.ID{})
	post(tb, s, "r", signal("a"))
	refusal := checkpoint.Handled{Refuse: []checkpoint.Refusal{{Number: 1}}}
	_, err = s.PutWrites(ctx, checkpoint.PutWrites{Thread: "r", Fence: r.fence, Messages: refusal})
	wantInvalid(tb, "a refusal without a reason", err)
	next := r.next("")
	refusal.Refuse[0].Reason = strings.Repeat("x", checkpoint.MaxReason+1)
	next.Messages = refusal
	_, err = s.Append(ctx, next)
	wantInvalid(tb, "a refusal with a long reason", err)
	wantMail(tb, s, "after invalid refusals", "r", "1:a")
}

// testPostAgain checks that a message posted again changes nothing.
func testPostAgain(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	post(tb, s, "t", signal("a"), input("b"))
	r := begin(tb, s, "t", checkpoint.ID{})
	again := func(what string, want ...checkpoint.PostedMessage) {
		tb.Helper()
		other := signal("a")
		other.Payload = []byte("another payload")
		done := tryPost(tb, s, checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{other, signal("new " + what), input("b"), signal("newer " + what)}})
		if done.Err != nil || !slices.Equal(done.Messages, want) {
			tb.Errorf("%s: got %+v, want %+v", what, done, want)
		}
	}
	known := func(n uint64) checkpoint.PostedMessage { return checkpoint.PostedMessage{Number: n, Known: true} }
	again("untaken", known(1), checkpoint.PostedMessage{Number: 3}, known(2), checkpoint.PostedMessage{Number: 4})
	if got := mail(tb, s, checkpoint.MailQuery{Thread: "t", Limit: 1}); len(got) != 1 || string(got[0].Payload) != "payload of a" {
		tb.Errorf("the message that was posted twice: got %+v, want the first", got)
	}
	r.putWith(checkpoint.PutWrites{Messages: checkpoint.Handled{Take: []uint64{1}, Refuse: []checkpoint.Refusal{{Number: 2, Reason: "late"}}}})
	again("handled", known(1), checkpoint.PostedMessage{Number: 5}, known(2), checkpoint.PostedMessage{Number: 6})
	wantMail(tb, s, "after posts of known messages", "t", "3:new untaken 4:newer untaken 5:new handled 6:newer handled")
	r.end()
	before := wakeOf(tb, s, "t")
	until(tb, "the clock moves on", func() bool { return ready(tb, s, checkpoint.ReadyQuery{}).Now.After(before) })
	r.putWith(checkpoint.PutWrites{End: true, Messages: checkpoint.Handled{Seen: 6}})
	if done := tryPost(tb, s, checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{signal("a"), input("b")}}); done.Err != nil {
		tb.Error(done.Err)
	}
	if wake := wakeOf(tb, s, "t"); !wake.IsZero() {
		tb.Errorf("a post of known messages set the wake %v, want none", wake)
	}
}

// testPostForgets posts more messages than the ids that are kept.
func testPostForgets(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	r := begin(tb, s, "t", checkpoint.ID{})
	post(tb, s, "t", signal("early"))
	last := uint64(1)
	for range 3 {
		var many []checkpoint.Message
		taken := checkpoint.Handled{}
		for n := range checkpoint.KeepTaken / 2 {
			many = append(many, input(fmt.Sprint("input ", last+uint64(n))))
			taken.Take = append(taken.Take, last+1+uint64(n))
		}
		last = post(tb, s, "t", many...)
		r.putWith(checkpoint.PutWrites{Messages: taken})
	}
	r.putWith(checkpoint.PutWrites{Messages: checkpoint.Handled{Take: []uint64{1}}})
	ids := []string{"early"} // the one that was taken last
	for n := range checkpoint.KeepTaken - 1 {
		ids = append(ids, fmt.Sprint("input ", last-1-uint64(n)))
	}
	for _, id := range ids {
		done := tryPost(tb, s, checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{input(id)}})
		if done.Err != nil || !done.Messages[0].Known {
			tb.Fatalf("post %q again: got %+v, want it known, as one of the %d messages that were taken last", id, done, checkpoint.KeepTaken)
		}
	}
	r.putWith(checkpoint.PutWrites{Messages: checkpoint.Handled{Return: []checkpoint.Message{numbered(1, signal("early"))}}})
	wantMail(tb, s, "after the return of the message that was taken last", "t", "1:early")
}

// testPostLimits checks that an inbox has limits.
func testPostLimits(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	full := func(what string, p checkpoint.Post, want error) {
		tb.Helper()
		p.Thread = "t"
		if done := tryPost(tb, s, p); !errors.Is(done.Err, want) || want != nil && done.Messages != nil {
			tb.Errorf("%s: got %+v, want the error %v", what, done, want)
		}
	}
	one := func(m checkpoint.Message) checkpoint.Post {
		return checkpoint.Post{Messages: []checkpoint.Message{m}, MaxInputs: 2, MaxOthers: 3}
	}
	full("three inputs of two", checkpoint.Post{Messages: []checkpoint.Message{input("x"), input("y"), input("z")}, MaxInputs: 2}, checkpoint.ErrInboxFull)
	full("an input", one(input("i1")), nil)
	full("an input and a signal", checkpoint.Post{Messages: []checkpoint.Message{input("i2"), signal("s1")}, MaxInputs: 2, MaxOthers: 3}, nil)
	full("a third input", one(input("i3")), checkpoint.ErrInboxFull)
	full("a known input", one(input("i1")), nil)
	full("a signal although inputs are full", one(signal("s2")), nil)
	full("a message that is refused with another", checkpoint.Post{Messages: []checkpoint.Message{signal("s3"), input("i3")}, MaxInputs: 2}, checkpoint.ErrInboxFull)
	full("an answer", one(message("a1", checkpoint.AnswerMessage)), nil)
	full("another answer", one(message("a2", checkpoint.AnswerMessage)), checkpoint.ErrInboxFull)
	full("a cancel although the inbox is full", one(message("c1", checkpoint.CancelMessage)), nil)
	full("a wake although the inbox is full", one(message("w", checkpoint.WakeMessage)), nil)
	wantMail(tb, s, "with limits", "t", "1:i1 2:i2 3:s1 4:s2 5:a1 6:c1")
	r := begin(tb, s, "t", checkpoint.ID{})
	if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread; got.Inputs != 2 || got.Others != 4 || got.Posted != 7 {
		tb.Errorf("a thread with mail: got %d inputs, %d others and %d posted; want 2, 4 and 7", got.Inputs, got.Others, got.Posted)
	}
	r.putWith(checkpoint.PutWrites{Messages: checkpoint.Handled{Take: []uint64{1, 1}, Refuse: []checkpoint.Refusal{{Number: 3, Reason: "r"}, {Number: 4, Reason: "r"}}}})
	full("an input after one was taken", one(input("i3")), nil)
	full("a signal after others were refused", one(signal("s3")), nil)
	if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread; got.Inputs != 2 || got.Others != 3 || got.Posted != 9 {
		tb.Errorf("a thread with mail: got %d inputs, %d others and %d posted; want 2, 3 and 9", got.Inputs, got.Others, got.Posted)
	}
	var many []checkpoint.Message
	for n := range checkpoint.DefaultMaxInputs {
		many = append(many, checkpoint.Message{ID: fmt.Sprint(n), Kind: checkpoint.InputMessage})
	}
	post(tb, s, "default", many...)
	done := tryPost(tb, s, checkpoint.Post{Thread: "default", Messages: []checkpoint.Message{input("more")}})
	wantErr(tb, "an input above the default limit", done.Err, checkpoint.ErrInboxFull)

	all, err := s.Post(tb.Context(),
		checkpoint.Post{Thread: "one", Messages: []checkpoint.Message{input("a"), input("b")}},
		checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{input("refused")}, MaxInputs: 1},
		checkpoint.Post{Thread: "two", Messages: []checkpoint.Message{input("a")}},
		checkpoint.Post{Thread: "one", Messages: []checkpoint.Message{input("c")}},
	)
	if err != nil || len(all) != 4 || all[0].Err != nil || !errors.Is(all[1].Err, checkpoint.ErrInboxFull) || all[2].Err != nil || all[3].Err != nil {
		tb.Errorf("four posts: got %+v and %v, want the second refused", all, err)
	}
	wantMail(tb, s, "of four posts", "one", "1:a 2:b 3:c")
	wantMail(tb, s, "of four posts", "two", "1:a")
}

// testPostIdle checks that a post may ask for an idle thread.
func testPostIdle(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	n := 0
	idle := func(what string, want error) {
		tb.Helper()
		n++
		m := signal(fmt.Sprint("idle ", n))
		p := checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{m}, Idle: true}
		done := tryPost(tb, s, p)
		if !errors.Is(done.Err, want) {
			tb.Errorf("%s: got %v, want %v", what, done.Err, want)
		}
		if want == nil {
			if done = tryPost(tb, s, p); done.Err != nil || !done.Messages[0].Known {
				tb.Errorf("%s, sent again: got %+v, want it known", what, done)
			}
		}
	}
	idle("a thread that does not exist", nil)
	idle("a thread with a signal", nil)
	post(tb, s, "t", input("input"))
	idle("a thread with an input", checkpoint.ErrNotIdle)
	p := checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{input("input")}, Idle: true}
	if done := tryPost(tb, s, p); done.Err != nil || !done.Messages[0].Known {
		tb.Errorf("a known input: got %+v, want it known", done)
	}
	r := begin(tb, s, "t", checkpoint.ID{})
	r.putWith(checkpoint.PutWrites{Status: checkpoint.Done, Messages: checkpoint.Handled{Take: []uint64{3}}})
	idle("a held thread", checkpoint.ErrNotIdle)
	for status, want := range map[checkpoint.Status]error{
		checkpoint.Done: nil, checkpoint.Cancelled: nil, checkpoint.Ready: checkpoint.ErrNotIdle, checkpoint.Waiting: checkpoint.ErrNotIdle,
		checkpoint.Failed: checkpoint.ErrNotIdle, checkpoint.Paused: checkpoint.ErrNotIdle,
	} {
		r.putWith(checkpoint.PutWrites{Status: status, End: true})
		idle(fmt.Sprintf("a thread with status %v", status), want)
	}
	r.putWith(checkpoint.PutWrites{Status: checkpoint.Waiting, End: true})
	mustRelease(tb, s, "t")
	idle("a released thread", nil)
}
