package sqlite_test

import (
	"errors"
	"fmt"
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

// SQLite limits the parts of a statement to 500, and each call has some in a read of pending
// writes.
func TestAThreadHasManyCallsThatAsk(t *testing.T) {
	const calls = 600
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path)
	first, err := opening("t", checkpoint.ID{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	fence := first.Records[0].ID
	asked := checkpoint.PutWrites{Thread: "t", Fence: fence}
	for i := range calls {
		call, err := next("t", fence, checkpoint.ID{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		call.Namespace = fmt.Sprint("call ", i)
		r := &call.Records[0]
		r.Commits, r.Parent, r.Base, r.Line, r.Source, r.Snapshot = checkpoint.ID{}, checkpoint.ID{}, r.ID, r.ID, checkpoint.Input, true
		if _, err := s.Append(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		asked.Writes = append(asked.Writes, checkpoint.Write{Namespace: call.Namespace, Base: r.ID, Task: "a", Kind: checkpoint.Question})
	}
	if _, err := s.PutWrites(t.Context(), asked); err != nil {
		t.Errorf("questions of %d calls: %v", calls, err)
	}
	c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil || len(c.Thread.Questions) != calls {
		t.Errorf("got %d questions, %v; want %d", len(c.Thread.Questions), err, calls)
	}
	for i := range asked.Writes {
		asked.Writes[i].Kind = checkpoint.Answer
	}
	other := open(t, path) // it does not know the heads of the calls
	if _, err := other.PutWrites(t.Context(), asked); err != nil {
		t.Errorf("answers to %d calls: %v", calls, err)
	}
}
