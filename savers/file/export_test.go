package file

import (
	"os"

	"github.com/graphgen-go/graphgen/savers/rows"
)

// OpenStore opens the store of a folder.
func OpenStore(dir string, opts ...Option) (rows.Store, error) {
	s, alone, err := openStore(dir, opts...)
	if alone {
		err = s.admit()
	}
	return s, err
}

// Small makes the segments of a Saver small, so that few writes begin new ones.
func Small(s *Saver, size int64) { s.files.least, s.files.most = size, size }

// Faults makes a Saver's disk fail. Before each step, it calls fail with the step's name. If fail
// returns an error, the step fails with that error. A write that fails has written its first
// half.
func Faults(s *Saver, fail func(step string) error) {
	whole := s.files.disk
	s.files.disk = disk{
		write: func(f *os.File, b []byte, at int64) error {
			if err := fail("write"); err != nil {
				_ = whole.write(f, b[:len(b)/2], at)
				return err
			}
			return whole.write(f, b, at)
		},
		sync: func(f *os.File) error {
			if err := fail("sync"); err != nil {
				return err
			}
			return whole.sync(f)
		},
		truncate: func(f *os.File, size int64) error {
			if err := fail("truncate"); err != nil {
				return err
			}
			return whole.truncate(f, size)
		},
		remove: func(folder *os.Root, name string) error {
			if err := fail("remove"); err != nil {
				return err
			}
			return whole.remove(folder, name)
		},
		syncDir: func(folder *os.Root) error {
			if err := fail("syncDir"); err != nil {
				return err
			}
			return whole.syncDir(folder)
		},
	}
}

// Step is one change of the disk.
type Step struct {
	Kind string // write, sync, truncate, remove or syncDir
	File *os.File
	Data []byte
	At   int64  // where Data was written, or the new size
	Path string // of a removal or a synced folder
}

// Trace makes a Saver sync nothing. It calls seen after each change of the Saver's disk.
func Trace(s *Saver, seen func(Step)) {
	whole := s.files.disk
	after := func(err error, step Step) error {
		if err == nil {
			seen(step)
		}
		return err
	}
	s.files.disk = disk{
		write: func(f *os.File, b []byte, at int64) error {
			return after(whole.write(f, b, at), Step{Kind: "write", File: f, Data: b, At: at})
		},
		sync: func(f *os.File) error { return after(nil, Step{Kind: "sync", File: f}) },
		truncate: func(f *os.File, size int64) error {
			return after(whole.truncate(f, size), Step{Kind: "truncate", File: f, At: size})
		},
		remove: func(folder *os.Root, name string) error {
			return after(whole.remove(folder, name), Step{Kind: "remove", Path: s.files.path(name)})
		},
		syncDir: func(folder *os.Root) error { return after(nil, Step{Kind: "syncDir", Path: folder.Name()}) },
	}
}

// Written counts the bytes that a Saver writes.
func Written(s *Saver, n *int) {
	write := s.files.disk.write
	s.files.disk.write = func(f *os.File, b []byte, at int64) error {
		*n += len(b)
		return write(f, b, at)
	}
}

// SyncClosed syncs a file that is closed, as a Saver syncs one.
func SyncClosed(s *Saver, f *os.File) error {
	if err := f.Close(); err != nil {
		return err
	}
	return s.files.disk.sync(f)
}

// Frames returns the offsets of the frames in the bytes of a segment, and whether they are values.
func Frames(b []byte) (at []int, values [][2]int) {
	h, _ := decodeHeader(b)
	for n := headerSize; ; {
		f, ok := decodeHead(b[min(n, len(b)):], h.salt, int64(n))
		if !ok {
			return at, values
		}
		at = append(at, n)
		values = append(values, [2]int{n + headSize, n + headSize + int(f.values)})
		n += int(f.size())
	}
}

// EmptySegment returns the bytes of a first segment without frames, before which the log had a
// revision.
func EmptySegment(rev uint64) []byte {
	h := header{number: 1, salt: 1, oldest: 1, rev: rev}
	return h.encode()
}

// SegmentOf returns the bytes of a segment with one frame of these operations and values.
func SegmentOf(ops, values []byte) []byte {
	h := header{number: 1, salt: 1, oldest: 1}
	b := h.encode()
	f := newFrame()
	f.b, f.ops = append(f.b, values...), ops
	one, _ := f.encode(head{before: h.id, rev: 1, kind: changes, oldest: 1}, h.salt, headerSize)
	return append(b, one...)
}

// Operations returns the operations and the values of the frames of a segment.
func Operations(b []byte) (ops, values [][]byte) {
	at, places := Frames(b)
	for i := range at {
		h, _ := decodeHeader(b)
		f, _ := decodeHead(b[at[i]:], h.salt, int64(at[i]))
		values = append(values, b[places[i][0]:places[i][1]])
		ops = append(ops, b[places[i][1]:places[i][1]+int(f.ops)])
	}
	return ops, values
}

// DamageRow changes a byte of the stored row of a thread.
func DamageRow(dir, thread string) error {
	s, _, err := openStore(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	v := s.view.Load()
	p, _ := v.tables[rows.Threads].Get(thread)
	f, err := os.OpenFile(v.segment(p.number).f.Name(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], int64(p.at)); err != nil {
		return err
	}
	b[0] ^= 1
	_, err = f.WriteAt(b[:], int64(p.at))
	return err
}

// Failing is an Option for Faults before the Saver is open.
func Failing(fail func(step string) error) Option {
	return option(func(s *store) { Faults(&Saver{files: s}, fail) })
}

// Tracing is an Option for Trace before the Saver is open.
func Tracing(seen func(Step)) Option { return option(func(s *store) { Trace(&Saver{files: s}, seen) }) }

// Tiny is an Option for Small before the store is open.
func Tiny(size int64) Option { return option(func(s *store) { s.least, s.most = size, size }) }

// Writing is an Option that calls seen before each write.
func Writing(seen func(b []byte)) Option {
	return option(func(s *store) {
		write := s.disk.write
		s.disk.write = func(f *os.File, b []byte, at int64) error {
			seen(b)
			return write(f, b, at)
		}
	})
}

// Limit is an Option that makes frames small.
func Limit(n int) Option { return option(func(s *store) { s.limit = n }) }
