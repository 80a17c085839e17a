package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// Repaired is the report of a Repair.
type Repaired struct {
	Damage  error    // the damage; nil if nothing was damaged, and so nothing changed
	Kept    string   // the path of a folder with the files as they were
	Lost    []Lost   // the parts of the files that cannot be read
	Threads []string // the threads that lost changes, as far as the parts name them
}

// Lost is a part of a file that cannot be read.
type Lost struct {
	File     string // its path in Kept
	From, To int64
	Named    bool // Repaired.Threads has the threads of this part
}

// Repair makes a folder usable again that Open refuses for damage. It copies all rows that it can
// read into new files, and moves the damaged ones to a new folder inside, Kept. A thread that lost
// changes may be in an earlier state, or its calls return ErrDamaged. If a part of a file does not
// name its threads, any thread may have lost changes. The command graphctl verify finds those
// whose records do not fit together.
//
// No Saver of the folder may be open, in any process. Repair of a folder that is not damaged
// changes nothing. The error is ErrDamaged for a folder of another format. After an error, Repair
// can be called again.
func Repair(ctx context.Context, dir string, opts ...Option) (Repaired, error) {
	s, err := newStore(dir, opts...)
	if err != nil {
		return Repaired{}, fmt.Errorf("file: repair %s: %w", dir, err)
	}
	r, err := s.repair(ctx)
	if err = errors.Join(err, s.Close()); err != nil {
		return r, fmt.Errorf("file: repair %s: %w", dir, err)
	}
	return r, nil
}

// repair repairs the folder.
func (s *store) repair(ctx context.Context) (r Repaired, err error) {
	if _, _, err := s.list(); err != nil {
		return r, err
	}
	if err := s.lockFolder(ctx); err != nil {
		return r, err
	}
	defer s.unlockFolder()
	v, err := s.rebuild()
	if !errors.Is(err, checkpoint.ErrDamaged) || errors.Is(err, errFormat) {
		if err == nil {
			v.close(nil)
		}
		return r, err
	}
	r.Damage = err
	first, last, err := s.list()
	if err != nil {
		return r, err
	}
	kept := fmt.Sprintf("damaged-%d", time.Now().UnixNano())
	r.Kept = s.path(kept)
	v = newView()
	defer func() { v.close(nil) }()
	for number := first; number <= last; number++ {
		if err := s.salvage(v, number, &r); err != nil {
			return r, err
		}
	}
	for number := v.oldest; number > 0 && number < first; number++ {
		r.Lost = append(r.Lost, Lost{filepath.Join(r.Kept, segmentName(number)), 0, 1, false})
	}
	slices.Sort(r.Threads)
	r.Threads = slices.Compact(r.Threads)
	if err := s.rewrite(v, last+2); err != nil { // the gap keeps the folder refused until the damaged files are away
		return r, err
	}
	return r, s.keep(kept, first, last)
}

// salvage adds to a view what can be read of a segment.
func (s *store) salvage(v *view, number uint64, r *Repaired) error {
	name := segmentName(number)
	lost := func(from, to int64, named bool) {
		if from < to {
			r.Lost = append(r.Lost, Lost{filepath.Join(r.Kept, name), from, to, named})
		}
	}
	g, _, err := s.openSegment(number)
	if errors.Is(err, fs.ErrNotExist) {
		lost(0, 1, false)
		return nil
	}
	if errors.Is(err, checkpoint.ErrDamaged) {
		info, err := s.root.Lstat(name)
		if err == nil {
			lost(0, max(info.Size(), 1), false)
		}
		return err
	}
	if err != nil || g.f == nil {
		return err
	}
	for n := uint64(len(v.segments)); n > 0 && v.segments[0].number+n < number; n++ { // a view has no gaps
		v.segments = append(v.segments, segment{header: header{number: v.segments[0].number + n}})
	}
	v.segments = append(v.segments, g)
	v.rev, v.oldest = max(v.rev, g.rev), max(v.oldest, g.oldest)
	w, err := newWindow(g.f, g.salt, mostJoined)
	for at := int64(headerSize); err == nil && at < w.size; {
		h, _, ops, ok, errRead := w.frame(at)
		if err = errRead; err != nil {
			break
		}
		next := at + h.size()
		if ok = ok && decodeOps(ops, h.values, func(*op) error { return nil }) == nil; ok {
			v.rev, v.oldest = max(v.rev, h.rev), max(v.oldest, uint64(h.oldest))
			err = decodeOps(ops, h.values, func(o *op) error { v.do(o, at+headSize); return nil })
			at = next
			continue
		}
		if next, err = w.later(at + 1); err != nil {
			break
		}
		if next < 0 {
			next = w.size
		}
		named, errNames := w.names(at, next, r)
		err = errNames
		lost(at, next, named)
		at = next
	}
	return err
}

// names adds the threads that a bad frame names.
func (w *window) names(at, end int64, r *Repaired) (named bool, err error) {
	h, _, ok, err := w.head(at)
	if err != nil || !ok || at+h.size() > end {
		return false, err
	}
	ops, err := w.bytes(at+headSize+int64(h.values), int(h.ops))
	if err != nil {
		return false, err
	}
	bad := decodeOps(ops, h.values, func(o *op) error {
		if o.kind == opThread {
			r.Threads = append(r.Threads, o.key)
		}
		return nil
	})
	return bad == nil, nil
}

// rewrite writes the rows of a view into new segments.
func (s *store) rewrite(from *view, number uint64) error {
	to := newView()
	to.rev = from.rev
	defer func() { to.close(nil) }()
	if err := s.begin(to, number); err != nil {
		return err
	}
	f := newFrame()
	flush := func() error {
		if f.empty() {
			return nil
		}
		err := s.write(to, f, changes)
		f = newFrame()
		if err == nil && to.last().size >= s.most {
			err = s.roll(to)
		}
		return err
	}
	for t := range from.tables {
		var err error
		from.tables[t].Scan(func(key string, p place) bool {
			var value []byte
			if value, err = from.value(&p); errors.Is(err, checkpoint.ErrDamaged) {
				err = nil // the file is shorter now; the row is lost
				return true
			}
			if err != nil {
				return false
			}
			to.add(f, to.last().size, rows.Table(t), key, p.rev, value)
			if len(f.b)+len(f.ops) > mostJoined {
				err = flush()
			}
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	return flush()
}

// keep moves segments into a new folder, the oldest first.
func (s *store) keep(folder string, first, last uint64) error {
	if err := s.root.Mkdir(folder, 0o700); err != nil {
		return err
	}
	kept, err := s.root.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = kept.Close() }() // nothing was written
	for number := first; number <= last; number++ {
		name := segmentName(number)
		if err := s.root.Rename(name, folder+"/"+name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := errors.Join(s.disk.syncDir(kept), s.disk.syncDir(s.root)); err != nil {
			return err
		}
	}
	return nil
}
