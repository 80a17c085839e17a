package redis

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Schemas returns the descriptions of schemas, as [checkpoint.Saver] says.
func (s *Saver) Schemas(ctx context.Context, thread string, version int) (map[uint64][]byte, error) {
	p := checkpoint.Ref{Thread: thread, Version: version}
	if err := p.Check(); err != nil {
		return nil, err
	}
	r, err := s.call(ctx, "read", s.script.schemas, []string{s.key(thread)}, version)
	if err != nil {
		return nil, err
	}
	if r.text() == "absent" {
		return nil, ledger.Absent(p)
	}
	writes := r.writes(thread)
	if r.err != nil {
		return nil, fmt.Errorf("redis: schemas: thread %q: %w", short(thread), r.err)
	}
	return checkpoint.Schemas(writes)
}

func short(thread string) string {
	if len(thread) > 64 {
		return thread[:64] + "..."
	}
	return thread
}

// walk is the way through a log, as it was when it began.
type walk struct {
	place
	version   string
	uid       string   // of that version
	number    string   // of the namespace
	kept      []uint64 // seqs before first, ascending
	first     uint64   // from here on all are there
	end       uint64   // up to here, which is not among them
	backwards bool
}

// length returns how many records there are on the way.
func (w *walk) length() int { return len(w.kept) + w.rest() }

// rest returns how many there are from first on.
func (w *walk) rest() int {
	if w.end <= w.first {
		return 0
	}
	return int(w.end - w.first)
}

// seq returns the seq of the i-th.
func (w *walk) seq(i int) uint64 {
	if w.backwards {
		i = w.length() - 1 - i
	}
	if i < len(w.kept) {
		return w.kept[i]
	}
	return w.first + uint64(i-len(w.kept))
}

// The number of records of the first page and of the largest page, and the bytes after which a
// page is full. History reads at most one page in advance.
const (
	firstPage = 16
	fullPage  = 256
	fullBytes = 1 << 20
)

// History yields records, newest first, as [checkpoint.Saver] says. It reads them in pages. If
// unread records are pruned or deleted meanwhile, it yields ErrConflict.
func (s *Saver) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		w, err := s.log(ctx, p, q.Before)
		if err != nil {
			yield(checkpoint.Record{}, err)
			return
		}
		found := 0
		for r, err := range s.records(ctx, w) {
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

// log returns the way through a log from the record before backwards.
func (s *Saver) log(ctx context.Context, p checkpoint.Ref, before checkpoint.ID) (*walk, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	p.At = before
	r, err := s.call(ctx, "history", s.script.log, []string{s.key(p.Thread)}, p.Version, p.Namespace, before[:])
	if err != nil {
		return nil, err
	}
	switch r.text() {
	case "absent":
		return &walk{}, ledger.Absent(p)
	case "norecord":
		return nil, ledger.NoRecord(p.Thread, p.Namespace, before)
	}
	w := &walk{place: place{p.Thread, p.Namespace}, version: r.text(), uid: r.text(), number: r.text(), backwards: true}
	w.first, w.end = r.seq(), r.seq()
	kept, err := parseSeqs(r.text())
	if r.check(err); r.err != nil {
		return nil, r.err
	}
	for _, seq := range kept {
		if seq < w.end {
			w.kept = append(w.kept, seq)
		}
	}
	return w, nil
}

// records yields the records on a way.
func (s *Saver) records(ctx context.Context, w *walk) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		for at, size := 0, firstPage; at < w.length(); size = min(size*4, fullPage) {
			page, err := s.page(ctx, w, at, min(size, w.length()-at), fullBytes, decodeRecord)
			if err != nil {
				yield(checkpoint.Record{}, err)
				return
			}
			at += len(page)
			for _, r := range page {
				if err := s.open(ctx); err != nil {
					yield(checkpoint.Record{}, err)
					return
				}
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// errMadeAnew says that records have gone while they were read.
var errMadeAnew = fmt.Errorf("was pruned, deleted or created again while its records were read; read the thread again: %w", checkpoint.ErrConflict)

// page reads up to n records from the at-th on, at least one; more if they are in one pack with
// these.
func (s *Saver) page(ctx context.Context, w *walk, at, n, enough int, decode func(place, string, uint64) (checkpoint.Record, error)) ([]checkpoint.Record, error) {
	args := make([]any, 0, 5+n)
	args = append(args, w.version, w.uid, w.number, "", enough)
	for i := range n {
		args = append(args, w.seq(at+i))
	}
	return s.pageOf(ctx, w, at, args, decode)
}

func (s *Saver) pageOf(ctx context.Context, w *walk, at int, args []any, decode func(place, string, uint64) (checkpoint.Record, error)) ([]checkpoint.Record, error) {
	r, err := s.pageItems(ctx, w, args)
	if err != nil {
		return nil, err
	}
	var page []checkpoint.Record
	for r.more() {
		it := r.item()
		if r.err != nil {
			break
		}
		if !it.isPack() {
			record, err := decode(w.place, it.value, w.seq(at+len(page)))
			r.check(err)
			page = append(page, record)
			continue
		}
		records, err := it.records(w.place)
		r.check(err)
		for ; r.err == nil && at+len(page) < w.length(); page = append(page, records[w.seq(at+len(page))-it.first].Record) {
			if seq := w.seq(at + len(page)); seq < it.first || seq > it.last {
				break
			}
		}
	}
	if r.err == nil && len(page) == 0 {
		r.fail("no records")
	}
	if r.err != nil {
		return page, fmt.Errorf("redis: thread %q: %w", short(w.thread), r.err)
	}
	return page, nil
}

// pageItems returns the answer of page.lua, at its first item.
func (s *Saver) pageItems(ctx context.Context, w *walk, args []any) (*reply, error) {
	r, err := s.call(ctx, "read records", s.script.page, []string{s.key(w.thread)}, args...)
	if err != nil {
		return nil, err
	}
	if r.text() == "gone" {
		return nil, fmt.Errorf("redis: thread %q %w", short(w.thread), errMadeAnew)
	}
	return r, nil
}

// headers returns the headers on a way.
func (s *Saver) headers(ctx context.Context, w *walk) ([]checkpoint.Record, error) {
	const page = 2000
	all := make([]checkpoint.Record, 0, w.length())
	for len(all) < w.length() {
		n := min(page, w.length()-len(all))
		args := make([]any, 0, 5+n)
		args = append(args, w.version, w.uid, w.number, "h", math.MaxInt32)
		for i := range n {
			args = append(args, w.seq(len(all)+i))
		}
		got, err := s.pageOf(ctx, w, len(all), args, decodeHeader)
		if err != nil {
			return nil, err
		}
		all = append(all, got...)
	}
	return all, nil
}

// Versions returns a thread's versions, as [checkpoint.Saver] says.
func (s *Saver) Versions(ctx context.Context, thread string) ([]checkpoint.Version, error) {
	if err := checkpoint.CheckThread(thread); err != nil {
		return nil, err
	}
	r, err := s.call(ctx, "versions", s.script.versions, []string{s.key(thread)})
	if err != nil {
		return nil, err
	}
	r.text()
	var all []checkpoint.Version
	for r.more() {
		all = append(all, r.version(thread))
	}
	return all, r.err
}

// version reads one version of a listing.
func (r *reply) version(thread string) checkpoint.Version {
	v := checkpoint.Version{Thread: thread, Number: r.int(), Released: r.time()}
	root, err := parseHead(r.text())
	if r.err == nil {
		r.check(err)
	}
	v.Head, v.Records = root.id, root.count
	v.Status = checkpoint.Status(r.int())
	return v
}
