package rows

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// job is a log of a version to pack.
type job struct {
	root   root
	log    log
	newest []byte // the key of the newest pack, if it is known
}

// packEnded packs the logs of a run that has ended, in which there is something to pack.
func (s *Saver) packEnded(ctx context.Context, t *threadRow) error {
	var jobs []job
	s.note(t.ID, func(k *known) {
		for namespace, h := range k.heads {
			if t.Open != 0 && s.packing.Due(int64(h.packed), int64(h.seq)) {
				h.packed = h.seq
				k.heads[namespace] = h
				jobs = append(jobs, job{t.Root, logOf(t.ID, t.Root, namespace), h.pack})
			}
		}
	})
	return s.packLogs(ctx, jobs)
}

// packLogs packs logs: now if the policy is AtOnce, else later.
func (s *Saver) packLogs(ctx context.Context, jobs []job) error {
	if !s.packing.AtOnce {
		s.packer.Add(jobs...)
		return nil
	}
	for i := range jobs {
		if err := s.pack(ctx, jobs[i]); err != nil {
			return err
		}
	}
	return nil
}

// pack packs the newest records of a log that have rows of their own, without those that the
// policy keeps. It looks back to the newest pack, a window at a time. Older records with rows of
// their own were left out before, because they are too large or too few.
func (s *Saver) pack(ctx context.Context, j job) error {
	w := window{s: s, log: &j.log, r: j.log.all(), keep: s.packing.Keep}
	w.r.Reverse, w.r.Limit = true, pack.Window+w.keep
	if j.newest != nil { // a pack is large, and is not read to be left as it is
		w.r.Bytes = append(bytes.Clone(j.newest), 0)
	}
	var newest []byte
	for !w.over {
		t, err := s.thread(ctx, j.log.id)
		if err != nil || t.Root != j.root {
			return err
		}
		rows, _, err := s.read(ctx, w.r)
		if err != nil {
			return err
		}
		next := w
		c, err := next.pack(rows[0])
		if err == nil && len(c.Puts) > 0 {
			if newest == nil {
				newest = c.Puts[len(c.Puts)-1].Bytes
			}
			changed := t.threadRow
			changed.Rewrites++
			var stored thread
			if stored, _, err = s.apply(ctx, c, t, &changed); err == nil {
				s.keep(&stored, "", nil)
			}
		}
		switch {
		case errors.Is(err, ErrChanged): // again
		case err != nil:
			return err
		default:
			w = next
		}
	}
	s.note(j.log.id, func(k *known) {
		if h, found := k.heads[j.log.namespace]; found && newest != nil && k.t.Root == j.root {
			h.pack = newest
			k.heads[j.log.namespace] = h
		}
	})
	return nil
}

// window is the part of a log that is not packed yet, from its end.
type window struct {
	s    *Saver
	log  *log
	r    Range // the rows that are left
	keep int   // how many of the newest records stay
	next *checkpoint.Record
	over bool
}

// pack returns the change that packs rows, which are newest first, and moves w before them.
func (w *window) pack(rows []Row) (*Change, error) {
	var records []pack.Record
	var keys [][]byte
	w.over = len(rows) < w.r.Limit
	for i := range rows {
		single, several, err := rows[i].records()
		if err != nil {
			return nil, of(w.log.id, err)
		}
		if several != nil {
			w.over = true
			break
		}
		r := pack.Record{Record: *single, Large: len(single.Payload) > pack.MaxBytes, Committed: w.next != nil && w.next.Commits == single.ID}
		w.next, w.r.To = single, rows[i].Key
		if w.keep--; w.keep < 0 {
			records, keys = append(records, r), append(keys, rows[i].Key)
		}
	}
	slices.Reverse(records)
	slices.Reverse(keys)
	c := new(Change)
	for from := 0; from < len(records); {
		n := pack.Fill(records[from:])
		if n < w.s.packing.Fewest() {
			from += max(n, 1)
			continue
		}
		some := records[from : from+n]
		for _, key := range keys[from : from+n] {
			c.Deletes = append(c.Deletes, point(Key{Records, w.log.id, key}))
		}
		packed := packRow{some[0].Seq, some[n-1].Seq, pack.Encode(w.log.id, w.log.namespace, some)}
		c.Puts = append(c.Puts, Put{Key: Key{Records, w.log.id, keys[from]}, Value: packed.appendTo(nil, keys[from])})
		from += n
	}
	return c, nil
}

// Pack packs the old records of the open version of a thread now, as the end of a run does.
func (s *Saver) Pack(ctx context.Context, id string) error {
	return s.call(ctx, checkpoint.CheckThread(id), func() error {
		t, err := s.thread(ctx, id)
		if err != nil || t.Open == 0 {
			return err
		}
		names, _, err := s.read(ctx, within(Key{Logs, id, t.Root[:]}))
		if err != nil {
			return err
		}
		jobs := []job{{root: t.Root, log: logOf(id, t.Root, "")}}
		for i := range names[0] {
			ns, err := names[0][i].name()
			if err != nil {
				return of(id, err)
			}
			jobs = append(jobs, job{root: t.Root, log: logOf(id, t.Root, ns)})
		}
		for i := range jobs {
			if err := s.pack(ctx, jobs[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
