package tmpfs_test

import (
	"errors"
	"os"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv/tmpfs"
)

func TestInMemoryLeavesAPlaceThatIsSet(t *testing.T) {
	for _, set := range []string{t.TempDir(), ""} {
		t.Setenv("TMPDIR", set)
		tmpfs.InMemory()
		got := os.Getenv("TMPDIR")
		if set != "" && got != set {
			t.Errorf("TMPDIR: got %q, want %q, which was set", got, set)
		}
		f, err := os.CreateTemp(os.TempDir(), "")
		if err != nil {
			t.Fatalf("TMPDIR is %q: %v", got, err)
		}
		if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
			t.Error(err)
		}
	}
}
