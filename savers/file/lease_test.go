package file_test

import (
	"errors"
	"os"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// TestLeasesOfDeadProcessesEnd opens a folder that has the run of a Saver whose process has died:
// first together with another Saver, and then alone.
func TestLeasesOfDeadProcessesEnd(t *testing.T) {
	dir := t.TempDir()
	mustAppend(t, open(t, dir), opening(t, "t", checkpoint.ID{}))
	dead := t.TempDir() // of a process that was killed now
	if err := os.CopyFS(dead, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	other := open(t, dead)
	take := func(s *file.Saver) error {
		chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Append(t.Context(), opening(t, "t", chain.Head))
		return err
	}
	if err := take(other); err != nil {
		t.Errorf("the only Saver of the folder: got %v, want the run of the dead process to have lost its lease", err)
	}
	var busy *checkpoint.BusyError
	if err := take(open(t, dead)); !errors.As(err, &busy) {
		t.Errorf("a Saver that opens the folder of a live one: got %v, want a BusyError", err)
	}
	if err := take(other); !errors.As(err, &busy) {
		t.Errorf("the live Saver, later: got %v, want a BusyError", err)
	}
}
