package file_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// A writer that found no file looks for a deletion, and then creates the file. Between the two,
// other processes may have begun and deleted the thread, so that the deletion has just moved the
// file away.
func TestAFileCreatedDuringADeletion(t *testing.T) {
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
			t.Errorf("an opening during the deletion returned %+v; want it to wait for the end", done)
		}
		if versions, err := other.Versions(t.Context(), "t"); err != nil {
			t.Errorf("the versions during the deletion: got %v, %v", versions, err)
		}
		return nil
	})
	if err := slow.Delete(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if !created {
		t.Fatal("no step left the thread without a file")
	}
	if done, err := other.Append(t.Context(), opening(t, "t", checkpoint.ID{})); err != nil || done.Version != 1 {
		t.Errorf("an opening after the deletion returned %+v, %v; want version 1", done, err)
	}
}

// The same, if the process that deleted the thread has died.
func TestAnEmptyFileDoesNotHideADeletion(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "thread-t.saver")
	s := openIn(t, dir)
	if _, err := s.Append(t.Context(), opening(t, "t", checkpoint.ID{})); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, filepath.Join(dir, "thread-t.deleted")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Append(t.Context(), opening(t, "t", checkpoint.ID{})); err != nil || done.Version != 1 {
		t.Errorf("an empty file and a deleted one: an opening returned %+v, %v; want version 1", done, err)
	}
}

// The file of a thread is never missing during a release, and other processes see each version
// once.
func TestAReleaseAlwaysLeavesAFile(t *testing.T) {
	dir := t.TempDir()
	slow, other := openIn(t, dir), openIn(t, dir)
	a := opening(t, "t", checkpoint.ID{})
	a.End = true
	if _, err := slow.Append(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	steps := 0
	file.Faults(slow, func(step string) error {
		steps++
		if _, err := os.Lstat(filepath.Join(dir, "thread-t.saver")); err != nil {
			t.Errorf("before step %d, %s: %v", steps, step, err)
		}
		if versions, err := other.Versions(t.Context(), "t"); err != nil || len(versions) != 1 || versions[0].Number != 1 {
			t.Errorf("before step %d, %s: got the versions %v, %v; want version 1", steps, step, versions, err)
		}
		return nil
	})
	if _, err := slow.Release(t.Context(), "t", checkpoint.ID{}); err != nil {
		t.Fatal(err)
	}
	if steps == 0 {
		t.Error("the release made no step on the disk")
	}
}

// A process died in a release, after the file had got the name of the released version. In a copy
// of the folder, the two names are of two files.
func TestAReleaseEndsInACopyOfTheFolder(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	dead := openIn(t, dir)
	a := opening(t, "t", checkpoint.ID{})
	a.End = true
	if _, err := dead.Append(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	file.Faults(dead, func(step string) error {
		if step == "rename" {
			return syscall.EIO
		}
		return nil
	})
	if _, err := dead.Release(t.Context(), "t", checkpoint.ID{}); !errors.Is(err, syscall.EIO) {
		t.Fatalf("release: got %v, want the fault of the disk", err)
	}
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, to} {
		s := openIn(t, dir)
		if done, err := s.Append(t.Context(), opening(t, "t", checkpoint.ID{})); err != nil || done.Version != 2 {
			t.Errorf("an opening returned %+v, %v; want version 2", done, err)
		}
		if versions, err := s.Versions(t.Context(), "t"); err != nil || len(versions) != 2 {
			t.Errorf("got the versions %v, %v; want 2", versions, err)
		}
	}
}

// A file of a released version that the thread's file does not continue stays as it is.
func TestAReleaseReplacesNoOtherVersion(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	for range 2 {
		a := opening(t, "t", checkpoint.ID{})
		a.End, a.Release = true, true
		if _, err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	first, second := filepath.Join(dir, "thread-t-v1.saver"), filepath.Join(dir, "thread-t-v2.saver")
	want, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(second, first); err != nil { // as if somebody had restored files of two moments
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thread-t.saver"), want, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), opening(t, "t", checkpoint.ID{})); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
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
