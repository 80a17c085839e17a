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

// span says which versions a thread has: those from oldest up to open, and open itself when it has records.
type span struct {
	oldest, open int
	started      bool
}

func (sp *span) count() int {
	if sp.started {
		return sp.open - sp.oldest + 1
	}
	return sp.open - sp.oldest
}

// releases is how many may come between a look and the next, one after the other, before a thread is taken for none.
const releases = 5

// span returns what versions the thread has, whose open version v looked at; found says that it has a file.
func (v *volume) span(ctx context.Context, found bool) (span, error) {
	// When it is not there, nor is there one on its way there, that may have come there in between.
	for i := 0; i < releases && !found; i++ {
		number, err := v.next(ctx)
		if err != nil {
			return span{}, err
		}
		if number > 0 {
			sp := span{oldest: 1, open: number}
			return sp, sp.search(v)
		}
		if err := v.look(ctx); err != nil && !errors.Is(err, errAbsent) {
			return span{}, err
		}
		found = v.v != nil
	}
	sp := span{oldest: 1, open: 1}
	if v.v != nil {
		sp.open, sp.started = v.v.Number, !v.v.Empty()
		if !v.v.Released.IsZero() { // and not yet renamed
			sp.open, sp.started = sp.open+1, false
		}
	}
	return sp, sp.search(v)
}

// next returns the number that the next version is to have when a release is half-way, 1 for a deletion that is, else 0.
func (v *volume) next(ctx context.Context) (int, error) {
	gone, err := exists(v.s.beside(v.base, goneName))
	if err != nil {
		return 0, err
	}
	if gone {
		return 1, nil
	}
	next := v.s.newVolume(v.id, v.base, 0)
	next.path = v.s.beside(v.base, nextName)
	err = next.look(ctx)
	defer next.drop()
	if errors.Is(err, errAbsent) || err == nil && next.v == nil {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return next.v.Number, nil
}

// search finds the oldest version that is there: the oldest are the first to be removed.
func (sp *span) search(v *volume) error {
	var failed error
	sp.oldest = 1 + sort.Search(sp.open-1, func(i int) bool {
		there, err := exists(v.s.path(v.base, i+1))
		failed = errors.Join(failed, err)
		return there || v.v != nil && v.v.Number == i+1
	})
	return failed
}

// find returns the volume of a version, 0 for the open one, with what versions the thread has. The volume is locked
// against other calls and must be given to done. A version that does not exist is errAbsent.
func (s *Saver) find(ctx context.Context, thread string, number int) (*volume, span, error) {
	base := baseName(thread)
	v := s.use(thread, base, 0)
	err := v.look(ctx)
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
	if err := v.look(ctx); err != nil {
		s.done(v)
		return nil, sp, err
	}
	if v.v == nil || v.v.Empty() {
		s.done(v)
		return nil, sp, errAbsent
	}
	return v, sp, nil
}

// holds reports whether v, the file without a number, has the version of a number.
func (sp *span) holds(v *volume, number int) bool {
	return number > 0 && v.v != nil && v.v.Number == number && !v.v.Empty()
}

// describe returns a version as a Thread.
func (v *volume) describe(versions int) (checkpoint.Thread, error) {
	leased, until := false, time.Time{}
	if v.v.Released.IsZero() {
		var err error
		if leased, until, err = v.holds(time.Now()); err != nil {
			return checkpoint.Thread{}, err
		}
	}
	return v.v.Describe(leased, until, versions), nil
}

// Load returns what restoring a checkpoint takes, as [checkpoint.Saver] says.
func (s *Saver) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	if err := p.Check(); err != nil {
		return checkpoint.Chain{}, err
	}
	if err := s.begin(ctx); err != nil {
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
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
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

// view returns what is to be loaded, and the file it is to be read from.
func (s *Saver) view(ctx context.Context, p checkpoint.Ref) (view ledger.View, h *handle, err error) {
	for n := 1; ; n++ {
		var changed bool
		if view, h, changed, err = s.tryView(ctx, p); err != nil || !changed || n == looks {
			return view, h, err
		}
		h.release()
	}
}

// looks is how often a thread is looked at whose file changes meanwhile.
const looks = 10

// tryView is view at one moment, unless the file changed: then the run that it is of may have ended before its lease
// was looked for.
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

// restore sets Last and what restores the state of a chain. entries lead from a snapshot to the checkpoint asked for. Of
// those before the last only the payloads are decoded.
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

// bodies calls f with each entry and its body, after the checksum was compared. Those that stand close to each other are read
// at once.
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

// together returns how many of the entries are worth one reading: what lies between them may not be more than they
// are, but for a little.
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

// log returns a namespace's log up to the record before, and the file; no file when there is nothing.
func (s *Saver) log(ctx context.Context, p checkpoint.Ref, before checkpoint.ID) ([]*ledger.Entry, *handle, error) {
	if err := p.Check(); err != nil {
		return nil, nil, err
	}
	if err := s.begin(ctx); err != nil {
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

// backward yields the records of a log whose headers q does not rule out, newest first, a handful read at a time.
func (s *Saver) backward(ctx context.Context, h *handle, log []*ledger.Entry, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	q.Node = "" // is not in the headers
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

// handful takes entries off the end of a log, a bounded amount of bytes, and returns those that q does not rule out.
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

// fetch reads records as a call of its own.
func (s *Saver) fetch(ctx context.Context, h *handle, entries []*ledger.Entry) ([]checkpoint.Record, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	return h.records(entries)
}
