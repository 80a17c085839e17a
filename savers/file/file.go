// Package file is the saver for one machine without a server. It stores threads in one folder.
// Each version of a thread is one append-only file, with the records of every namespace and the
// pending writes. Several processes may use the same folder concurrently.
//
// # What is durable
//
// Each call of Append or PutWrites writes one frame. The frame is written and synced before the
// call returns. The folder is synced when a file is created, removed or renamed.
//
// A process that dies, or a power cut, leaves at most one bad frame, at the end of the file. That
// frame is any mixture of old and new pages. A bad frame that no whole frame follows is torn, as
// in any write-ahead log. Readers stop before a torn frame, and the next writer cuts it off. A bad
// frame that a whole frame follows is damage. The error is [checkpoint.ErrDamaged] and names the
// file and the byte. So if the last frame is damaged after it was acknowledged, it counts as torn,
// and its write is lost. Damage to any other frame is found.
//
// A file may end in zeros. A long run reserves this room in advance, because syncing a file is
// faster if its size does not change. The end of the run cuts the room off. NoSync turns syncing
// off.
//
// # Who may write
//
// The lease of a run is a locked file, which contains the time at which the lease ends. The
// operating system drops the lock when the process dies, which frees the thread immediately. A
// stopped process keeps the lock, but its lease ends all the same. Single writes exclude each
// other by a lock on the thread's own file. If a stopped process keeps that lock, another process
// replaces the file with a copy. The stopped process's later writes to the old file are refused.
// Readers take no lock.
//
// Release, Delete, Prune, Import and Repair also take the folder's lock. The renames after a run
// that releases its version take it too. A process that is stopped during one of these calls
// blocks the others on the folder until it continues or dies.
//
// On Windows, the folder is not synced, because there is no such call. See docs/savers.md for the
// systems on which the package has run.
//
// File locks must work between all processes that use the folder: it belongs on a local disk, not
// on a network share.
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

// Saver stores threads in a folder. Open returns one. A Saver is safe for concurrent use. Other
// Savers, in this process or others, may have the same folder open.
type Saver struct {
	dir     string
	keep    int   // open files without a lease
	room    int64 // bytes for their indexes
	share   bool  // accept a folder that others may write to
	disk    disk
	longRun int // writes of a run after which its file gets room
	calls   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	volumes map[string]*list.Element // of *volume, by path
	recent  *list.List               // the most recently used first
	held    int64                    // bytes that the volumes hold
	listed  map[string]listing       // by base name
	backlog backlog
}

var _ checkpoint.Saver = (*Saver)(nil)

// Option is an option of Open.
type Option interface{ apply(*Saver) }

// option is an Option as a function that sets it.
type option func(*Saver)

// apply implements Option.
func (o option) apply(s *Saver) { o(s) }

// OpenFiles sets how many files the Saver keeps open, each with an index in memory. Files of runs
// whose lease the Saver holds are not counted. The next use of a file that is not open reads the
// whole file. The default is 256; less than 1 counts as 1.
func OpenFiles(n int) Option { return option(func(s *Saver) { s.keep = max(n, 1) }) }

// IndexBytes sets how many bytes the indexes of open files may take in memory. A record takes
// about 0.5 kB, and pending writes take their size. A Saver closes unused files, the least
// recently used first, until the indexes fit or one file is left. Files of runs whose lease the
// Saver holds count and stay open. The default is 64 MiB.
func IndexBytes(n int64) Option { return option(func(s *Saver) { s.room = n }) }

// SharedFolder lets Open accept a folder that other users may write to. Those users can then
// change, remove and invent threads. The Saver still follows no symbolic link in the folder and
// creates its files for its own user alone.
func SharedFolder() Option { return option(func(s *Saver) { s.share = true }) }

// NoSync lets a call return before its data is on the disk (no fsync). A killed process still
// loses nothing that was acknowledged. A power cut, or a crash of the operating system, loses the
// newest writes of each thread. The thread is then in an earlier state, or its calls return
// ErrDamaged. All Savers of a folder should agree on NoSync.
func NoSync() Option {
	return option(func(s *Saver) {
		s.disk.sync = func(*os.File) error { return nil }
		s.disk.syncDir = func(string) error { return nil }
		s.disk.extend = nil
	})
}

// Open returns a Saver on a folder and creates the folder if it does not exist. The caller must
// close the Saver. Open refuses a folder that other users may write to, unless SharedFolder is
// given. The error names the folder.
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

// Close ends the leases that the Saver holds and closes its files. It waits for calls in
// progress. An iteration that continues after Close ends with ErrClosed. A second Close does
// nothing.
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

// begin admits a call; refused is the fault of its arguments, or nil. Every admitted call must end
// with s.calls.Done.
func (s *Saver) begin(ctx context.Context, refused error) error {
	if refused != nil {
		return refused
	}
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

// use returns the volume of a file, locked against other calls of this Saver. The caller must
// give it back with done.
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

// inFolder calls f with the volume of a version of a thread, under the folder's lock.
func (s *Saver) inFolder(ctx context.Context, p checkpoint.Ref, f func(v *volume) error) error {
	if err := s.begin(ctx, p.Check()); err != nil {
		return err
	}
	defer s.calls.Done()
	v := s.use(p.Thread, baseName(p.Thread), p.Version)
	defer s.done(v)
	unlock, err := s.lockFolder(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return f(v)
}

// done gives a volume back. If too many volumes are open, or they hold too much memory, done
// closes the least recently used ones.
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
