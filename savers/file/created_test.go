package file_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// A writer that found no file looks for the steps of a release or a deletion, and then creates the
// file. Between the two, other processes may have begun and released the thread, so that the
// release has just moved the file away.
func TestAFileCreatedDuringAReleaseOrADeletion(t *testing.T) {
	for name, c := range map[string]struct {
		call    func(s checkpoint.Saver) error
		version int // of the thread after the call
	}{
		"release": {func(s checkpoint.Saver) error { _, err := s.Release(t.Context(), "t", checkpoint.ID{}); return err }, 2},
		"delete":  {func(s checkpoint.Saver) error { return s.Delete(t.Context(), "t") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "thread-t.saver")
			slow, other := openIn(t, dir), openIn(t, dir)
			a := opening(t, "t", checkpoint.ID{})
			a.End = true
			if _, err := slow.Append(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			created := false
			file.Faults(slow, func(string) error {
				if _, err := os.Lstat(path); err == nil || created {
					return nil
				}
				created = true
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				// The call that created the file continues, until its context ends.
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				if done, err := other.Append(ctx, opening(t, "t", checkpoint.ID{})); err == nil {
					t.Errorf("an opening during the %s returned %+v; want it to wait for the end", name, done)
				}
				if versions, err := other.Versions(t.Context(), "t"); err != nil || name == "release" && len(versions) != 1 {
					t.Errorf("the versions during the %s: got %v, %v", name, versions, err)
				}
				return nil
			})
			if err := c.call(slow); err != nil {
				t.Fatal(err)
			}
			if !created {
				t.Fatal("no step left the thread without a file")
			}
			done, err := other.Append(t.Context(), opening(t, "t", checkpoint.ID{}))
			if err != nil || done.Version != c.version {
				t.Errorf("an opening after the %s returned %+v, %v; want version %d", name, done, err, c.version)
			}
		})
	}
}

// The same, if the process that released or deleted the thread has died.
func TestAnEmptyFileDoesNotHideARelease(t *testing.T) {
	for kind, want := range map[string]int{".next": 2, ".deleted": 1} {
		dir := t.TempDir()
		path := filepath.Join(dir, "thread-t.saver")
		s := openIn(t, dir)
		a := opening(t, "t", checkpoint.ID{})
		a.End, a.Release = true, kind == ".next"
		if _, err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, filepath.Join(dir, "thread-t"+kind)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if done, err := s.Append(t.Context(), opening(t, "t", checkpoint.ID{})); err != nil || done.Version != want {
			t.Errorf("an empty file and %s: an opening returned %+v, %v; want version %d", kind, done, err, want)
		}
	}
}

func openIn(t *testing.T, dir string) *file.Saver {
	t.Helper()
	s, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
