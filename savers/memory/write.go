package memory

import (
	"context"
	"iter"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Append stores records, as [checkpoint.Saver] says.
func (s *Saver) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if err := s.begin(ctx, a.Check()); err != nil {
		return checkpoint.AppendResult{}, err
	}
	defer s.end()
	starts := a.Open != nil && a.After.IsZero()
	t := s.lock(a.Thread, starts)
	if t == nil {
		return checkpoint.AppendResult{}, ledger.MissingAppend(&a, false)
	}
	defer t.mu.Unlock()
	defer s.changed(t)
	return t.append(&a, starts, time.Now())
}

// append stores a; starts says that it may start a version.
func (t *thread) append(a *checkpoint.Append, starts bool, now time.Time) (checkpoint.AppendResult, error) {
	if done := t.released(a); done != nil {
		done.About = t.about
		result := done.Appended(a, now)
		result.Posted = t.current().Mail.Posted
		return result, nil
	}
	v := t.open()
	if v == nil && !starts {
		return checkpoint.AppendResult{}, ledger.MissingAppend(a, len(t.versions) > 0)
	}
	var busy error
	if a.Open != nil {
		busy = t.busy(now)
	}
	about, changed, tooMany := t.about.After(a, now)
	if v == nil {
		if tooMany != nil {
			return checkpoint.AppendResult{}, tooMany
		}
		v = t.upcoming(a.Thread)
	}
	v.About = t.about
	repeated, err := v.Accept(a, busy)
	if err == nil && !repeated {
		err = tooMany
	}
	if err != nil {
		return checkpoint.AppendResult{}, err
	}
	if !repeated {
		if v != t.open() {
			t.start(v)
		}
		if changed {
			t.about, v.About = about, about
		}
		var e ledger.Event
		v.Append(&e, a, t.entries(v, a), ledger.CloneWrites(a.Writes), now)
		t.apply(v, &e)
	}
	if a.Open != nil || a.Fence == v.Fence {
		t.renew(now, a.Lease)
	}
	done := v.Appended(a, now)
	done.Posted = t.current().Mail.Posted // v may be released
	return done, nil
}

// released returns the newest released version if an earlier call of a released it, else nil.
func (t *thread) released(a *checkpoint.Append) *ledger.Version {
	n := len(t.versions)
	if t.open() != nil {
		n--
	}
	if a.Release && n > 0 && t.versions[n-1].Stands(a) {
		return t.versions[n-1]
	}
	return nil
}

// entries copies the records of a for v. The result is valid until the next call.
func (t *thread) entries(v *ledger.Version, a *checkpoint.Append) []*ledger.Entry {
	t.made = t.made[:0]
	seq := v.NextSeq(a.Namespace)
	for i := range a.Records {
		t.made = append(t.made, t.slab.entry(&a.Records[i], seq+uint64(i)))
	}
	return t.made
}

// PutWrites stores pending writes, as [checkpoint.Saver] says.
func (s *Saver) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if err := s.begin(ctx, w.Check()); err != nil {
		return checkpoint.PutResult{}, err
	}
	defer s.end()
	t := s.lock(w.Thread, false)
	if t == nil {
		return checkpoint.PutResult{}, ledger.Missing(w.Thread, "", w.Fence, "fence", false)
	}
	defer t.mu.Unlock()
	v := t.open()
	if v == nil {
		return checkpoint.PutResult{}, ledger.Missing(w.Thread, "", w.Fence, "fence", len(t.versions) > 0)
	}
	if err := v.AcceptWrites(&w); err != nil {
		return checkpoint.PutResult{}, err
	}
	now := time.Now()
	t.renew(now, w.Lease)
	v.Apply(v.Put(&w, ledger.CloneWrites(w.Writes), now))
	s.changed(t)
	return checkpoint.PutResult{Posted: v.Mail.Posted}, nil
}

// Release closes the open version, as [checkpoint.Saver] says.
func (s *Saver) Release(ctx context.Context, id string, ifHead checkpoint.ID) (checkpoint.Version, error) {
	if err := s.begin(ctx, checkpoint.CheckThread(id)); err != nil {
		return checkpoint.Version{}, err
	}
	defer s.end()
	t := s.lock(id, false)
	if t == nil {
		return checkpoint.Version{}, ledger.NoVersion(id, 0)
	}
	defer t.mu.Unlock()
	v, now := t.open(), time.Now()
	if v == nil {
		return checkpoint.Version{}, ledger.NoVersion(id, 0)
	}
	if err := t.busy(now); err != nil {
		return checkpoint.Version{}, err
	}
	if err := v.AcceptRelease(ifHead); err != nil {
		return checkpoint.Version{}, err
	}
	t.apply(v, &ledger.Event{Releases: true, Time: now})
	s.changed(t)
	return v.Listing(), nil
}

// Delete removes a thread, as [checkpoint.Saver] says.
func (s *Saver) Delete(ctx context.Context, id string) error {
	if err := s.begin(ctx, checkpoint.CheckThread(id)); err != nil {
		return err
	}
	defer s.end()
	t := s.lock(id, false)
	if t == nil {
		return nil
	}
	defer t.mu.Unlock()
	if err := t.busy(time.Now()); err != nil {
		return err
	}
	s.remove(t, id)
	return nil
}

// remove removes a thread that the caller has locked.
func (s *Saver) remove(t *thread, id string) {
	t.gone = true
	s.noteWake(t)
	s.mu.Lock()
	delete(s.threads, id)
	s.mu.Unlock()
	s.announce(checkpoint.Notice{Graph: t.about.Graph, Thread: id})
}

// Prune removes old records and versions, as [checkpoint.Saver] says.
func (s *Saver) Prune(ctx context.Context, id string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	if err := s.begin(ctx, checkpoint.CheckThread(id)); err != nil {
		return checkpoint.PruneResult{}, err
	}
	defer s.end()
	t := s.lock(id, false)
	if t == nil {
		return checkpoint.PruneResult{}, ledger.NoThread(id)
	}
	defer t.mu.Unlock()
	if t.last == 0 && t.next == nil { // somebody is about to begin the thread
		return checkpoint.PruneResult{}, ledger.NoThread(id)
	}
	at := t.open()
	if at == nil { // without a fence
		at = ledger.New(id, 0)
	}
	if err := at.AcceptPrune(&keep, t.busy(time.Now())); err != nil {
		return checkpoint.PruneResult{}, err
	}
	if t.ended(&keep) {
		s.remove(t, id)
		return checkpoint.PruneResult{Deleted: true}, nil
	}
	var done checkpoint.PruneResult
	if v := t.open(); v != nil {
		removed, err := prune(v, keep)
		if err != nil {
			return checkpoint.PruneResult{}, err
		}
		done.Records = removed
	}
	done.Versions = t.drop(keep.Released)
	return done, nil
}

// ended reports whether keep removes the whole thread.
func (t *thread) ended(keep *checkpoint.Retention) bool {
	v := t.current()
	if v != t.next {
		return ledger.Ended(keep, v.Status, v.Updated, v.Wake, v.Mail.Inputs, v.Mail.Newest())
	}
	return ledger.Ended(keep, checkpoint.Done, t.newest(), v.Wake, v.Mail.Inputs, v.Mail.Newest())
}

// newest returns when the newest run opened or ended, or when the thread was created if it had
// none.
func (t *thread) newest() time.Time {
	if n := len(t.versions); n > 0 {
		return t.versions[n-1].Updated
	}
	return t.about.Created
}

// prune removes records and writes from a version, and returns how many records it removed. It
// folds those that a kept record needs into a snapshot.
func prune(v *ledger.Version, keep checkpoint.Retention) (int, error) {
	pruned, removed := v.Prune(keep), 0
	logs := make([][]*ledger.Entry, len(pruned))
	for n, p := range pruned {
		removed += p.Removed
		for _, kept := range p.Kept {
			e := kept.Entry
			if len(kept.Fold) > 0 {
				r, err := kept.Snapshot(records(kept.Fold))
				if err != nil {
					return 0, err
				}
				e = &ledger.Entry{Record: r}
			}
			logs[n] = append(logs[n], e)
		}
	}
	v.Replace(pruned, logs)
	return removed, nil
}

// records returns the records of entries.
func records(entries []*ledger.Entry) []checkpoint.Record {
	all := make([]checkpoint.Record, len(entries))
	for i, e := range entries {
		all[i] = e.Record
	}
	return all
}

// drop removes released versions but the newest keep, -1 for none, and returns how many it
// removed.
func (t *thread) drop(keep int) int {
	if keep == 0 {
		return 0
	}
	released := len(t.versions)
	if t.open() != nil {
		released--
	}
	n := max(released-max(keep, 0), 0)
	t.versions = append([]*ledger.Version(nil), t.versions[n:]...)
	return n
}

// Import makes a thread's next version, as [checkpoint.Saver] says.
func (s *Saver) Import(ctx context.Context, id string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	if err := checkpoint.CheckThread(id); err != nil {
		return err
	}
	v, described, err := collect(ctx, id, items)
	if err != nil {
		return err
	}
	if err := s.begin(ctx, nil); err != nil {
		return err
	}
	defer s.end()
	t := s.lock(id, true)
	defer t.mu.Unlock()
	if open := t.open(); open != nil {
		return open.Exists()
	}
	about, err := t.about.Imported(described, time.Now())
	if err != nil {
		return err
	}
	t.about = about
	t.last++
	v.Number = t.last
	if next := t.next; next != nil {
		v.Mail, v.Wake, t.next = next.Mail.With(&v.Mail), next.Wake, nil
	}
	v.Mail.Posted = max(v.Mail.Posted, described.Posted)
	t.versions = append(t.versions, v)
	s.noteWake(t)
	return nil
}

// collect makes a version of imported items, and returns the first of them too. It takes no lock:
// they may come from this very saver.
func collect(ctx context.Context, id string, items iter.Seq2[checkpoint.ExportItem, error]) (*ledger.Version, *checkpoint.Thread, error) {
	v, in := ledger.New(id, 0), ledger.Intake{}
	for item, err := range items {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = in.Take(item)
		}
		if err == nil {
			err = v.Follow(imported(item))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if err := in.End(); err != nil {
		return nil, nil, err
	}
	v.Status, v.Updated = in.Thread.Status, in.Thread.Updated
	return v, &in.Thread, nil
}

// imported returns the event for an item.
func imported(item checkpoint.ExportItem) *ledger.Event {
	switch {
	case item.Record != nil:
		return &ledger.Event{
			Namespace: item.Record.Namespace,
			Entries:   []*ledger.Entry{{Record: ledger.Clone(item.Record.Record)}},
		}
	case item.Write != nil:
		return &ledger.Event{Writes: ledger.CloneWrites([]checkpoint.Write{*item.Write})}
	case item.Message != nil:
		return &ledger.Event{Messages: []checkpoint.Message{*ledger.CloneMessage(item.Message)}}
	}
	return &ledger.Event{}
}
