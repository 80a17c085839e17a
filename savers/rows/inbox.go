package rows

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// mailOf selects the messages of one kind of key of a thread.
func mailOf(id string, kind byte) Range {
	return within(Key{Messages, id, append(threadHash(id), kind)})
}

// handle does with messages what a write says. opens is that write if it is an opening: then each
// message that it takes or refuses must be untaken.
func (w *writer) handle(ctx context.Context, h *checkpoint.Handled, opens *checkpoint.Append) error {
	if h.Empty() {
		return nil
	}
	numbers := slices.Clone(h.Take)
	for i := range h.Refuse {
		numbers = append(numbers, h.Refuse[i].Number)
	}
	there := w.s.recallMail(w.t, h)
	// A thread without a row has no messages. Those that a read finds now may be gone when the
	// change is applied, with the row that the thread then had.
	if len(there) < len(numbers)+len(h.Return)+len(h.Reply) && w.t.exists() {
		if err := w.find(ctx, h, numbers, there); err != nil {
			return err
		}
	}
	for _, n := range numbers {
		if there[n] == nil && opens != nil {
			return w.t.conflict("mail", opens.Namespace, opens.After, opens.After)
		}
	}
	for i, n := range numbers {
		if m := there[n]; m != nil {
			reason := ""
			if i >= len(h.Take) {
				reason = h.Refuse[i-len(h.Take)].Reason
			}
			w.handled(m, reason)
			there[n] = nil
		}
	}
	return w.trim(ctx)
}

// find reads messages with numbers, and adds those that are untaken to there, with those that h
// makes untaken. It stores the replies of h.
func (w *writer) find(ctx context.Context, h *checkpoint.Handled, numbers []uint64, there map[uint64]*checkpoint.Message) error {
	var ranges []Range
	back := len(h.Return)
	known := slices.Concat(h.Return, h.Reply)
	for i := range known {
		ranges = append(ranges, point(Key{Messages, w.next.ID, messageIDKey(w.next.ID, known[i].ID)}))
	}
	for _, n := range numbers {
		ranges = append(ranges, point(Key{Messages, w.next.ID, messageKey(w.next.ID, untaken, n)}))
	}
	rows, _, err := w.s.read(ctx, ranges...)
	if err != nil {
		return err
	}
	gone, err := w.gone(ctx, known, rows[:len(known)])
	if err != nil {
		return err
	}
	w.giveBack(h.Return, gone[:back], there)
	for i := range h.Reply {
		if r := &h.Reply[i]; !h.Returns(r.Number, r.ID) {
			w.reply(r, gone[back+i])
		}
	}
	for i, n := range numbers {
		if row := rows[len(known)+i]; len(row) > 0 && there[n] == nil {
			m, err := row[0].message()
			if err != nil {
				return of(w.next.ID, err)
			}
			there[n] = &m
		}
	}
	return nil
}

// mostMail is how many messages of a thread are known at most.
const mostMail = 64

// revOf returns the known revision of a thread; 0 if none is known.
func (s *Saver) revOf(id string) (rev uint64) {
	s.note(id, func(k *known) { rev = k.t.rev })
	return rev
}

// noteMail notes messages that were untaken after the row of the thread had a revision.
func (s *Saver) noteMail(id string, rev uint64, all []checkpoint.Message) {
	s.note(id, func(k *known) {
		if rev == 0 || k.t.rev != rev {
			return
		}
		k.mail = make(map[uint64]checkpoint.Message)
		for _, m := range all[:min(len(all), mostMail)] {
			m.Payload = nil
			k.mail[m.Number] = m
		}
	})
}

// recallMail returns the messages that h takes, if all of them are known to be untaken in t, and h
// does nothing else. So a run that has read its messages takes them without another read. A
// message that is taken loses its payload, so that is not known.
func (s *Saver) recallMail(t *thread, h *checkpoint.Handled) map[uint64]*checkpoint.Message {
	there := make(map[uint64]*checkpoint.Message)
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[t.ID]
	if k == nil || k.t.rev != t.rev || len(h.Refuse)+len(h.Return)+len(h.Reply) > 0 {
		return there
	}
	for _, n := range h.Take {
		m, found := k.mail[n]
		if !found {
			return make(map[uint64]*checkpoint.Message)
		}
		there[n] = &m
	}
	return there
}

// giveBack makes messages untaken that were handled, and adds them to there. gone has them as they
// are stored.
func (w *writer) giveBack(all []checkpoint.Message, gone []goneMessage, there map[uint64]*checkpoint.Message) {
	for i := range all {
		m := gone[i].Message
		if m == nil || there[m.Number] != nil {
			continue
		}
		m.Taken, m.Refused, m.Payload = false, "", all[i].Payload
		w.c.Deletes = append(w.c.Deletes, point(Key{Messages, w.next.ID, gone[i].key}))
		w.putMessage(m, 0)
		w.next.count(m, 1)
		there[m.Number] = m
	}
}

// goneMessage is a message that was handled, with the key of its row. It is nil for one that was
// not, or that is not kept.
type goneMessage struct {
	*checkpoint.Message
	key []byte
}

// gone reads by one call those of the messages in all that a run has taken or refused. places has
// the rows that find them by their ids.
func (w *writer) gone(ctx context.Context, all []checkpoint.Message, places [][]Row) ([]goneMessage, error) {
	found := make([]goneMessage, len(all))
	var ranges []Range
	var which []int
	for i := range all {
		if len(places[i]) == 0 {
			continue
		}
		at, err := places[i][0].place()
		if err != nil {
			return nil, of(w.next.ID, err)
		}
		if at.handled != 0 && at.number == all[i].Number {
			found[i].key = messageKey(w.next.ID, handled, at.handled)
			ranges, which = append(ranges, point(Key{Messages, w.next.ID, found[i].key})), append(which, i)
		}
	}
	if len(ranges) == 0 {
		return found, nil
	}
	rows, _, err := w.s.read(ctx, ranges...)
	if err != nil {
		return nil, err
	}
	for n, i := range which {
		if len(rows[n]) == 0 {
			continue
		}
		m, err := rows[n][0].message()
		if err != nil {
			return nil, of(w.next.ID, err)
		}
		found[i].Message = &m
	}
	return found, nil
}

// reply gives a taken message the reply that r has as its payload.
func (w *writer) reply(r *checkpoint.Message, m goneMessage) {
	if m.Message == nil || !m.Taken {
		return
	}
	m.Payload = r.Payload
	w.unput(Messages, m.key) // of an earlier reply of the same write
	w.put(Messages, m.key, &messageRow{*m.Message}, false)
	w.next.Replies++
}

// handled takes an untaken message, or refuses it for a reason.
func (w *writer) handled(m *checkpoint.Message, reason string) {
	key := messageKey(w.next.ID, untaken, m.Number)
	n := len(w.c.Puts)
	if w.unput(Messages, key); n == len(w.c.Puts) { // the same write did not return it
		w.c.Deletes = append(w.c.Deletes, point(Key{Messages, w.next.ID, key}))
	}
	w.next.count(m, -1)
	if m.Refused = reason; reason == "" {
		m.Taken, m.Payload = true, nil
	}
	w.next.Handled++
	w.putMessage(m, w.next.Handled)
}

// putMessage stores a message, with the row that finds it by its id. count is that of place.
func (w *writer) putMessage(m *checkpoint.Message, count uint64) {
	key := messageKey(w.next.ID, untaken, m.Number)
	if count != 0 {
		key = messageKey(w.next.ID, handled, count)
	}
	id := messageIDKey(w.next.ID, m.ID)
	w.unput(Messages, id)
	w.put(Messages, key, &messageRow{*m}, false)
	w.put(Messages, id, place{m.Number, count}, false)
}

// count adds n to the numbers of untaken messages of the kind of m.
func (t *threadRow) count(m *checkpoint.Message, n int) {
	if m.Kind == checkpoint.InputMessage {
		t.Inputs += n
	} else {
		t.Others += n
	}
	if m.Kind == checkpoint.CancelMessage {
		t.Cancels += n
	}
	switch { // the payload of a message that is taken may be unknown
	case t.Inputs+t.Others == 0:
		t.MailBytes = 0
	case n > 0:
		t.MailBytes += uint64(len(m.Payload))
	}
}

// trim removes the messages that were handled first, if there are too many.
func (w *writer) trim(ctx context.Context) error {
	const slack = checkpoint.KeepTaken / 4 // so that it happens rarely
	if w.next.Handled-w.next.Forgot <= checkpoint.KeepTaken+slack {
		return nil
	}
	r := mailOf(w.next.ID, handled)
	r.To = messageKey(w.next.ID, handled, w.next.Handled-checkpoint.KeepTaken+1)
	rows, _, err := w.s.read(ctx, r)
	if err != nil {
		return err
	}
	for i := range rows[0] {
		key := rows[0][i].Key
		if w.deletes(Messages, key) {
			continue // the same write returned it
		}
		m, err := rows[0][i].message()
		if err != nil {
			return of(w.next.ID, err)
		}
		w.unput(Messages, key) // of a reply
		w.c.Deletes = append(w.c.Deletes, point(Key{Messages, w.next.ID, key}), point(Key{Messages, w.next.ID, messageIDKey(w.next.ID, m.ID)}))
	}
	w.next.Forgot = w.next.Handled - checkpoint.KeepTaken
	return nil
}

// mostPosts is how many posts are stored together at most.
const mostPosts = 1024

// Post stores messages, as checkpoint.Inbox says. It stores posts to different threads together.
func (s *Saver) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	left := make([]int, 0, len(posts))
	for i := range posts {
		if err := posts[i].Check(); err != nil {
			return nil, err
		}
		if len(posts[i].Outcomes) == 0 {
			left = append(left, i)
		}
	}
	all := make([]checkpoint.Posted, len(posts))
	for i := range posts {
		if len(posts[i].Outcomes) > 0 {
			if err := s.postOutcomes(ctx, &posts[i], &all[i]); err != nil {
				return nil, err
			}
		}
	}
	// In this order, no two processes wait for each other.
	slices.SortStableFunc(left, func(a, b int) int { return cmp.Compare(posts[a].Thread, posts[b].Thread) })
	for len(left) > 0 {
		var now, later []int
		for _, i := range left {
			if n := len(now); n == mostPosts || n > 0 && posts[now[n-1]].Thread == posts[i].Thread {
				later = append(later, i)
			} else {
				now = append(now, i)
			}
		}
		if err := s.postAll(ctx, posts, now, all); err != nil {
			return nil, err
		}
		left = later
	}
	return all, nil
}

// postAll stores the posts with some indexes. Each has another thread.
func (s *Saver) postAll(ctx context.Context, posts []checkpoint.Post, some []int, all []checkpoint.Posted) error {
	var turns [256]bool
	for _, i := range some {
		turns[hash(1, posts[i].Thread)[0]] = true
	}
	ranges := func() []Range {
		var threads, ids []Range
		for _, i := range some {
			p := &posts[i]
			threads = append(threads, point(threadKey(p.Thread)))
			for j := range p.Messages {
				ids = append(ids, point(Key{Messages, p.Thread, messageIDKey(p.Thread, p.Messages[j].ID)}))
			}
		}
		return append(threads, ids...) // those of one table together, which a Store may read by one statement
	}
	choose := func(rows [][]Row, now time.Time) (*Change, error) {
		c := new(Change)
		threads, ids := rows[:len(some)], rows[len(some):]
		for k, i := range some {
			n := len(posts[i].Messages)
			err := s.post(&posts[i], threads[k], ids[:n], ledger.Micro(now), c, &all[i])
			var invalid *checkpoint.InvalidError
			switch {
			case errors.Is(err, checkpoint.ErrDamaged) || errors.As(err, &invalid) || errors.As(err, new(*MovedError)):
				all[i] = checkpoint.Posted{Err: err}
			case err != nil:
				return nil, err
			}
			ids = ids[n:]
		}
		return c, nil
	}
	lost := false // to another process
	return s.change(ctx, nil, func() error {
		for i := range turns {
			if turns[i] {
				s.posters[i].Lock()
				defer s.posters[i].Unlock()
			}
		}
		if server, ok := s.store.(Server); ok && lost {
			return server.Locked(ctx, ranges(), choose)
		}
		rows, now, err := s.read(ctx, ranges()...)
		if err != nil {
			return err
		}
		if c, err := choose(rows, now); err != nil || len(c.Checks) == 0 {
			return err
		} else if _, _, err = s.applyChange(ctx, c); err != nil {
			lost = errors.Is(err, ErrChanged)
			var part *PartError
			if errors.As(err, &part) {
				some = slices.DeleteFunc(some, func(i int) bool { return slices.Contains(part.Stored, posts[i].Thread) })
			}
			return err
		}
		return nil
	})
}

// postOutcomes stores the outcomes of a Post. It changes the row of the thread only if they make
// the thread due. So most outcomes of a thread do not wait for each other. It first tries that
// with what is known of the thread.
func (s *Saver) postOutcomes(ctx context.Context, p *checkpoint.Post, done *checkpoint.Posted) error {
	known, _, _ := s.recall(p.Thread, "")
	if known != nil {
		known = s.knownForPut(&checkpoint.PutWrites{Thread: p.Thread, Fence: known.Fence, Writes: p.Outcomes})
	}
	err := s.change(ctx, nil, func() (err error) {
		*done = checkpoint.Posted{Messages: make([]checkpoint.PostedMessage, len(p.Messages))}
		t, blind := known, known != nil
		if known = nil; !blind {
			if t, err = s.thread(ctx, p.Thread); err != nil {
				return err
			}
			if t.Open == 0 {
				return ledger.NoRecord(p.Thread, p.Outcomes[0].Namespace, p.Outcomes[0].Base)
			}
			s.keep(t, "", nil)
		}
		w := newWriter(s, t)
		next := &w.next
		w.based = true
		if err := w.writes(ctx, p.Outcomes, blind); err != nil || len(w.c.Puts) == 0 {
			return err
		}
		if wake, wakes := ledger.OutcomeWake(t.Status, t.Wake, t.Updated, t.lease(), t.now); wakes && len(p.Messages) > 0 {
			next.Posted, next.Wake, next.Attempts = t.Posted+1, wake, 0
			done.Messages[0].Number = next.Posted
		}
		stored, _, err := s.apply(ctx, &w.c, t, next)
		if err == nil {
			s.keep(&stored, "", nil)
		}
		return err
	})
	if errors.Is(err, checkpoint.ErrNotFound) || errors.Is(err, checkpoint.ErrDamaged) || errors.As(err, new(*MovedError)) {
		*done, err = checkpoint.Posted{Err: err}, nil
	}
	return err
}

// post adds a Post to a change. row is that of its thread, and ids are those of its messages by
// their ids.
func (s *Saver) post(p *checkpoint.Post, row []Row, ids [][]Row, now time.Time, c *Change, done *checkpoint.Posted) error {
	t, err := asThread(p.Thread, row, now)
	if err != nil {
		return err
	}
	*done = checkpoint.Posted{}
	w := newWriter(s, t)
	next := &w.next
	done.Messages = make([]checkpoint.PostedMessage, len(p.Messages))
	var inputs, others int
	due := false
	for i := range p.Messages {
		m := &p.Messages[i]
		if row := ids[i]; len(row) > 0 && m.Kind != checkpoint.WakeMessage {
			at, err := row[0].place()
			if err != nil {
				return of(p.Thread, err)
			}
			done.Messages[i] = checkpoint.PostedMessage{Number: at.number, Known: true}
			continue
		}
		next.Posted++
		done.Messages[i].Number = next.Posted
		due = due || t.Open != 0 || m.Kind == checkpoint.InputMessage || m.Kind == checkpoint.WakeMessage
		switch m.Kind {
		case checkpoint.WakeMessage:
			next.Attempts = 0
			continue
		case checkpoint.InputMessage:
			inputs++
		case checkpoint.AnswerMessage, checkpoint.SignalMessage:
			others++
		}
		stored := *m
		stored.Number, stored.Posted, stored.Taken, stored.Refused = next.Posted, now, false, ""
		w.putMessage(&stored, 0)
		next.count(&stored, 1)
	}
	if next.Posted == t.Posted {
		return nil
	}
	if refused := t.refusePost(p, inputs, others); refused != nil {
		*done = checkpoint.Posted{Err: refused}
		return nil //nolint:nilerr // a refusal is a result of the Post
	}
	if due {
		next.Wake = ledger.PostWake(t.Wake, t.lease(), now)
	}
	if next.About, err = t.About.Posted(p, now); err != nil {
		return err
	}
	w.c.changeThread(t, next)
	c.add(&w.c)
	return nil
}

// refusePost returns why the thread does not take new messages; nil if it does.
func (t *thread) refusePost(p *checkpoint.Post, inputs, others int) error {
	maxInputs, maxOthers := ledger.Limits(p)
	idle := t.Open == 0 || !t.leased() && (t.Status == checkpoint.Done || t.Status == checkpoint.Cancelled)
	switch {
	case p.Idle && (!idle || t.Inputs > 0):
		return ledger.NotIdle(p.Thread)
	case inputs > 0 && t.Inputs+inputs > maxInputs:
		return ledger.Full(p.Thread, "inputs", maxInputs)
	case others > 0 && t.Others+others > maxOthers:
		return ledger.Full(p.Thread, "answers, signals and cancels", maxOthers)
	}
	return nil
}

// Mail returns messages, as checkpoint.Inbox says.
func (s *Saver) Mail(ctx context.Context, q checkpoint.MailQuery) (all []checkpoint.Message, err error) {
	err = s.call(ctx, q.Check(), func() error {
		all = nil
		if q.ID != "" {
			all, err = s.mailByID(ctx, &q)
			return err
		}
		if q.After == math.MaxUint64 {
			return nil
		}
		r := mailOf(q.Thread, untaken)
		r.Bytes, r.Limit = messageKey(q.Thread, untaken, q.After+1), max(q.Limit, 0)
		if q.Handled { // by number, and their rows have another order
			r = mailOf(q.Thread, handled)
		}
		rev := s.revOf(q.Thread)
		rows, err := s.readOf(ctx, q.Thread, r)
		if err != nil {
			return err
		}
		if all, err = asMail(q.Thread, rows[0]); err != nil {
			return err
		}
		if q.Handled {
			all = slices.DeleteFunc(all, func(m checkpoint.Message) bool { return m.Refused == "" && !m.Replied() || m.Number <= q.After })
			all = append([]checkpoint.Message(nil), all...) // nil if none is left
		} else {
			s.noteMail(q.Thread, rev, all)
		}
		if q.Limit > 0 && len(all) > q.Limit {
			all = all[:q.Limit]
		}
		return nil
	})
	return all, err
}

// mailByID returns the message that q names by its id, if it is kept. A write can move it between
// two reads.
func (s *Saver) mailByID(ctx context.Context, q *checkpoint.MailQuery) ([]checkpoint.Message, error) {
	rows, err := s.readOf(ctx, q.Thread, point(Key{Messages, q.Thread, messageIDKey(q.Thread, q.ID)}))
	if err != nil || len(rows[0]) == 0 {
		return nil, err
	}
	at, err := rows[0][0].place()
	if err != nil {
		return nil, of(q.Thread, err)
	}
	key := messageKey(q.Thread, untaken, at.number)
	if at.handled != 0 {
		key = messageKey(q.Thread, handled, at.handled)
	}
	if rows, _, err = s.read(ctx, point(Key{Messages, q.Thread, key})); err != nil {
		return nil, err
	}
	if len(rows[0]) == 0 {
		return nil, ErrChanged
	}
	m, err := rows[0][0].message()
	if err != nil {
		return nil, of(q.Thread, err)
	}
	return []checkpoint.Message{m}, nil
}

// asMail returns the messages of rows, by their numbers.
func asMail(id string, rows []Row) (all []checkpoint.Message, err error) {
	for i := range rows {
		m, err := rows[i].message()
		if err != nil {
			return nil, of(id, err)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b checkpoint.Message) int { return cmp.Compare(a.Number, b.Number) })
	return all, nil
}

// News returns the newest messages and runs, as checkpoint.Inbox says.
func (s *Saver) News(ctx context.Context, threads []string) (all []checkpoint.News, err error) {
	ranges := make([]Range, len(threads))
	for i, id := range threads {
		if err := checkpoint.CheckThread(id); err != nil {
			return nil, err
		}
		ranges[i] = point(threadKey(id))
	}
	err = s.call(ctx, nil, func() error {
		rows, now, err := s.read(ctx, ranges...)
		if err != nil {
			return err
		}
		all = make([]checkpoint.News, len(threads))
		var moved []error
		for i := range rows {
			t, err := asThread(threads[i], rows[i], now)
			switch {
			case errors.As(err, new(*MovedError)):
				moved = append(moved, err)
				continue
			case err != nil:
				return err
			}
			all[i] = checkpoint.News{Posted: t.Posted, Cancels: t.Cancels, Inputs: t.Inputs, Replies: t.Replies, Due: !t.Wake.IsZero()}
			if t.Open != 0 {
				all[i].Version, all[i].Status, all[i].Fence = t.Open, t.Status, t.Fence
			}
		}
		return errors.Join(moved...) // with the news of the others
	})
	return all, err
}
