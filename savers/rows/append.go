package rows

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Append stores records, as checkpoint.Saver says.
func (s *Saver) Append(ctx context.Context, a checkpoint.Append) (done checkpoint.AppendResult, err error) {
	if err := a.Check(); err != nil {
		return done, err
	}
	if err := s.opensReadable(&a); err != nil {
		return done, err
	}
	blind := true
	err = s.change(ctx, nil, func() error {
		if blind {
			blind = false
			if t, h := s.knownFor(&a); t != nil {
				if done, err = s.tryAppend(ctx, &a, t, h, true); err == nil || overtaken(&a, err) {
					return err
				}
			}
		}
		done, err = s.readAppend(ctx, &a)
		return err
	})
	if err != nil {
		return checkpoint.AppendResult{}, err
	}
	return done, nil
}

// overtaken reports whether an opening a has failed because another run took its fence.
func overtaken(a *checkpoint.Append, err error) bool {
	var conflict *checkpoint.ConflictError
	return a.Open != nil && errors.As(err, &conflict) && conflict.Want == a.Records[0].ID
}

// knownFor returns what is known of the thread and the head that a names. t is nil if that does
// not suffice to store a without reading. The known facts may be out of date: then a check fails.
func (s *Saver) knownFor(a *checkpoint.Append) (t *thread, h head) {
	t, h, found := s.recall(a.Thread, a.Namespace)
	starts := a.Open != nil && a.After.IsZero()
	switch {
	case t == nil && !starts:
		return nil, h
	case t == nil:
		now, ok := s.estimate()
		if !ok {
			return nil, h
		}
		t = &thread{threadRow: threadRow{ID: a.Thread}, now: now}
	case t.Open == 0 != starts, // a pruned log has no first record that would stop a second one
		starts && a.Release && t.Versions > 0, // it was perhaps stored and released before
		a.Open == nil && t.Fence != a.Fence,
		a.Open != nil && t.leased() && !a.Open.TakeOver:
		return nil, h
	}
	if starts {
		return t, head{}
	}
	if !found && !a.After.IsZero() || h.id != a.After {
		return nil, h
	}
	for i := range a.Writes {
		b := a.Writes[i].Base
		if b != h.id && !b.IsZero() && !slices.ContainsFunc(a.Records, func(r checkpoint.Record) bool { return r.ID == b }) {
			return nil, h
		}
	}
	return t, h
}

// readAppend is an Append that reads first.
func (s *Saver) readAppend(ctx context.Context, a *checkpoint.Append) (done checkpoint.AppendResult, err error) {
	t, err := s.thread(ctx, a.Thread)
	if err != nil {
		return done, err
	}
	if a.Release && (t.onlyReleased() || t.Versions > 1) {
		if done, ok, err := s.releasedBefore(ctx, a, t); err != nil || ok {
			return done, err
		}
	}
	starts := a.Open != nil && a.After.IsZero()
	if t.Open == 0 && !starts {
		want, reason := a.Fence, "fence"
		if a.Open != nil {
			want, reason = a.After, "head"
		}
		return done, ledger.Missing(a.Thread, a.Namespace, want, reason, t.onlyReleased())
	}
	var h head
	if t.Open != 0 {
		stored, rec, err := s.stands(ctx, t, t.Root, a)
		if err != nil {
			return done, err
		}
		if stored != nil && (a.Open == nil || t.Fence == a.Records[0].ID) {
			return s.repeated(ctx, a, t, stored)
		}
		if h = headOf(&rec); !t.runs() && h.id == t.Head {
			h.chain = t.Chain
		}
	}
	if err := refuse(a, t, h); err != nil {
		if t.Fence != a.Fence {
			s.forget(t.ID)
		}
		return done, err
	}
	return s.tryAppend(ctx, a, t, h, false)
}

// refuse returns why the thread t with the head h does not take a; nil if it does.
func refuse(a *checkpoint.Append, t *thread, h head) error {
	switch {
	case a.Open != nil:
		if err := t.busy(); err != nil && !a.Open.TakeOver {
			return err
		}
	case a.Fence != t.Fence:
		return t.conflict("fence", a.Namespace, a.Fence, t.Fence)
	}
	switch {
	case h.id != a.After:
		return t.conflict("head", a.Namespace, a.After, h.id)
	case a.Open != nil && !ledger.IsBirth(a.Open.Birth, t.About.Birth):
		return t.conflict("birth", a.Namespace, a.Open.Birth, t.About.Birth)
	}
	return nil
}

// stands reads whether a version has the records of a already, at the place for which they were
// sent. Then it returns the last of them, else nil. rec is the head of the namespace. It returns
// ErrChanged if the thread has changed since t was read, because a refusal must not mix two
// moments.
func (s *Saver) stands(ctx context.Context, t *thread, r root, a *checkpoint.Append) (stored *checkpoint.Record, rec checkpoint.Record, err error) {
	n := len(a.Records)
	l := logOf(t.ID, r, a.Namespace)
	all, _, err := s.read(ctx, point(threadKey(t.ID)), l.head(), l.upTo(a.Records[n-1].ID, n+1))
	if err != nil {
		return nil, rec, err
	}
	if len(all[0]) == 0 || all[0][0].Rev != t.rev {
		return nil, rec, ErrChanged
	}
	rows := all[1:]
	if len(rows[0]) == 0 {
		return nil, rec, nil
	}
	newest, err := l.last(&rows[0][0])
	if err != nil {
		return nil, rec, err
	}
	found, err := l.from(a.Records[n-1].ID, rows[1]) // newest first
	if err != nil || len(found) == 0 {
		return nil, *newest, err
	}
	last := found[0]
	if last.Seq < uint64(n) || (last.Seq == uint64(n)) != a.After.IsZero() {
		return nil, *newest, nil
	}
	for i := range found {
		if found[i].Seq+uint64(n) < last.Seq {
			break
		}
		want := a.After
		if at := found[i].Seq + uint64(n) - last.Seq; at > 0 {
			want = a.Records[at-1].ID
		}
		if found[i].ID != want {
			return nil, *newest, nil
		}
	}
	return &last.Record, *newest, nil
}

// releasedBefore answers an Append whose release was stored before; ok is false if it was not.
func (s *Saver) releasedBefore(ctx context.Context, a *checkpoint.Append, t *thread) (done checkpoint.AppendResult, ok bool, err error) {
	rows, _, err := s.read(ctx, last(versionsOf(t.ID)))
	if err != nil || len(rows[0]) == 0 {
		return done, false, err
	}
	v, err := rows[0][0].version()
	if err != nil {
		return done, false, of(t.ID, err)
	}
	stored, _, err := s.stands(ctx, t, v.root, a)
	if err != nil || stored == nil {
		return done, false, err
	}
	done = checkpoint.AppendResult{Version: v.number, Head: stored.Seq, Posted: t.Posted}
	if a.Open != nil {
		done.Now, done.Birth = t.now, t.About.Birth
		done.Writes, err = s.pending(ctx, t, v.root)
	}
	return done, true, err
}

// repeated answers an Append that was stored before; it renews the lease.
func (s *Saver) repeated(ctx context.Context, a *checkpoint.Append, t *thread, stored *checkpoint.Record) (done checkpoint.AppendResult, err error) {
	done = checkpoint.AppendResult{Version: t.Open, Head: stored.Seq, Posted: t.Posted}
	if !t.Until.IsZero() && (a.Open != nil || a.Fence == t.Fence) {
		next := t.threadRow
		next.Until = ledger.Micro(t.now.Add(ledger.LeaseOf(a.Lease)))
		stored, _, err := s.apply(ctx, new(Change), t, &next)
		if err != nil {
			return done, err
		}
		t = &stored
		s.keep(t, "", nil)
	}
	if a.Open != nil {
		s.hold(t.ID, !t.Until.IsZero())
		done.Attempts, done.Now, done.Birth = t.Attempts, t.now, t.About.Birth
		done.Writes, err = s.pending(ctx, t, t.Root)
	}
	return done, err
}

// tryAppend stores a after the head h of t. It returns ErrChanged if the storage has another head.
// blind says that t and h were not read by this call, so they can be out of date. The caller then
// reads them, and tries again, also after another error.
func (s *Saver) tryAppend(ctx context.Context, a *checkpoint.Append, t *thread, h head, blind bool) (done checkpoint.AppendResult, err error) {
	if blind {
		if err := refuse(a, t, h); err != nil {
			return done, err
		}
	}
	w := newWriter(s, t)
	next := &w.next
	if a.Open != nil {
		if err := next.opens(a, t); err != nil {
			return done, err
		}
	} else if next.About, _, err = t.About.After(a, t.now); err != nil {
		return done, err
	}
	w.records(a, h)
	if err := w.writes(ctx, a.Writes, blind || t.Open == 0); err != nil {
		return done, err
	}
	if a.Status != 0 {
		next.Status = a.Status
	}
	var opens *checkpoint.Append
	if a.Open != nil {
		opens = a
	}
	if err := w.handle(ctx, &a.Messages, opens); err != nil {
		return done, err
	}
	w.renew(a.Lease, a.Open != nil)
	newest := h
	for i := range a.Records {
		newest = newest.then(&a.Records[i])
	}
	newest.packed = h.seq
	var root *head
	if a.Namespace == "" {
		root = &newest
	}
	if a.End {
		w.ends(a.Wake, a.Messages.Seen, a.Records)
	}
	if next.Until.IsZero() && (a.End || root != nil) {
		at, err := w.rest(ctx, root)
		switch {
		case err != nil:
		case a.End && root != nil:
			err = w.readable(ctx, h, a.Records)
		case a.End:
			err = w.readable(ctx, *at, nil)
		}
		if err != nil {
			return done, err
		}
	}
	if a.Progress || a.End && next.Status != checkpoint.Failed {
		next.Attempts = 0
	}
	done = checkpoint.AppendResult{Version: next.Open, Head: newest.seq, Posted: next.Posted}
	r := next.Root
	if a.Open != nil {
		done.Now, done.Birth = t.now, next.About.Birth
		if t.Open != 0 || len(a.Writes) > 0 {
			w.c.Reads = []Range{writesOf(t.ID, r)}
		}
	}
	if a.Release {
		v := version{root: next.Root, head: newest.id, records: int(newest.seq - next.Missing)}
		if root == nil {
			if err := s.measure(ctx, t, &v); err != nil {
				return done, err
			}
		}
		if _, err := w.release(ctx, v); err != nil {
			return done, err
		}
	}
	if a.Open != nil {
		done.Attempts = next.Attempts
	}
	stored, rows, err := s.apply(ctx, &w.c, t, next)
	if err != nil {
		return done, err
	}
	s.keep(&stored, a.Namespace, &newest)
	s.noteWrites(t.ID, a.Writes, a.Records)
	if a.Open != nil || a.End {
		s.hold(t.ID, !a.End)
	}
	if len(rows) > 0 && len(rows[0]) > 0 {
		live, spent, err := s.live(ctx, &stored, r, rows[0])
		s.noteSpent(t.ID, spent)
		done.Writes = inOrder(live)
		for errors.Is(err, ErrChanged) {
			done.Writes, err = s.writesOfRun(ctx, &stored)
		}
		if err != nil {
			return done, err
		}
	}
	if a.End || s.packing.AtOnce {
		err = s.packEnded(ctx, next)
	}
	return done, err
}

// writesOfRun reads the pending writes for a run whose opening is stored as t, after which the
// thread has changed. It fails with a conflict if another run has taken the fence, or the thread
// is gone. It returns ErrChanged if the thread changes meanwhile.
func (s *Saver) writesOfRun(ctx context.Context, t *thread) ([]checkpoint.Write, error) {
	now, err := s.thread(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	if now.Fence != t.Fence {
		s.forget(t.ID)
		return nil, t.conflict("fence", "", t.Fence, now.Fence)
	}
	return s.pending(ctx, now, now.Root)
}

// opens makes t the thread after the opening a, which found it as old.
func (t *threadRow) opens(a *checkpoint.Append, old *thread) (err error) {
	if t.About, _, err = old.About.After(a, old.now); err != nil {
		return err
	}
	first := a.Records[0].ID
	if t.Open == 0 {
		t.Last++
		t.Open, t.Versions, t.Status, t.Root = t.Last, t.Versions+1, checkpoint.Running, rootOf(first, t.Last)
	}
	t.Attempts = ledger.Attempts(old.Attempts, a.Open.Retry, old.Until.IsZero(), old.Status)
	t.Fence, t.Holder, t.Updated = first, a.Open.Holder, old.now
	t.Until = ledger.Micro(old.now.Add(ledger.LeaseOf(a.Lease)))
	t.Wake = t.Until
	return nil
}

// writer collects what one write of a run stores.
type writer struct {
	s    *Saver
	t    *thread   // as it was
	next threadRow // as it will be
	c    Change

	check [1]Check // room for the checks of c
	first [1]Put   // room for its puts, if there is one

	committed map[checkpoint.ID]bool // bases that the records of the write commit
	based     bool                   // the bases of pending writes must be records
}

// newWriter returns a writer of a thread.
func newWriter(s *Saver, t *thread) *writer {
	w := &writer{s: s, t: t, next: t.threadRow}
	w.c.Checks, w.c.Puts = w.check[:0], w.first[:0]
	return w
}

// put adds a row to the change.
func (w *writer) put(t Table, key []byte, v value, isNew bool) {
	w.c.Puts = append(w.c.Puts, Put{Key: Key{t, w.next.ID, key}, Value: v.appendTo(nil, key), New: isNew})
}

// records adds the records of a after the head h.
func (w *writer) records(a *checkpoint.Append, h head) {
	room := len(a.Records) + len(a.Writes)
	if a.Open != nil {
		room += 6 // the thread, its places in indexes, and a message
	}
	w.c.Puts = slices.Grow(w.c.Puts, room)
	l := logOf(w.next.ID, w.next.Root, a.Namespace)
	before := h.id
	for i := range a.Records {
		r := recordRow{ledger.Normal(a.Records[i])}
		r.Seq = h.seq + uint64(i) + 1
		key := l.lastKey(before)
		if i < len(a.Records)-1 {
			key = l.key(before)
		}
		w.c.Puts = append(w.c.Puts, Put{Key: Key{Records, w.next.ID, key}, Value: r.appendTo(r.room(), key), New: true})
		if !r.Commits.IsZero() {
			w.commits(r.Commits, before, len(a.Writes) > 0)
		}
		before = r.ID
	}
	if h.id.IsZero() && a.Namespace != "" {
		w.put(Logs, l.name(), name(a.Namespace), true)
	}
}

// commits notes that a record, which follows before, commits a base. If the base is another
// record, it needs a mark. writes says that the call has pending writes.
func (w *writer) commits(base, before checkpoint.ID, writes bool) {
	if w.committed == nil && writes {
		w.committed = make(map[checkpoint.ID]bool)
	}
	if writes {
		w.committed[base] = true
	}
	if base != before {
		w.mark(base)
	}
}

// mark stores that a base is committed. Several records can commit one base.
func (w *writer) mark(base checkpoint.ID) {
	key := w.next.Root.mark(base)
	w.unput(Writes, key)
	w.put(Writes, key, mark{}, false)
}

// renew renews the lease if a quarter of it is over. So most writes do not change the row of the
// thread.
func (w *writer) renew(lease time.Duration, opens bool) {
	lease = ledger.LeaseOf(lease)
	left := w.next.Until.Sub(w.t.now)
	if !opens && !w.next.Until.IsZero() && (left < lease-lease/4 || left > lease) {
		w.next.Until = ledger.Micro(w.t.now.Add(lease))
	}
}

// ends makes the write the last of the run. seen is the newest message that the run knows. Pending
// writes that count no more go, also those whose bases the records of the same write commit.
func (w *writer) ends(wake time.Time, seen uint64, records []checkpoint.Record) {
	if w.next.Posted > seen {
		wake = w.t.now
	}
	w.next.Until, w.next.Updated, w.next.Wake = time.Time{}, w.t.now, *ledger.EndWake(wake, w.t.now)
	for _, base := range w.s.spent(w.next.ID, records) {
		r := within(Key{Writes, w.next.ID, w.next.Root.base(base)})
		r.Bytes = append(w.next.Root.mark(base), 0) // the mark stays
		w.c.Deletes = append(w.c.Deletes, r)
	}
}

// rest makes the thread one that no run holds. root is the head of its root; if it is nil, rest
// reads it. rest returns the head.
func (w *writer) rest(ctx context.Context, root *head) (*head, error) {
	w.next.Until = time.Time{}
	if root == nil {
		l := logOf(w.next.ID, w.next.Root, "")
		rows, _, err := w.s.read(ctx, l.head())
		if err != nil || len(rows[0]) == 0 {
			return new(head), err
		}
		r, err := l.last(&rows[0][0])
		if err != nil {
			return nil, err
		}
		at := headOf(r)
		root = &at
	}
	w.next.Head, w.next.Step, w.next.Chain = root.id, root.step, root.chain
	return root, nil
}

// PutWrites stores pending writes, as checkpoint.Saver says.
func (s *Saver) PutWrites(ctx context.Context, p checkpoint.PutWrites) (done checkpoint.PutResult, err error) {
	if err := p.Check(); err != nil {
		return done, err
	}
	blind := true
	err = s.change(ctx, nil, func() error {
		if blind {
			blind = false
			if t := s.knownForPut(&p); t != nil {
				if done, err = s.tryPut(ctx, &p, t, true); err == nil {
					return nil
				}
			}
		}
		t, err := s.thread(ctx, p.Thread)
		if err != nil {
			return err
		}
		switch {
		case t.Open == 0:
			return ledger.Missing(p.Thread, "", p.Fence, "fence", t.onlyReleased())
		case t.Fence != p.Fence || p.Fence.IsZero():
			s.forget(p.Thread)
			return t.conflict("fence", "", p.Fence, t.Fence)
		}
		done, err = s.tryPut(ctx, &p, t, false)
		return err
	})
	if err != nil {
		return checkpoint.PutResult{}, err
	}
	return done, nil
}

// knownForPut returns what is known of the thread if no record commits a base of p. Else, or if
// that is unknown, it returns nil.
func (s *Saver) knownForPut(p *checkpoint.PutWrites) *thread {
	t, _, _ := s.recall(p.Thread, "")
	if t == nil || t.Open == 0 || t.Fence != p.Fence {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[p.Thread]
	for i := range p.Writes {
		if b := p.Writes[i].Base; !b.IsZero() && (k == nil || k.heads[p.Writes[i].Namespace].id != b && !k.open[b]) {
			return nil
		}
	}
	return t
}

// tryPut stores p in the thread t. blind is that of tryAppend.
func (s *Saver) tryPut(ctx context.Context, p *checkpoint.PutWrites, t *thread, blind bool) (done checkpoint.PutResult, err error) {
	w := newWriter(s, t)
	next := &w.next
	if err := w.writes(ctx, p.Writes, blind); err != nil {
		return done, err
	}
	if p.Status != 0 {
		next.Status = p.Status
	}
	if err := w.handle(ctx, &p.Messages, nil); err != nil {
		return done, err
	}
	w.renew(p.Lease, false)
	var known *head
	if p.End {
		w.ends(p.Wake, p.Messages.Seen, nil)
		if _, h, found := s.recall(p.Thread, ""); found && blind && !s.options.Readable {
			known = &h
			l := logOf(p.Thread, next.Root, "")
			w.c.Reads = []Range{l.head()}
		}
		root, err := w.rest(ctx, known)
		if err == nil {
			err = w.readable(ctx, *root, nil)
		}
		if err != nil {
			return done, err
		}
	}
	if p.Progress || p.End && next.Status != checkpoint.Failed {
		next.Attempts = 0
	}
	stored, rows, err := s.apply(ctx, &w.c, t, next)
	if err != nil {
		return done, err
	}
	s.keep(&stored, "", nil)
	s.noteWrites(t.ID, p.Writes, nil)
	if p.End {
		s.hold(t.ID, false)
	}
	if known != nil {
		if err := s.correct(ctx, &stored, rows[0]); err != nil {
			return done, err
		}
	}
	if p.End {
		if err := s.packEnded(ctx, next); err != nil {
			return done, err
		}
	}
	return checkpoint.PutResult{Posted: next.Posted}, nil
}

// correct makes the head in the row of a thread the one of rows. They differ if another Saver has
// appended to the root by the fence of the same run.
func (s *Saver) correct(ctx context.Context, t *thread, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	l := logOf(t.ID, t.Root, "")
	r, err := l.last(&rows[0])
	if err != nil || r.ID == t.Head {
		return err
	}
	next := t.threadRow
	next.Head, next.Step, next.Chain = r.ID, r.Step, 0
	_, _, err = s.apply(ctx, new(Change), t, &next)
	return err
}
