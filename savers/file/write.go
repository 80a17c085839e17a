package file

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
)

// The sizes of segments. A writer begins a new one if the newest is as large as all live rows,
// within these bounds.
const (
	leastSegment int64 = 1 << 20
	mostSegment  int64 = 64 << 20
)

// ready returns the current view, with a newest segment that a frame can be written to. The caller
// holds the folder's lock and s.mu.
func (s *store) ready() (*view, error) {
	if s.absent != nil {
		return nil, s.absent
	}
	if err := s.storeFailed(); err != nil {
		return nil, err
	}
	before := s.view.Load()
	is, err := before.compare()
	v := before
	if err == nil && is != same {
		s.torn = tail{} // look again before a tail is cut off
		v, err = s.catchUp()
	}
	if err == nil && len(v.segments) > 0 {
		v, err = s.checkFile(v)
	}
	if err != nil {
		return nil, err
	}
	if len(v.segments) > 0 {
		if is != same || v != before {
			err = s.cutTail(v)
		}
		if err != nil {
			return nil, err
		}
		if live, _ := v.bytes(); v.last().size < max(s.least, min(live, s.most)) {
			return v, nil
		}
	}
	next := v.clone()
	if err := s.roll(next); err != nil {
		return nil, err
	}
	s.oldest = max(s.oldest, 1)
	s.publish(next)
	return next, nil
}

// checkFile rebuilds the view if the newest file of the folder is not the open one, or does not
// count. Somebody may have put a copy there.
func (s *store) checkFile(v *view) (*view, error) {
	at, err := s.root.Lstat(segmentName(v.last().number))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil && os.SameFile(at, v.last().info) {
		if counts, err := s.counts(v.last()); counts || err != nil {
			return v, err
		}
	}
	next, err := s.rebuild()
	if err == nil {
		s.publish(next)
	}
	return next, err
}

// counts reports whether a segment has frames, or the one before it has its end. This process may
// have entered the segment before another one cut off that end.
func (s *store) counts(g *segment) (bool, error) {
	if g.size > headerSize || g.before == 0 { // nothing is before the first segment
		return true, nil
	}
	before, torn, err := s.openSegment(g.number - 1)
	if torn || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w, err := newWindow(before.f, before.salt, headSize)
	if err != nil {
		return false, errors.Join(err, before.f.Close())
	}
	end, _, ok, err := w.head(w.size - idSize - headSize)
	return ok && end.kind == ended && end.before == g.before, errors.Join(err, before.f.Close())
}

// cutTail cuts off what is behind the last whole frame, of a writer that died.
func (s *store) cutTail(v *view) error {
	if is, err := v.compare(); err != nil || is == same {
		return err
	}
	return s.disk.truncate(v.last().f, v.last().size)
}

// uncut is a frame of a call that failed, which could not be cut off.
type uncut struct {
	f  *os.File
	at int64
	b  []byte
}

// storeFailed stores a frame of a call that failed, which could not be cut off. Readers may have
// shown it. A sync that failed may have dropped its bytes, and a later sync does not say so. So it
// is written once more.
func (s *store) storeFailed() error {
	u := s.uncut
	if u.f == nil {
		return nil
	}
	there := make([]byte, len(u.b))
	_, err := u.f.ReadAt(there, u.at)
	if err != nil && err != io.EOF && !errors.Is(err, os.ErrClosed) { // the view is another one now
		return err
	}
	if err == nil && bytes.Equal(there, u.b) {
		if err := errors.Join(s.disk.write(u.f, u.b, u.at), s.disk.sync(u.f)); err != nil {
			return err
		}
	}
	s.uncut = uncut{}
	return nil
}

// roll begins the next segment. The caller holds the folder's lock.
func (s *store) roll(v *view) error {
	if len(v.segments) == 0 {
		return s.begin(v, 1)
	}
	return s.begin(v, v.last().number+1)
}

// begin makes a segment, and then ends the newest one of a view, if there is one.
func (s *store) begin(v *view, number uint64) error {
	name := segmentName(number)
	if info, err := s.root.Lstat(name); err == nil { // a writer died when it made it
		if info.Mode().IsRegular() && info.Size() > headerSize {
			return damaged(s.path(name), headerSize, "a frame, but the segment before it has no end")
		}
		if len(v.segments) > 0 { // it may have cut off the end before, and not durably
			if err := s.disk.sync(v.last().f); err != nil {
				return err
			}
		}
		if err := s.discard(name, info); err != nil {
			return err
		}
	}
	f, err := s.openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	h := header{number: number, salt: rand.Uint64(), rev: v.rev, oldest: v.first(), before: v.id}
	if len(v.segments) == 0 {
		h.oldest = number
	}
	info, err := f.Stat()
	if err == nil {
		err = s.disk.write(f, h.encode(), 0)
	}
	if err == nil {
		err = s.disk.sync(f)
	}
	if err == nil {
		err = s.disk.syncDir(s.root)
	}
	if err == nil && len(v.segments) > 0 {
		err = s.write(v, newFrame(), ended)
	}
	if err != nil && s.uncut.f != nil { // a power cut may bring the end back, so the segment may count
		return errors.Join(err, f.Close())
	}
	if err != nil { // a reader that has entered the segment finds it without its header
		if cut := s.disk.truncate(f, 0); cut != nil { // or the next writer removes it
			return errors.Join(err, cut, f.Close())
		}
		return errors.Join(err, f.Close(), s.disk.remove(s.root, name))
	}
	return v.enter(segment{header: h, f: f, info: info, size: headerSize})
}

// discard removes a segment that does not count. A process that has entered it, because the end of
// the segment before was there for a moment, finds it without its header.
func (s *store) discard(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() && info.Size() > 0 {
		f, err := s.openFile(name, os.O_RDWR)
		if err != nil {
			return err
		}
		if err := errors.Join(s.disk.truncate(f, 0), f.Close()); err != nil {
			return err
		}
	}
	return s.disk.remove(s.root, name)
}

// write writes a frame at the end of the newest segment of a view, which has it afterwards.
func (s *store) write(v *view, f *frame, kind uint32) error {
	g, oldest := v.last(), v.first()
	b, id := f.encode(head{before: v.id, rev: v.rev, kind: kind, oldest: uint32(oldest)}, g.salt, g.size)
	err := s.disk.write(g.f, b, g.size)
	if err == nil {
		err = s.disk.sync(g.f)
	}
	if err != nil {
		cut := s.cut(g)
		if cut != nil {
			s.uncut = uncut{g.f, g.size, b}
		}
		return errors.Join(err, cut)
	}
	g.size += int64(len(b))
	v.oldest = max(v.oldest, oldest)
	if kind != ended {
		v.id = id
	}
	return nil
}

// cut cuts off a frame that was not stored.
func (s *store) cut(g *segment) error {
	err := s.disk.truncate(g.f, g.size)
	if err == nil {
		err = s.disk.sync(g.f)
	}
	return err
}

// removeOld removes the files of segments that no view needs, and that the log says it does not
// need, in their order. If that fails, a
// later call tries again. The caller holds the folder's lock.
func (s *store) removeOld(v *view) {
	for durable := true; s.oldest > 0 && s.oldest < min(v.segments[0].number, v.oldest); s.oldest++ {
		name := segmentName(s.oldest)
		if _, err := s.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			durable = false // who has removed it may have died before it synced the folder
			continue
		}
		if !durable && s.disk.syncDir(s.root) != nil {
			return
		}
		durable = true
		if err := errors.Join(s.disk.remove(s.root, name), s.disk.syncDir(s.root)); err != nil {
			return
		}
	}
}

// cursor is where the oldest segment has been read to, to move its rows.
type cursor struct {
	number uint64
	at     int64
}

// errFull says that a frame has no room for another row.
var errFull = errors.New("the frame is full")

// move adds live rows of the oldest segment to a frame, if the log is more than twice as large
// as all live rows. When the segment has none any more, its file is removed. The work is in
// proportion to that of the frame, and some MiB at most if a frame of the segment has many rows.
// If the segment cannot be read, its rows stay there.
func (s *store) move(v *view, f *frame, at int64) {
	live, all := v.bytes()
	if all < 2*live+s.least || len(v.segments) < 2 {
		return
	}
	g := v.segments[0]
	if s.moved.number != g.number {
		s.moved = cursor{g.number, headerSize}
	}
	budget := 2*int64(len(f.b)+len(f.ops)) + 64<<10
	w, err := newWindow(g.f, g.salt, int(min(budget, mostJoined)))
	for read := int64(0); err == nil && s.moved.at < g.size && budget > 0 && read < 4*mostJoined; {
		h, _, ops, ok, errRead := w.frame(s.moved.at)
		if err = errRead; err != nil || !ok {
			break
		}
		values := s.moved.at + headSize
		err = decodeOps(ops, h.values, func(o *op) error {
			p, found := v.tables[o.table].Get(o.key)
			if o.kind != opPut || !found || uint64(p.number) != g.number || int64(p.at) != values+int64(o.at) {
				return nil
			}
			if len(f.b)+int(p.n) > s.limit || len(f.ops)+len(o.key)+32 > s.limit || budget < -4*mostJoined {
				return errFull
			}
			value, err := v.value(&p)
			if err == nil {
				v.add(f, at, o.table, o.key, p.rev, value)
				budget -= rowSize(o.key, p.n)
			}
			return err
		})
		if errors.Is(err, errFull) { // a later call moves the rest of the rows
			return
		}
		s.moved.at += h.size()
		read += h.size()
	}
}
