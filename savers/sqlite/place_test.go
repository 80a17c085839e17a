package sqlite_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// modes returns the modes of the files in a folder, by name.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]fs.FileMode)
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = info.Mode()
	}
	return all
}

func TestFilesAreForTheirOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no such modes
	}
	dir := t.TempDir()
	s, err := sqlite.Open(filepath.Join(dir, "threads.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := begin(t.Context(), s, "t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.commit(t.Context(), []byte("a")); err != nil {
		t.Fatal(err)
	}
	got := modes(t, dir)
	for _, name := range []string{"threads.db", "threads.db-wal", "threads.db-shm"} {
		if mode, found := got[name]; !found || mode != 0o600 {
			t.Errorf("%s: found %v, mode %v, want 0600", name, found, mode)
		}
	}
	if len(got) != 3 {
		t.Errorf("got the files %v, want 3", got)
	}
}

func TestAFileThatExistsKeepsItsMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	if err := os.WriteFile(path, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := modes(t, filepath.Dir(path))["threads.db"]; runtime.GOOS != "windows" && got != 0o640 {
		t.Errorf("got mode %v, want 0640", got)
	}
}

func TestNoFileIsMadeThroughALink(t *testing.T) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		dir, other := t.TempDir(), t.TempDir()
		path, target := filepath.Join(dir, "threads.db"), filepath.Join(other, "target")
		if err := os.Symlink(target, path+suffix); err != nil {
			t.Fatal(err)
		}
		for _, options := range [][]sqlite.Option{nil, {sqlite.SharedFolder()}} {
			s, err := sqlite.Open(path, options...)
			if err == nil {
				_ = s.Close() // the test has failed
			}
			if err == nil || !strings.Contains(err.Error(), "symbolic link") {
				t.Errorf("a link in place of threads.db%s: got %v, want an error about it", suffix, err)
			}
		}
		if got := modes(t, other); len(got) != 0 {
			t.Errorf("a link in place of threads.db%s led to %v", suffix, got)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "real.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.db", filepath.Join(dir, "threads.db")); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(filepath.Join(dir, "threads.db"))
	if err != nil {
		t.Fatalf("a link to a file that exists: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAPlaceThatEverybodyMayWriteToIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no such modes
	}
	for name, c := range map[string]struct {
		folder, file fs.FileMode // 0 for no file
		want         bool        // an error
	}{
		"a folder of everybody":           {0o777, 0, true},
		"a folder such as /tmp":           {0o777 | fs.ModeSticky, 0, true},
		"a folder of everybody, no names": {0o733, 0o600, true},
		"a file of everybody":             {0o700, 0o666, true},
		"a folder of the owner":           {0o700, 0, false},
		"a folder of a group":             {0o770, 0o660, false},
		"a file that everybody may read":  {0o755, 0o644, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "threads.db")
			if c.file != 0 {
				if err := os.WriteFile(path, nil, c.file); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, c.file); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(dir, c.folder); err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(path)
			if err == nil {
				err = s.Close()
				if c.want {
					t.Error("it was opened")
				}
			}
			if err != nil && (!c.want || !strings.Contains(err.Error(), "everybody may write") || !strings.Contains(err.Error(), "SharedFolder")) {
				t.Errorf("got %v; want an error: %v, that says what to do", err, c.want)
			}
			if s, err = sqlite.Open(path, sqlite.SharedFolder()); err != nil {
				t.Fatalf("with SharedFolder: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
