package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// suffix is the end of the names of segments.
const suffix = ".saver"

// segmentName returns the name of the file of a segment.
func segmentName(number uint64) string { return fmt.Sprintf("%010d%s", number, suffix) }

// segmentNumber returns the number of the segment with a name; ok is false if it is no such name.
func segmentNumber(name string) (n uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	n, err := strconv.ParseUint(digits, 10, 32)
	return n, ok && err == nil && n > 0 && segmentName(n) == name
}

// list returns the numbers of the first and the last segment, or 0. The error is that of a folder
// of another format.
func (s *store) list() (first, last uint64, err error) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries { // in the order of their names
		name := e.Name()
		n, ok := segmentNumber(name)
		switch {
		case ok && first == 0:
			first, last = n, n
		case ok:
			last = n
		case strings.HasPrefix(name, "thread-") && strings.HasSuffix(name, suffix):
			if err := s.checkFormat(name); err != nil {
				return 0, 0, err
			}
		}
	}
	return first, last, nil
}

// checkFormat returns an error if a file is of another format than this package reads.
func (s *store) checkFormat(name string) error {
	f, err := s.openFile(name, os.O_RDONLY)
	if err != nil {
		return nil //nolint:nilerr // it is none of this package's files
	}
	var b [len(magic)]byte
	n, _ := f.ReadAt(b[:], 0) // fewer bytes name no format
	_ = f.Close()             // nothing was written
	return formatError(f.Name(), b[:n])
}

// errFormat says that a file was written by another version of this package.
var errFormat = errors.New("another format")

// formatError returns an error if the begin of a file names another format than this package
// reads.
func formatError(path string, b []byte) error {
	last := len(magic) - 1
	if len(b) <= last || string(b[:last]) != magic[:last] || b[last] == magic[last] {
		return nil
	}
	if n := b[last]; n < '0' || n > '9' && n < 'A' || n > 'Z' {
		return nil
	}
	return fmt.Errorf("%s: it has format %c, and this version of graphgen reads format %c: %w (%w); "+
		"export the threads by the version that wrote it, or delete the folder", path, b[last], magic[last], errFormat, checkpoint.ErrDamaged)
}

// openSegment opens the file of a segment and reads its header. torn says that the header is not
// whole, and that nothing follows it: a process died when it made the file.
func (s *store) openSegment(number uint64) (g segment, torn bool, err error) {
	f, err := s.openFile(segmentName(number), os.O_RDWR)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errReadOnly) {
		f, err = s.openFile(segmentName(number), os.O_RDONLY)
	}
	if err != nil {
		return g, false, err
	}
	w, err := newWindow(f, 0, headerSize)
	var b []byte
	if err == nil {
		b, err = w.bytes(0, headerSize)
	}
	if err == nil {
		err = formatError(f.Name(), b)
	}
	h, ok := decodeHeader(b)
	switch {
	case err != nil:
	case !ok && w.size <= headerSize:
		torn = true
	case !ok:
		err = damaged(f.Name(), 0, "no header of a segment")
	case h.number != number:
		err = damaged(f.Name(), 0, "the header of segment %d", h.number)
	}
	if torn || err != nil {
		return g, torn, errors.Join(err, f.Close())
	}
	info, err := f.Stat()
	if err != nil {
		return g, false, errors.Join(err, f.Close())
	}
	return segment{header: h, f: f, info: info, size: headerSize}, false, nil
}

// enter makes a segment the newest of a view.
func (v *view) enter(g segment) error {
	if len(v.segments) > 0 && g.before != v.id {
		return damaged(g.f.Name(), 0, "the segment follows another frame than the last one of segment %d", v.last().number)
	}
	v.segments = append(v.segments, g)
	v.rev, v.id, v.oldest = max(v.rev, g.rev), g.header.id, max(v.oldest, g.oldest)
	return nil
}

// rebuild returns the view of all segments.
func (s *store) rebuild() (*view, error) {
	for {
		first, last, err := s.list()
		// A list may be empty because all files that it began with were removed meanwhile.
		for tries := 0; err == nil && first == 0 && tries < 3; tries++ {
			first, last, err = s.list()
		}
		if err != nil || first == 0 {
			s.oldest = 0
			return newView(), err
		}
		v, err := s.build(first, last)
		if err == nil {
			s.oldest = first
			if err = errors.Join(s.disk.syncDir(s.root), s.persist(v, len(v.segments)-2)); err != nil {
				v.close(nil)
				return nil, err
			}
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return v, err
		}
		if now, _, again := s.list(); again != nil || now == first { // else it was removed meanwhile
			return nil, errors.Join(err, again)
		}
	}
}

// build returns the view of the segments from first on. last is the greatest number of all.
func (s *store) build(first, last uint64) (*view, error) {
	v := newView()
	g, torn, err := s.openSegment(first)
	if err != nil || torn && last == 1 {
		return v, err
	}
	if torn {
		return nil, damaged(s.path(segmentName(first)), 0, "no header of a segment")
	}
	// A list that was made while files changed may omit some.
	if _, before := s.root.Lstat(segmentName(first - 1)); before == nil && first > 1 {
		return nil, errors.Join(fmt.Errorf("%s was not listed: %w", segmentName(first-1), fs.ErrNotExist), g.f.Close())
	}
	if err = v.enter(g); err == nil {
		err = s.replay(v)
	}
	if err == nil && last > v.last().number {
		if err = s.checkNext(v.last(), last); errors.Is(err, checkpoint.ErrDamaged) {
			// Another process may have ended the segment meanwhile.
			if again := s.replay(v); again != nil {
				err = again
			} else if last <= v.last().number {
				err = nil
			}
		}
	}
	if err == nil && first > v.oldest {
		err = missing(s.path(segmentName(v.oldest)), v.last().f.Name())
	}
	if err != nil {
		v.close(nil)
		return nil, err
	}
	return v, nil
}

// checkNext returns an error if there are frames after a segment without an end. A writer makes
// the next segment first, so an empty one may be there.
func (s *store) checkNext(end *segment, last uint64) error {
	info, err := s.root.Lstat(segmentName(last))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && (last > end.number+1 || info.Size() > headerSize) {
		err = damaged(end.f.Name(), end.size, "no end of the segment, but %s follows it", segmentName(last))
	}
	return err
}

// replay adds the frames that follow to a view.
func (s *store) replay(v *view) error {
	for {
		more, err := s.replaySegment(v)
		if !more || err != nil {
			return err
		}
		g, torn, err := s.openSegment(v.last().number + 1)
		if torn || errors.Is(err, fs.ErrNotExist) {
			return errors.Join(missing(s.path(segmentName(v.last().number+1)), v.last().f.Name()), err)
		}
		if err != nil {
			return err
		}
		if err := v.enter(g); err != nil {
			return errors.Join(err, g.f.Close())
		}
	}
}

// missing returns the error for a segment without a file, or without its header, that another one
// names.
func missing(path, by string) error {
	return fmt.Errorf("%s is missing, and %s names it: %w: %w; Repair makes the folder usable without what is lost",
		path, by, checkpoint.ErrDamaged, fs.ErrNotExist)
}

// replaySegment adds the frames that follow in the newest segment; more says that the next segment
// follows. A bad frame ends them. It is damage if a whole frame is behind it.
func (s *store) replaySegment(v *view) (more bool, err error) {
	g := v.last()
	w, err := newWindow(g.f, g.salt, 1<<20)
	if err != nil {
		return false, err
	}
	for !more {
		h, id, ops, ok, err := w.frame(g.size)
		if err != nil {
			return false, err
		}
		if !ok {
			return false, s.checkTail(w, g.f, g.size)
		}
		if h.before != v.id {
			return false, damaged(g.f.Name(), g.size, "the frame follows another one than the one before it")
		}
		values := g.size + headSize
		if err := decodeOps(ops, h.values, func(o *op) error { v.do(o, values); return nil }); err != nil {
			return false, damaged(g.f.Name(), g.size, "%v", err)
		}
		g.size += h.size()
		v.rev, v.oldest = max(v.rev, h.rev), max(v.oldest, uint64(h.oldest))
		if more = h.kind == ended; !more {
			v.id = id // the next segment names the id of the last change
		}
	}
	return true, nil
}

// tail is the end of a segment that has no whole frame behind an offset.
type tail struct {
	f        *os.File
	at, size int64
}

// checkTail returns an error if a whole frame is behind the bytes at an offset that are none.
// Another process may have completed them meanwhile.
func (s *store) checkTail(w *window, f *os.File, at int64) error {
	if at >= w.size {
		return nil
	}
	from := at + 1
	if h, _, ok, err := w.head(at); err != nil {
		return err
	} else if ok {
		from = at + h.size()
	}
	if s.torn == (tail{f, at, w.size}) {
		return nil
	}
	found, err := w.later(from)
	if err != nil || found < 0 {
		s.torn = tail{f, at, w.size}
		return err
	}
	again, err := newWindow(f, w.salt, w.step)
	if err != nil {
		return err
	}
	if _, _, _, ok, err := again.frame(at); ok || err != nil {
		return err
	}
	return damaged(f.Name(), at, "no whole frame, and one follows at byte %d", found)
}

// state is what has happened to the log since a view.
type state int

const (
	same    state = iota // nothing
	more                 // bytes follow
	another              // the log ends otherwise
)

// compare returns what has happened to the log since a view.
func (v *view) compare() (state, error) {
	if len(v.segments) == 0 {
		return another, nil
	}
	g := v.last()
	var b [idSize + 1]byte
	n, err := g.f.ReadAt(b[:], g.size-idSize)
	switch {
	case err != nil && n < idSize && !errors.Is(err, io.EOF):
		return another, err
	case n < idSize || binary.LittleEndian.Uint64(b[:]) != v.id:
		return another, nil
	case n == idSize:
		return same, nil
	}
	return more, nil
}

// follow returns the view of the log now. Another process may have changed it since v. The caller
// holds s.mu.
func (s *store) follow(v *view) (*view, error) {
	is, err := v.compare()
	if err != nil || is == same {
		return v, err
	}
	if is == more {
		next := v.clone()
		err = s.replay(next)
		if err == nil && next.id == v.id && len(next.segments) == len(v.segments) { // nothing whole
			return v, nil
		}
		if err == nil {
			err = s.persist(next, len(v.segments)-1)
		}
		if err == nil {
			return next, nil
		}
		next.close(v)
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return s.rebuild()
}

// persist syncs the segments of a view from an index on. Another process may have died before it
// did. A reader may act on what that process wrote, so it must not be lost.
func (s *store) persist(v *view, from int) error {
	for i := max(from, 0); i < len(v.segments); i++ {
		if err := s.disk.sync(v.segments[i].f); err != nil {
			return err
		}
	}
	return nil
}

// close closes the files of a view that another one does not have.
func (v *view) close(other *view) {
	for i := range v.segments {
		f := v.segments[i].f
		if other == nil || !slices.ContainsFunc(other.segments, func(g segment) bool { return g.f == f }) {
			_ = f.Close() // everything was synced that counts
		}
	}
}
