package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

func TestAValueThatIsLargerThanTheFileMayBeIsTooLarge(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.MaxSize(1<<20))
	r, err := begin(t.Context(), s, "t")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.commit(t.Context(), make([]byte, 2<<20))
	var tooLarge *checkpoint.SizeError
	if !errors.As(err, &tooLarge) || tooLarge.Size < 2<<20 || tooLarge.Size > 2<<20+1000 || tooLarge.Limit != 1<<20 || tooLarge.Setting != "MaxSize of the saver" {
		t.Errorf("got %v, want a *checkpoint.SizeError with both sizes", err)
	}
	if _, err := r.commit(t.Context(), make([]byte, 1000)); err != nil {
		t.Errorf("a small commit after that: %v", err)
	}
}
