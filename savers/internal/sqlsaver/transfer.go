package sqlsaver

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Export yields everything in a version, as [checkpoint.Saver] says. It reads the whole version
// before it yields.
func (s *Saver) Export(ctx context.Context, id string, version int) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		items, err := s.items(ctx, id, version)
		if err != nil {
			yield(checkpoint.ExportItem{}, err)
			return
		}
		for _, item := range items {
			err := s.begin(ctx)
			if err != nil {
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

// items returns a version as items.
func (s *Saver) items(ctx context.Context, id string, number int) (items []checkpoint.ExportItem, err error) {
	if err := (checkpoint.Ref{Thread: id, Version: number}).Check(); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	err = s.read(ctx, func(tx Tx) error {
		t, v, err := s.version(ctx, tx, id, number)
		if err != nil {
			return err
		}
		if v == nil {
			return ledger.NoVersion(id, number)
		}
		items, err = s.itemsOf(ctx, tx, t, v)
		return err
	})
	return items, s.wrap(ctx, "export", err)
}

func (s *Saver) itemsOf(ctx context.Context, tx Tx, t *thread, v *version) ([]checkpoint.ExportItem, error) {
	writes, err := s.writes(ctx, tx, t.id, v.root)
	if err != nil {
		return nil, err
	}
	root, err := s.root(ctx, tx, v.root)
	if err != nil {
		return nil, err
	}
	described := describe(t, v, root, writes)
	items := []checkpoint.ExportItem{{Thread: &described}}
	numbers, err := s.namespaces(ctx, tx, t, v.number)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		at := rootOf(t, v.number, v.root)
		at.log, at.namespace = numbers[name], name
		records, err := s.whole(ctx, tx, stretch{at: at, first: 1, last: lastSeq, packed: v.packed})
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			items = append(items, checkpoint.ExportItem{Record: &checkpoint.NamespaceRecord{Namespace: name, Record: r}})
		}
	}
	schemas, err := s.schemas(ctx, tx, t.id, v.root)
	for _, w := range append(schemas, writes...) {
		items = append(items, checkpoint.ExportItem{Write: &w})
	}
	if err != nil || v.released != 0 {
		return items, err
	}
	messages, err := s.mail(ctx, tx, stAllMail, t.id, t.no)
	for i := range messages {
		items = append(items, checkpoint.ExportItem{Message: &messages[i]})
	}
	return items, err
}

// Import makes a thread's next version, as [checkpoint.Saver] says. It takes all items before it
// locks anything, because they may come from the same saver.
func (s *Saver) Import(ctx context.Context, id string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	if err := checkpoint.CheckThread(id); err != nil {
		return err
	}
	in, err := collect(ctx, id, items)
	if err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	err = s.write(ctx, RolledBack, func(tx Tx) error { return s.importIn(ctx, tx, id, in) })
	switch {
	case err != nil:
	case s.packing.AtOnce:
		err = s.packThread(context.WithoutCancel(ctx), id)
	case len(in.records) >= s.packing.Every:
		s.packer.Add(job{thread: id})
	}
	return s.wrapWrite(ctx, "import", err, in.largest())
}

// imported is a version to store.
type imported struct {
	thread  checkpoint.Thread
	records []checkpoint.NamespaceRecord
	writes  []checkpoint.Write

	messages []checkpoint.Message
}

// largest returns the number of bytes of the largest value.
func (in *imported) largest() int {
	size := max(ledger.Largest(nil, in.writes), ledger.LargestMessage([]checkpoint.Post{{Messages: in.messages}}))
	for i := range in.records {
		size = max(size, ledger.Largest([]checkpoint.Record{in.records[i].Record}, nil))
	}
	return size
}

// collect takes imported items and checks them as every saver does.
func collect(ctx context.Context, id string, items iter.Seq2[checkpoint.ExportItem, error]) (*imported, error) {
	v, order, in := ledger.New(id, 0), ledger.Intake{}, new(imported)
	for item, err := range items {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = order.Take(item)
		}
		if err == nil {
			err = in.take(v, item)
		}
		if err != nil {
			return nil, err
		}
	}
	in.thread = order.Thread
	return in, order.End()
}

// take keeps an item. It fails if the log could not be loaded with it.
func (in *imported) take(v *ledger.Version, item checkpoint.ExportItem) error {
	switch {
	case item.Record != nil:
		r := checkpoint.NamespaceRecord{Namespace: item.Record.Namespace, Record: ledger.Clone(item.Record.Record)}
		in.records = append(in.records, r)
		head := r.Record
		head.Payload = nil // the bytes are kept once
		return v.Follow(&ledger.Event{Namespace: r.Namespace, Entries: []*ledger.Entry{{Record: head}}})
	case item.Write != nil:
		in.writes = append(in.writes, ledger.CloneWrites([]checkpoint.Write{*item.Write})...)
	case item.Message != nil:
		m := *item.Message
		m.Payload = ledger.CloneBytes(m.Payload)
		in.messages = append(in.messages, m)
	}
	return nil
}

// importIn stores a version.
func (s *Saver) importIn(ctx context.Context, tx Tx, id string, in *imported) error {
	t, err := s.thread(ctx, tx, stLockThread, id)
	if err == nil && t == nil {
		t, err = s.create(ctx, tx, id)
	}
	if err != nil {
		return err
	}
	if t.open != 0 {
		root, err := s.root(ctx, tx, t.root)
		if err != nil {
			return err
		}
		return t.conflict("exists", "", checkpoint.ID{}, root.ID)
	}
	wake := t.wake
	if err := s.start(ctx, tx, t); err != nil {
		return err
	}
	t.wake = wake // the thread may have inputs
	if err := s.importRecords(ctx, tx, t, in.records); err != nil {
		return err
	}
	if err := s.importState(ctx, tx, t); err != nil {
		return err
	}
	if t.asked, err = s.putWrites(ctx, tx, t, in.writes); err != nil {
		return err
	}
	if err := s.importMail(ctx, tx, t, in); err != nil {
		return err
	}
	about, err := t.about.Imported(&in.thread, time.UnixMicro(t.now))
	if err == nil {
		err = s.become(ctx, tx, t, about)
	}
	if err != nil {
		return err
	}
	t.status, t.updated = in.thread.Status, in.thread.Updated.UnixMicro()
	return s.store(ctx, tx, t)
}

// importRecords stores logs, one after the other. The records keep their Seq, which may have gaps.
func (s *Saver) importRecords(ctx context.Context, tx Tx, t *thread, records []checkpoint.NamespaceRecord) error {
	var l *log
	name := ""
	for i := range records {
		r := &records[i]
		if l == nil || r.Namespace != name {
			l, name = &log{s: s, tx: tx, t: t}, r.Namespace
			if err := l.find(ctx, name); err != nil {
				return err
			}
			if l.at.log == unknown {
				if err := l.name(ctx, name); err != nil {
					return err
				}
			}
		}
		before := l.head.id
		if l.head.seq+1 != int64(r.Seq) {
			before = checkpoint.ID{}
		}
		if err := l.insert(ctx, &r.Record, before); err != nil {
			return err
		}
	}
	return nil
}

// importMail stores the messages of an imported version, except those whose ids the thread has.
// They keep their numbers, unless the thread has newer ones.
func (s *Saver) importMail(ctx context.Context, tx Tx, t *thread, in *imported) error {
	known := make(map[string]bool)
	if t.posted > 0 && len(in.messages) > 0 {
		own, err := s.mail(ctx, tx, stAllMail, t.id, t.no)
		if err != nil {
			return err
		}
		for i := range own {
			known[own[i].ID] = true
		}
	}
	if len(in.messages) > 0 && s.has(stIndexMail) {
		if err := s.later(ctx, tx, stIndexMail); err != nil {
			return err
		}
	}
	for i := range in.messages {
		m := &in.messages[i]
		if known[m.ID] {
			continue
		}
		state, payload := untaken, mailPayload(t.id, m.ID, m.Payload)
		switch {
		case m.Taken:
			state, payload = taken, nil
		case m.Refused != "":
			state = refused
		default:
			t.count(m.Kind, 1)
		}
		t.posted = max(t.posted+1, int64(m.Number))
		handled := t.posted
		if state == untaken {
			handled = 0
		}
		err := s.later(ctx, tx, stPutMail, t.no, t.posted, mailID(m.ID), int64(m.Kind), int64(state), handled, m.Posted.UnixMicro(),
			[]byte(m.Refused), mailHead(t.id, m), payload)
		if err != nil {
			return err
		}
	}
	t.posted = max(t.posted, int64(in.thread.Posted)) // the newest may be a WakeMessage
	return nil
}

// importState makes the readable state of an imported version.
func (s *Saver) importState(ctx context.Context, tx Tx, t *thread) error {
	if !s.readable {
		return nil
	}
	l := &log{s: s, tx: tx, t: t}
	if err := l.find(ctx, ""); err != nil || l.head.seq == 0 {
		return err
	}
	return l.putState(ctx, l.head.id, nil)
}
