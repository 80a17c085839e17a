package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// A file of an open folder is cut off from outside. A writer that would move its rows continues.
func TestAnOldSegmentIsCutOffFromOutside(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, file.Tiny(1))
	if _, _, err := s.Apply(t.Context(), putThread("old", 0, make([]byte, 1000))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Apply(t.Context(), putThread("b", 0, []byte("1"))); err != nil { // in the next segment
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, segmentFile), 0); err != nil {
		t.Fatal(err)
	}
	rev := uint64(0)
	for range 10 {
		next, _, err := s.Apply(t.Context(), putThread("a", rev, bytes.Repeat([]byte("x"), 200)))
		if err != nil {
			t.Fatal(err)
		}
		rev = next
	}
}

// A reader has shown a frame that was cut off afterwards. The revision of its rows is of no other
// row later, or a change that was decided from the lost row would pass its check.
func TestARevisionThatWasShownIsNotUsedAgain(t *testing.T) {
	t.Run("the clock is right", func(t *testing.T) { shownRevision(t, t.TempDir()) })
	t.Run("the clock is behind", func(t *testing.T) {
		ahead := time.Now().Add(time.Hour).UnixNano()
		dir, _ := place(t, file.EmptySegment(uint64(ahead)))
		shownRevision(t, dir)
	})
}

// shownRevision shows a row of a folder that is cut off afterwards.
func shownRevision(t *testing.T, dir string) {
	t.Helper()
	var step func(name string) error
	s := openStore(t, dir, file.Failing(func(name string) error {
		if step != nil {
			return step(name)
		}
		return nil
	}))
	first, _, err := s.Apply(t.Context(), putThread("a", 0, []byte("1")))
	if err != nil {
		t.Fatal(err)
	}
	reader, shown := openStore(t, dir), uint64(0)
	step = func(name string) error {
		if name == "sync" && shown == 0 {
			_, shown = readThread(t, reader, "a")
			return syscall.EIO
		}
		return nil
	}
	if _, _, err := s.Apply(t.Context(), putThread("a", first, []byte("lost"))); err == nil || shown <= first {
		t.Fatalf("got %v and revision %d, want an error and a new revision", err, shown)
	}
	if _, _, err := openStore(t, dir).Apply(t.Context(), putThread("a", first, []byte("2"))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := reader.Apply(t.Context(), putThread("a", shown, []byte("3"))); !errors.Is(err, rows.ErrChanged) {
		got, _ := readThread(t, reader, "a")
		t.Errorf("got %v, want ErrChanged; the row is %q", err, got)
	}
}

// A segment that does not count cannot be emptied. A process that has entered it sees what is
// written later.
func TestASegmentThatDoesNotCountCannotBeEmptied(t *testing.T) {
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
		}
		return nil
	}
	if _, _, err := s.Apply(t.Context(), putThread("b", 0, []byte("1"))); err == nil {
		t.Fatal("got no error")
	}
	step = nil
	if _, _, err := s.Apply(t.Context(), putThread("c", 0, []byte("1"))); err != nil {
		t.Fatal(err)
	}
	if got, _ := readThread(t, reader, "c"); got != "1" {
		t.Errorf("the reader got %q, want what was acknowledged", got)
	}
}

// The end of a segment was cut off, but that is not durable. The next segment, which the end
// names, is removed only when it is.
func TestAnEndIsDurablyCutOffBeforeTheNextSegmentIsRemoved(t *testing.T) {
	dir := t.TempDir()
	var steps []string
	var step func(name string) error
	option := file.Failing(func(name string) error {
		if step != nil {
			if err := step(name); err != nil {
				return err
			}
		}
		steps = append(steps, name)
		return nil
	})
	s := openStore(t, dir, file.Tiny(1), option)
	if _, _, err := s.Apply(t.Context(), putThread("a", 0, []byte("1"))); err != nil {
		t.Fatal(err)
	}
	syncs := 0
	step = func(name string) error {
		if name == "sync" {
			if syncs++; syncs > 1 { // of the end, and after it was cut off
				return syscall.EIO
			}
		}
		return nil
	}
	steps = nil
	if _, _, err := s.Apply(t.Context(), putThread("b", 0, []byte("1"))); err == nil {
		t.Fatal("got no error")
	}
	step = nil
	if _, _, err := openStore(t, dir, file.Tiny(1), option).Apply(t.Context(), putThread("b", 0, []byte("1"))); err != nil {
		t.Fatal(err)
	}
	cut, removed := slices.Index(steps, "truncate"), slices.Index(steps, "remove")
	if cut < 0 || removed < cut || !slices.Contains(steps[cut:removed], "sync") {
		t.Errorf("steps %q: want a sync between the first truncate and the remove", steps)
	}
}

// A frame with many rows is moved in parts, so that a small change stays small.
func TestALargeFrameIsMovedInParts(t *testing.T) {
	dir, largest := t.TempDir(), 0
	s := openStore(t, dir, file.Tiny(1), file.NoSync(), file.Writing(func(b []byte) { largest = max(largest, len(b)) }))
	large := &rows.Change{Checks: []rows.Check{{Thread: "many"}}}
	for n := range 40 {
		key := rows.Key{Table: rows.Records, Thread: "many", Bytes: fmt.Appendf(nil, "%03d", n)}
		large.Puts = append(large.Puts, rows.Put{Key: key, Value: make([]byte, 1<<20)})
	}
	_, _, err := s.Apply(t.Context(), large)
	if err != nil {
		t.Fatal(err)
	}
	largest = 0
	del := &rows.Change{Checks: large.Checks, Deletes: []rows.Range{{Key: rows.Key{Table: rows.Records, Bytes: []byte("000")}, To: []byte("025")}}}
	if _, _, err := s.Apply(t.Context(), del); err != nil {
		t.Fatal(err)
	}
	rev := uint64(0)
	for range 100 {
		if rev, _, err = s.Apply(t.Context(), putThread("small", rev, []byte("x"))); err != nil {
			t.Fatal(err)
		}
	}
	if largest > 8<<20 {
		t.Errorf("a write of %d bytes for a change of some", largest)
	}
	if size := folderSize(t, dir); size > 40<<20 {
		t.Errorf("the folder has %d bytes", size)
	}
	all, _, err := openStore(t, dir).Read(t.Context(), rows.Range{Key: rows.Key{Table: rows.Records}, To: []byte("9")})
	if err != nil || len(all[0]) != 15 {
		t.Errorf("got %d rows, %v; want 15", len(all[0]), err)
	}
}

// A folder is created with those above it. Each of their names is durable.
func TestFoldersAboveAreSynced(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "a", "b", "c")
	var synced []string
	s, err := file.OpenStore(dir, file.Tracing(func(step file.Step) { synced = append(synced, step.Path) }))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, want := range []string{above, filepath.Join(above, "a"), filepath.Join(above, "a", "b")} {
		if !slices.Contains(synced, want) {
			t.Errorf("synced %q, want %s among them", synced, want)
		}
	}
}

// A process makes folders and dies before their names are durable. The next one syncs them.
func TestFoldersOfADeadProcessAreSynced(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "a", "b")
	for dies := range 3 { // before a sync
		synced := map[string]bool{}
		seen := file.Tracing(func(step file.Step) { synced[step.Path] = true })
		_, err := file.OpenStore(dir, seen, file.Failing(func(step string) error {
			if dies--; step == "syncDir" && dies < 0 {
				return syscall.EIO
			}
			return nil
		}))
		if err == nil {
			t.Fatal("got no error")
		}
		s, err := file.OpenStore(dir, seen)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		for name := dir; name != above; name = filepath.Dir(name) {
			if !synced[filepath.Dir(name)] {
				t.Errorf("the name of %s is not synced", name)
			}
		}
		if err := os.RemoveAll(filepath.Join(above, "a")); err != nil {
			t.Fatal(err)
		}
	}
}

// Somebody empties a folder that is in use. Later writes can be opened.
func TestAFolderIsEmptied(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, file.Tiny(1))
	write := func(times int) {
		for range times {
			_, rev := readThread(t, s, "a")
			if _, _, err := s.Apply(t.Context(), putThread("a", rev, make([]byte, 500))); err != nil && !errors.Is(err, rows.ErrChanged) {
				t.Fatal(err)
			}
		}
	}
	write(8)
	for _, name := range must(filepath.Glob(filepath.Join(dir, "*.saver")))(t) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	write(16)
	_, want := readThread(t, s, "a")
	if _, rev := readThread(t, openStore(t, dir), "a"); rev != want {
		t.Errorf("got revision %d, want %d", rev, want)
	}
}

// A process shows a frame that another one is syncing. A later read of that one shows it, too.
func TestAFrameThatWasShownIsSeenByItsWriter(t *testing.T) {
	dir := t.TempDir()
	var step func(name string) error
	s := openStore(t, dir, file.Failing(func(name string) error {
		if step != nil {
			return step(name)
		}
		return nil
	}))
	rev, _, err := s.Apply(t.Context(), putThread("a", 0, []byte("1")))
	if err != nil {
		t.Fatal(err)
	}
	reader, got := openStore(t, dir), make(chan string, 1)
	step = func(name string) error {
		if name == "sync" {
			if shown, _ := readThread(t, reader, "a"); shown != "2" {
				t.Errorf("the other process read %q, want 2", shown)
			}
			go func() {
				value, _ := readThread(t, s, "a")
				got <- value
			}()
			time.Sleep(10 * time.Millisecond)
		}
		return nil
	}
	if _, _, err := s.Apply(t.Context(), putThread("a", rev, []byte("2"))); err != nil {
		t.Fatal(err)
	}
	if value := <-got; value != "2" {
		t.Errorf("the writer read %q after another process had read 2", value)
	}
}
