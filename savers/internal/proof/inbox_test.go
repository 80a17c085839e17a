//go:build unix

package proof_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// box is the inbox of a thread in the model, and whether the thread is due. No lease ends during a
// history, so a thread becomes due by calls only.
type box struct {
	posted  uint64
	untaken string // messages as "number:id", a blank after each
	ids     string // all messages, in the same form
	due     bool
}

// isInput reports whether a message, as "number:id", is an input.
func isInput(m string) bool { return strings.Contains(m, ":i") }

// take returns the inbox after a write that takes messages.
func (b box) take(o *operation) box {
	for _, n := range o.Take {
		for _, m := range strings.Fields(b.untaken) {
			if strings.HasPrefix(m, fmt.Sprint(n, ":")) {
				b.untaken = strings.Replace(" "+b.untaken, " "+m+" ", " ", 1)[1:]
			}
		}
	}
	return b
}

// ends returns the thread after a write that ends a run.
func (t thread) ends(o *operation) thread {
	t.holder, t.box.due = "", t.box.posted > o.Seen
	return t
}

// released returns the thread after a release. Only inputs stay.
func (t thread) released() thread {
	b := t.box
	b.untaken, b.due = "", false
	for _, m := range strings.Fields(t.box.untaken) {
		if isInput(m) {
			b.untaken += m + " "
			b.due = true
		}
	}
	return thread{versions: t.versions, box: b}
}

func (t thread) doInbox(o *operation) (answer, thread) {
	switch o.Kind {
	case doPost:
		return t.doPost(o)
	case doMail:
		return answer{Outcome: ok, Mail: t.box.untaken}, t
	case doNews:
		return answer{Outcome: ok, Posted: t.box.posted}, t
	case doRewake:
		if t.fence != o.Fence || t.box.posted != o.Seen || t.versions == 0 && t.box.posted == 0 {
			return answer{Outcome: conflict}, t
		}
		if t.holder != "" {
			return answer{Outcome: busy}, t
		}
		t.box.due = false
		return answer{Outcome: ok}, t
	}
	a := answer{Outcome: ok}
	if !t.box.due || t.holder != "" {
		return a, t
	}
	if o.Omits && !o.Answer.Due {
		return a, t
	}
	t.box.due = !o.Reserve
	return answer{Outcome: ok, Due: true, Base: t.fence, Posted: t.box.posted}, t
}

func (t thread) doPost(o *operation) (answer, thread) {
	for _, m := range strings.Fields(t.box.ids) {
		var n uint64
		var id string
		if _, err := fmt.Sscanf(m, "%d:%s", &n, &id); err == nil && id == o.ID {
			return answer{Outcome: ok, Posted: n, Known: true}, t
		}
	}
	t.box.posted++
	m := fmt.Sprintf("%d:%s ", t.box.posted, o.ID)
	t.box.untaken += m
	t.box.ids += m
	if t.holder == "" && (t.open || isInput(m)) {
		t.box.due = true
	}
	return answer{Outcome: ok, Posted: t.box.posted}, t
}

// inbox thinks of a call about messages.
func (c *client) inbox(k *known) operation {
	switch n := c.random.IntN(10); {
	case k.found != nil && n < 6:
		o := operation{Kind: doRewake, Fence: k.found.Answer.Base, Seen: k.found.Answer.Posted}
		k.found = nil
		return o
	case n < 4:
		return operation{Kind: doPost, ID: string("is"[n%2]) + newID()[24:]}
	case n < 6:
		return operation{Kind: doMail}
	case n < 7:
		return operation{Kind: doNews}
	}
	return operation{Kind: doReady, Reserve: c.reserves}
}

// some returns none, or some, of the messages that a client knows.
func (c *client) some(mail []uint64) []uint64 {
	if len(mail) == 0 || c.random.IntN(2) == 0 {
		return nil
	}
	return slices.Clone(mail[:1+c.random.IntN(len(mail))])
}

func (c *client) sendInbox(ctx context.Context, o *operation) error {
	s := c.saver
	switch o.Kind {
	case doPost:
		return sendPost(ctx, s, o)
	case doMail:
		all, err := s.Mail(ctx, checkpoint.MailQuery{Thread: o.Thread})
		o.Answer = answer{Outcome: ok}
		for i := range all {
			o.Answer.Mail += fmt.Sprintf("%d:%s ", all[i].Number, all[i].ID)
		}
		return err
	case doNews:
		news, err := s.News(ctx, []string{o.Thread})
		o.Answer = answer{Outcome: ok}
		if len(news) == 1 {
			o.Answer.Posted = news[0]
		}
		return err
	case doRewake:
		o.Answer = answer{Outcome: ok}
		r := checkpoint.Rewake{Thread: o.Thread, Fence: parse(o.Fence), Posted: o.Seen, Wake: time.Now().Add(long)}
		return s.Rewake(ctx, r)
	}
	q := checkpoint.ReadyQuery{Graphs: []string{o.Thread}, Limit: 1}
	if o.Reserve {
		q.Reserve = long
	}
	found, err := s.Ready(ctx, q)
	o.Answer = answer{Outcome: ok}
	for _, t := range found.Threads {
		o.Answer.Due, o.Answer.Posted = true, t.Posted
		if !t.Fence.IsZero() {
			o.Answer.Base = t.Fence.String()
		}
	}
	return err
}

func sendPost(ctx context.Context, s checkpoint.Inbox, o *operation) error {
	m := checkpoint.Message{ID: o.ID, Kind: checkpoint.SignalMessage, Payload: []byte(o.ID)}
	if o.ID[0] == 'i' {
		m.Kind = checkpoint.InputMessage
	}
	done, err := s.Post(ctx, checkpoint.Post{Thread: o.Thread, Graph: o.Thread, Messages: []checkpoint.Message{m}})
	o.Answer = answer{Outcome: ok}
	if err == nil && len(done) == 1 {
		err = done[0].Err
	}
	if err == nil && len(done) == 1 && len(done[0].Messages) == 1 {
		o.Answer.Posted, o.Answer.Known = done[0].Messages[0].Number, done[0].Messages[0].Known
	}
	return err
}

// learnMail takes note of what an answer says about messages.
func (k *known) learnMail(o *operation) {
	switch o.Kind {
	case doMail:
		k.mail = nil
		for _, m := range strings.Fields(o.Answer.Mail) {
			var n uint64
			if _, err := fmt.Sscanf(m, "%d:", &n); err == nil {
				k.mail = append(k.mail, n)
				k.posted = n
			}
		}
	case doNews, doOpen, doPut, doAppend:
		k.posted = o.Answer.Posted
	case doReady:
		if o.Answer.Due {
			found := *o
			k.found = &found
		}
	}
}

// settle reads the inbox of each thread after all other calls. A thread that a call should have
// made due must be due.
func (r round) settle(saver checkpoint.Saver, now func() int64) []operation {
	c := &client{saver: saver, number: r.First + r.Clients + len(r.Threads), now: now, stray: most}
	for _, name := range r.Threads {
		for _, kind := range []string{doMail, doNews, doReady} {
			o := operation{Client: c.number, Thread: name, Kind: kind, Settled: true}
			c.call(&o)
			c.ops = append(c.ops, o)
		}
	}
	return c.ops
}

// runWhole is run and settle.
func (r round) runWhole(saver checkpoint.Saver, now func() int64) []operation {
	ops := r.run(saver, now)
	return append(ops, r.settle(saver, now)...)
}

// losing is a saver that acknowledges some messages that it does not store.
type losing struct {
	checkpoint.Saver
	posts atomic.Int64
}

func (l *losing) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	if l.posts.Add(1)%3 > 0 {
		return l.Saver.Post(ctx, posts...)
	}
	news, err := l.News(ctx, []string{posts[0].Thread})
	if err != nil {
		return nil, err
	}
	return []checkpoint.Posted{{Messages: []checkpoint.PostedMessage{{Number: news[0] + 1}}}}, nil
}

// retaking is a saver that leaves some taken messages in the inbox, so they are taken twice.
type retaking struct {
	checkpoint.Saver
	puts atomic.Int64
}

func (r *retaking) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if len(w.Messages.Take) > 0 && r.puts.Add(1)%2 == 0 {
		w.Messages.Take = nil
	}
	return r.Saver.PutWrites(ctx, w)
}

// behind is a saver whose news omits the newest message now and then.
type behind struct {
	checkpoint.Saver
	calls atomic.Int64
}

func (b *behind) News(ctx context.Context, threads []string) ([]uint64, error) {
	news, err := b.Saver.News(ctx, threads)
	for i, n := range news {
		if n > 0 && b.calls.Add(1)%3 == 0 {
			news[i]--
		}
	}
	return news, err
}

// lavish is a saver that returns ready threads to everybody.
type lavish struct{ checkpoint.Saver }

func (l lavish) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	q.Reserve = 0
	return l.Saver.Ready(ctx, q)
}

// deaf is a saver whose Rewake does not compare the newest message.
type deaf struct{ checkpoint.Saver }

func (d deaf) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	news, err := d.News(ctx, []string{r.Thread})
	if err != nil {
		return err
	}
	r.Posted = news[0]
	return d.Saver.Rewake(ctx, r)
}

// sleepy is a saver that ends runs without a look at the newest message.
type sleepy struct{ checkpoint.Saver }

func (s sleepy) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	w.Messages.Seen = ^uint64(0)
	return s.Saver.PutWrites(ctx, w)
}
