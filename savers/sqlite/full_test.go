package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// fill commits until there is no room, and returns what was acknowledged and the error.
func fill(t *testing.T, r *run) (ids []checkpoint.ID, err error) {
	t.Helper()
	payload := make([]byte, 10_000)
	for range 10_000 {
		id, err := r.commit(t.Context(), payload)
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	t.Fatal("100 MB fit, want a full disk")
	return nil, nil
}

// wantFull fails unless err says that there is no room.
func wantFull(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, checkpoint.ErrConflict) || errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), "full") {
		t.Errorf("got %v, want an error that says that the disk is full", err)
	}
}

func TestSizeLimitLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	small := open(t, path, sqlite.MaxSize(1<<20))
	r, err := begin(t.Context(), small, "t")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := fill(t, r)
	wantFull(t, err)
	if _, err := begin(t.Context(), small, "another"); err != nil {
		wantFull(t, err)
	}
	wantAll(t, small, "t", ids)
	large := open(t, path)
	wantAll(t, large, "t", ids)
	r.s = large
	if _, err := r.commit(t.Context(), make([]byte, 10_000)); err != nil {
		t.Errorf("a commit with room again: %v", err)
	}
}

func TestFullDiskLosesNothing(t *testing.T) {
	dir, ok := testenv.SmallDisk(t)
	if !ok {
		t.Log("this process may not mount a file system: TestSizeLimitLosesNothing stands for this test")
		return
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "threads.db")
	s := open(t, path)
	r, err := begin(t.Context(), s, "t")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := fill(t, r)
	wantFull(t, err)
	got := stored(t, s, "t")
	slices.Reverse(got)
	if !slices.Equal(got[1:], ids) {
		t.Errorf("on the full disk: %d records after the first, want the %d that were acknowledged", len(got)-1, len(ids))
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	id, err := r.commit(t.Context(), make([]byte, 1000))
	if err != nil {
		t.Errorf("a commit with room again: %v", err)
	}
	wantAll(t, open(t, path), "t", append(ids, id))
}
