package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"sort"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// span is the range of versions that a thread has: those from oldest up to open. open itself
// counts if it has records.
type span struct {
	oldest, open int
	started      bool
	about        ledger.About // of the thread; zero if the file of the open version is missing
}

// count returns how many versions the thread has.
func (sp *span) count() int {
	if sp.started {
		return sp.open - sp.oldest + 1
	}
	return sp.open - sp.oldest
}

// releases is how many consecutive releases may happen between two reads of a thread before the
// thread counts as missing.
const releases = 5

// span returns the range of versions of a thread. v is the open version after a read; found
// reports whether the read found a file.
func (v *volume) span(ctx context.Context, found bool) (span, error) {
	// Without a file, and without a next one, the file may have appeared in between.
	for i := 0; i < releases && !found; i++ {
		number, err := v.next(ctx)
		if err != nil {
			return span{}, err
		}
		if number > 0 {
			sp := span{oldest: 1, open: number}
			return sp, sp.search(v)
		}
		if err := v.read(ctx); err != nil && !errors.Is(err, errAbsent) {
			return span{}, err
		}
		found = v.v != nil
	}
	sp := span{oldest: 1, open: 1}
	if v.v != nil {
		sp.about = v.v.About
		sp.open, sp.started = v.v.Number, !v.v.Empty()
		if !v.v.Released.IsZero() { // and not yet renamed
			sp.open, sp.started = sp.open+1, false
		}
	}
	return sp, sp.search(v)
}

// next returns the number of the next version if a release is half-way. It returns 1 if a
// deletion is half-way, and 0 otherwise.
func (v *volume) next(ctx context.Context) (int, error) {
	gone, err := exists(v.s.siblingPath(v.base, goneName))
	if err != nil {
		return 0, err
	}
	if gone {
		return 1, nil
	}
	next := v.s.newVolume(v.id, v.base, 0)
	next.path = v.s.siblingPath(v.base, nextName)
	err = next.read(ctx)
	defer next.drop()
	if errors.Is(err, errAbsent) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return next.v.Number, nil
}

// search finds the oldest version that exists: the oldest are removed first.
func (sp *span) search(v *volume) error {
	var failed error
	sp.oldest = 1 + sort.Search(sp.open-1, func(i int) bool {
		there, err := exists(v.s.path(v.base, i+1))
		failed = errors.Join(failed, err)
		return there || v.v != nil && v.v.Number == i+1
	})
	return failed
}

// find returns the volume of a version, 0 for the open one, and the range of versions. The volume
// is locked against other calls; the caller must give it to done. find returns errAbsent if the
// version does not exist.
func (s *Saver) find(ctx context.Context, thread string, number int) (*volume, span, error) {
	base := baseName(thread)
	v := s.use(thread, base, 0)
	err := v.read(ctx)
	if err != nil && !errors.Is(err, errAbsent) {
		s.done(v)
		return nil, span{}, err
	}
	sp, err := v.span(ctx, err == nil)
	if err != nil {
		s.done(v)
		return nil, span{}, err
	}
	if number == 0 && sp.started || sp.holds(v, number) {
		return v, sp, nil
	}
	s.done(v)
	if number < sp.oldest || number >= sp.open {
		return nil, sp, errAbsent
	}
	v = s.use(thread, base, number)
	if err := v.read(ctx); err != nil {
		s.done(v)
		return nil, sp, err
	}
	if v.v == nil || v.v.Empty() {
		s.done(v)
		return nil, sp, errAbsent
	}
	if !sp.about.Created.IsZero() {
		v.v.About = sp.about
	}
	return v, sp, nil
}

// holds reports whether v, the file without a number in its name, has the version of a number.
func (sp *span) holds(v *volume, number int) bool {
	return number > 0 && v.v != nil && v.v.Number == number && !v.v.Empty()
}

// describe returns a version as a Thread.
func (v *volume) describe(versions int) (checkpoint.Thread, error) {
	leased, until, now := false, time.Time{}, time.Now()
	if v.v.Released.IsZero() {
		var err error
		if leased, until, err = v.holds(now); err != nil {
			return checkpoint.Thread{}, err
		}
	}
	t := v.v.Describe(leased, until, versions)
	t.Now = ledger.Micro(now)
	return t, nil
}

// Load returns the data to restore a checkpoint, as [checkpoint.Saver] says.
func (s *Saver) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	if err := s.begin(ctx, p.Check()); err != nil {
		return checkpoint.Chain{}, err
	}
	defer s.calls.Done()
	view, h, err := s.view(ctx, p)
	if errors.Is(err, errAbsent) {
		return checkpoint.Chain{}, ledger.Absent(p)
	}
	if err != nil {
		return checkpoint.Chain{}, err
	}
	defer h.release()
	chain := view.Chain
	if err := h.restore(&chain, view.Entries); err != nil {
		return checkpoint.Chain{}, err
	}
	if view.Base == nil {
		return chain, nil
	}
	if chain.Last.ID == view.Base.ID {
		chain.Due = chain.Last.Due
		return chain, nil
	}
	base, err := h.records([]*ledger.Entry{view.Base})
	if err != nil {
		return checkpoint.Chain{}, err
	}
	chain.Due = base[0].Due
	return chain, nil
}

// Schemas returns the descriptions of schemas, as [checkpoint.Saver] says.
func (s *Saver) Schemas(ctx context.Context, thread string, version int) (map[uint64][]byte, error) {
	p := checkpoint.Ref{Thread: thread, Version: version}
	if err := s.begin(ctx, p.Check()); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	v, _, err := s.find(ctx, thread, version)
	if errors.Is(err, errAbsent) {
		return nil, ledger.Absent(p)
	}
	if err != nil {
		return nil, err
	}
	defer s.done(v)
	return checkpoint.Schemas(v.v.Schemas())
}

// view returns the records to load, and the file that has them.
func (s *Saver) view(ctx context.Context, p checkpoint.Ref) (view ledger.View, h *handle, err error) {
	for n := 1; ; n++ {
		var changed bool
		if view, h, changed, err = s.tryView(ctx, p); err != nil || !changed || n == viewTries {
			return view, h, err
		}
		h.release()
	}
}

// viewTries is how often view tries a thread whose file changes meanwhile.
const viewTries = 10

// tryView returns the view at one moment. changed reports that the file changed meanwhile. The
// run in the view may then have ended before the lookup of its lease.
func (s *Saver) tryView(ctx context.Context, p checkpoint.Ref) (view ledger.View, h *handle, changed bool, err error) {
	v, sp, err := s.find(ctx, p.Thread, p.Version)
	if err != nil {
		return view, nil, false, err
	}
	defer s.done(v)
	if view, err = v.v.View(p.Namespace, p.At); err != nil {
		return view, nil, false, err
	}
	if view.Chain.Thread, err = v.describe(sp.count()); err != nil {
		return view, nil, false, err
	}
	if !p.Questions() {
		view.Chain.Thread.Questions = nil
	}
	if view.Chain.Thread.Holder == "" && !v.v.Ended && v.v.Released.IsZero() {
		if changed, err = v.changed(); err != nil {
			return view, nil, false, err
		}
	}
	return view, v.h.share(), changed, nil
}

// changed reports whether the file has changed since it was read.
func (v *volume) changed() (bool, error) {
	info, err := os.Stat(v.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("file: %w", err)
	}
	mine, err := v.h.Stat()
	if err != nil {
		return false, fmt.Errorf("file: %w", err)
	}
	if info.Size() != v.size || !os.SameFile(info, mine) || v.end == v.size {
		return info.Size() != v.size || !os.SameFile(info, mine), nil
	}
	atEnd, err := v.atEnd(v.size)
	return !atEnd, err
}

// restore sets Last and the payloads that restore the state of a chain. entries lead from a
// snapshot to the requested checkpoint. Of the entries before the last, restore decodes only the
// payloads.
func (h *handle) restore(chain *checkpoint.Chain, entries []*ledger.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	last := entries[len(entries)-1]
	payloads := make([][]byte, 0, len(entries))
	err := h.bodies(entries, func(e *ledger.Entry, body []byte) (err error) {
		reader := codec.NewReader(body)
		payloads = append(payloads, reader.Payload())
		if err := reader.End(); err != nil {
			return damaged(h.Name(), e.At, "record %d: %v", e.Seq, err)
		}
		if e == last {
			chain.Last, err = h.record(e, body)
		}
		return err
	})
	if err != nil {
		return err
	}
	chain.Snapshot, chain.Chained = payloads[0], len(payloads)-1
	if chain.Chained > 0 {
		chain.Deltas = payloads[1:]
	}
	return nil
}

// records reads records whole.
func (h *handle) records(entries []*ledger.Entry) ([]checkpoint.Record, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	records := make([]checkpoint.Record, 0, len(entries))
	err := h.bodies(entries, func(e *ledger.Entry, body []byte) error {
		r, err := h.record(e, body)
		records = append(records, r)
		return err
	})
	return records, err
}

// bodies calls f with each entry and its body, after it has compared the checksum. It reads
// bodies that are close to each other in one call.
func (h *handle) bodies(entries []*ledger.Entry, f func(e *ledger.Entry, body []byte) error) error {
	for len(entries) > 0 {
		n := together(entries)
		at := entries[0].At
		b := make([]byte, entries[n-1].At+int64(entries[n-1].Size)-at)
		if _, err := h.ReadAt(b, at); err != nil {
			return fmt.Errorf("file: read %s: %w", h.Name(), err)
		}
		for _, e := range entries[:n] {
			body := b[e.At-at:][:e.Size:e.Size]
			if sum(body) != e.Sum {
				return damaged(h.Name(), e.At, "the checksum of record %d does not match", e.Seq)
			}
			if err := f(e, body); err != nil {
				return err
			}
		}
		entries = entries[n:]
	}
	return nil
}

// together returns how many of the entries to read in one call. The bytes between them must not
// exceed their own bytes by more than a little.
func together(entries []*ledger.Entry) int {
	const little = 64 << 10
	first, wanted := entries[0], int64(entries[0].Size)
	for i, e := range entries[1:] {
		wanted += int64(e.Size)
		if span := e.At + int64(e.Size) - first.At; e.At < first.At || span > 2*wanted+little {
			return i + 1
		}
	}
	return len(entries)
}

// record returns an entry with its body.
func (h *handle) record(e *ledger.Entry, body []byte) (checkpoint.Record, error) {
	r, reader := e.Record, codec.NewReader(body)
	reader.Body(&r)
	if err := reader.End(); err != nil {
		return checkpoint.Record{}, damaged(h.Name(), e.At, "record %d: %v", e.Seq, err)
	}
	return r, nil
}

// History yields records, newest first, as [checkpoint.Saver] says.
func (s *Saver) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		log, h, err := s.log(ctx, p, q.Before)
		if err != nil || h == nil {
			if err != nil {
				yield(checkpoint.Record{}, err)
			}
			return
		}
		defer h.release()
		found := 0
		for r, err := range s.backward(ctx, h, log, q) {
			if err != nil {
				yield(checkpoint.Record{}, err)
				return
			}
			if !q.Match(&r) {
				continue
			}
			if q.Headers {
				r.Payload = nil
			}
			if found++; !yield(r, nil) || found == q.Limit {
				return
			}
		}
	}
}

// log returns a namespace's log up to the record before, and the file. Both are nil if the thread
// does not exist.
func (s *Saver) log(ctx context.Context, p checkpoint.Ref, before checkpoint.ID) ([]*ledger.Entry, *handle, error) {
	if err := s.begin(ctx, p.Check()); err != nil {
		return nil, nil, err
	}
	defer s.calls.Done()
	p.At = before
	v, _, err := s.find(ctx, p.Thread, p.Version)
	if errors.Is(err, errAbsent) {
		return nil, nil, ledger.Absent(p)
	}
	if err != nil {
		return nil, nil, err
	}
	defer s.done(v)
	log, err := v.v.Log(p.Namespace, before)
	if err != nil {
		return nil, nil, err
	}
	return log, v.h.share(), nil
}

// backward yields the records of a log, newest first, except those whose headers q rules out. It
// reads a few at a time.
func (s *Saver) backward(ctx context.Context, h *handle, log []*ledger.Entry, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	q.Next, q.Ran, q.Meta = "", "", nil // are not in the headers
	return func(yield func(checkpoint.Record, error) bool) {
		for len(log) > 0 {
			var some []*ledger.Entry
			some, log = handful(log, &q)
			records, err := s.fetch(ctx, h, some)
			if err != nil {
				yield(checkpoint.Record{}, err)
				return
			}
			for i := len(records) - 1; i >= 0; i-- {
				if !yield(records[i], nil) {
					return
				}
			}
		}
	}
}

// handful takes entries off the end of a log, up to a number of bytes. It returns those that q
// does not rule out.
func handful(log []*ledger.Entry, q *checkpoint.Query) (some, rest []*ledger.Entry) {
	const entries, bytes = 32, 256 << 10
	size, last := 0, len(log)
	for last > 0 && len(some) < entries && size < bytes {
		last--
		if e := log[last]; q.Match(&e.Record) {
			some, size = append(some, e), size+e.Size
		}
	}
	for i, j := 0, len(some)-1; i < j; i, j = i+1, j-1 {
		some[i], some[j] = some[j], some[i]
	}
	return some, log[:last]
}

// fetch reads records as a separate call.
func (s *Saver) fetch(ctx context.Context, h *handle, entries []*ledger.Entry) ([]checkpoint.Record, error) {
	if err := s.begin(ctx, nil); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	return h.records(entries)
}
