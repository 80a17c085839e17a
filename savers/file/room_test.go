package file_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// steps commits n steps after a, and returns the last.
func steps(tb testing.TB, s checkpoint.Saver, a checkpoint.Append, fence checkpoint.ID, n int) checkpoint.Append {
	tb.Helper()
	for range n {
		a = step(tb, a, fence)
		mustAppend(tb, s, a)
	}
	return a
}

// ended ends a run.
func ended(tb testing.TB, s checkpoint.Saver, fence checkpoint.ID) {
	tb.Helper()
	if _, err := s.PutWrites(tb.Context(), checkpoint.PutWrites{Thread: "t", Fence: fence, Status: checkpoint.Done, End: true}); err != nil {
		tb.Fatal(err)
	}
}

func contentOf(tb testing.TB, dir string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(dir, threadFile))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// frameBytes returns a file without the zeros at its end.
func frameBytes(b []byte) []byte { return bytes.TrimRight(b, "\x00") }

// TestALongRunHasRoomUntilItEnds counts how often the size of the file changes.
func TestALongRunHasRoomUntilItEnds(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := opening(t, "t", checkpoint.ID{})
	mustAppend(t, s, a)
	fence := a.Records[0].ID
	a = steps(t, s, a, fence, 16)
	if b := contentOf(t, dir); len(b) != len(frameBytes(b)) {
		t.Errorf("after a few writes the file has %d bytes, want %d", len(b), len(frameBytes(b)))
	}
	a = steps(t, s, a, fence, 1)
	size := len(contentOf(t, dir))
	if runtime.GOOS != "linux" {
		size = 0 // nothing makes room
	} else if frames := len(frameBytes(contentOf(t, dir))); size < frames+32<<10 {
		t.Errorf("after 17 writes the file has %d bytes, of which %d are frames; want room for 32 KiB", size, frames)
	}
	steps(t, s, a, fence, 30)
	if got := len(contentOf(t, dir)); size > 0 && got != size {
		t.Errorf("after 30 more writes the file has %d bytes, want %d: its room", got, size)
	}
	before := mustContents(t, open(t, dir))
	ended(t, s, fence)
	b := contentOf(t, dir)
	if len(b) != len(frameBytes(b)) {
		t.Errorf("after the run the file has %d bytes, want %d", len(b), len(frameBytes(b)))
	}
	if before == mustContents(t, open(t, dir)) {
		t.Error("the end of the run changed nothing")
	}
}

// TestSaversShareAFileThatHasRoom has two Savers that write in turn. Both read after each write.
func TestSaversShareAFileThatHasRoom(t *testing.T) {
	dir := t.TempDir()
	first, second := open(t, dir), open(t, dir)
	file.LongRun(first, 1)
	file.LongRun(second, 1)
	a := opening(t, "t", checkpoint.ID{})
	mustAppend(t, first, a)
	fence := a.Records[0].ID
	for n := range 200 {
		writer, reader := first, second
		if n/7%2 == 1 {
			writer, reader = second, first
		}
		a = steps(t, writer, a, fence, 1)
		for _, s := range []checkpoint.Saver{reader, writer} {
			c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
			if err != nil || c.Head != a.Records[0].ID {
				t.Fatalf("after write %d: loaded %s, %v; want %s", n, c.Head, err, a.Records[0].ID)
			}
		}
	}
	ended(t, second, fence)
	if got, want := mustContents(t, first), mustContents(t, open(t, dir)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRoomOfARunThatDiedIsUsed leaves room at the end of a file. In one case it leaves a torn
// frame too.
func TestRoomOfARunThatDiedIsUsed(t *testing.T) {
	for name, torn := range map[string]int{"room": 0, "a torn frame in the room": 10, "a torn head in the room": 3} {
		dir := t.TempDir()
		s := open(t, dir)
		file.LongRun(s, 1)
		a := opening(t, "t", checkpoint.ID{})
		mustAppend(t, s, a)
		fence := a.Records[0].ID
		a = steps(t, s, a, fence, 20)
		want, b := mustContents(t, s), contentOf(t, dir)
		whole := len(frameBytes(b))
		lost := steps(t, s, a, fence, 1)
		if torn > 0 {
			copy(b[whole:], contentOf(t, dir)[whole:whole+torn])
		}
		next, path := place(t, b)
		if got := mustContents(t, next); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		for range 2 {
			if _, err := next.Append(t.Context(), lost); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		ended(t, next, fence)
		ended(t, s, fence)
		if got, want := frames(contentOf(t, filepath.Dir(path))), frames(contentOf(t, dir)); got != want {
			t.Errorf("%s: %d frames, want %d", name, got, want)
		}
		if got, want := mustContents(t, open(t, filepath.Dir(path))), mustContents(t, next); got != want {
			t.Errorf("%s: opened again: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func frames(b []byte) int { return len(file.Payloads(b)) }

// TestARunWritesWithoutRoomIfThereIsNone has only enough space on the disk for the frames.
func TestARunWritesWithoutRoomIfThereIsNone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	file.LongRun(s, 1)
	file.Faults(s, func(step string) error {
		if step == "extend" {
			return syscall.ENOSPC
		}
		return nil
	})
	a := opening(t, "t", checkpoint.ID{})
	mustAppend(t, s, a)
	a = steps(t, s, a, a.Records[0].ID, 40)
	if c, err := open(t, dir).Load(t.Context(), checkpoint.Ref{Thread: "t"}); err != nil || c.Head != a.Records[0].ID {
		t.Errorf("loaded %s, %v; want %s", c.Head, err, a.Records[0].ID)
	}
}

func TestNoSyncSyncsNothing(t *testing.T) {
	for _, c := range []struct {
		opts  []file.Option
		syncs bool
	}{{nil, true}, {[]file.Option{file.NoSync()}, false}} {
		s, err := file.Open(t.TempDir(), c.opts...)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := file.SyncClosed(s, f); (err != nil) != c.syncs {
			t.Errorf("%d options: sync of a closed file: got %v, want an error: %t", len(c.opts), err, c.syncs)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestConformanceNoSync(t *testing.T) {
	if testing.Short() {
		t.Skip("a second site of the suite")
	}
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		dir := tb.TempDir()
		return savertest.Storage{
			Shared: true,
			Open:   func() (checkpoint.Saver, error) { return file.Open(dir, file.NoSync()) },
		}
	}, savertest.Without("NoSync replaces the functions of disk.go that sync and reserve room; no content depends on what they do",
		savertest.Records, savertest.History, savertest.Writes, savertest.Outcomes, savertest.Schemas, savertest.Leases,
		savertest.Versions, savertest.Listings, savertest.Wakes, savertest.Inbox, savertest.Transfer))
}

func TestConformanceWithRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("a second site of the suite")
	}
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		dir := tb.TempDir()
		return savertest.Storage{
			Shared: true,
			Open: func() (checkpoint.Saver, error) {
				s, err := file.Open(dir)
				if err == nil {
					file.LongRun(s, 0)
				}
				return s, err
			},
		}
	}, savertest.Without("room is zeros after the last frame, which only writes and the scan for frames see: room.go and scan.go",
		savertest.History, savertest.Outcomes, savertest.Schemas, savertest.Leases, savertest.Listings, savertest.Wakes))
}
