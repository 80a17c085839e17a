package sqlsaver

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// posting is a Post of many in a transaction. Each step is one statement for all threads, because
// a statement costs a round trip.
type posting struct {
	s       *Saver
	tx      Runner
	posts   []checkpoint.Post
	order   []int
	inboxes map[string]*inbox // by thread
	size    int               // bytes of the messages to store
	pending [][7]any          // the messages to store
}

// inbox is what a Post needs of a thread's row, which the transaction has locked.
type inbox struct {
	thread
	known   map[string]int64 // numbers of messages, by mailID
	changed bool
}

// postIn stores posts in a transaction, in the order of the keys of their threads.
func (s *Saver) postIn(ctx context.Context, tx Runner, posts []checkpoint.Post) ([]checkpoint.Posted, error) {
	p := &posting{s: s, tx: tx, posts: posts, order: byThread(posts), inboxes: make(map[string]*inbox)}
	if s.has(stIndexMail) {
		if _, err := s.exec(ctx, tx, stIndexMail); err != nil {
			return nil, err
		}
	}
	if err := p.lock(ctx); err != nil {
		return nil, err
	}
	if err := p.look(ctx); err != nil {
		return nil, err
	}
	done := make([]checkpoint.Posted, len(posts))
	for _, i := range p.order {
		var err error
		if done[i], err = p.post(ctx, &posts[i]); err != nil {
			return nil, err
		}
	}
	if err := p.flush(ctx); err != nil {
		return nil, err
	}
	return done, p.store(ctx)
}

// lock locks the rows of the threads, and makes those that are missing. Another transaction may
// make them meanwhile.
func (p *posting) lock(ctx context.Context) error {
	for range 8 {
		missing, err := p.read(ctx)
		if err != nil || len(missing) == 0 {
			return err
		}
		if err := p.create(ctx, missing); err != nil && p.s.d.Classify(err) != Duplicate {
			return err
		}
	}
	return &againError{errChanged}
}

// read locks the rows that exist, and returns the posts that describe the other threads.
func (p *posting) read(ctx context.Context) (missing []*checkpoint.Post, err error) {
	var keys []string
	asked := make(map[string]bool)
	for _, i := range p.order {
		post := &p.posts[i]
		if p.inboxes[post.Thread] == nil && !asked[post.Thread] {
			keys, asked[post.Thread] = append(keys, hex.EncodeToString([]byte(post.Thread))), true
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	rows, err := p.s.query(ctx, p.tx, stLockInboxes, string(list))
	if err != nil {
		return nil, err
	}
	err = each(rows, func(rows Rows) error {
		b, err := scanInbox(rows)
		p.inboxes[b.id] = b
		return err
	})
	if err != nil {
		return nil, err
	}
	return p.missing(), nil
}

// missing returns, for each thread without a row, the first post that can be stored. If there is
// none, the thread gets no row.
func (p *posting) missing() (all []*checkpoint.Post) {
	first := make(map[string]*checkpoint.Post)
	for _, i := range p.order {
		post := &p.posts[i]
		if p.inboxes[post.Thread] != nil || first[post.Thread] != nil {
			continue
		}
		if new(inbox).accept(post) == 0 {
			first[post.Thread], all = post, append(all, post)
		}
	}
	for _, i := range p.order {
		if id := p.posts[i].Thread; p.inboxes[id] == nil && first[id] == nil {
			p.inboxes[id] = new(inbox)
		}
	}
	return all
}

func scanInbox(rows Rows) (*inbox, error) {
	b := &inbox{known: make(map[string]int64)}
	var k, graph []byte
	var open, status, attempts, priority int64
	err := rows.Scan(&b.no, &k, &open, &status, &b.until, &b.wake, &attempts, &b.posted, &b.inputs, &b.others, &b.cancels,
		&b.updated, &graph, &priority, &b.now)
	b.id, b.about.Graph = string(k), string(graph)
	b.about.Priority = checkpoint.Priority(priority)
	b.open, b.status, b.attempts = int(open), checkpoint.Status(status), int(attempts)
	return b, err
}

// create inserts rows of threads.
func (p *posting) create(ctx context.Context, missing []*checkpoint.Post) error {
	var threads [][4]*string
	labels := [][3]string{}
	for _, post := range missing {
		k := []byte(post.Thread)
		threads = append(threads, [4]*string{hexOf(k), hexOf([]byte(post.Graph)), hexOf([]byte(post.Title)), hexOf(labelsColumn(post.Labels))})
		for _, pair := range labelPairs(post.Labels) {
			labels = append(labels, [3]string{pair[0], pair[1], hex.EncodeToString(k)})
		}
	}
	list, err := json.Marshal(threads)
	if err != nil {
		return err
	}
	if _, err := p.s.exec(ctx, p.tx, stInsertThreads, string(list)); err != nil || len(labels) == 0 {
		return err
	}
	if list, err = json.Marshal(labels); err != nil {
		return err
	}
	_, err = p.s.exec(ctx, p.tx, stInsertLabels, string(list))
	return err
}

// look finds the messages that are stored already.
func (p *posting) look(ctx context.Context) error {
	var ids [][2]any
	threads := make(map[int64]*inbox)
	for _, i := range p.order {
		post := &p.posts[i]
		b := p.inboxes[post.Thread]
		if b.posted == 0 {
			continue
		}
		threads[b.no] = b
		for k := range post.Messages {
			ids = append(ids, [2]any{b.no, hex.EncodeToString(mailID(post.Messages[k].ID))})
		}
	}
	if len(ids) == 0 {
		return nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	rows, err := p.s.query(ctx, p.tx, stKnownMail, string(list))
	if err != nil {
		return err
	}
	return each(rows, func(rows Rows) error {
		var no, number int64
		var id []byte
		err := rows.Scan(&no, &id, &number)
		if b := threads[no]; b != nil {
			b.known[string(id)] = number
		}
		return err
	})
}

// post accepts or refuses one Post.
func (p *posting) post(ctx context.Context, post *checkpoint.Post) (done checkpoint.Posted, err error) {
	b := p.inboxes[post.Thread]
	if refused := b.accept(post); refused > 0 {
		done.Err = refused.err(post)
		return done, nil
	}
	changed, due := false, false
	for i := range post.Messages {
		m := &post.Messages[i]
		number, known := b.known[string(mailID(m.ID))]
		if known = known && m.Kind != checkpoint.WakeMessage; !known {
			b.posted++
			number, changed = b.posted, true
			due = due || m.Kind == checkpoint.InputMessage || m.Kind == checkpoint.WakeMessage
			if err := p.add(ctx, b, m); err != nil {
				return done, err
			}
		}
		done.Messages = append(done.Messages, checkpoint.PostedMessage{Number: uint64(number), Known: known})
	}
	if changed {
		b.arrive(post, due)
	}
	return done, nil
}

// accept returns the fault of a Post, 0 if it can be stored.
func (b *inbox) accept(post *checkpoint.Post) fault {
	var inputs, others, all int
	for i := range post.Messages {
		m := &post.Messages[i]
		if _, known := b.known[string(mailID(m.ID))]; known && m.Kind != checkpoint.WakeMessage {
			continue
		}
		all++
		switch m.Kind {
		case checkpoint.InputMessage:
			inputs++
		case checkpoint.AnswerMessage, checkpoint.SignalMessage:
			others++
		}
	}
	maxInputs, maxOthers := ledger.Limits(post)
	switch {
	case all == 0:
	case post.Idle && !b.idle():
		return faultNotIdle
	case inputs > 0 && int(b.inputs)+inputs > maxInputs:
		return faultInputs
	case others > 0 && int(b.others)+others > maxOthers:
		return faultOthers
	}
	return 0
}

// idle reports whether nothing is due or in progress.
func (b *inbox) idle() bool {
	return b.inputs == 0 && !b.leased() && (b.open == 0 || b.status == checkpoint.Done || b.status == checkpoint.Cancelled)
}

// arrive changes the row for messages that were added. due reports whether they make a thread
// without a version due.
func (b *inbox) arrive(post *checkpoint.Post, due bool) {
	b.changed, b.about.Priority = true, post.Priority.Or(b.about.Priority)
	if b.about.Graph == "" {
		b.about.Graph = post.Graph
	}
	if b.open == 0 && b.inputs > 0 {
		b.status = checkpoint.Ready
	}
	if b.leased() || b.wake > 0 && b.wake <= b.now || b.open == 0 && !due {
		return
	}
	b.wake = b.now
}

// add adds a message to those that flush stores.
func (p *posting) add(ctx context.Context, b *inbox, m *checkpoint.Message) error {
	if m.Kind == checkpoint.WakeMessage {
		b.attempts = 0
		return nil
	}
	b.count(m.Kind, 1)
	id := mailID(m.ID)
	b.known[string(id)] = b.posted
	head, payload := mailHead(b.id, m), mailPayload(b.id, m.ID, m.Payload)
	if len(payload) > maxTogether/4 { // in hex it would take much room
		_, err := p.s.exec(ctx, p.tx, stPutMail, b.no, b.posted, id, int64(m.Kind), int64(untaken), int64(0), b.now, []byte{}, head, payload)
		return err
	}
	if p.size += len(head) + len(payload); p.size > maxTogether {
		if err := p.flush(ctx); err != nil {
			return err
		}
		p.size = len(head) + len(payload)
	}
	p.pending = append(p.pending, [7]any{b.no, b.posted, hexOf(id), int64(m.Kind), b.now, hexOf(head), hexOf(payload)})
	return nil
}

// flush stores the messages.
func (p *posting) flush(ctx context.Context) error {
	if len(p.pending) == 0 {
		return nil
	}
	list, err := json.Marshal(p.pending)
	p.pending, p.size = nil, 0
	if err != nil {
		return err
	}
	_, err = p.s.exec(ctx, p.tx, stInsertMail, string(list))
	return err
}

// store writes the rows of the threads.
func (p *posting) store(ctx context.Context) error {
	var threads [][11]any
	for _, i := range p.order {
		if b := p.inboxes[p.posts[i].Thread]; b.changed {
			if b.open == 0 && b.inputs == 0 {
				b.updated = never
			}
			threads = append(threads, [11]any{
				b.no, int64(b.status), b.wake, b.attempts, b.posted, b.inputs, b.others, b.cancels, b.updated, hexOf([]byte(b.about.Graph)),
				int64(b.about.Rank()),
			})
			b.changed = false
		}
	}
	if len(threads) == 0 {
		return nil
	}
	list, err := json.Marshal(threads)
	if err != nil {
		return err
	}
	_, err = p.s.exec(ctx, p.tx, stUpdateInboxes, string(list))
	return err
}
