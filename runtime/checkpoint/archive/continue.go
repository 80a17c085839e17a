package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// ErrComplete is the error of Continue for an archive that has its end. Test for it with
// errors.Is.
var ErrComplete = errors.New("the archive is complete")

// File is where Continue continues an archive. An *os.File that is open for reading and writing is
// one.
type File interface {
	io.ReadWriteSeeker
	// Truncate changes the size of the file, as [os.File.Truncate] does.
	Truncate(size int64) error
}

// Continue returns a Writer that continues an archive without an end. Its Writer was stopped, for
// example because the process was killed, the disk was full or the machine lost power.
//
// Continue keeps the whole threads of the archive: those without damage before them that another
// thread follows. It removes everything after the last one. So the caller adds the versions of all
// threads that Continue has not kept. An empty file is an archive without threads.
//
// have is called for each version that is kept, in their order. incomplete is nil, or an
// ErrIncomplete if the export of the version failed. An error of have ends Continue, which returns
// that error and changes nothing.
//
// Continue returns ErrComplete for an archive with an end, after it has called have for all
// versions. It returns a *FormatError for an archive in another format, a *DamagedError if the
// file is no archive, and otherwise the error of f. Then it changes nothing.
func Continue(f File, have func(v checkpoint.Version, incomplete error) error) (*Writer, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	w := NewWriter(f)
	begun, err := beginning(f)
	if err != nil {
		return nil, err
	}
	if begun {
		if err := w.keep(f, have); err != nil {
			return nil, err
		}
	}
	if err := f.Truncate(int64(w.offset)); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	if _, err := f.Seek(int64(w.offset), io.SeekStart); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return w, nil
}

// beginning reports whether f has a whole header. A part of a header is the beginning of an
// archive, too. beginning leaves f at its start.
func beginning(f File) (bool, error) {
	b := make([]byte, headerSize)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, fmt.Errorf("archive: read: %w", err)
	}
	want := header()
	if n < headerSize && !bytes.HasPrefix(want, b[:n]) {
		return false, &DamagedError{Reason: fmt.Sprintf("the file is not an archive, which begins with %q", magic)}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("archive: %w", err)
	}
	return n == headerSize, nil
}

// kept is a version that keep has read.
type kept struct {
	version    checkpoint.Version
	incomplete error
}

// keep reads the archive to the end of its last whole thread, and makes w continue there. It
// returns ErrComplete after the end of the archive.
func (w *Writer) keep(f io.Reader, have func(checkpoint.Version, error) error) error {
	r, err := NewReader(f)
	if err != nil {
		return err
	}
	w.offset = r.offset
	var thread []kept // the versions of the thread that is read now
	for {
		at, versions := r.offset, r.versions // of a frame between two versions
		v, err := r.Next()
		if len(thread) > 0 && (errors.Is(err, io.EOF) || err == nil && v.Thread != thread[0].version.Thread) {
			w.offset, w.versions = at, versions
			for _, k := range thread {
				if err := have(k.version, k.incomplete); err != nil {
					return err
				}
			}
			thread = thread[:0]
		}
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("archive: %w", ErrComplete)
		case errors.Is(err, checkpoint.ErrDamaged):
			return nil // the rest is removed
		case err != nil:
			return err
		}
		k := kept{version: v}
		for _, err := range r.Items() {
			k.incomplete = err // a final error is that of the next Next, too
		}
		thread = append(thread, k)
	}
}
