package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/open"
)

// fillLarge stores threads with a state of size bytes each. Every third one has a released
// version, too.
func fillLarge(t *testing.T, s checkpoint.Saver, threads, size int) {
	t.Helper()
	for n := range threads {
		id := fmt.Sprintf("order-%03d", n)
		for version := range 1 + n%3/2 {
			rec, err := checkpoint.NewID()
			if err != nil {
				t.Fatal(err)
			}
			state := wire.AppendString(wire.AppendString(wire.AppendMapLen(nil, 1), "Text"), strings.Repeat(fmt.Sprint(n), size/len(fmt.Sprint(n))))
			_, err = s.Append(t.Context(), checkpoint.Append{
				Thread: id, Open: &checkpoint.Opening{Holder: "test"}, End: true, Status: checkpoint.Done,
				Records: []checkpoint.Record{{ID: rec, Base: rec, Source: checkpoint.Input, Snapshot: true, Payload: state}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if version == 0 && n%3 == 2 {
				if _, err := s.Release(t.Context(), id, checkpoint.ID{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// contents returns the versions and the records of all threads of a saver, each as a text.
func contents(t *testing.T, s checkpoint.Saver) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		versions, err := s.Versions(t.Context(), th.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range versions {
			key := fmt.Sprintf("%s version %d released %v", th.ID, v.Number, !v.Released.IsZero())
			for item, err := range s.Export(t.Context(), th.ID, v.Number) {
				if err != nil {
					t.Fatal(err)
				}
				if r := item.Record; r != nil {
					all[key] += fmt.Sprintf("%s %d %s %v %x\n", r.ID, r.Seq, r.Source, r.Created.UTC(), sha256.Sum256(r.Payload))
				}
			}
		}
	}
	return all
}

// opened opens the saver of a URL for the time of a test.
func opened(t *testing.T, url string) checkpoint.Saver {
	t.Helper()
	s, err := open.Saver(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// graphctl returns the command as a process of its own.
func graphctl(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "graphctl", args...)
	cmd.Env = append(os.Environ(), "GRAPHCTL_SAVER=", "GRAPHCTL_KEYS=")
	return cmd
}

// output runs the command, and returns its standard output.
func output(t *testing.T, args ...string) string {
	t.Helper()
	cmd := graphctl(t, args...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("graphctl %v: %v: %s", args, err, failed.String())
	}
	return string(out)
}

// killed starts the command, and kills the process as soon as a file has a size. It returns false
// if the command has succeeded before, which happens on a busy machine.
func killed(t *testing.T, file string, size int64, args ...string) bool {
	t.Helper()
	cmd := graphctl(t, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if info, err := os.Stat(file); err == nil && info.Size() >= size {
			break
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("graphctl %v: %v", args, err)
			}
			return false
		case <-time.After(100 * time.Microsecond):
		}
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	return <-ended != nil
}

// untilKilled calls try until it returns true. Before each call it removes files.
func untilKilled(t *testing.T, files []string, try func() bool) {
	t.Helper()
	for range 100 {
		for _, file := range files {
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
		}
		if try() {
			return
		}
	}
	t.Fatal("100 commands have ended before they could be killed")
}

// TestAKilledExportIsResumed kills the process twice. The resumed archive has the bytes of one
// that was not interrupted.
func TestAKilledExportIsResumed(t *testing.T) {
	dir := t.TempDir()
	saver := "file://" + filepath.ToSlash(filepath.Join(dir, "threads"))
	const threads, size = 120, 200 << 10
	from := opened(t, saver)
	fillLarge(t, from, threads, size)
	whole, resumed := filepath.Join(dir, "whole"), filepath.Join(dir, "resumed")
	output(t, "export", whole, "--all", "-s", saver)

	partial := resumed + ".partial"
	var first []byte
	untilKilled(t, []string{resumed, partial}, func() bool {
		if !killed(t, partial, 3<<20, "export", resumed, "--all", "-s", saver) {
			return false
		}
		var err error
		if first, err = os.ReadFile(partial); err != nil {
			return false // it has been renamed
		}
		if !killed(t, partial, int64(len(first))+3<<20, "export", resumed, "--all", "-s", saver, "--resume") {
			return false
		}
		_, err = os.Stat(partial)
		return err == nil
	})
	if _, err := os.Stat(resumed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the archive has its name before it is complete: %v", err)
	}
	out := output(t, "export", resumed, "--all", "-s", saver, "--resume", "-o", "jsonl")
	if strings.Contains(out, `"versions_already_there":0`) || !strings.Contains(out, "versions_already_there") || !strings.Contains(out, `"threads":120,`) {
		t.Errorf("the resumed command prints %s", out)
	}
	if _, err := os.Stat(partial); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the partial file is there after the end: %v", err)
	}
	got, err := os.ReadFile(resumed)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) || !bytes.HasPrefix(got, first[:1<<20]) {
		t.Errorf("the resumed archive has %d bytes, that of one command %d", len(got), len(want))
	}
	target := "sqlite://" + filepath.ToSlash(filepath.Join(dir, "target.db"))
	output(t, "import", resumed, "-s", target)
	if got, want := contents(t, opened(t, target)), contents(t, from); !maps.Equal(got, want) || len(want) != threads+threads/3 {
		t.Errorf("the %d imported versions differ from the %d original ones", len(got), len(want))
	}
}

func TestAKilledCopyIsRepeated(t *testing.T) {
	dir := t.TempDir()
	saver := "file://" + filepath.ToSlash(filepath.Join(dir, "threads"))
	const threads, size = 120, 100 << 10
	from := opened(t, saver)
	fillLarge(t, from, threads, size)
	file := filepath.Join(dir, "target.db")
	target := "sqlite://" + filepath.ToSlash(file)
	untilKilled(t, []string{file, file + "-wal", file + "-shm"}, func() bool {
		return killed(t, file+"-wal", 2<<20, "copy", "--all", "-s", saver, "--to", target)
	})
	out := output(t, "copy", "--all", "-s", saver, "--to", target, "-o", "jsonl")
	if !strings.Contains(out, `"threads":120,`) || !strings.Contains(out, "versions_already_there") {
		t.Errorf("the repeated command prints %s", out)
	}
	if got, want := contents(t, opened(t, target)), contents(t, from); !maps.Equal(got, want) || len(want) != threads+threads/3 {
		t.Errorf("the %d copied versions differ from the %d original ones", len(got), len(want))
	}
}

// countedExports counts the versions that are exported, and fails as a server does that is not
// available.
type countedExports struct {
	checkpoint.Saver

	exports int
	down    int // the number of the export that fails; 0 is none
}

func (s *countedExports) Export(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
	if s.exports++; s.exports == s.down {
		return func(yield func(checkpoint.ExportItem, error) bool) {
			yield(checkpoint.ExportItem{}, fmt.Errorf("test: %w", checkpoint.ErrUnavailable))
		}
	}
	return s.Saver.Export(ctx, thread, version)
}

// fullDisk is a file that takes only some more bytes.
type fullDisk struct {
	*os.File

	room int
}

func (d *fullDisk) Write(b []byte) (int, error) {
	if len(b) > d.room {
		n, _ := d.File.Write(b[:d.room])
		d.room = 0
		return n, errors.New("no space left on device")
	}
	d.room -= len(b)
	return d.File.Write(b)
}

// TestAFullDiskCostsOneThread fills the disk at several places. The resumed export reads no thread
// that the archive has whole.
func TestAFullDiskCostsOneThread(t *testing.T) {
	saver := memory.New()
	const threads, size = 9, 10 << 10
	fillLarge(t, saver, threads, size)
	a := &app{out: io.Discard, err: io.Discard, now: time.Now, since: time.Since, format: "table"}
	run := func(s checkpoint.Saver, file archive.File, resume bool) (*exporter, error) {
		f := &exportFlags{resume: resume}
		f.sel.all = true
		e := &exporter{a: a, from: s, f: f, progress: a.progress("exported", false)}
		failed, err := e.fill(t.Context(), file, "archive", nil)
		return e, errors.Join(failed, err)
	}
	newFile := func() *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "archive"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	read := func(f *os.File) []byte {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole := newFile()
	all := &countedExports{Saver: saver}
	if _, err := run(all, whole, false); err != nil {
		t.Fatal(err)
	}
	want := read(whole)
	for room := 0; room < len(want); room += 1999 {
		f := newFile()
		if _, err := run(saver, &fullDisk{f, room}, false); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Fatalf("with room for %d bytes: got %v", room, err)
		}
		again := &countedExports{Saver: saver}
		e, err := run(again, f, true)
		if got := read(f); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("resumed after %d bytes: %v; got %d bytes, want %d", room, err, len(got), len(want))
		}
		if again.exports+e.progress.Already != all.exports || e.progress.Threads != threads {
			t.Errorf("resumed after %d bytes: %d versions are read and %d are there, of %d; %d threads", room, again.exports, e.progress.Already, all.exports, e.progress.Threads)
		}
	}
	for down := 1; down <= all.exports; down++ {
		f := newFile()
		s := &countedExports{Saver: saver, down: down}
		if _, err := run(s, f, false); !errors.Is(err, checkpoint.ErrUnavailable) || s.exports != down {
			t.Fatalf("export %d fails: got %v after %d exports, want ErrUnavailable and no further export", down, err, s.exports)
		}
		if _, err := run(saver, f, true); err != nil || !bytes.Equal(read(f), want) {
			t.Fatalf("resumed after export %d: %v", down, err)
		}
	}
}
