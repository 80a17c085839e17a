//go:build unix

package proof_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// box is the inbox of a thread in the model, and whether the thread is due. No lease ends during a
// history, so a thread becomes due by calls only.
type box struct {
	posted uint64
	mail   string // all messages in the order of their numbers, a blank after each, as message.String has them
	due    bool
}

// message is a message of the model. The first letter of its id is its kind.
type message struct {
	number              uint64
	id, payload, reason string // no reason if it was not refused
	taken               bool
}

// kinds are the letters that an id can begin with.
var kinds = map[byte]checkpoint.MessageKind{
	'i': checkpoint.InputMessage, 'a': checkpoint.AnswerMessage, 's': checkpoint.SignalMessage, 'c': checkpoint.CancelMessage,
	'w': checkpoint.WakeMessage,
}

func (m message) untaken() bool { return !m.taken && m.reason == "" }

func (m message) String() string {
	return fmt.Sprintf("%d:%s:%s:%s:%t", m.number, m.id, m.payload, m.reason, m.taken)
}

// shown returns the message as answers have it.
func (m message) shown() string {
	return fmt.Sprintf("%d:%s=%s/%s ", m.number, m.id, m.payload, m.reason)
}

func (b box) messages() []message {
	texts := strings.Fields(b.mail)
	all := make([]message, len(texts))
	for i, text := range texts {
		f := strings.Split(text, ":")
		n, err := strconv.ParseUint(f[0], 10, 64)
		if err != nil {
			panic(err) // String has written it
		}
		all[i] = message{n, f[1], f[2], f[3], f[4] == "true"}
	}
	return all
}

// with returns the inbox with other messages.
func (b box) with(all []message) box {
	var text strings.Builder
	for _, m := range all {
		text.WriteString(m.String() + " ")
	}
	b.mail = text.String()
	return b
}

// count returns the number of untaken inputs, of other untaken messages, and of cancels.
func (b box) count() (inputs, others, cancels int) {
	for _, m := range b.messages() {
		switch {
		case !m.untaken():
		case m.id[0] == 'i':
			inputs++
		case m.id[0] == 'c':
			cancels++
			others++
		default:
			others++
		}
	}
	return inputs, others, cancels
}

func (b box) counts() string {
	inputs, others, cancels := b.count()
	return countText(b.posted, inputs, others, cancels)
}

func countText(posted uint64, inputs, others, cancels int) string {
	return fmt.Sprintf("%d posted, %d inputs, %d others, %d cancels", posted, inputs, others, cancels)
}

// handle returns the inbox after a write. It first returns messages, then takes and refuses some.
func (b box) handle(o *operation) box {
	if len(o.Take)+len(o.Refuse)+len(o.Back) == 0 {
		return b
	}
	all := b.messages()
	for i := range all {
		m := &all[i]
		back := slices.ContainsFunc(o.Back, m.named)
		if back && !m.untaken() {
			m.payload, m.reason, m.taken = o.Text, "", false
		}
		switch {
		case !m.untaken():
		case slices.Contains(o.Take, m.number):
			m.payload, m.taken = "", true
		case slices.Contains(o.Refuse, m.number):
			m.reason = o.Text
		}
	}
	return b.with(all)
}

// holds reports whether each message that an opening takes or refuses is untaken, or returned by
// it.
func (b box) holds(o *operation) bool {
	for _, number := range slices.Concat(o.Take, o.Refuse) {
		untaken := func(m message) bool { return m.number == number && m.untaken() }
		known := func(m message) bool { return m.number == number && slices.ContainsFunc(o.Back, m.named) }
		all := b.messages()
		if !slices.ContainsFunc(all, untaken) && !slices.ContainsFunc(all, known) {
			return false
		}
	}
	return true
}

// named reports whether text is the number and the id of the message, as "number:id".
func (m message) named(text string) bool { return text == fmt.Sprint(m.number, ":", m.id) }

// numberOf returns the number of a message as "number:id".
func numberOf(text string) uint64 {
	number, _, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0 // no message has it
	}
	return n
}

// written returns the thread after a write under its fence.
func (t thread) written(o *operation) thread {
	t.box = t.box.handle(o)
	if o.Status != 0 {
		t.status = o.Status
	}
	if o.End {
		t.holder, t.box.due = "", t.box.posted > o.Seen || o.Wake == wakesNow
	}
	if o.Progress || o.End && t.status != checkpoint.Failed {
		t.attempts = 0
	}
	return t
}

// released returns the thread after a release. It refuses all messages except inputs.
func (t thread) released() thread {
	all := t.box.messages()
	for i := range all {
		if m := &all[i]; m.untaken() && m.id[0] != 'i' {
			m.reason = oneWord(ledger.Released)
		}
	}
	b := t.box.with(all)
	inputs, _, _ := b.count()
	b.due = inputs > 0
	return thread{versions: t.versions, box: b}
}

// oneWord returns a text without blanks.
func oneWord(text string) string { return strings.ReplaceAll(text, " ", "_") }

func (t thread) doInbox(o *operation) (answer, thread) {
	switch o.Kind {
	case doPost:
		return t.doPost(o)
	case doMail:
		return t.doMail(o), t
	case doNews:
		return answer{Outcome: ok, Posted: t.box.posted}, t
	case doRewake:
		if t.fence != o.Fence || t.box.posted != o.Seen || t.versions == 0 && t.box.posted == 0 {
			return answer{Outcome: conflict}, t
		}
		if t.holder != "" {
			return answer{Outcome: busy}, t
		}
		t.box.due = o.Wake == wakesNow
		return answer{Outcome: ok}, t
	}
	a := answer{Outcome: ok}
	if !t.box.due || t.holder != "" {
		return a, t
	}
	if (o.Omits || o.Again && !o.Settled) && !o.Answer.Due {
		return a, t
	}
	t.box.due = !o.Reserve
	a = answer{Outcome: ok, Due: true, Base: t.fence, Posted: t.box.posted, Status: t.status, Tries: t.attempts}
	if !t.open {
		a.Status = checkpoint.Ready
	}
	return a, t
}

func (t thread) doMail(o *operation) answer {
	a := answer{Outcome: ok}
	for _, m := range t.box.messages() {
		if !m.taken && (m.reason != "") == o.Refused {
			a.Mail += m.shown()
		}
	}
	return a
}

func (t thread) doPost(o *operation) (answer, thread) {
	a, before, all := answer{Outcome: ok}, t, t.box.messages()
	inputs, others, due := 0, 0, false
	for _, id := range strings.Fields(o.ID) {
		if i := slices.IndexFunc(all, func(m message) bool { return m.id == id }); i >= 0 {
			a.Mail += fmt.Sprintf("=%d ", all[i].number)
			continue
		}
		t.box.posted++
		a.Mail += fmt.Sprintf("%d ", t.box.posted)
		due = due || t.open || id[0] == 'i' || id[0] == 'w'
		switch id[0] {
		case 'w':
			t.attempts = 0
			continue
		case 'i':
			inputs++
		case 'a', 's':
			others++
		}
		all = append(all, message{number: t.box.posted, id: id, payload: id})
	}
	if t.box.posted == before.box.posted {
		return a, t
	}
	if refusal := before.refuses(o, inputs, others); refusal != "" {
		return answer{Outcome: refusal}, before
	}
	t.box = t.box.with(all)
	t.box.due = t.box.due || due && t.holder == ""
	return a, t
}

// refuses returns the outcome of a post with new messages that the thread refuses, else "".
func (t thread) refuses(o *operation, inputs, others int) string {
	hasInputs, hasOthers, _ := t.box.count()
	busy := t.open && (t.holder != "" || t.status != checkpoint.Done && t.status != checkpoint.Cancelled)
	switch {
	case o.Idle && (busy || hasInputs > 0):
		return notIdle
	case o.Max == 0:
	case inputs > 0 && hasInputs+inputs > o.Max, others > 0 && hasOthers+others > o.Max:
		return full
	}
	return ""
}

// inbox thinks of a call about messages.
func (c *client) inbox(k *known) operation {
	switch n := c.random.IntN(10); {
	case k.found != nil && n < 6:
		o := operation{Kind: doRewake, Fence: k.found.Answer.Base, Seen: k.found.Answer.Posted, Wake: c.wake()}
		k.found = nil
		return o
	case n < 4:
		return c.post(k)
	case n < 6:
		return operation{Kind: doMail, Refused: c.random.IntN(3) == 0}
	case n < 7:
		return operation{Kind: doNews}
	}
	return operation{Kind: doReady, Reserve: c.reserves}
}

// post thinks of a Post of one or two messages. Some were posted before.
func (c *client) post(k *known) operation {
	o := operation{Kind: doPost, Idle: c.random.IntN(4) == 0, Max: 2 * c.random.IntN(2)}
	for range 1 + c.random.IntN(2) {
		id := string("iiassccw"[c.random.IntN(8)]) + newID()[24:]
		if n := len(k.handled); n > 0 && c.random.IntN(4) == 0 {
			_, id, _ = strings.Cut(k.handled[c.random.IntN(n)], ":")
		}
		if !strings.Contains(o.ID, id) {
			o.ID += id + " "
		}
	}
	return o
}

func (c *client) wake() string { return []string{"", wakesNow, wakesLater}[c.random.IntN(3)] }

// handle adds messages to a write that a client thinks of.
func (c *client) handle(k *known, o *operation) {
	o.Text = newID()[28:]
	for _, m := range c.some(k.mail) {
		if c.random.IntN(3) == 0 {
			o.Refuse = append(o.Refuse, numberOf(m))
		} else {
			o.Take = append(o.Take, numberOf(m))
		}
	}
	o.Back = c.some(k.handled)
}

// some returns none, or some, of the messages that a client knows.
func (c *client) some(mail []string) []string {
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
		all, err := s.Mail(ctx, checkpoint.MailQuery{Thread: o.Thread, Handled: o.Refused})
		o.Answer = answer{Outcome: ok}
		for i := range all {
			o.Answer.Mail += message{number: all[i].Number, id: all[i].ID, payload: string(all[i].Payload), reason: oneWord(all[i].Refused)}.shown()
		}
		return err
	case doNews:
		news, err := s.News(ctx, []string{o.Thread})
		o.Answer = answer{Outcome: ok}
		if len(news) == 1 {
			o.Answer.Posted = news[0].Posted
		}
		return err
	case doRewake:
		o.Answer = answer{Outcome: ok}
		r := checkpoint.Rewake{Thread: o.Thread, Fence: parse(o.Fence), Posted: o.Seen, Wake: timeOf(o.Wake)}
		return s.Rewake(ctx, r)
	}
	q := checkpoint.ReadyQuery{Graphs: []string{o.Thread}, Limit: 1}
	if o.Reserve {
		q.Reserve = long
	}
	found, err := s.Ready(ctx, q)
	o.Again = !found.Next.IsZero() && !found.Next.After(time.Now()) // Now can be that of the beginning of the call
	o.Answer = answer{Outcome: ok}
	for _, t := range found.Threads {
		o.Answer.Due, o.Answer.Posted, o.Answer.Status, o.Answer.Tries = true, t.Posted, t.Status, t.Attempts
		if !t.Fence.IsZero() {
			o.Answer.Base = t.Fence.String()
		}
	}
	return err
}

// timeOf returns the time of a wake.
func timeOf(wake string) time.Time {
	switch wake {
	case wakesNow:
		return time.Unix(1, 0)
	case wakesLater:
		return time.Now().Add(long)
	}
	return time.Time{}
}

func sendPost(ctx context.Context, s checkpoint.Inbox, o *operation) error {
	p := checkpoint.Post{Thread: o.Thread, Graph: o.Thread, Idle: o.Idle, MaxInputs: o.Max, MaxOthers: o.Max}
	for _, id := range strings.Fields(o.ID) {
		p.Messages = append(p.Messages, checkpoint.Message{ID: id, Kind: kinds[id[0]], Payload: []byte(id)})
	}
	done, err := s.Post(ctx, p)
	o.Answer = answer{Outcome: ok}
	if err != nil || len(done) != 1 {
		return err
	}
	for _, m := range done[0].Messages {
		o.Answer.Mail += map[bool]string{true: "="}[m.Known] + fmt.Sprint(m.Number, " ")
	}
	return done[0].Err
}

// handled returns what a write does with messages.
func handled(o *operation) checkpoint.Handled {
	h := checkpoint.Handled{Seen: o.Seen, Take: o.Take}
	for _, n := range o.Refuse {
		h.Refuse = append(h.Refuse, checkpoint.Refusal{Number: n, Reason: o.Text})
	}
	for _, m := range o.Back {
		_, id, _ := strings.Cut(m, ":")
		h.Return = append(h.Return, checkpoint.Message{Number: numberOf(m), ID: id, Kind: kinds[id[0]], Payload: []byte(o.Text)})
	}
	return h
}

// learnMail takes note of what an answer says about messages.
func (k *known) learnMail(o *operation) {
	switch o.Kind {
	case doMail:
		list := &k.mail
		if o.Refused {
			list = &k.handled
		}
		*list = nil
		for _, m := range strings.Fields(o.Answer.Mail) {
			m, _, _ = strings.Cut(m, "=")
			*list = append(*list, m)
			k.posted = max(k.posted, numberOf(m))
		}
	case doNews, doOpen, doPut, doAppend:
		k.posted = o.Answer.Posted
		for _, m := range k.mail { // they stay in k.mail, so that they are taken and returned again
			if slices.Contains(o.Take, numberOf(m)) && !slices.Contains(k.handled, m) {
				k.handled = append(k.handled, m)
			}
		}
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
		for _, kind := range []string{doMail, doNews, doReady, doLoad} {
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
	return []checkpoint.Posted{{Messages: []checkpoint.PostedMessage{{Number: news[0].Posted + 1}}}}, nil
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

func (b *behind) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	news, err := b.Saver.News(ctx, threads)
	for i, n := range news {
		if n.Posted > 0 && b.calls.Add(1)%3 == 0 {
			news[i].Posted--
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
	r.Posted = news[0].Posted
	return d.Saver.Rewake(ctx, r)
}

// sleepy is a saver that ends runs without a look at the newest message.
type sleepy struct{ checkpoint.Saver }

func (s sleepy) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	w.Messages.Seen = ^uint64(0)
	return s.Saver.PutWrites(ctx, w)
}
