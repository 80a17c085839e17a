package archive_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
)

// memoryFile is a file in memory. Bytes that it has not got are read as an error.
type memoryFile struct {
	data   []byte
	at     int
	writes int
	broken int // reads fail from this offset; 0 is never
}

func (f *memoryFile) Read(b []byte) (int, error) {
	if f.broken > 0 && f.at >= f.broken {
		return 0, errors.ErrUnsupported
	}
	if f.at >= len(f.data) {
		return 0, io.EOF
	}
	n := copy(b, f.data[f.at:])
	f.at += n
	return n, nil
}

func (f *memoryFile) Write(b []byte) (int, error) {
	f.writes++
	f.data = append(f.data[:f.at], b...)
	f.at = len(f.data)
	return len(b), nil
}

func (f *memoryFile) Seek(to int64, from int) (int64, error) {
	if from != io.SeekStart {
		return 0, errors.ErrUnsupported
	}
	f.at = int(to)
	return to, nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.writes++
	f.data = f.data[:size]
	return nil
}

// threads returns an archive's worth of versions: threads with one and with two of them, and a
// version whose export failed.
func threads() []entry {
	version := func(thread string, number int) entry {
		return entry{Version: checkpoint.Version{Thread: thread, Number: number}, Items: full().Items[1:3]}
	}
	failed := version("broken", 1)
	failed.Err = "the disk is gone"
	return []entry{version("a", 1), version("a", 2), failed, version("c", 1), version("c", 2), version("d", 1)}
}

// finish continues an archive, and adds all versions that it lacks.
func finish(f archive.File, all []entry) (kept int, err error) {
	have := make(map[string]bool)
	w, err := archive.Continue(f, func(v checkpoint.Version, incomplete error) error {
		if (v.Thread == "broken") != errors.Is(incomplete, archive.ErrIncomplete) {
			return errors.New("version of " + v.Thread + ": unexpected failure")
		}
		have[v.Thread] = true
		kept++
		return nil
	})
	if err != nil {
		return kept, err
	}
	for _, e := range all {
		if have[e.Version.Thread] {
			continue
		}
		var failure error
		if e.Err != "" {
			failure = errors.New(e.Err)
		}
		_ = w.Add(e.Version, seq(e.Items, failure)) // Close returns errors of the file
	}
	return kept, w.Close()
}

// TestContinueAfterEachByte stops an archive after each of its bytes. The continued archive has
// the bytes of one that was not stopped.
func TestContinueAfterEachByte(t *testing.T) {
	all := threads()
	whole := write(t, all...)
	most := 0
	for size := range whole {
		f := &memoryFile{data: slices.Clone(whole[:size])}
		kept, err := finish(f, all)
		if err != nil || !bytes.Equal(f.data, whole) {
			t.Fatalf("stopped after %d of %d bytes: %v; the continued archive has %d bytes", size, len(whole), err, len(f.data))
		}
		if kept < most || kept > len(all) {
			t.Fatalf("stopped after %d bytes: %d versions are kept, and %d of fewer bytes", size, kept, most)
		}
		most = kept
	}
	if want := len(all) - 1; most != want {
		t.Errorf("without its end, %d versions are kept, want the %d before the last thread", most, want)
	}
}

// TestContinueRemovesDamage changes each byte, as a disk can that lost power.
func TestContinueRemovesDamage(t *testing.T) {
	all := threads()
	whole := write(t, all...)
	for i := 20; i < len(whole); i++ {
		f := &memoryFile{data: slices.Clone(whole)}
		f.data[i] ^= 0x20
		if _, err := finish(f, all); err != nil || !bytes.Equal(f.data, whole) {
			t.Fatalf("byte %d of %d was changed: %v; the continued archive has %d bytes", i, len(whole), err, len(f.data))
		}
	}
}

func TestContinueChangesNoOtherFile(t *testing.T) {
	whole := write(t, threads()...)
	format := slices.Clone(whole)
	format[19] = 7
	var damaged *archive.DamagedError
	var other *archive.FormatError
	for name, c := range map[string]struct {
		f    memoryFile
		want func(error) bool
	}{
		"a complete archive": {memoryFile{data: whole}, func(err error) bool { return errors.Is(err, archive.ErrComplete) }},
		"another format":     {memoryFile{data: format}, func(err error) bool { return errors.As(err, &other) }},
		"a part of a header": {memoryFile{data: []byte("graph")}, nil},
		"another short text": {memoryFile{data: []byte("notes")}, func(err error) bool { return errors.As(err, &damaged) }},
		"a long text":        {memoryFile{data: bytes.Repeat([]byte("notes "), 100)}, func(err error) bool { return errors.As(err, &damaged) }},
		"a broken disk":      {memoryFile{data: whole, broken: 1}, func(err error) bool { return errors.Is(err, errors.ErrUnsupported) }},
	} {
		before := slices.Clone(c.f.data)
		w, err := archive.Continue(&c.f, func(checkpoint.Version, error) error { return nil })
		if c.want == nil {
			if err != nil || w == nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !c.want(err) || w != nil {
			t.Errorf("%s: got %v", name, err)
		}
		if c.f.writes > 0 || !bytes.Equal(before, c.f.data) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	f := &memoryFile{data: whole}
	refuse := errors.New("refused")
	if _, err := archive.Continue(f, func(checkpoint.Version, error) error { return refuse }); !errors.Is(err, refuse) || f.writes > 0 {
		t.Errorf("got %v after %d writes, want the error of the function and none", err, f.writes)
	}
}

// TestContinueOnAFile continues an archive on a file of the system.
func TestContinueOnAFile(t *testing.T) {
	all := threads()
	whole := write(t, all...)
	name := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(name, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if kept, err := finish(f, all); err != nil || kept == 0 {
		t.Fatalf("%d versions are kept, %v", kept, err)
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("got %d bytes, %v; want the %d of the whole archive", len(got), err, len(whole))
	}
}

func FuzzContinue(f *testing.F) {
	all := threads()
	whole := write(f, all...)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("graphgen archive\x00\x00\x00\x01V\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		file := &memoryFile{data: slices.Clone(b)}
		w, err := archive.Continue(file, func(checkpoint.Version, error) error { return nil })
		if err != nil {
			if !bytes.Equal(file.data, b) {
				t.Fatalf("%v, and the file was changed", err)
			}
			return
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := read(file.data); err != nil {
			t.Fatalf("the continued archive: %v", err)
		}
	})
}
