package file_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// mustRepair repairs version of thread t and checks the report against the damaged file.
func mustRepair(t *testing.T, s *file.Saver, version int, damaged []byte) file.Repaired {
	t.Helper()
	r, err := s.Repair(t.Context(), "t", version)
	if err != nil {
		t.Fatalf("repair: %v", err)
	}
	if !errors.Is(r.Damage, checkpoint.ErrDamaged) {
		t.Errorf("damage: got %v, want an ErrDamaged", r.Damage)
	}
	if kept, err := os.ReadFile(r.Kept); err != nil || !bytes.Equal(kept, damaged) {
		t.Errorf("kept: got %d bytes, %v; want the %d that were damaged", len(kept), err, len(damaged))
	}
	if got := mustContents(t, s); strings.Contains(got, "damaged") {
		t.Errorf("the kept file is listed:\n%s", got)
	}
	return r
}

func TestRepairKeepsWhatIsBeforeTheDamage(t *testing.T) {
	whole, lastFrame, again, before, _ := small(t)
	next := append(bytes.Clone(whole), whole[lastFrame:]...) // a frame that is out of its place
	s, path := place(t, next)
	if _, err := contents(t, s); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Fatalf("reading: got %v, want an ErrDamaged", err)
	}
	next[lastFrame+20] ^= 1
	if err := os.WriteFile(path, next, 0o600); err != nil {
		t.Fatal(err)
	}
	r := mustRepair(t, s, 0, next)
	if r.At != int64(lastFrame) || r.Lost != int64(len(next)-lastFrame) || r.Calls != 1 || r.Version != 1 {
		t.Errorf("report: got %+v; want version 1 kept up to %d, and one call of %d bytes lost", r, lastFrame, len(next)-lastFrame)
	}
	if got := mustContents(t, s); got != before {
		t.Errorf("contents: got\n%s\nwant\n%s", got, before)
	}
	if err := again(s); err != nil {
		t.Errorf("append after the repair: %v", err)
	}
}

func TestRepairOfWhatIsNotDamagedChangesNothing(t *testing.T) {
	whole, lastFrame, _, _, _ := small(t)
	for name, b := range map[string][]byte{"whole": whole, "torn": whole[:lastFrame+3], "empty": nil} {
		s, path := place(t, b)
		if r, err := s.Repair(t.Context(), "t", 0); err != nil || r != (file.Repaired{}) {
			t.Errorf("%s: got %+v, %v; want nothing", name, r, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, b) {
			t.Errorf("%s: the file was changed: %v", name, err)
		}
	}
}

func TestRepairWithoutAHeaderStartsAnEmptyVersion(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for range 2 {
		a := opening(t, "t", checkpoint.ID{})
		a.End, a.Release = true, true
		mustAppend(t, s, a)
	}
	first, err := os.ReadFile(filepath.Join(dir, "thread-t-v1.saver"))
	if err != nil {
		t.Fatal(err)
	}
	for version, name := range map[int]string{0: threadFile, 1: "thread-t-v1.saver"} {
		b := bytes.Clone(first)
		b[10] ^= 1
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		r := mustRepair(t, s, version, b)
		if want := []int{3, 1}[version]; r.Version != want {
			t.Errorf("version %d: got number %d, want %d", version, r.Version, want)
		}
	}
	s = open(t, dir)
	versions, err := s.Versions(t.Context(), "t")
	if err != nil || len(versions) != 1 || versions[0].Number != 2 {
		t.Errorf("versions: got %+v, %v; want the second", versions, err)
	}
	a := opening(t, "t", checkpoint.ID{})
	a.End, a.Release = true, true
	if done, err := s.Append(t.Context(), a); err != nil || done.Version != 3 {
		t.Errorf("append: got version %d, %v; want 3", done.Version, err)
	}
}

func TestRepairIsRefused(t *testing.T) {
	whole, lastFrame, _, _, _ := small(t)
	s, path := place(t, whole)
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	held := opening(t, "t", chain.Head)
	held.Open.TakeOver = true
	mustAppend(t, s, held)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[lastFrame-1] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*file.Saver{"the holder": s, "another": open(t, filepath.Dir(path))} {
		var busy *checkpoint.BusyError
		if _, err := s.Repair(t.Context(), "t", 0); !errors.As(err, &busy) {
			t.Errorf("%s: got %v, want a *BusyError", name, err)
		}
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, b) {
		t.Errorf("a held thread's file was changed: %v", err)
	}
	s, path = place(t, append([]byte("ggsaver1"), whole[8:]...))
	_, err = s.Repair(t.Context(), "t", 0)
	if !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), "format 1") || !strings.Contains(err.Error(), "format 9") {
		t.Errorf("a file of another format: got %v, want an ErrDamaged that names both", err)
	}
	if now, err := os.ReadFile(path); err != nil || string(now[:8]) != "ggsaver1" {
		t.Errorf("a file of another format was changed: %v", err)
	}
	for _, version := range []int{0, 7} {
		if _, err := s.Repair(t.Context(), "none", version); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("no version %d: got %v, want an ErrNotFound", version, err)
		}
	}
}

// A process may die at every step, and a full disk may fail the call. Each time, the damaged
// bytes are in the folder, and a second Repair succeeds.
func TestRepairMayFailAtEveryStep(t *testing.T) {
	whole, lastFrame, _, before, _ := small(t)
	whole = append(whole, whole[lastFrame:]...)
	whole[lastFrame+20] ^= 1
	for n := 1; ; n++ {
		s, path := place(t, whole)
		count := 0
		file.Faults(s, func(string) error {
			if count++; count == n {
				return os.ErrInvalid
			}
			return nil
		})
		_, err := s.Repair(t.Context(), "t", 0)
		if count < n {
			break
		}
		if err == nil {
			t.Fatalf("step %d failed: got no error", n)
		}
		if _, err := s.Repair(t.Context(), "t", 0); err != nil {
			t.Fatalf("step %d: again: %v", n, err)
		}
		if got := mustContents(t, s); got != before {
			t.Errorf("step %d: got\n%s\nwant\n%s", n, got, before)
		}
		kept, err := filepath.Glob(path + ".damaged-*")
		found := false
		for _, k := range kept {
			b, err := os.ReadFile(k)
			found = found || err == nil && bytes.Equal(b, whole)
		}
		if err != nil || !found {
			t.Errorf("step %d: the damaged bytes are in none of %q: %v", n, kept, err)
		}
	}
}
