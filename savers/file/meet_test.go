package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// A process fails to end a segment and dies before it has removed the next one, which another
// process has entered. That process sees what is written later.
func TestAReaderLeavesASegmentThatDoesNotCount(t *testing.T) {
	dir := t.TempDir()
	var step func(name string) error
	s := openStore(t, dir, file.Tiny(1), file.Failing(func(name string) error {
		if step != nil {
			return step(name)
		}
		return nil
	}))
	if _, _, err := s.Apply(t.Context(), putThread("a", 0, []byte("1"))); err != nil {
		t.Fatal(err)
	}
	reader := openStore(t, dir)
	var writes, syncs, truncates int
	step = func(name string) error {
		switch name {
		case "write":
			writes++
		case "sync":
			if syncs++; syncs == 2 && writes == 2 { // of the end
				readThread(t, reader, "a")
				return syscall.EIO
			}
		case "truncate":
			if truncates++; truncates > 1 {
				return syscall.EIO
			}
		case "remove":
			return syscall.EIO
		}
		return nil
	}
	if _, _, err := s.Apply(t.Context(), putThread("b", 0, []byte("1"))); err == nil {
		t.Fatal("got no error")
	}
	step = nil
	_ = s.Close()
	next := openStore(t, dir, file.Tiny(1))
	if _, _, err := next.Apply(t.Context(), putThread("c", 0, []byte("1"))); err != nil {
		t.Fatal(err)
	}
	if got, _ := readThread(t, reader, "c"); got != "1" {
		t.Errorf("the reader got %q, want what was acknowledged", got)
	}
}

// A process fails to end a segment, and cuts the end off. The sync after that fails, too, so the
// next segment stays. Another process has entered it, and is the next one to write. Its
// changes are not lost.
func TestAWriterLeavesASegmentThatDoesNotCount(t *testing.T) {
	dir := t.TempDir()
	var step func(name string) error
	s := openStore(t, dir, file.Tiny(1), file.Failing(func(name string) error {
		if step != nil {
			return step(name)
		}
		return nil
	}))
	if _, _, err := s.Apply(t.Context(), putThread("a", 0, make([]byte, 5000))); err != nil { // so that no row is moved
		t.Fatal(err)
	}
	other := openStore(t, dir, file.Tiny(1))
	writes, entered := 0, false
	step = func(name string) error {
		if name == "write" {
			writes++
		}
		if name != "sync" || writes < 2 {
			return nil
		}
		if !entered { // the end is written
			readThread(t, other, "a")
			entered = true
		}
		return syscall.EIO
	}
	if _, _, err := s.Apply(t.Context(), putThread("b", 0, []byte("1"))); err == nil {
		t.Fatal("got no error")
	}
	step = nil
	for i, writer := range []rows.Store{other, s} {
		if _, _, err := writer.Apply(t.Context(), putThread(fmt.Sprint(i), 0, []byte("1"))); err != nil {
			t.Fatal(err)
		}
	}
	for _, reader := range []rows.Store{other, s, openStore(t, dir)} {
		for i := range 2 {
			if got, _ := readThread(t, reader, fmt.Sprint(i)); got != "1" {
				t.Errorf("row %d is lost", i)
			}
		}
	}
}

// A frame that could not be cut off, and that another process has shown, stays.
func TestAFrameThatIsNotCutOffStays(t *testing.T) {
	dir := t.TempDir()
	var step func(name string) error
	s := openStore(t, dir, file.Failing(func(name string) error {
		if step != nil {
			return step(name)
		}
		return nil
	}))
	_, _, err := s.Apply(t.Context(), putThread("a", 0, []byte("1")))
	if err != nil {
		t.Fatal(err)
	}
	reader := openStore(t, dir)
	step = func(name string) error {
		if name == "sync" || name == "truncate" {
			return syscall.EIO
		}
		return nil
	}
	if _, _, err := s.Apply(t.Context(), putThread("b", 0, []byte("1"))); err == nil {
		t.Fatal("got no error")
	}
	before, _ := readThread(t, reader, "b")
	step = nil
	if _, _, err := s.Apply(t.Context(), putThread("c", 0, []byte("1"))); err != nil {
		t.Fatal(err)
	}
	for _, s := range []rows.Store{reader, s} {
		if after, _ := readThread(t, s, "b"); after != before {
			t.Errorf("a read got %q, and a later one %q", before, after)
		}
	}
}

// A process dies after it has removed a segment, before it has synced the folder. Another one
// removes the next segment only when the folder is synced.
func TestSegmentsAreRemovedInTheirOrder(t *testing.T) {
	dir := t.TempDir()
	var steps []string
	var fail func(name string) error
	option := file.Failing(func(name string) error {
		if fail != nil {
			return fail(name)
		}
		return nil
	})
	s := openStore(t, dir, file.Tiny(1), option)
	rev := uint64(0)
	put := func() (err error) {
		var next uint64
		if next, _, err = s.Apply(t.Context(), putThread("a", rev, bytes.Repeat([]byte("x"), 2000))); err == nil {
			rev = next
		}
		return err
	}
	removed := false
	fail = func(name string) error {
		if name == "remove" {
			removed = true
		}
		if removed && name == "syncDir" {
			return syscall.EIO
		}
		return nil
	}
	for range 3 {
		_ = put()
	}
	if !removed {
		t.Fatal("no segment was removed")
	}
	fail = func(name string) error {
		steps = append(steps, name)
		return nil
	}
	for range 3 {
		if err := put(); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range steps { // the segment is begun first, which also syncs the folder
		if name == "remove" {
			if i == 0 || steps[i-1] != "syncDir" {
				t.Errorf("steps %q: a removal without a sync of the folder before", steps)
			}
			break
		}
	}
}

// A folder is opened while a writer begins and removes segments. It is never damaged or behind.
func TestOpenDuringNewSegments(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, file.Tiny(1), file.NoSync())
	var stop atomic.Bool
	var acked atomic.Uint64
	done := make(chan error, 1)
	go func() {
		rev, err := uint64(0), error(nil)
		for !stop.Load() && err == nil {
			if rev, _, err = s.Apply(t.Context(), putThread("a", rev, bytes.Repeat([]byte("x"), 300))); err == nil {
				acked.Store(rev)
			}
		}
		done <- err
	}()
	for range 1000 {
		before := acked.Load()
		r, err := file.OpenStore(dir, file.NoSync())
		if err != nil {
			t.Errorf("open: %v", err)
			break
		}
		if _, rev := readThread(t, r, "a"); rev < before {
			t.Errorf("got revision %d, want at least %d", rev, before)
		}
		_ = r.Close()
	}
	stop.Store(true)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A newest segment without its header is an empty folder only if it is the first of all.
func TestAHeaderIsMissing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "0000000007.saver"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := file.OpenStore(dir); err == nil {
		_ = s.Close()
		t.Error("got no error, want damage")
	}
}

// descriptors returns how many files the process has open below a folder.
func descriptors(tb testing.TB, dir string) (n int) {
	tb.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Skip(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && filepath.Dir(to) == dir {
			n++
		}
	}
	return n
}

// Calls that fail keep no files open.
func TestFailedReadsKeepNoFilesOpen(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := openStore(t, dir).Apply(t.Context(), putThread("a", 0, []byte("1"))); err != nil {
		t.Fatal(err)
	}
	before := descriptors(t, dir)
	for range 10 {
		s, err := file.OpenStore(dir, file.Failing(func(string) error { return syscall.EIO }))
		if err == nil {
			_ = s.Close()
			t.Fatal("got no error")
		}
	}
	if after := descriptors(t, dir); after > before {
		t.Errorf("%d files are open, want %d", after, before)
	}
}

// Savers of one folder meet, and their disks fail now and then. A read sees all that was
// acknowledged before, and nothing of it is lost.
func TestStoresThatMeetReadWhatWasAcknowledged(t *testing.T) {
	const threads = 6
	dir := t.TempDir()
	changes := int64(3000)
	if testing.Short() {
		changes = 300
	}
	var acked [threads]atomic.Uint64
	var stored atomic.Int64
	var all sync.WaitGroup
	for i := range 4 {
		s := openStore(t, dir, file.NoSync(), file.Tiny(int64(200+700*i)), file.Failing(func(name string) error {
			if name != "remove" && rand.IntN(200) == 0 { //nolint:gosec // no secret
				return syscall.EIO
			}
			return nil
		}))
		for range 3 {
			all.Go(func() {
				for stored.Load() < changes && !t.Failed() {
					n := rand.IntN(threads) //nolint:gosec // no secret
					thread, before := fmt.Sprint(n), acked[n].Load()
					found, _, err := s.Read(t.Context(), rows.Range{Key: rows.Key{Table: rows.Threads, Bytes: []byte(thread)}})
					if errors.Is(err, syscall.EIO) {
						continue
					}
					if err != nil {
						t.Errorf("read: %v", err)
						return
					}
					rev := uint64(0)
					if len(found[0]) > 0 {
						rev = found[0][0].Rev
					}
					if rev < before {
						t.Errorf("thread %s: read revision %d, want at least %d", thread, rev, before)
					}
					next, _, err := s.Apply(t.Context(), putThread(thread, rev, make([]byte, 1+rand.IntN(400)))) //nolint:gosec // no secret
					if err != nil {
						if !errors.Is(err, syscall.EIO) && !errors.Is(err, rows.ErrChanged) {
							t.Errorf("apply: %v", err)
						}
						continue
					}
					stored.Add(1)
					for old := acked[n].Load(); old < next && !acked[n].CompareAndSwap(old, next); old = acked[n].Load() {
					}
				}
			})
		}
	}
	all.Wait()
	s := openStore(t, dir)
	for n := range threads {
		if _, rev := readThread(t, s, fmt.Sprint(n)); rev < acked[n].Load() {
			t.Errorf("thread %d: got revision %d, want at least %d", n, rev, acked[n].Load())
		}
	}
}
