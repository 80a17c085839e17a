package file_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// folderSize returns the bytes of the files of a folder.
func folderSize(tb testing.TB, dir string) (n int64) {
	tb.Helper()
	for _, e := range must(os.ReadDir(dir))(tb) {
		n += must(e.Info())(tb).Size()
	}
	return n
}

// Threads are made and deleted again and again, among some that stay. The folder stays small. A
// Saver that looks rarely finds all that stays, although the files that it has open are gone.
func TestTheFolderStaysSmall(t *testing.T) {
	const stay, rounds, segment = 20, 3000, 4096
	dir := t.TempDir()
	s, rare := open(t, dir), open(t, dir)
	file.Small(s, segment)
	for n := range stay {
		a := opening(t, fmt.Sprint("stays ", n), checkpoint.ID{})
		a.End = true
		mustAppend(t, s, a)
	}
	want, most := mustContents(t, rare), int64(0)
	for n := range rounds {
		a := opening(t, "goes", checkpoint.ID{})
		a.End = true
		mustAppend(t, s, a)
		if err := s.Delete(t.Context(), "goes"); err != nil {
			t.Fatal(err)
		}
		if n%500 == 0 {
			if got := mustContents(t, rare); got != want {
				t.Fatalf("round %d: got\n%s\nwant\n%s", n, got, want)
			}
		}
		if n > 100 {
			most = max(most, folderSize(t, dir))
		}
	}
	if most > 20*segment {
		t.Errorf("the folder had %d bytes, want at most %d", most, 20*segment)
	}
	if names := must(filepath.Glob(filepath.Join(dir, "*.saver")))(t); filepath.Base(names[0]) < "0000000100.saver" {
		t.Errorf("the oldest file is %s, want a later one", names[0])
	}
	for _, s := range []*file.Saver{s, rare, open(t, dir)} {
		if got := mustContents(t, s); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		for n := range stay {
			if c, err := s.Load(t.Context(), checkpoint.Ref{Thread: fmt.Sprint("stays ", n)}); err != nil || c.Head.IsZero() {
				t.Errorf("thread %d: %v, %v", n, c.Head, err)
			}
		}
	}
}

// A process dies after each step on the disk while segments are made, ended and removed. Nothing
// that was acknowledged is lost.
func TestADeathInTheMiddleOfSegmentsLosesNothing(t *testing.T) {
	for n := 1; n < 400; n += 3 {
		dir := t.TempDir()
		s := open(t, dir)
		file.Small(s, 700)
		count := 0
		file.Faults(s, func(string) error {
			if count++; count >= n {
				return os.ErrInvalid
			}
			return nil
		})
		stored := 0
		for ; count < n; stored++ {
			a := opening(t, fmt.Sprint("thread ", stored%7), checkpoint.ID{})
			a.End, a.Release = true, true
			if _, err := s.Append(t.Context(), a); err != nil {
				break
			}
			if _, err := s.Prune(t.Context(), a.Thread, checkpoint.Retention{Released: 1}); err != nil {
				stored++
				break
			}
		}
		next := open(t, dir)
		for i := range min(stored, 7) {
			versions, err := next.Versions(t.Context(), fmt.Sprint("thread ", i))
			if err != nil || len(versions) == 0 {
				t.Fatalf("dead at step %d, after %d threads: thread %d: got %d versions, %v", n, stored, i, len(versions), err)
			}
		}
	}
}

// openStore opens the store of a folder.
func openStore(tb testing.TB, dir string, opts ...file.Option) rows.Store {
	tb.Helper()
	s, err := file.OpenStore(dir, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// putThread returns a change that puts the row of a thread.
func putThread(thread string, rev uint64, value []byte) *rows.Change {
	return &rows.Change{
		Checks: []rows.Check{{Thread: thread, Rev: rev}},
		Puts:   []rows.Put{{Key: rows.Key{Table: rows.Threads, Thread: thread, Bytes: []byte(thread)}, Value: value}},
	}
}

// readThread returns the value and the revision of the row of a thread.
func readThread(tb testing.TB, s rows.Store, thread string) (value string, rev uint64) {
	tb.Helper()
	found, _, err := s.Read(tb.Context(), rows.Range{Key: rows.Key{Table: rows.Threads, Bytes: []byte(thread)}})
	if err != nil {
		tb.Fatal(err)
	}
	if len(found[0]) == 0 {
		return "", 0
	}
	return string(found[0][0].Value), found[0][0].Rev
}

// Frames that changes and moved rows share stay within the limit that readers have.
func TestFramesStayWithinTheirLimit(t *testing.T) {
	const limit = 64 << 10
	dir := t.TempDir()
	largest := 0
	s := openStore(t, dir, file.Tiny(1), file.Limit(limit), file.Writing(func(b []byte) { largest = max(largest, len(b)) }))
	revs := map[string]uint64{}
	value := bytes.Repeat([]byte("x"), limit*3/4)
	for n := range 20 {
		thread := fmt.Sprint(n % 3)
		if n > 3 && thread == "0" {
			continue // its row stays in the oldest segment
		}
		rev, _, err := s.Apply(t.Context(), putThread(thread, revs[thread], value))
		if err != nil {
			t.Fatal(err)
		}
		revs[thread] = rev
	}
	if largest > limit+4096 {
		t.Errorf("a write of %d bytes, want at most about %d", largest, limit)
	}
	for n := range 200 {
		rev, _, err := s.Apply(t.Context(), putThread("1", revs["1"], []byte(fmt.Sprint(n))))
		if err != nil {
			t.Fatal(err)
		}
		revs["1"] = rev
	}
	if size := folderSize(t, dir); size > 8*limit {
		t.Errorf("the folder has %d bytes", size)
	}
	for thread := range revs {
		if _, rev := readThread(t, openStore(t, dir), thread); rev != revs[thread] {
			t.Errorf("thread %s: got revision %d, want %d", thread, rev, revs[thread])
		}
	}
}
