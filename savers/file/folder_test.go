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
	for _, name := range []string{segmentFile, "0000000002.saver", "write.lock", "next.lock"} {
		dir := t.TempDir()
		s := open(t, dir)
		if name != segmentFile {
			a := opening(t, "t", checkpoint.ID{})
			a.End = true
			mustAppend(t, s, a)
			file.Small(s, 1) // the next write begins a segment
		}
		for _, lock := range []string{"write.lock", "next.lock"} {
			if err := os.Remove(filepath.Join(dir, lock)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		unchanged := link(t, dir, name)
		if name == "next.lock" { // which the first write of a Saver takes
			s = open(t, dir)
		}
		_, err := s.Append(t.Context(), opening(t, "x", checkpoint.ID{}))
		if name == "0000000002.saver" { // a file that a writer left there
			if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: got %v, %v; want a regular file of its user", name, info.Mode(), err)
			}
		} else if !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), name) {
			t.Errorf("append with a link in the place of %s: got %v, want an ErrDamaged that names it", name, err)
		}
		unchanged()
		if name == segmentFile {
			if _, err := file.Open(dir, file.SharedFolder()); !errors.Is(err, checkpoint.ErrDamaged) {
				t.Errorf("open with a link in the place of %s: got %v, want an ErrDamaged", name, err)
			}
			unchanged()
		}
	}
}

// Another copy of the folder's file may be put in the place of the open one.
func TestAFileThatIsReplacedIsReadAgain(t *testing.T) {
	whole, lastFrame, again, before, after := small(t)
	dir, path := place(t, whole)
	s := open(t, dir)
	if got := mustContents(t, s); got != after {
		t.Fatalf("got\n%s\nwant\n%s", got, after)
	}
	copied := filepath.Join(dir, "copied")
	if err := errors.Join(os.WriteFile(copied, whole[:lastFrame], 0o600), os.Rename(copied, path)); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, opening(t, "new", checkpoint.ID{}))
	if err := again(s); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "new"); err == nil || !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("delete of a running thread: %v", err)
	}
	got := mustContents(t, open(t, dir))
	if !strings.Contains(got, "listed new") || before == after || !strings.HasSuffix(got, "payload 1") && !strings.Contains(got, "Step:1") {
		t.Errorf("got\n%s\nwant\n%s", got, after)
	}
}

// A folder that is removed while a Saver has it open loses no write silently.
func TestAFolderThatIsRemovedRefusesWrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "threads")
	s := open(t, dir)
	mustAppend(t, s, opening(t, "t", checkpoint.ID{}))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), opening(t, "x", checkpoint.ID{})); err == nil {
		t.Error("append: got no error")
	}
}
