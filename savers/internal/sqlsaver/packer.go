package sqlsaver

import (
	"bytes"
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// job is a log to pack, or all logs of a thread.
type job struct {
	thread, namespace string
	root, log         int64 // log is unknown for all of them
}

// packable returns the logs of a run that ends in which there is something to pack.
func (s *Saver) packable(r *run) (jobs []job) {
	for namespace, h := range r.heads {
		if s.packing.Due(h.opened, h.seq) {
			jobs = append(jobs, job{r.thread, namespace, h.root, h.log})
		}
	}
	return jobs
}

func (s *Saver) packJob(ctx context.Context, j job) error {
	if j.log == unknown {
		return s.packThread(ctx, j.thread)
	}
	return s.pack(ctx, j)
}

// pack packs the old records of a log, a window at a time. Its row in graph_log says where the
// first window begins. scatter moves records from a pack back into rows, and sets that seq back.
// So pack looks at a record again only if it left a pack.
func (s *Saver) pack(ctx context.Context, j job) error {
	for more := true; more; {
		err := s.write(ctx, RolledBack, func(tx Tx) (err error) {
			more, err = s.packWindow(ctx, tx, j)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// packWindow packs the oldest records that packing has not looked at yet, and reports whether
// there may be more.
func (s *Saver) packWindow(ctx context.Context, tx Tx, j job) (more bool, err error) {
	t, err := s.thread(ctx, tx, stLockThread, j.thread)
	if err != nil || t == nil || t.root != j.root { // it was released or deleted
		return false, err
	}
	w := packing{s: s, tx: tx, t: t, at: rootOf(t, t.open, t.root)}
	w.at.log, w.at.namespace = j.log, j.namespace
	h, err := s.head(ctx, tx, w.at)
	if err != nil {
		return false, err
	}
	var first int64
	if _, err := s.one(ctx, tx, stUnsettled, []any{w.at.log}, &first); err != nil {
		return false, err
	}
	last := min(h.seq-int64(s.packing.Keep), first+pack.Window-1)
	if first == 0 || last-first+1 < int64(s.packing.Fewest()) {
		return false, nil
	}
	if err := w.read(ctx, first, last, h.line); err != nil {
		return false, err
	}
	if err := w.pack(ctx); err != nil {
		return false, err
	}
	if w.left > 0 {
		last = w.left - 1
	}
	return true, s.later(ctx, tx, stSettle, last, w.at.log)
}

// packing packs a window of a log in a transaction that has locked the thread.
type packing struct {
	s       *Saver
	tx      Tx
	t       *thread
	at      spot
	records []pack.Record // of the window, with the one before it and the one after it if these have rows of their own
	first   int           // the index of the first that may be packed
	end     int           // of the first after them
	pinned  map[checkpoint.ID]bool
	rows    map[int]bool // those that keep their rows, by index
	packed  int64        // the last seq that was packed, 0 for none
	left    int64        // the first seq of those at the end that are too few for a pack; 0 for none
	largest checkpoint.ID
}

// read reads the records with a seq from first to last. A pending write whose base is committed
// must go before its base does: without the base it would count again. The base of any other write
// keeps its row.
func (w *packing) read(ctx context.Context, first, last int64, known line) error {
	if err := w.s.later(ctx, w.tx, stSweepWrites, w.at.root); err != nil {
		return err
	}
	writes, err := w.s.writes(ctx, w.tx, w.t.id, w.at.root)
	if err != nil {
		return err
	}
	w.pinned = make(map[checkpoint.ID]bool)
	for i := range writes {
		w.pinned[writes[i].Base] = true
	}
	all, err := w.s.entries(ctx, w.tx, stPackable, w.at.log, max(first-2, 0), last+1) // that of first-1 may have its parent from the one before
	if err != nil {
		return err
	}
	from := 0
	if len(all) > 0 && int64(all[0].Seq) == first-2 {
		from = 1
	}
	records, err := w.s.records(ctx, w.tx, w.at, all, from, known)
	if err != nil {
		return err
	}
	w.first, w.end = len(records), len(records)
	for i := range records {
		e := &all[from+i]
		r := pack.Record{Record: records[i], Committed: e.markedCommitted, Large: e.large}
		if n := from + i + 1; n < len(all) && all[n].Seq == e.Seq+1 {
			r.Committed = r.Committed || all[n].commitsPrevious
		}
		w.records = append(w.records, r)
		if int64(r.Seq) >= first {
			w.first = min(w.first, i)
		}
		if int64(r.Seq) > last {
			w.end = min(w.end, i)
		}
	}
	return nil
}

// pack packs what is worth it.
func (w *packing) pack(ctx context.Context) error {
	w.rows = make(map[int]bool)
	for i := w.first; i < w.end; {
		stop := i
		for stop < w.end && !w.pinned[w.records[stop].ID] {
			stop++
		}
		n := pack.Fill(w.records[i:stop])
		if n >= w.s.packing.Fewest() {
			if err := w.insert(ctx, i, i+n); err != nil {
				return err
			}
			i += n
			continue
		}
		if i+n == w.end && i > w.first {
			w.left = int64(w.records[i].Seq)
		}
		for range max(n, 1) {
			w.rows[i] = true
			i++
		}
	}
	if w.packed == 0 {
		return nil
	}
	if err := w.s.later(ctx, w.tx, stMarkPacked, w.largest[:], w.t.no); err != nil {
		return err
	}
	if err := w.tie(ctx); err != nil {
		return err
	}
	return w.s.later(ctx, w.tx, stRemoveLines, w.at.root, w.at.lineNo(1), w.at.lineNo(uint64(w.packed)), w.at.log)
}

// insert puts a pack into the place of the records from index first up to end.
func (w *packing) insert(ctx context.Context, first, end int) error {
	records := w.records[first:end]
	least, largest := records[0].ID, records[len(records)-1].ID
	from, to := int64(records[0].Seq), int64(records[len(records)-1].Seq)
	removed, err := w.s.exec(ctx, w.tx, stRemoveRecords, w.at.log, from, to)
	if err != nil {
		return err
	}
	if removed != int64(len(records)) {
		return w.at.damaged(uint64(from), errMoved)
	}
	if bytes.Compare(largest[:], w.largest[:]) > 0 {
		w.largest = largest
	}
	w.packed = to
	return w.s.later(ctx, w.tx, stInsertPack, w.at.log, from, to, w.at.root, least[:], largest[:], removed, records[0].Snapshot,
		pack.Encode(w.at.id, w.at.namespace, records))
}

// tie changes rows whose neighbour was packed. A row after a pack then holds the ids that it had
// from the record before it. A row before a pack is marked if the record after it commits it.
func (w *packing) tie(ctx context.Context) error {
	own := func(i int) bool { return i < w.first || i >= w.end || w.rows[i] }
	for i := range w.records {
		if !own(i) {
			continue
		}
		r := &w.records[i]
		if i > 0 && !own(i-1) {
			if err := w.untie(ctx, r); err != nil {
				return err
			}
		}
		if i+1 == len(w.records) || own(i+1) {
			continue
		}
		if r.Committed {
			if err := w.s.later(ctx, w.tx, stMarkCommitted, w.at.root, r.ID[:]); err != nil {
				return err
			}
		}
		if err := w.s.later(ctx, w.tx, stMarkNextRemoved, w.at.log, int64(r.Seq)); err != nil {
			return err
		}
	}
	return nil
}

// untie gives the row of a record what it had from the record before it.
func (w *packing) untie(ctx context.Context, r *pack.Record) error {
	whole := r.Record
	if r.Large {
		read, err := w.s.entries(ctx, w.tx, stRecords, w.at.log, int64(r.Seq), int64(r.Seq))
		if err != nil {
			return err
		}
		if len(read) != 1 {
			return w.at.damaged(r.Seq, errMoved)
		}
		whole.Payload = read[0].payload
	}
	return w.s.untie(ctx, w.tx, w.at, &whole)
}

// Pack packs the old records of the logs of a thread's open version now, as the end of a run does.
func Pack(ctx context.Context, s *Saver, thread string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	return s.wrap(ctx, "pack", s.packThread(ctx, thread))
}

// packThread packs the old records of all logs of a thread's open version.
func (s *Saver) packThread(ctx context.Context, thread string) error {
	var jobs []job
	err := s.read(ctx, func(tx Tx) error {
		jobs = nil
		t, v, err := s.version(ctx, tx, thread, 0)
		if err != nil || v == nil {
			return err
		}
		numbers, err := s.namespaces(ctx, tx, t, v.number)
		for namespace, log := range numbers {
			jobs = append(jobs, job{thread: thread, namespace: namespace, root: v.root, log: log})
		}
		return err
	})
	for _, j := range jobs {
		if err == nil {
			err = s.pack(ctx, j)
		}
	}
	return err
}
