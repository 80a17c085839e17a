package file

import (
	"bytes"
	"os"
)

// Faults makes a Saver's disk fail. Before each step, it calls fail with the step's name. If fail
// returns an error, the step fails with that error. A write that fails has written its first
// half.
func Faults(s *Saver, fail func(step string) error) {
	whole := s.disk
	s.disk = disk{
		write: func(f *os.File, b []byte, at int64) error {
			if err := fail("write"); err != nil {
				return errorsFirst(err, whole.write(f, b[:len(b)/2], at))
			}
			return whole.write(f, b, at)
		},
		sync: func(f *os.File) error {
			if err := fail("sync"); err != nil {
				return err
			}
			return whole.sync(f)
		},
		extend: func(f *os.File, from, to int64) error {
			if err := fail("extend"); err != nil {
				return err
			}
			return whole.extend(f, from, to)
		},
		truncate: func(f *os.File, size int64) error {
			if err := fail("truncate"); err != nil {
				return err
			}
			return whole.truncate(f, size)
		},
		rename: func(from, to string) error {
			if err := fail("rename"); err != nil {
				return err
			}
			return whole.rename(from, to)
		},
		remove: func(path string) error {
			if err := fail("remove"); err != nil {
				return err
			}
			return whole.remove(path)
		},
		syncDir: func(path string) error {
			if err := fail("syncDir"); err != nil {
				return err
			}
			return whole.syncDir(path)
		},
	}
}

// Step is one change of the disk.
type Step struct {
	Kind string // write, sync, truncate, rename, remove or syncDir
	File *os.File
	Data []byte
	At   int64  // where Data was written, or the new size
	Path string // of a rename, a removal or a synced folder
	To   string // of a rename
}

// Trace makes a Saver sync nothing. It calls seen after each change of the Saver's disk.
func Trace(s *Saver, seen func(Step)) {
	whole := s.disk
	after := func(err error, step Step) error {
		if err == nil {
			seen(step)
		}
		return err
	}
	s.disk = disk{
		write: func(f *os.File, b []byte, at int64) error {
			return after(whole.write(f, b, at), Step{Kind: "write", File: f, Data: b, At: at})
		},
		sync: func(f *os.File) error { return after(nil, Step{Kind: "sync", File: f}) },
		extend: func(f *os.File, from, to int64) error {
			return after(whole.extend(f, from, to), Step{Kind: "truncate", File: f, At: to})
		},
		truncate: func(f *os.File, size int64) error {
			return after(whole.truncate(f, size), Step{Kind: "truncate", File: f, At: size})
		},
		rename: func(from, to string) error {
			return after(whole.rename(from, to), Step{Kind: "rename", Path: from, To: to})
		},
		remove:  func(path string) error { return after(whole.remove(path), Step{Kind: "remove", Path: path}) },
		syncDir: func(path string) error { return after(nil, Step{Kind: "syncDir", Path: path}) },
	}
}

func errorsFirst(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// Written counts the bytes that a Saver writes.
func Written(s *Saver, n *int) {
	write := s.disk.write
	s.disk.write = func(f *os.File, b []byte, at int64) error {
		*n += len(b)
		return write(f, b, at)
	}
}

// BaseName and ParseName convert between ids and names of files.
func BaseName(id string) string { return baseName(id) }

func ParseName(name string) (base, id string, ok bool) { return parseName(name) }

// ReadFrames reads the frames of a file as a scan does.
func ReadFrames(b []byte) (n int, err error) {
	fr := newFrames("fuzz", bytes.NewReader(b), 0, int64(len(b)), 0)
	for ; ; n++ {
		if _, _, err := fr.next(); err != nil {
			return n, err
		}
	}
}

// FileOf returns a thread's file with frames of these payloads after the header.
func FileOf(id string, payloads ...[]byte) []byte {
	const salt = 1
	b, err := appendHeader(nil, id, 1, salt)
	for _, p := range payloads {
		at := len(b)
		b = append(openFrame(b), p...)
		err = errorsFirst(err, closeFrame(b, at, salt, int64(at)))
	}
	if err != nil {
		panic(err)
	}
	return b
}

// Payloads returns the payloads of the frames of a file, without the header's payload.
func Payloads(b []byte) (all [][]byte) {
	fr := newFrames("test", bytes.NewReader(b), int64(len(magic)), int64(len(b)), 0)
	for {
		_, payload, err := fr.next()
		if err != nil {
			return all[1:]
		}
		all = append(all, bytes.Clone(payload))
	}
}

// ErrTorn is what ReadFrames returns for a last frame that is not whole.
var ErrTorn = errTorn

// HeldBytes returns the memory that a Saver counts.
func HeldBytes(s *Saver) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// OpenVolumes returns how many files a Saver has open.
func OpenVolumes(s *Saver) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.volumes)
}

// LongRun sets the number of writes of a run after which its file gets room.
func LongRun(s *Saver, writes int) { s.longRun = writes }

// SyncClosed syncs a file that is closed, as a Saver syncs one.
func SyncClosed(s *Saver, f *os.File) error { return errorsFirst(f.Close(), s.disk.sync(f)) }

// FitsFrame returns the error of a write of so many bytes.
func FitsFrame(size int) error { return fitsFrame(size) }
