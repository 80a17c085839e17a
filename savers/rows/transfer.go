package rows

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// Prune removes old records and versions, as checkpoint.Saver says.
func (s *Saver) Prune(ctx context.Context, id string, keep checkpoint.Retention) (done checkpoint.PruneResult, err error) {
	if !keep.Ended.IsZero() && keep.Fence.IsZero() {
		removed, err := s.removeThread(ctx, id, &keep)
		if removed || err != nil {
			return checkpoint.PruneResult{Deleted: removed}, err
		}
	}
	err = s.change(ctx, checkpoint.CheckThread(id), func() error {
		t, err := s.thread(ctx, id)
		switch {
		case err != nil:
			return err
		case !t.exists():
			return ledger.NoThread(id)
		case !keep.Fence.IsZero() && keep.Fence != t.Fence:
			return t.conflict("fence", "", keep.Fence, t.Fence)
		case keep.Fence.IsZero() && t.leased():
			return t.busy()
		}
		w := newWriter(s, t)
		next := &w.next
		done = checkpoint.PruneResult{}
		if t.Open != 0 && (keep.Last > 0 || !keep.Since.IsZero()) {
			if done.Records, err = w.pruneRecords(ctx, keep); err != nil {
				return err
			}
		}
		if keep.Released != 0 {
			if done.Versions, err = w.pruneVersions(ctx, max(keep.Released, 0)); err != nil {
				return err
			}
		}
		if done.Records+done.Versions == 0 {
			return nil
		}
		w.c.Once = true
		_, _, err = s.apply(ctx, &w.c, t, next)
		return err
	})
	if err != nil {
		return checkpoint.PruneResult{}, err
	}
	return done, nil
}

// pruneRecords adds the removal of records of the open version, and returns how many it removes.
func (w *writer) pruneRecords(ctx context.Context, keep checkpoint.Retention) (removed int, err error) {
	v := w.t.open()
	all, err := w.s.wholeOf(ctx, w.t, v)
	if err != nil {
		return 0, err
	}
	for _, p := range all.ledger(w.next.ID, &v).Prune(keep) {
		removed += p.Removed
		w.next.Rewrites++
		if p.Namespace == "" {
			w.next.Missing += uint64(p.Removed)
		}
		kept := make(map[checkpoint.ID]*recordRow)
		for _, k := range p.Kept {
			r := &recordRow{k.Entry.Record}
			if len(k.Fold) > 0 {
				chain := make([]checkpoint.Record, len(k.Fold))
				for i, e := range k.Fold {
					chain[i] = e.Record
				}
				if r.Record, err = k.Snapshot(chain); err != nil {
					return 0, err
				}
			}
			kept[r.ID] = r
		}
		w.rewrite(p.Namespace, all.records, kept)
	}
	return removed, nil
}

// rewrite replaces the rows of a log. It keeps the rows in which nothing changes. A pack in which
// something changes becomes rows of its records.
func (w *writer) rewrite(namespace string, records []placed, kept map[checkpoint.ID]*recordRow) {
	l := logOf(w.next.ID, w.next.Root, namespace)
	for len(records) > 0 {
		n := 1
		for n < len(records) && bytes.Equal(records[n].row, records[0].row) {
			n++
		}
		row := records[:n]
		records = records[n:]
		if row[0].Namespace != namespace {
			continue
		}
		changed := slices.ContainsFunc(row, func(r placed) bool { k := kept[r.ID]; return k == nil || k.Snapshot != r.Snapshot })
		if changed {
			w.c.Deletes = append(w.c.Deletes, point(Key{Records, w.next.ID, row[0].row}))
		}
		var again []pack.Record
		var keys [][]byte
		for i := range row {
			r := &row[i]
			switch k := kept[r.ID]; {
			case k == nil:
				w.c.Deletes = append(w.c.Deletes, within(Key{Writes, w.next.ID, w.next.Root.base(r.ID)}))
				if !r.Commits.IsZero() && kept[r.Commits] != nil {
					w.mark(r.Commits)
				}
			case changed:
				again = append(again, pack.Record{Record: k.Record, Committed: r.committed, Large: n == 1})
				keys = append(keys, l.key(r.before))
			}
		}
		w.packAgain(&l, again, keys)
	}
}

// packAgain stores records of a pack that changed, in a pack if there are enough of them. Those
// with Large get rows of their own.
func (w *writer) packAgain(l *log, records []pack.Record, keys [][]byte) {
	for len(records) > 0 {
		n := pack.Fill(records)
		if n >= w.s.packing.Fewest() {
			w.put(Records, keys[0], &packRow{records[0].Seq, records[n-1].Seq, pack.Encode(l.id, l.namespace, records[:n])}, false)
		} else {
			for n = range max(n, 1) {
				w.put(Records, keys[n], &recordRow{records[n].Record}, false)
			}
			n++
		}
		records, keys = records[n:], keys[n:]
	}
}

// pruneVersions adds the removal of the released versions except the newest keep, and returns how
// many it removes.
func (w *writer) pruneVersions(ctx context.Context, keep int) (removed int, err error) {
	rows, _, err := w.s.read(ctx, versionsOf(w.next.ID))
	if err != nil {
		return 0, err
	}
	versions, err := asVersions(w.next.ID, rows[0])
	if err != nil {
		return 0, err
	}
	removed = max(len(versions)-keep, 0)
	for _, v := range versions[:removed] {
		w.c.removeVersion(w.next.ID, v.root)
		w.c.Deletes = append(w.c.Deletes, point(Key{Versions, w.next.ID, versionKey(w.next.ID, v.number)}))
	}
	w.next.Versions -= removed
	return removed, nil
}

// Export yields a version, as checkpoint.Saver says.
func (s *Saver) Export(ctx context.Context, id string, number int) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		var items []checkpoint.ExportItem
		err := s.call(ctx, checkpoint.Ref{Thread: id, Version: number}.Check(), func() (err error) {
			items, err = s.items(ctx, id, number)
			return err
		})
		if err != nil {
			yield(checkpoint.ExportItem{}, err)
			return
		}
		for i := range items {
			if err := ctx.Err(); err != nil {
				yield(checkpoint.ExportItem{}, s.wrap(err))
				return
			}
			if !yield(items[i], nil) {
				return
			}
		}
	}
}

// items returns what Export yields.
func (s *Saver) items(ctx context.Context, id string, number int) ([]checkpoint.ExportItem, error) {
	t, v, found, err := s.locate(ctx, id, number)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, ledger.NoVersion(id, number)
	}
	all, err := s.wholeOf(ctx, t, v)
	if err != nil {
		return nil, err
	}
	d := t.describeVersion(&v)
	d.Questions = checkpoint.OpenQuestions(all.writes)
	for i := range all.records {
		if r := &all.records[i]; r.Namespace == "" {
			d.Head, d.Step = r.ID, r.Step
		}
	}
	items := []checkpoint.ExportItem{{Thread: &d}}
	for i := range all.records {
		items = append(items, checkpoint.ExportItem{Record: &all.records[i].NamespaceRecord})
	}
	for _, writes := range [][]checkpoint.Write{all.schemas, all.writes} {
		for i := range writes {
			items = append(items, checkpoint.ExportItem{Write: &writes[i]})
		}
	}
	for i := range all.messages {
		items = append(items, checkpoint.ExportItem{Message: &all.messages[i]})
	}
	return items, nil
}

// whole is all of a version, and the messages of its thread if it is open.
type whole struct {
	records  []placed // by namespace, in the order of their logs
	schemas  []checkpoint.Write
	writes   []checkpoint.Write // those that count, in order
	messages []checkpoint.Message
}

// placed is a record and its place.
type placed struct {
	checkpoint.NamespaceRecord
	before    checkpoint.ID // the record before it, which may be removed
	row       []byte        // the key of its row
	committed bool          // in a pack: the record after it commits it
}

// wholeOf reads all of a version in one view. It returns ErrChanged if the thread is not t any
// more.
func (s *Saver) wholeOf(ctx context.Context, t *thread, v version) (*whole, error) {
	ranges := []Range{
		point(threadKey(t.ID)), within(Key{Logs, t.ID, v.root[:]}), within(Key{Records, t.ID, v.root[:]}), writesOf(t.ID, v.root),
	}
	if v.number == t.Open {
		ranges = append(ranges, mailOf(t.ID, untaken), mailOf(t.ID, handled))
	}
	rows, _, err := s.read(ctx, ranges...)
	if err != nil {
		return nil, err
	}
	if len(rows[0]) == 0 || rows[0][0].Rev != t.rev {
		return nil, ErrChanged
	}
	all := new(whole)
	if err := all.addRecords(t.ID, v.root, rows[1], rows[2]); err != nil {
		return nil, err
	}
	over := make(map[checkpoint.ID]bool) // by records: all are read
	for i := range all.records {
		r := &all.records[i]
		over[r.Commits] = true
		if r.committed {
			over[r.ID] = true
		}
	}
	live, _, err := s.sift(t.ID, rows[3], over)
	if err != nil {
		return nil, err
	}
	all.writes = inOrder(live)
	var schemas []*writeRow
	for i := range rows[3] {
		if !baseOf(rows[3][i].Key).IsZero() {
			break
		}
		w, err := s.write(t.ID, &rows[3][i])
		if err != nil {
			return nil, err
		}
		schemas = append(schemas, w)
	}
	all.schemas = inOrder(schemas)
	all.messages, err = asMail(t.ID, slices.Concat(rows[4:]...))
	return all, err
}

// addRecords adds the records of rows. names are the rows of the namespaces.
func (all *whole) addRecords(id string, r root, names, rows []Row) error {
	logs := map[string]log{}
	root := logOf(id, r, "")
	logs[string(root.prefix)] = root
	for i := range names {
		ns, err := names[i].name()
		if err != nil {
			return of(id, err)
		}
		l := logOf(id, r, ns)
		logs[string(l.prefix)] = l
	}
	for i := range rows {
		key := rows[i].Key
		l, found := logs[string(key[:len(key)-idSize])]
		if !found {
			return of(id, damaged(key, errNamespace))
		}
		in, err := l.unpack(&rows[i])
		if err != nil {
			return err
		}
		previous := before(key)
		for j := range in {
			all.records = append(all.records, placed{checkpoint.NamespaceRecord{Namespace: l.namespace, Record: in[j].Record}, previous, key, in[j].Committed})
			previous = in[j].ID
		}
	}
	slices.SortStableFunc(all.records, func(a, b placed) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return nil
}

// ledger returns the version as a ledger has it.
func (all *whole) ledger(id string, v *version) *ledger.Version {
	l := ledger.New(id, v.number)
	for i := range all.records {
		r := &all.records[i]
		l.Apply(&ledger.Event{Namespace: r.Namespace, Entries: []*ledger.Entry{{Record: r.Record}}})
	}
	for i := range all.writes {
		l.Apply(&ledger.Event{Writes: all.writes[i : i+1]})
	}
	return l
}

// Import makes the next version of a thread, as checkpoint.Saver says.
func (s *Saver) Import(ctx context.Context, id string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	if err := checkpoint.CheckThread(id); err != nil {
		return err
	}
	in, err := takeIn(ctx, id, items)
	if err != nil {
		return err
	}
	var imported threadRow
	err = s.change(ctx, nil, func() error {
		t, err := s.thread(ctx, id)
		if err != nil {
			return err
		}
		if t.Open != 0 {
			v := t.open()
			if err := s.measure(ctx, t, &v); err != nil {
				return err
			}
			return t.conflict("exists", "", checkpoint.ID{}, v.head)
		}
		w := newWriter(s, t)
		next := &w.next
		if err := w.imports(ctx, in); err != nil {
			return err
		}
		imported = *next
		w.c.Once = true
		_, _, err = s.apply(ctx, &w.c, t, next)
		return err
	})
	if err != nil {
		return err
	}
	return s.packLogs(ctx, in.long(id, imported.Root, s.packing.Every))
}

// long returns the logs of what was imported that have at least n records.
func (in *intake) long(id string, r root, n int) (jobs []job) {
	records := make(map[string]int)
	for i := range in.records {
		namespace := in.records[i].Namespace
		if records[namespace]++; records[namespace] == n {
			jobs = append(jobs, job{root: r, log: logOf(id, r, namespace)})
		}
	}
	return jobs
}

// intake is what an Import has read.
type intake struct {
	thread checkpoint.Thread
	whole
}

// takeIn reads and checks the items of an Import. It calls no method of the saver, because the
// items may come from it.
func takeIn(ctx context.Context, id string, items iter.Seq2[checkpoint.ExportItem, error]) (*intake, error) {
	v, order, in := ledger.New(id, 0), ledger.Intake{}, new(intake)
	for item, err := range items {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = order.Take(item)
		}
		if err != nil {
			return nil, err
		}
		var e ledger.Event
		switch {
		case item.Record != nil:
			r := placed{NamespaceRecord: *item.Record}
			r.Record = ledger.Clone(r.Record)
			if h := v.Head(r.Namespace); h != nil {
				r.before = h.ID
			}
			in.records = append(in.records, r)
			e = ledger.Event{Namespace: r.Namespace, Entries: []*ledger.Entry{{Record: r.Record}}}
		case item.Write != nil:
			w := ledger.CloneWrites([]checkpoint.Write{*item.Write})
			in.writes = append(in.writes, w[0])
			e = ledger.Event{Writes: w}
		case item.Message != nil:
			m := *ledger.CloneMessage(item.Message)
			in.messages = append(in.messages, m)
			e = ledger.Event{Messages: []checkpoint.Message{m}}
		}
		if err := v.Follow(&e); err != nil {
			return nil, err
		}
	}
	in.thread = order.Thread
	return in, order.End()
}

// imports adds what an Import has read to the change.
func (w *writer) imports(ctx context.Context, in *intake) (err error) {
	t := &w.next
	if t.About, err = w.t.About.Imported(&in.thread, w.t.now); err != nil {
		return err
	}
	first, err := checkpoint.NewID()
	if err != nil {
		return err
	}
	t.Last++
	t.Open, t.Versions, t.Root = t.Last, t.Versions+1, rootOf(first, t.Last)
	t.Status, t.Updated = in.thread.Status, ledger.Micro(in.thread.Updated)
	t.Fence, t.Holder, t.Until, t.Attempts, t.Asked = checkpoint.ID{}, "", time.Time{}, 0, true
	var root []checkpoint.Record
	for i := range in.records {
		w.importRecord(&in.records[i])
		if r := &in.records[i]; r.Namespace == "" {
			root = append(root, r.Record)
			t.Head, t.Step, t.Missing = r.ID, r.Step, r.Seq-uint64(len(root))
		}
	}
	if len(root) > 0 {
		if err := w.readable(ctx, head{seq: t.Missing}, root); err != nil {
			return err
		}
	}
	if err := w.writes(ctx, in.writes, true); err != nil {
		return err
	}
	for i := range in.messages {
		if err := w.importMessage(ctx, in.messages[i]); err != nil {
			return err
		}
	}
	t.Posted = max(t.Posted, in.thread.Posted)
	return nil
}

// importRecord adds a record.
func (w *writer) importRecord(r *placed) {
	l := logOf(w.next.ID, w.next.Root, r.Namespace)
	if r.before.IsZero() && r.Namespace != "" {
		w.put(Logs, l.name(), name(r.Namespace), false)
	}
	w.put(Records, l.key(r.before), &recordRow{r.Record}, true)
	if !r.Commits.IsZero() && r.Commits != r.before {
		w.mark(r.Commits)
	}
}

// importMessage adds a message whose id the thread does not have.
func (w *writer) importMessage(ctx context.Context, m checkpoint.Message) error {
	id := w.next.ID
	rows, _, err := w.s.read(ctx, point(Key{Messages, id, messageIDKey(id, m.ID)}))
	if err != nil || len(rows[0]) > 0 {
		return err
	}
	m.Number = max(m.Number, w.next.Posted+1)
	w.next.Posted = m.Number
	if !m.Taken && m.Refused == "" {
		w.putMessage(&m, 0)
		w.next.count(&m, 1)
		return nil
	}
	w.next.Handled++
	w.putMessage(&m, w.next.Handled)
	return nil
}

// errNamespace is what is wrong with a record of a log that no row names.
var errNamespace = errors.New("no row names the namespace of the record")
