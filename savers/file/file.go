// Package file is the saver for one machine without a server. It stores threads in one folder: a
// log of changes, in files of up to 64 MiB. Several processes may use the same folder
// concurrently. The saver is that of package rows over this log. The keys of all rows are in
// memory, and their values are read from the files.
//
// # What is durable
//
// A change is one frame of the log, and changes that wait for each other share a frame. The frame
// is written and synced before the calls return. The folder is synced when a file is made or
// removed. NoSync turns syncing off. A process that reads the frames of another one syncs them
// first: the other process may have died before it did.
//
// A process that dies, or a power cut, leaves at most one bad frame, at the end of the log.
// Readers stop before it, and the next writer cuts it off. A bad frame that a whole frame
// follows is damage. The error is [checkpoint.ErrDamaged] and names the file and the byte, and
// the folder cannot be used until Repair. A missing file is damage, too. So if the last frame is
// damaged after it was acknowledged, it is lost. Damage in the value of a row fails only the calls
// that need the row.
//
// # Who may write
//
// A writer locks the file write.lock. A read takes no lock. A stopped process that writes, or is
// the next to write, blocks the writers of other processes until it continues or dies. Their calls
// wait until their contexts end. A read may see a change before its call has returned. All later
// reads of all processes see it then, unless the disk fails and the call returns an error. The
// lease of a run ends by its time, also if the process has died. A Saver that opens a folder which
// no other process has open ends the leases of those that died.
//
// File locks must work between all processes that use the folder: it belongs on a local disk, not
// on a network share. Nothing else may change the folder while a Saver is open. On Windows, the
// folder is not synced, because there is no such call. See docs/savers.md for the systems on which
// the package has run.
package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/graphgen-go/graphgen/savers/rows"
)

// Saver stores threads in a folder. Open returns one. A Saver is safe for concurrent use. Other
// Savers, in this process or others, may have the same folder open.
type Saver struct {
	*rows.Saver
	files *store
}

// Option is an option of Open.
type Option interface{ apply(*store) }

// option is an Option as a function that sets it.
type option func(*store)

// apply implements Option.
func (o option) apply(s *store) { o(s) }

// SharedFolder lets Open accept a folder that other users may write to. Those users can then
// change, remove and invent threads. The Saver still follows no symbolic link in the folder and
// creates its files for its own user alone.
func SharedFolder() Option { return option(func(s *store) { s.trust = true }) }

// NoSync lets a call return before its data is on the disk (no fsync). A killed process still
// loses nothing that was acknowledged. A power cut, or a crash of the operating system, loses the
// newest writes of each thread, or damages the folder. All Savers of a folder should agree on
// NoSync.
func NoSync() Option {
	return option(func(s *store) {
		s.disk.sync = func(*os.File) error { return nil }
		s.disk.syncDir = func(*os.Root) error { return nil }
	})
}

// Open returns a Saver on a folder and creates the folder if it does not exist. The caller must
// close the Saver. Open refuses a folder that other users may write to, unless SharedFolder is
// given. If no other Saver has the folder open, Open ends the leases of dead processes. While
// another process does that, Open waits, for at most 10 s. The error names the folder.
func Open(dir string, opts ...Option) (*Saver, error) {
	s, alone, err := openStore(dir, opts...)
	if err != nil {
		return nil, fmt.Errorf("file: open %s: %w", dir, err)
	}
	saver := &Saver{rows.New("file", s, rows.Options{}), s}
	if alone {
		_ = rows.EndLeases(context.Background(), saver.Saver) // a lease that is left ends by itself
		if err := s.admit(); err != nil {
			return nil, fmt.Errorf("file: open %s: %w", dir, errors.Join(err, saver.Close()))
		}
	}
	return saver, nil
}

// openStore opens the store of a folder. alone says that no other one has the folder open, and
// that none can until the caller has called admit.
func openStore(dir string, opts ...Option) (s *store, alone bool, err error) {
	if s, err = newStore(dir, opts...); err != nil {
		return nil, false, err
	}
	v, err := s.rebuild()
	if err != nil {
		return nil, false, errors.Join(err, s.Close())
	}
	s.publish(v)
	if alone, err = s.arrive(); err != nil {
		return nil, false, errors.Join(err, s.Close())
	}
	return s, alone, nil
}

// newStore returns the store of a folder, which has read no segment.
func newStore(dir string, opts ...Option) (*store, error) {
	if dir == "" {
		return nil, errors.New(`the folder has no name; want a path, such as "."`)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &store{disk: realDisk(), least: leastSegment, most: mostSegment, limit: maxFrame, turn: make(chan struct{}, 1)}
	for _, o := range opts {
		o.apply(s)
	}
	if err := makeDir(abs, s.trust, &s.disk); err != nil {
		return nil, err
	}
	if s.root, err = os.OpenRoot(abs); err != nil {
		return nil, err
	}
	s.next.name, s.lock.name, s.open.name = "next.lock", "write.lock", "open.lock"
	s.view.Store(newView())
	return s, nil
}
