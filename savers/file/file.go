// Package file is the saver for one machine without a server: one folder, in it one append-only file for each
// version of a thread, with its records in every namespace and its pending writes. Several processes may use the
// same folder at once.
//
// # What is durable
//
// An Append or PutWrites is one frame. It is written and synced before the call returns. The folder is synced when a
// file is created, removed or renamed.
//
// A process that dies, or a power cut, leaves at most one bad frame, at the end of the file: any mixture of the old and
// the new pages. A bad frame that no whole frame follows is torn, as in any write-ahead log. Readers stop before a torn
// frame, and the next writer cuts it off. A bad frame that a whole frame follows is damage: an error that is
// [checkpoint.ErrDamaged] and names file and byte. So damage to the last frame of a file, which was acknowledged, is
// taken for a torn one; damage to any other frame is found.
//
// A file may end in zeros: room that a long run makes in advance, because syncing a file is faster while its size does
// not change. The end of the run cuts it off. NoSync turns syncing off.
//
// # Who may write
//
// The lease of a run is a locked file that holds when the lease ends. The operating system drops the lock when the
// process dies, which frees the thread at once. A process that is stopped keeps the lock; its lease ends all the same.
// Single writes exclude each other by a lock on the thread's own file. When a stopped process keeps that lock, others
// replace the file with a copy, and what the stopped process writes to the old file is refused. Readers take no lock.
//
// Release, Delete, Prune, Import and Repair, and the renames after a run that releases, also take the folder's lock. A process
// that is stopped in the middle of one of these holds up the others of the folder until it continues or dies.
//
// On Windows, the folder is not synced, because there is no such call. See docs/savers.md for the systems on which the
// package has run.
//
// File locks must work between all who use the folder: it belongs on a local disk, not on a network share.
package file

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Saver keeps threads in a folder. It is made by Open. All methods may be called at the same time, and other Savers,
// in this process or others, may have the same folder open.
type Saver struct {
	dir     string
	keep    int   // open files, leased ones aside
	room    int64 // bytes for their indexes
	share   bool  // a folder that others may write to is fine
	disk    disk
	longRun int // after how many writes of a run its file gets room
	calls   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	volumes map[string]*list.Element // of *volume, by path
	recent  *list.List               // the most recently used first
	held    int64                    // what the volumes hold, in bytes
	listed  map[string]listing       // by base name
}

var _ checkpoint.Saver = (*Saver)(nil)

// Option is an option of Open.
type Option interface{ apply(*Saver) }

type option func(*Saver)

func (o option) apply(s *Saver) { o(s) }

// OpenFiles sets how many files the Saver keeps open, with an index of each in memory, beside those of runs that it
// holds the lease of. A file that is not open costs its next use a reading of it whole. The default is 256; less than
// 1 counts as 1.
func OpenFiles(n int) Option { return option(func(s *Saver) { s.keep = max(n, 1) }) }

// IndexBytes sets how many bytes the indexes of open files take in memory: about 0.5 kB a record, and the pending
// writes. A Saver closes files that nobody uses, those not used for the longest time first, until no more is taken or
// one file is left; files of runs that it holds the lease of count and stay open. The default is 64 MiB.
func IndexBytes(n int64) Option { return option(func(s *Saver) { s.room = n }) }

// SharedFolder lets Open accept a folder that other users may write to. They can then change, remove and invent
// threads. The Saver still follows no symbolic link in the folder and creates its files for its own user alone.
func SharedFolder() Option { return option(func(s *Saver) { s.share = true }) }

// NoSync lets a call return before what it wrote is on the disk (no fsync). A process that is killed still loses nothing
// that was acknowledged. A power cut, or a crash of the operating system, loses the newest writes of each thread: a thread
// then is as it was some time before, or it is ErrDamaged. All Savers of a folder should agree on it.
func NoSync() Option {
	return option(func(s *Saver) {
		s.disk.sync = func(*os.File) error { return nil }
		s.disk.syncDir = func(string) error { return nil }
		s.disk.extend = nil
	})
}

// Open returns a Saver on a folder, which is made if it does not exist. The Saver must be closed. Open refuses a folder
// that other users may write to, unless SharedFolder is given. The error says which folder it was about.
func Open(dir string, opts ...Option) (*Saver, error) {
	if dir == "" {
		return nil, errors.New(`file: open: the folder has no name; want a path, such as "."`)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("file: open %s: %w", dir, err)
	}
	s := &Saver{
		dir: abs, keep: 256, room: 64 << 20, disk: realDisk(), longRun: longRun,
		volumes: make(map[string]*list.Element), recent: list.New(), listed: make(map[string]listing),
	}
	for _, o := range opts {
		o.apply(s)
	}
	if err := s.makeDir(); err != nil {
		return nil, fmt.Errorf("file: open %s: %w", dir, err)
	}
	if err := s.sweepLeases(); err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("file: open %s: %w", dir, err)
	}
	return s, nil
}

// Close ends the leases that the Saver holds and closes its files. It waits for calls under way; an iteration that
// goes on after it ends with ErrClosed. A second Close does nothing.
func (s *Saver) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for e := s.recent.Front(); e != nil; e = e.Next() {
		errs = append(errs, e.Value.(*volume).close())
	}
	s.recent.Init()
	clear(s.volumes)
	return errors.Join(errs...)
}

// begin lets a call in. Every call that it lets in must end with s.calls.Done.
func (s *Saver) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("file: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("file: %w", checkpoint.ErrClosed)
	}
	s.calls.Add(1)
	return nil
}

// use returns the volume of a file, locked against other calls of this Saver. It must be given back by done.
func (s *Saver) use(id, base string, number int) *volume {
	path := s.path(base, number)
	s.mu.Lock()
	e := s.volumes[path]
	if e == nil {
		e = s.recent.PushFront(s.newVolume(id, base, number))
		s.volumes[path] = e
	} else {
		s.recent.MoveToFront(e)
	}
	v := e.Value.(*volume)
	v.users++
	s.mu.Unlock()
	v.mu.Lock()
	return v
}

// done gives a volume back, and closes those that have not been used for the longest time when there are too many, or
// they hold too much.
func (s *Saver) done(v *volume) {
	holds := v.memory()
	v.mu.Unlock()
	s.mu.Lock()
	v.users--
	s.held += holds - v.counted
	v.counted = holds
	var old []*volume
	for e := s.recent.Back(); e != nil && (s.recent.Len() > s.keep || s.held > s.room && e != s.recent.Front()); {
		v, before := e.Value.(*volume), e.Prev()
		if v.users == 0 && !v.leased.Load() {
			s.held -= v.counted
			v.counted = 0
			s.recent.Remove(e)
			delete(s.volumes, v.path)
			old = append(old, v)
		}
		e = before
	}
	s.mu.Unlock()
	for _, v := range old {
		v.mu.Lock()
		v.drop()
		v.mu.Unlock()
	}
}

// memory returns about how many bytes the volume holds.
func (v *volume) memory() int64 {
	if v.v == nil {
		return int64(cap(v.buf))
	}
	return int64(cap(v.buf)) + v.v.Memory()
}
