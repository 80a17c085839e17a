package file_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

func TestFolderThatOthersMayWriteToIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // modes mean nothing on this system
	}
	above := t.TempDir()
	dir := filepath.Join(above, "threads")
	if err := errors.Join(os.Chmod(filepath.Dir(above), 0o755), os.Mkdir(dir, 0o700)); err != nil { //nolint:gosec // others enter it
		t.Fatal(err)
	}
	for mode, refused := range map[fs.FileMode]bool{
		0o700: false, 0o755: false, 0o775: true, 0o707: true, 0o777: true, 0o777 | fs.ModeSticky: true, 0o770 | fs.ModeSetgid: true,
	} {
		for reach, enter := range map[string]fs.FileMode{"in reach": 0o755, "out of reach": 0o700} {
			if err := errors.Join(os.Chmod(dir, mode), os.Chmod(above, enter)); err != nil {
				t.Fatal(err)
			}
			s, err := file.Open(dir)
			if err == nil {
				_ = s.Close()
			}
			if want := refused && enter == 0o755; want != (err != nil) {
				t.Errorf("a folder of mode %s %s: got %v, want an error %t", mode, reach, err, want)
			}
			if err != nil && !(strings.Contains(err.Error(), "chmod go-w "+dir) && strings.Contains(err.Error(), "SharedFolder")) {
				t.Errorf("got %q, want it to say what to do", err)
			}
			if s, err = file.Open(dir, file.SharedFolder()); err != nil {
				t.Errorf("a folder of mode %s, accepted: %v", mode, err)
				continue
			}
			_ = s.Close()
		}
	}
}

// link puts a symbolic link to a file elsewhere in a folder. unchanged fails if that file was
// changed.
func link(t *testing.T, dir, name string) (unchanged func()) {
	t.Helper()
	victim := filepath.Join(t.TempDir(), "victim")
	if err := errors.Join(os.WriteFile(victim, []byte("of somebody else"), 0o600), os.Symlink(victim, filepath.Join(dir, name))); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if b, err := os.ReadFile(victim); err != nil || string(b) != "of somebody else" {
			t.Errorf("%s: the file that it leads to has %q, %v; want it unchanged", name, b, err)
		}
	}
}

func TestSymbolicLinksAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := opening(t, "t", checkpoint.ID{})
	a.End = true
	mustAppend(t, s, a)

	unchanged := link(t, dir, "thread-t.next")
	if _, err := s.Release(t.Context(), "t", checkpoint.ID{}); err != nil {
		t.Errorf("release: %v", err)
	}
	unchanged()
	if info, err := os.Lstat(filepath.Join(dir, threadFile)); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the next version: got %v, %v; want a regular file of its user", info.Mode(), err)
	}

	unchanged = link(t, dir, "thread-x.saver")
	if _, err := s.Append(t.Context(), opening(t, "x", checkpoint.ID{})); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("append: got %v, want an ErrDamaged", err)
	}
	if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "x"}); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("load: got %v, want an ErrDamaged", err)
	}
	for thread, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if thread.ID != "x" || !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("listing: got %q, %v; want x, an ErrDamaged that names the symbolic link", thread.ID, err)
		}
	}
	unchanged()

	if err := os.Remove(filepath.Join(dir, "graphgen.lock")); err != nil {
		t.Fatal(err)
	}
	unchanged = link(t, dir, "graphgen.lock")
	if err := s.Delete(t.Context(), "t"); err == nil {
		t.Error("delete with a link in the place of the lock: got no error")
	}
	unchanged()
}

func TestFolderBelowThatLeadsElsewhereIsRefused(t *testing.T) {
	for _, name := range []string{"building", "leases"} {
		dir, elsewhere := t.TempDir(), t.TempDir()
		theirs := filepath.Join(elsewhere, "theirs")
		if err := errors.Join(os.WriteFile(theirs, nil, 0o600), os.Symlink(elsewhere, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
		s, err := file.Open(dir, file.SharedFolder())
		if err == nil {
			t.Errorf("%s leads elsewhere: got no error", name)
			_ = s.Close()
		}
		if _, err := os.Stat(theirs); err != nil {
			t.Errorf("%s leads elsewhere: %v", name, err)
		}
	}
}
