package memory

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Load returns the data to restore a checkpoint, as [checkpoint.Saver] says.
func (s *Saver) Load(ctx context.Context, p checkpoint.Ref) (chain checkpoint.Chain, err error) {
	err = s.view(ctx, p, func(t *thread, v *ledger.Version) error {
		view, err := v.View(p.Namespace, p.At)
		if err != nil {
			return err
		}
		chain = view.Chain
		if n := len(view.Entries); n > 0 {
			chain.Last, chain.Snapshot, chain.Chained = view.Entries[n-1].Record, view.Entries[0].Payload, n-1
			chain.Deltas = deltas(view.Entries[1:])
		}
		if view.Base != nil {
			chain.Due = view.Base.Due
		}
		if chain.Thread = t.describe(v, time.Now()); !p.Questions() {
			chain.Thread.Questions = nil
		}
		return nil
	})
	return chain, err
}

// deltas returns the payloads of the entries after a snapshot.
func deltas(entries []*ledger.Entry) [][]byte {
	if len(entries) == 0 {
		return nil
	}
	all := make([][]byte, len(entries))
	for i, e := range entries {
		all[i] = e.Payload
	}
	return all
}

// History yields records, newest first, as [checkpoint.Saver] says.
func (s *Saver) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		var log []*ledger.Entry
		p.At = q.Before
		err := s.view(ctx, p, func(_ *thread, v *ledger.Version) (err error) {
			log, err = v.Log(p.Namespace, p.At)
			return err
		})
		if err != nil {
			yield(checkpoint.Record{}, err)
			return
		}
		found := 0
		for _, e := range slices.Backward(log) {
			if !q.Match(&e.Record) {
				continue
			}
			if err := s.begin(ctx, nil); err != nil {
				yield(checkpoint.Record{}, err)
				return
			}
			s.end()
			r := e.Record
			if q.Headers {
				r.Payload = nil
			}
			if found++; !yield(r, nil) || found == q.Limit {
				return
			}
		}
	}
}

// Threads yields the threads that q selects, as [checkpoint.Saver] says. It looks at all threads.
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		all, err := s.positions(ctx, &q)
		if err != nil {
			yield(checkpoint.Thread{}, err)
			return
		}
		found := 0
		for _, p := range all {
			if err := s.begin(ctx, nil); err != nil {
				yield(checkpoint.Thread{}, err)
				return
			}
			t, ok := s.describe(p.id, &q)
			s.end()
			// A thread that was deleted and created again has another place now.
			if !ok || q.NewestFirst() && !t.Created.Equal(p.created) {
				continue
			}
			if found++; !yield(t, nil) || found == q.Limit {
				return
			}
		}
	}
}

// position is what decides where a thread is in a list. created is set for NewestFirst only.
type position struct {
	id      string
	created time.Time
}

// positions returns the threads that q selects by name and place, in order.
func (s *Saver) positions(ctx context.Context, q *checkpoint.ThreadQuery) ([]position, error) {
	if err := s.begin(ctx, q.Check()); err != nil {
		return nil, err
	}
	defer s.end()
	newest := q.NewestFirst()
	s.mu.Lock()
	var all []position
	for id := range s.threads {
		if q.SelectsID(id) && (newest || id > q.After) {
			all = append(all, position{id: id})
		}
	}
	s.mu.Unlock()
	if !newest {
		slices.SortFunc(all, func(a, b position) int { return strings.Compare(a.id, b.id) })
		return all, nil
	}
	for i := range all {
		if t := s.lock(all[i].id, false); t != nil {
			all[i].created = t.about.Created
			t.mu.Unlock()
		}
	}
	all = slices.DeleteFunc(all, func(p position) bool { return p.created.IsZero() || !ledger.Follows(q, p.id, p.created) })
	slices.SortFunc(all, func(a, b position) int { return ledger.Newer(a.id, b.id, a.created, b.created) })
	return all, nil
}

// describe returns a thread if q selects it.
func (s *Saver) describe(id string, q *checkpoint.ThreadQuery) (checkpoint.Thread, bool) {
	t := s.lock(id, false)
	if t == nil {
		return checkpoint.Thread{}, false
	}
	defer t.mu.Unlock()
	v, now := t.current(), time.Now()
	if v == nil || v == t.next && v.Mail.Inputs == 0 && !(q.Released && len(t.versions) > 0) {
		return checkpoint.Thread{}, false
	}
	described := t.describe(v, now)
	return described, ledger.Selects(q, &described, t.leased(now))
}

// Schemas returns the descriptions of schemas, as [checkpoint.Saver] says.
func (s *Saver) Schemas(ctx context.Context, id string, version int) (all map[uint64][]byte, err error) {
	err = s.view(ctx, checkpoint.Ref{Thread: id, Version: version}, func(_ *thread, v *ledger.Version) (err error) {
		all, err = checkpoint.Schemas(v.Schemas())
		return err
	})
	return all, err
}

// Versions returns a thread's versions, as [checkpoint.Saver] says.
func (s *Saver) Versions(ctx context.Context, id string) (all []checkpoint.Version, err error) {
	if err := s.begin(ctx, checkpoint.CheckThread(id)); err != nil {
		return nil, err
	}
	defer s.end()
	t := s.lock(id, false)
	if t == nil {
		return nil, nil
	}
	defer t.mu.Unlock()
	for _, v := range t.versions {
		all = append(all, v.Listing())
	}
	return all, nil
}

// Export yields all that a version holds, as [checkpoint.Saver] says.
func (s *Saver) Export(ctx context.Context, id string, version int) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		items, err := s.items(ctx, id, version)
		if err != nil {
			yield(checkpoint.ExportItem{}, err)
			return
		}
		for _, item := range items {
			if err := s.begin(ctx, nil); err != nil {
				yield(checkpoint.ExportItem{}, err)
				return
			}
			s.end()
			if !yield(item, nil) {
				return
			}
		}
	}
}

// items returns a version as items. They point to what the saver holds, which never changes.
func (s *Saver) items(ctx context.Context, id string, version int) (items []checkpoint.ExportItem, err error) {
	err = s.view(ctx, checkpoint.Ref{Thread: id, Version: version}, func(t *thread, v *ledger.Version) error {
		described := t.describe(v, time.Now())
		items = append(items, checkpoint.ExportItem{Thread: &described})
		for _, namespace := range v.Namespaces() {
			log, err := v.Log(namespace, checkpoint.ID{})
			if err != nil {
				return err
			}
			for _, e := range log {
				items = append(items, checkpoint.ExportItem{Record: &checkpoint.NamespaceRecord{Namespace: namespace, Record: e.Record}})
			}
		}
		for _, w := range append(v.Schemas(), v.Writes()...) {
			items = append(items, checkpoint.ExportItem{Write: &w})
		}
		for _, m := range v.Mail.All() {
			items = append(items, checkpoint.ExportItem{Message: &m})
		}
		return nil
	})
	if err == nil && items == nil {
		err = ledger.NoVersion(id, version)
	}
	return items, err
}
