package savertest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// farOff is a Wake that does not come during a test.
var farOff = time.Date(2150, 1, 2, 3, 4, 5, 0, time.UTC)

// The limits of most posts. They are small, so that random posts reach them.
const modelInputs, modelOthers = 2, 3

// mailCall makes one random call about messages or the time when a thread is due.
func (m *modeller) mailCall(thread string) (what, got, want string) {
	ctx := m.tb.Context()
	switch n := m.random.IntN(10); {
	case n < 4:
		posts := []checkpoint.Post{m.post(thread)}
		if other := oneOf(m, m.threads); m.rare() { // it may be the same thread
			posts = append(posts, m.post(other))
			m.touched[other] = true
		}
		return m.each(fmt.Sprintf("post %+v", posts), func(s checkpoint.Saver) (any, error) {
			done, err := s.Post(ctx, posts...)
			return postedText(done), err
		})
	case n < 5 && m.rare():
		q := checkpoint.MailQuery{Thread: thread, ID: "none"}
		if kept := m.kept(thread); len(kept) > 0 {
			q.ID = oneOf(m, kept).ID
		}
		return m.each(fmt.Sprintf("mail %+v", q), func(s checkpoint.Saver) (any, error) {
			found, err := s.Mail(ctx, q)
			return messagesText(found), err
		})
	case n < 5:
		q := checkpoint.MailQuery{Thread: thread, After: uint64(m.random.IntN(6)), Limit: m.random.IntN(4), Handled: m.rare()}
		return m.each(fmt.Sprintf("mail %+v", q), func(s checkpoint.Saver) (any, error) {
			found, err := s.Mail(ctx, q)
			return messagesText(found), err
		})
	case n < 6:
		return m.each("news", func(s checkpoint.Saver) (any, error) { return s.News(ctx, append(m.threads, thread)) })
	case n < 8:
		return m.readyCall()
	}
	r := m.rewake(thread)
	return m.each(fmt.Sprintf("rewake %+v", r), func(s checkpoint.Saver) (any, error) {
		r := r
		r.Birth = m.birthIn(s, thread, r.Birth)
		err := s.Rewake(ctx, r)
		if errors.Is(err, checkpoint.ErrConflict) {
			return "conflict", nil // because of a lease or of something else; both may be so
		}
		return "done", err
	})
}

// readyCall makes one random call of Ready.
func (m *modeller) readyCall() (what, gotText, wantText string) {
	// The savers have clocks of their own, so they may order the threads differently. Hence the
	// limit is never reached.
	q := checkpoint.ReadyQuery{Graphs: m.graphs[:1+m.random.IntN(len(m.graphs))], Limit: 1000}
	if m.rare() {
		q.Except = []string{oneOf(m, m.threads)}
	}
	if m.often() {
		q.Reserve, q.Mail = 2*time.Hour, m.random.IntN(4)
	}
	what = fmt.Sprintf("ready %+v", q)
	early := m.reserved()
	got, gotErr := m.got.Ready(m.tb.Context(), q)
	want, wantErr := m.want.Ready(m.tb.Context(), q)
	// A saver may leave out a thread that a transaction, such as one that packs, holds just now.
	for try := 0; try < 200 && q.Reserve > 0 && gotErr == nil && wantErr == nil && lacks(got.Threads, want.Threads); try++ {
		var more checkpoint.ReadyThreads
		more, gotErr = m.got.Ready(m.tb.Context(), q)
		got.Threads, got.Next = append(got.Threads, more.Threads...), more.Next
	}
	if gotErr != nil || wantErr != nil {
		return what, answered("", gotErr), answered("", wantErr)
	}
	// Threads without a graph can be those of an earlier round, whose reservations are not known
	// here.
	earlier := func(t checkpoint.ReadyThread) bool { return !strings.HasPrefix(t.ID, m.prefix) }
	got.Threads, want.Threads = slices.DeleteFunc(got.Threads, earlier), slices.DeleteFunc(want.Threads, earlier)
	got.Threads = slices.DeleteFunc(got.Threads, func(t checkpoint.ReadyThread) bool {
		return early[t.ID] && !slices.ContainsFunc(want.Threads, func(w checkpoint.ReadyThread) bool { return w.ID == t.ID })
	})
	for i := range want.Threads {
		t := &want.Threads[i]
		if q.Reserve > 0 {
			m.touched[t.ID] = false
		}
		if !slices.ContainsFunc(got.Threads, func(g checkpoint.ReadyThread) bool { return g.ID == t.ID && g.HasMail }) {
			t.HasMail, t.Mail = false, nil // a saver may leave them out
		}
	}
	if !want.Next.IsZero() && (got.Next.IsZero() || got.Next.After(want.Next.Add(time.Minute))) {
		wantText = fmt.Sprintf("a next wake at %v or before, not at %v: ", want.Next, got.Next)
	}
	return what, readyText(&q, got), wantText + readyText(&q, want)
}

// lacks reports whether got has not all threads of want.
func lacks(got, want []checkpoint.ReadyThread) bool {
	return slices.ContainsFunc(want, func(w checkpoint.ReadyThread) bool {
		return !slices.ContainsFunc(got, func(t checkpoint.ReadyThread) bool { return t.ID == w.ID })
	})
}

// reserved returns the threads of the round that Ready reserved, and that a later call may have
// changed. A saver may end such a reservation early.
func (m *modeller) reserved() map[string]bool {
	all := maps.Clone(m.touched) // also of threads that are not listed, because they have no input
	for _, t := range threads(m.tb, m.want, checkpoint.ThreadQuery{Prefix: m.prefix}) {
		all[t.ID] = m.touched[t.ID] && t.Holder == "" && t.Wake.After(time.Now()) && t.Wake.Before(farOff)
	}
	return all
}

// post returns a random Post. Its messages have few ids, so many are posted again.
func (m *modeller) post(thread string) checkpoint.Post {
	p := checkpoint.Post{Thread: thread, Idle: m.rare(), MaxInputs: modelInputs, MaxOthers: modelOthers, Graph: oneOf(m, m.graphs)}
	ids := make(map[string]bool)
	for range 1 + m.random.IntN(3) {
		message := checkpoint.Message{
			ID:      fmt.Sprint("message ", m.random.IntN(40)),
			Kind:    checkpoint.InputMessage + checkpoint.MessageKind(m.random.IntN(int(checkpoint.WakeMessage))),
			Payload: fmt.Append(nil, m.random.IntN(1000)),
		}
		if message.Kind == checkpoint.SignalMessage {
			message.Name, message.Key = oneOf(m, m.tasks), oneOf(m, m.namespaces)
		}
		if !ids[message.ID] {
			ids[message.ID] = true
			p.Messages = append(p.Messages, message)
		}
	}
	if m.rare() {
		p.Title, p.Labels = "title of a post", m.labels()
	}
	if m.rare() {
		p.Priority = m.priority()
	}
	return p
}

// kept returns all messages that a thread keeps, also the taken ones if a version is open.
func (m *modeller) kept(thread string) []checkpoint.Message {
	var all []checkpoint.Message
	for item, err := range m.want.Export(m.tb.Context(), thread, 0) {
		if err != nil {
			break // no version is open
		}
		if item.Message != nil {
			all = append(all, *item.Message)
		}
	}
	if all == nil {
		all = mail(m.tb, m.want, checkpoint.MailQuery{Thread: thread})
	}
	return all
}

// handled returns random changes of messages, most of them of messages that exist.
func (m *modeller) handled(thread string) checkpoint.Handled {
	news, err := m.want.News(m.tb.Context(), []string{thread})
	if err != nil {
		m.tb.Fatalf("news: %v", err)
	}
	h := checkpoint.Handled{Seen: news[0].Posted}
	if m.random.IntN(3) == 0 && h.Seen > 0 {
		h.Seen--
	}
	if m.random.IntN(3) > 0 {
		return h
	}
	for _, message := range m.kept(thread) {
		number := message.Number
		if m.rare() {
			number += 100 // a message that does not exist
		}
		switch m.random.IntN(10) {
		case 0, 1:
			h.Take = append(h.Take, number)
		case 2:
			h.Refuse = append(h.Refuse, checkpoint.Refusal{Number: number, Reason: fmt.Sprint("reason ", m.random.IntN(10))})
		case 3:
			message.Number, message.Payload = number, fmt.Append(nil, "returned ", m.random.IntN(10))
			h.Return = append(h.Return, message)
		case 4:
			message.Number, message.Payload = number, fmt.Append(nil, "reply ", m.random.IntN(10))
			h.Reply = append(h.Reply, message)
		}
	}
	return h
}

// The births that a call names: that of the thread, which each saver chooses, or that of another
// one.
var (
	ownBirth   = checkpoint.ID{1}
	otherBirth = checkpoint.ID{2}
)

// birth draws a Birth to compare with: none, that of the thread, or that of another.
func (m *modeller) birth() checkpoint.ID {
	if m.rare() {
		return otherBirth
	}
	return oneOf(m, []checkpoint.ID{{}, ownBirth})
}

// birthIn returns the Birth for a call of s: for ownBirth, that of the thread in s, because savers
// give other ones.
func (m *modeller) birthIn(s checkpoint.Saver, thread string, birth checkpoint.ID) checkpoint.ID {
	if birth != ownBirth {
		return birth
	}
	if c := load(m.tb, s, checkpoint.Ref{Thread: thread}); !c.Empty() {
		return c.Birth
	}
	for _, t := range ready(m.tb, s, checkpoint.ReadyQuery{Graphs: m.graphs, Limit: 1000}).Threads {
		if t.ID == thread {
			return t.Birth
		}
	}
	return checkpoint.ID{} // any
}

// keepUntaken leaves out of h the messages that an opening cannot take or refuse.
func (m *modeller) keepUntaken(thread string, h *checkpoint.Handled) {
	untaken := make(map[uint64]bool)
	for _, message := range mail(m.tb, m.want, checkpoint.MailQuery{Thread: thread}) {
		untaken[message.Number] = true
	}
	h.Take = slices.DeleteFunc(h.Take, func(n uint64) bool { return !untaken[n] })
	h.Refuse = slices.DeleteFunc(h.Refuse, func(r checkpoint.Refusal) bool { return !untaken[r.Number] })
}

// wake returns a random Wake: none, one that has come, or one that does not come.
func (m *modeller) wake() time.Time {
	return oneOf(m, []time.Time{{}, atOnce, farOff})
}

// rewake draws a Rewake of a thread.
func (m *modeller) rewake(thread string) checkpoint.Rewake {
	chain := load(m.tb, m.want, checkpoint.Ref{Thread: thread})
	r := checkpoint.Rewake{Thread: thread, Posted: chain.Thread.Posted, Wake: m.wake(), Birth: m.birth()}
	if !chain.Empty() {
		r.Fence = recent(m, m.fences[thread])
	}
	if news, err := m.want.News(m.tb.Context(), []string{thread}); err == nil && m.often() {
		r.Posted = news[0].Posted
	}
	if m.rare() {
		r.Posted++
	}
	return r
}

// postedText prints the results of posts.
func postedText(done []checkpoint.Posted) string {
	var b strings.Builder
	for _, d := range done {
		switch {
		case errors.Is(d.Err, checkpoint.ErrInboxFull):
			b.WriteString("full ")
		case errors.Is(d.Err, checkpoint.ErrNotIdle):
			b.WriteString("not idle ")
		default:
			fmt.Fprintf(&b, "%+v %v ", d.Messages, d.Err)
		}
	}
	return b.String()
}

// messagesText prints messages without the times of the saver's clock.
func messagesText(all []checkpoint.Message) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(messageText(m) + " ")
	}
	return b.String()
}

// messageText returns a message for comparisons, without its time.
func messageText(m checkpoint.Message) string {
	if len(m.Payload) == 0 {
		m.Payload = nil
	}
	if m.Posted.IsZero() {
		return fmt.Sprintf("a message without a time: %+v", m)
	}
	m.Posted = time.Time{}
	return fmt.Sprintf("%+v", m)
}

// readyText prints the threads that Ready returns. Those of one graph are ordered by id.
func readyText(q *checkpoint.ReadyQuery, got checkpoint.ReadyThreads) string {
	slices.SortStableFunc(got.Threads, func(a, b checkpoint.ReadyThread) int {
		return cmp.Or(slices.Index(q.Graphs, a.Graph)-slices.Index(q.Graphs, b.Graph), strings.Compare(a.ID, b.ID))
	})
	var b strings.Builder
	for _, t := range got.Threads {
		wake := t.Wake
		mail := messagesText(t.Mail)
		t.Birth, t.Mail = checkpoint.ID{}, nil
		if t.Wake = (time.Time{}); wake.IsZero() || wake.After(got.Now) {
			fmt.Fprintf(&b, "not due at %v: ", got.Now)
		}
		fmt.Fprintf(&b, "%+v %s", t, mail)
	}
	return b.String()
}

// wakeText prints the Wake of a thread, without the time of the saver's clock. A saver need not
// show reservations.
func wakeText(wake time.Time) string {
	switch {
	case wake.IsZero():
		return "never"
	case wake.Before(time.Now().Add(24 * time.Hour)):
		return "today"
	}
	return wake.String()
}
