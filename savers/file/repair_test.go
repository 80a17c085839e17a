package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// spoiled is a folder of two threads, with one bad byte in a frame of the second one.
func spoiled(t *testing.T, place func(b []byte, frame, end int) (at int)) (dir string, b []byte, frame int) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	first := opening(t, "t", checkpoint.ID{})
	mustAppend(t, s, first)
	if err := posts(t.Context(), s, "other", []byte("lost"), checkpoint.InputMessage); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, opening(t, "new", checkpoint.ID{}))
	path := filepath.Join(dir, segmentFile)
	b = must(os.ReadFile(path))(t)
	at, _ := file.Frames(b)
	frame = at[1]
	b[place(b, frame, at[2])] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, b, frame
}

func TestRepairDropsOnlyWhatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		place func(b []byte, frame, end int) int
		named bool
	}{
		"the head":      {func(_ []byte, frame, _ int) int { return frame + 20 }, false},
		"an operation":  {func(b []byte, _, end int) int { return end - 20 }, true},
		"the last byte": {func(_ []byte, _, end int) int { return end - 1 }, true},
	} {
		dir, b, frame := spoiled(t, c.place)
		if _, err := file.Open(dir); !errors.Is(err, checkpoint.ErrDamaged) {
			t.Fatalf("%s: open: got %v, want an ErrDamaged", name, err)
		}
		r, err := file.Repair(t.Context(), dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kept := filepath.Join(r.Kept, segmentFile)
		if !errors.Is(r.Damage, checkpoint.ErrDamaged) || len(r.Lost) != 1 || r.Lost[0].File != kept || r.Lost[0].From != int64(frame) {
			t.Errorf("%s: got %+v, want one lost part of %s from byte %d", name, r, kept, frame)
		}
		if now, err := os.ReadFile(kept); err != nil || !bytes.Equal(now, b) {
			t.Errorf("%s: kept %d bytes, %v; want the %d that were damaged", name, len(now), err, len(b))
		}
		if c.named != slices.Contains(r.Threads, "other") || c.named != r.Lost[0].Named {
			t.Errorf("%s: got the threads %q, named %t; want other: %t", name, r.Threads, r.Lost[0].Named, c.named)
		}
		s := open(t, dir)
		for thread, want := range map[string]bool{"t": true, "new": true, "other": false} {
			if c, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread}); err != nil || want == c.Head.IsZero() {
				t.Errorf("%s: load of %s: %v, %v; want it stored: %t", name, thread, c.Head, err, want)
			}
		}
		mustAppend(t, s, opening(t, "other", checkpoint.ID{}))
		if again, err := file.Repair(t.Context(), dir); err != nil || again.Damage != nil {
			t.Errorf("%s: repaired again: got %+v, %v; want nothing", name, again, err)
		}
	}
}

func TestRepairOfWhatIsNotDamagedChangesNothing(t *testing.T) {
	whole, lastFrame, _, _, _ := small(t)
	for name, b := range map[string][]byte{"whole": whole, "torn": whole[:lastFrame+3], "empty": nil} {
		dir, path := place(t, b)
		if r, err := file.Repair(t.Context(), dir); err != nil || r.Damage != nil || r.Kept != "" {
			t.Errorf("%s: got %+v, %v; want nothing", name, r, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, b) {
			t.Errorf("%s: the file was changed: %v", name, err)
		}
	}
}

// A log of many segments has one whose header is bad, and another one is missing.
func TestRepairOfSegments(t *testing.T) {
	const threads = 40
	dir := t.TempDir()
	s := open(t, dir)
	file.Small(s, 1)
	for n := range threads {
		a := opening(t, fmt.Sprint("thread ", n), checkpoint.ID{})
		a.End = true
		mustAppend(t, s, a)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names := must(filepath.Glob(filepath.Join(dir, "*.saver")))(t)
	if len(names) < 4 {
		t.Fatalf("got the segments %q, want some more", names)
	}
	bad := must(os.ReadFile(names[1]))(t)
	bad[20] ^= 1
	if err := errors.Join(os.WriteFile(names[1], bad, 0o600), os.Remove(names[len(names)-2])); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Open(dir); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Fatalf("open: got %v, want an ErrDamaged", err)
	}
	r, err := file.Repair(t.Context(), dir)
	if err != nil || len(r.Lost) != 2 || r.Lost[0].File != filepath.Join(r.Kept, filepath.Base(names[1])) || r.Lost[0].Named {
		t.Fatalf("got %+v, %v; want two lost parts", r, err)
	}
	s = open(t, dir)
	n := 0
	for thread, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Error(err)
		}
		if c, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread.ID}); err != nil || c.Head.IsZero() {
			t.Errorf("load of %s: %v, %v", thread.ID, c.Head, err)
		}
		n++
	}
	if n < 4 || n >= threads {
		t.Errorf("got %d threads of %d, want most of them", n, threads)
	}
}

// A full disk, or a process that dies, may end a Repair at every step. The folder is refused until
// another one succeeds, and the damaged bytes stay.
func TestRepairMayFailAtEveryStep(t *testing.T) {
	for n := 1; ; n++ {
		dir, b, _ := spoiled(t, func(_ []byte, frame, _ int) int { return frame + 20 })
		count := 0
		_, err := file.Repair(t.Context(), dir, file.Failing(func(string) error {
			if count++; count >= n {
				return os.ErrInvalid
			}
			return nil
		}))
		if count < n {
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d steps", n-1)
			break
		}
		if err == nil {
			t.Fatalf("step %d failed: got no error", n)
		}
		s, err := file.Open(dir)
		if errors.Is(err, checkpoint.ErrDamaged) {
			if _, err := file.Repair(t.Context(), dir); err != nil {
				t.Fatalf("step %d: again: %v", n, err)
			}
			s, err = file.Open(dir)
		}
		if err != nil {
			t.Fatalf("step %d: open: %v", n, err)
		}
		for _, id := range []string{"t", "new"} {
			if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: id}); err != nil {
				t.Errorf("step %d: load of %s: %v", n, id, err)
			}
		}
		_ = s.Close()
		found := false
		for _, k := range must(filepath.Glob(filepath.Join(dir, "damaged-*", segmentFile)))(t) {
			found = found || bytes.Equal(must(os.ReadFile(k))(t), b)
		}
		if !found {
			t.Errorf("step %d: the damaged bytes are gone", n)
		}
	}
}
