package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// segments returns the paths of the segments in a folder, the oldest first.
func segments(tb testing.TB, dir string) []string {
	tb.Helper()
	return must(filepath.Glob(filepath.Join(dir, "*.saver")))(tb)
}

// Somebody removes old files of a folder, or copies it while a Saver removes some. Open says so:
// the rows in them are not lost silently.
func TestOldSegmentsAreMissing(t *testing.T) {
	const rowsOfEach = 4
	for removed := 1; removed <= rowsOfEach; removed++ {
		dir := t.TempDir()
		s := openStore(t, dir, file.Tiny(1), file.NoSync())
		for n := range rowsOfEach { // each in a segment of its own
			if _, _, err := s.Apply(t.Context(), putThread(fmt.Sprint("thread ", n), 0, make([]byte, 1000))); err != nil {
				t.Fatal(err)
			}
		}
		all := segments(t, dir)
		if len(all) != rowsOfEach {
			t.Fatalf("got the segments %q, want %d", all, rowsOfEach)
		}
		for _, name := range all[:removed] {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		if removed == rowsOfEach { // as if the folder were new
			continue
		}
		_, err := file.OpenStore(dir)
		if !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(fmt.Sprint(err), all[0]) {
			t.Errorf("without %d old segments: got %v, want an ErrDamaged that names %s", removed, err, all[0])
		}
		r, err := file.Repair(t.Context(), dir)
		if err != nil || len(r.Lost) != removed {
			t.Errorf("without %d old segments: got %+v, %v; want as many lost parts", removed, r, err)
		}
		if _, rev := readThread(t, openStore(t, dir), "thread 3"); rev == 0 {
			t.Errorf("without %d old segments: Repair lost a row of another one", removed)
		}
	}
}

// The last frame, which moved the rows of an old segment, is damaged after that segment was
// removed. The rows are not lost silently.
func TestAFrameWithMovedRowsIsDamaged(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, file.Tiny(1), file.NoSync())
	if _, _, err := s.Apply(t.Context(), putThread("old", 0, []byte("1"))); err != nil {
		t.Fatal(err)
	}
	first, rev := segments(t, dir)[0], uint64(0)
	for len(segments(t, dir)) < 1000 && slices.Contains(segments(t, dir), first) {
		var err error
		if rev, _, err = s.Apply(t.Context(), putThread("a", rev, bytes.Repeat([]byte("x"), 500))); err != nil {
			t.Fatal(err)
		}
	}
	all := segments(t, dir)
	last := all[len(all)-1]
	b := must(os.ReadFile(last))(t)
	b[len(b)-1] ^= 1
	if err := os.WriteFile(last, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.OpenStore(dir); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("got %v, want an ErrDamaged", err)
	}
}

// A change that fails its checks begins a segment, and changes nothing else. No file is removed
// that the log still names.
func TestAChangeThatFailsRemovesNoSegment(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, file.Tiny(1), file.NoSync())
	rev, _, err := s.Apply(t.Context(), putThread("a", 0, []byte("1")))
	if err != nil {
		t.Fatal(err)
	}
	del := &rows.Change{
		Checks:  []rows.Check{{Thread: "a", Rev: rev}},
		Deletes: []rows.Range{{Key: rows.Key{Table: rows.Threads, Thread: "a", Bytes: []byte("a")}}},
	}
	if _, _, err := s.Apply(t.Context(), del); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, _, err := s.Apply(t.Context(), putThread("a", rev, []byte("1"))); !errors.Is(err, rows.ErrChanged) {
			t.Fatalf("got %v, want ErrChanged", err)
		}
		openStore(t, dir)
	}
}

// A segment with frames follows one without an end, such as after somebody has put a file there. A
// writer removes no frames.
func TestASegmentWithFramesIsNotRemoved(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, file.Tiny(1))
	if _, _, err := s.Apply(t.Context(), putThread("a", 0, []byte("1"))); err != nil {
		t.Fatal(err)
	}
	b := must(os.ReadFile(filepath.Join(dir, segmentFile)))(t)
	next := filepath.Join(dir, "0000000002.saver")
	if err := os.WriteFile(next, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Apply(t.Context(), putThread("b", 0, []byte("1"))); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("got %v, want an ErrDamaged", err)
	}
	if now, err := os.ReadFile(next); err != nil || !bytes.Equal(now, b) {
		t.Errorf("the next segment has %d bytes, %v; want the %d from before", len(now), err, len(b))
	}
}

// The lock's file is removed or replaced while a Saver has it open. Two Savers still exclude each
// other.
func TestTheFileOfALockIsReplaced(t *testing.T) {
	dir := t.TempDir()
	var writes atomic.Int32
	alone := file.Writing(func([]byte) {
		if writes.Add(1) > 1 {
			t.Error("two Savers write concurrently")
		}
		for range 1000 { // so that another one would come between
			runtime.Gosched()
		}
		writes.Add(-1)
	})
	a := openStore(t, dir, alone)
	if _, _, err := a.Apply(t.Context(), putThread("a", 0, []byte("1"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"write.lock", "next.lock"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	var both sync.WaitGroup
	for i, s := range []rows.Store{a, openStore(t, dir, alone)} {
		both.Go(func() {
			for n := range 5 {
				if _, _, err := s.Apply(t.Context(), putThread(fmt.Sprint(i, n), 0, []byte("1"))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	s := openStore(t, dir)
	for i := range 2 {
		for n := range 5 {
			if _, rev := readThread(t, s, fmt.Sprint(i, n)); rev == 0 {
				t.Errorf("row %d of Saver %d is lost", n, i)
			}
		}
	}
}

// A process has seen a torn frame. Others cut it off and write two frames of the same size. Then
// the first of them is damaged. The process does not take them for what it has seen: it cuts
// nothing off.
func TestATailIsLookedAtAgain(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	path := filepath.Join(dir, segmentFile)
	var sizes []int
	var b []byte
	for _, thread := range []string{"a", "b", "c"} {
		if _, _, err := s.Apply(t.Context(), putThread(thread, 0, []byte("1"))); err != nil {
			t.Fatal(err)
		}
		b = must(os.ReadFile(path))(t)
		sizes = append(sizes, len(b))
	}
	torn := append(bytes.Clone(b[:sizes[0]]), bytes.Repeat([]byte("x"), sizes[2]-sizes[0])...)
	dir, path = place(t, torn)
	late := openStore(t, dir)
	if _, rev := readThread(t, late, "a"); rev == 0 {
		t.Fatal("the row before the torn frame is lost")
	}
	b[sizes[0]] ^= 1
	f := must(os.OpenFile(path, os.O_WRONLY, 0))(t)
	if err := errors.Join(second(f.WriteAt(b, 0)), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := late.Apply(t.Context(), putThread("d", 0, []byte("1"))); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("got %v, want an ErrDamaged", err)
	}
	if now := must(os.ReadFile(path))(t); !bytes.Equal(now, b) {
		t.Errorf("the file has %d bytes, want the %d from before", len(now), len(b))
	}
}
