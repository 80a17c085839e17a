package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// volume is one version's file and its state in memory. Because other processes write to the file
// too, the Saver checks that state against the file before each use.
type volume struct {
	s      *Saver
	id     string // empty when the name is a hash and the header has not been read
	base   string
	path   string
	users  int // guarded by s.mu
	leased atomic.Bool

	counted int64 // of s.held; guarded by s.mu

	mu     sync.Mutex // guards the fields below
	h      *handle    // nil until opened
	locked bool
	v      *ledger.Version // nil when the file has no whole header
	salt   uint32          // of the file
	end    int64           // of the last whole frame
	last   int64           // where that frame starts
	head   [frameHead]byte // and its head
	size   int64           // of the file when it was last read
	found  int64           // the size that standing has seen
	sized  bool            // found is for the next refresh, since the file was locked before
	room   int64           // if more than end, the size of the file, which has room from end on
	writes int             // of the run
	synced int64           // the file is durable up to here; its name is durable unless this is 0
	undo   int64           // if not negative, the size to cut the file to before it can be read
	lease  lease
	buf    []byte
}

// newVolume returns the volume of a version of a thread, whose file is not open yet. number is 0
// for the open version.
func (s *Saver) newVolume(id, base string, number int) *volume {
	return &volume{s: s, id: id, base: base, path: s.path(base, number), undo: -1}
}

// handle is an open file that is shared with iterations in progress.
type handle struct {
	*os.File
	facts facts // when it was opened: which file it is does not change
	users atomic.Int32
}

// newHandle returns the handle of an open file. It closes the file if it fails.
func newHandle(f *os.File) (*handle, error) {
	of, err := factsOf(f)
	if err != nil {
		return nil, fmt.Errorf("file: %w", errors.Join(err, f.Close()))
	}
	return (&handle{File: f, facts: of}).share(), nil
}

// share counts one more user of an open file, which the last of them closes.
func (h *handle) share() *handle {
	h.users.Add(1)
	return h
}

// release closes the file if nobody else uses it. The file was only read, or is synced, so
// closing it loses nothing.
func (h *handle) release() {
	if h.users.Add(-1) == 0 {
		_ = h.Close()
	}
}

// errAbsent says that the file does not exist.
var errAbsent = errors.New("file: absent")

// open opens the file, read-only if the folder permits nothing else.
func (v *volume) open() error {
	f, err := openRegular(v.path, os.O_RDWR)
	if errors.Is(err, fs.ErrPermission) {
		f, err = openRegular(v.path, os.O_RDONLY)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errAbsent
	case err != nil:
		return fmt.Errorf("file: %w", err)
	}
	v.h, err = newHandle(f)
	return err
}

// drop forgets the file and closes it.
func (v *volume) drop() {
	v.forget()
	v.undo = -1
	if v.h != nil {
		v.unlock()
	}
	if v.h != nil {
		v.h.release()
		v.h = nil
	}
}

// reopen opens the file that has replaced this one and is durable up to size.
func (v *volume) reopen(size int64) error {
	v.drop()
	if err := v.open(); err != nil {
		return err
	}
	v.synced = size
	return nil
}

// forget forgets the state in memory.
func (v *volume) forget() { v.v, v.salt, v.end, v.last, v.synced, v.room = nil, 0, 0, 0, 0, 0 }

// close closes the volume when its Saver closes.
func (v *volume) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.lease.drop(v)
	v.drop()
	return err
}

// poll locks an open file and waits for other holders until ctx ends. After every failed try it
// calls blocked, and returns its error if there is one.
func poll(ctx context.Context, f *os.File, blocked func() error) error {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		ok, err := tryLock(f, true)
		if err != nil {
			return fmt.Errorf("file: %w", err)
		}
		if ok {
			return nil
		}
		if err := blocked(); err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("file: waiting for the lock of %s: %w", f.Name(), ctx.Err())
		case <-timer.C:
		}
	}
}

// lock keeps other writers away from the file until unlock. It returns errAbsent if there is no
// file.
func (v *volume) lock(ctx context.Context) error {
	return v.lockWith(ctx, func() error {
		unlock, err := v.s.lockFolder(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		return v.unblock()
	})
}

// lockUnder is lock for a caller that has the folder's lock.
func (v *volume) lockUnder(ctx context.Context) error { return v.lockWith(ctx, v.unblock) }

// lockWith opens and locks the file of the open version, again if another process has replaced or
// sealed it. It calls unblock if a release was interrupted.
func (v *volume) lockWith(ctx context.Context, unblock func() error) error {
	for {
		if v.h == nil {
			if err := v.open(); err != nil {
				return err
			}
		}
		err := v.wait(ctx)
		if err == nil {
			v.locked = true
			var same, isSealed bool
			same, isSealed, err = v.standing()
			switch {
			case err == nil && same && !isSealed:
				v.sized = true
				return nil
			case err == nil && same:
				v.unlock()
				err = errStuck
			case err == nil:
				err = errReplaced
			}
		}
		switch {
		case errors.Is(err, errReplaced):
			v.drop()
		case errors.Is(err, errStuck) && v.h != nil:
			if err := unblock(); err != nil {
				return err
			}
		case !errors.Is(err, errStuck):
			v.unlock()
			return err
		}
	}
}

// unlock admits other writers again. If unlocking fails, it closes the file, which does so too.
func (v *volume) unlock() {
	if !v.locked {
		return
	}
	v.locked, v.sized = false, false
	if err := unlock(v.h.File); err != nil {
		_ = v.h.Close()
		v.h = nil
		v.forget()
	}
}

// read reads what a reader may see: all whole frames, without a lock. It returns errAbsent if
// there is no file, or only an empty one, which a writer has created and not yet written.
// Apparent damage may be a write in progress; only a read under the lock can decide.
func (v *volume) read(ctx context.Context) error {
	err := v.readNew(ctx)
	if err == nil && v.v == nil {
		err = errAbsent
	}
	return err
}

// readNew reads all that is new in the file. It waits for the lock only if the file looks
// damaged, because a writer may be in the middle of a write.
func (v *volume) readNew(ctx context.Context) error {
	if v.h != nil {
		same, err := v.current()
		if err != nil {
			return err
		}
		if !same {
			v.drop()
		}
	}
	if v.h == nil {
		if err := v.open(); err != nil {
			return err
		}
	}
	err := v.refresh(reading)
	if !errors.Is(err, checkpoint.ErrDamaged) {
		return err
	}
	if err := v.lock(ctx); err != nil {
		return err
	}
	defer v.unlock()
	return v.refresh(reading)
}

// The purpose of a refresh.
const (
	reading = false
	writing = true
)

// refresh reads the frames that are not known yet, or all frames if the known ones no longer
// stand. For writing, under the lock, it cuts off everything that is neither a whole frame nor
// room.
func (v *volume) refresh(forWriting bool) error {
	if forWriting && v.undo >= 0 {
		if err := v.cut(v.undo); err != nil {
			return err
		}
		v.undo, v.sized = -1, false
		v.forget()
	}
	size := v.found
	if !v.sized {
		now, err := factsOf(v.h.File)
		if err != nil {
			return fmt.Errorf("file: %w", err)
		}
		size = now.size
	}
	v.size, v.sized = size, false
	if v.undo >= 0 {
		size = min(size, v.undo)
	}
	if !v.stands(size) {
		v.forget()
	}
	if size != v.room {
		v.room = 0
	}
	if v.end < size {
		known, err := false, error(nil)
		if size == v.room || !forWriting {
			known, err = v.atEnd(size)
		}
		if err == nil && !known {
			v.room = 0
			err = v.scan(size)
		}
		if err != nil {
			v.forget()
			return err
		}
	}
	if !forWriting {
		return nil
	}
	if v.end < size {
		isRoom, err := v.isRoom(size)
		if err == nil && !isRoom {
			err = v.cut(v.end)
		}
		if err != nil {
			return err
		}
	}
	return v.persist()
}

// persist makes the file durable before the next write or answer builds on it: its writer may
// have died before its own sync.
func (v *volume) persist() error {
	if v.end <= v.synced {
		return nil
	}
	err := v.s.disk.sync(v.h.File)
	if err == nil && v.synced == 0 {
		err = v.s.disk.syncDir(v.s.dir)
	}
	if err != nil {
		return fmt.Errorf("file: sync %s: %w", v.path, err)
	}
	v.synced = v.end
	return nil
}

// stands reports whether the known frames are still the start of a file of some size. Only frames
// that were never acknowledged are ever taken back. A reader has seen at most the last of those.
func (v *volume) stands(size int64) bool {
	switch {
	case v.end == 0:
		return true
	case size < v.end:
		return false
	case v.synced == v.end && (size == v.end || size == v.room):
		return true
	}
	var head [frameHead]byte
	_, err := v.h.ReadAt(head[:], v.last)
	return err == nil && head == v.head
}

// cut makes the file end at size.
func (v *volume) cut(size int64) error {
	if err := v.s.disk.truncate(v.h.File, size); err != nil {
		return fmt.Errorf("file: cut off what was not written whole: %w", err)
	}
	return nil
}

// version returns the known version, or an empty one.
func (v *volume) version() *ledger.Version {
	if v.v == nil {
		return ledger.New(v.id, 1)
	}
	return v.v
}

// write stores an event, with its records, at the end of the file, durably, or leaves the file
// unchanged. The caller must hold the lock and have refreshed the volume.
func (v *volume) write(e *ledger.Event, records []checkpoint.Record) error {
	version, salt, b := v.version(), v.salt, v.buf[:0]
	var err error
	if v.v == nil {
		salt = newSalt()
		if b, err = v.writeHeader(b, version.Number, salt); err != nil {
			return err
		}
	}
	frame := len(b)
	var before *checkpoint.Record
	if head := version.Head(e.Namespace); head != nil {
		before = &head.Record
	}
	if b, err = appendEvent(b, e, records, before, v.end, salt); err != nil {
		return err
	}
	if cap(b) <= 1<<20 {
		v.buf = b
	}
	if err := v.put(b); err != nil {
		return err
	}
	version.Apply(e)
	v.v, v.salt, v.last, v.end = version, salt, v.end+int64(frame), v.end+int64(len(b))
	v.synced = v.end
	copy(v.head[:], b[frame:])
	if v.writes++; e.Opens {
		v.writes = 0
	}
	if e.Ends {
		v.trim()
	}
	if wakes := e.Ends || e.Releases || e.Wake != nil; wakes && !v.v.Wake.IsZero() && !v.v.Wake.After(time.Now()) {
		v.s.forgetDue()
	}
	return nil
}

// writeHeader appends the header to b, so that it is written with the first event. A header that
// spans sectors could be torn before a whole event, which would be damage. So writeHeader writes
// such a header separately.
func (v *volume) writeHeader(b []byte, number int, salt uint32) ([]byte, error) {
	b, err := appendHeader(b, v.id, number, salt)
	if err != nil || len(b) <= sector {
		return b, err
	}
	if err := v.put(b); err != nil {
		return nil, err
	}
	v.v, v.salt, v.last, v.end = ledger.New(v.id, number), salt, int64(len(magic)), int64(len(b))
	v.synced = v.end
	copy(v.head[:], b[len(magic):])
	return b[:0], nil
}

// put writes b at the end. If that fails, put removes the part that was written.
func (v *volume) put(b []byte) error {
	v.prepare(int64(len(b)))
	err := v.s.disk.write(v.h.File, b, v.end)
	if err == nil {
		err = v.s.disk.sync(v.h.File)
	}
	if err == nil && v.synced == 0 { // the file's name is not durable either
		err = v.s.disk.syncDir(v.s.dir)
	}
	if err == nil {
		return nil
	}
	v.undo = v.end
	if cut := v.refresh(writing); cut != nil {
		err = errors.Join(err, cut)
	}
	return fmt.Errorf("file: write %s: %w", v.path, err)
}

// create creates the file, empty, unless there is one by now.
func (v *volume) create() error {
	f, err := openRegular(v.path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	v.drop()
	v.h, err = newHandle(f)
	return err
}
