package rows_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// TestAListReadsTheQuestionsOfAPageTogether: a page does not read once for each thread that has
// asked, whatever is left of its questions.
func TestAListReadsTheQuestionsOfAPageTogether(t *testing.T) {
	h := &reads{Store: memrows.New()}
	s := rows.New("test", h, rows.Options{})
	const threads = 50
	for i := range threads {
		id, err := checkpoint.NewID()
		if err != nil {
			t.Fatal(err)
		}
		thread, end := fmt.Sprintf("t%02d", i), i%2 == 0
		if _, err := s.Append(t.Context(), checkpoint.Append{
			Thread: thread, Open: &checkpoint.Opening{}, Status: checkpoint.Running,
			Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Graph: "g", Snapshot: true, Payload: []byte{0x80}}},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: thread, Fence: id, Writes: []checkpoint.Write{{
			Base: id, Task: "node:", Name: "question", Kind: checkpoint.Question, Payload: []byte{0xc0},
		}}}); err != nil {
			t.Fatal(err)
		}
		if !end {
			continue
		}
		next, err := checkpoint.NewIDAfter(id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(t.Context(), checkpoint.Append{
			Thread: thread, Fence: id, After: id, End: true, Status: checkpoint.Done,
			Records: []checkpoint.Record{record(next, id, id)},
		}); err != nil {
			t.Fatal(err)
		}
	}
	h.n.Store(0)
	asked := 0
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Graph: "g", Limit: threads}) {
		if err != nil {
			t.Fatal(err)
		}
		asked += len(th.Questions)
	}
	if asked != threads/2 {
		t.Errorf("got %d questions, want %d", asked, threads/2)
	}
	if got := h.n.Load(); got > threads/2+5 {
		t.Errorf("a page of %d threads, half of which ask, took %d reads; want at most one for each that asks", threads, got)
	}
}

// reads counts the reads of a Store.
type reads struct {
	rows.Store
	n atomic.Int64
}

func (r *reads) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	r.n.Add(1)
	return r.Store.Read(ctx, ranges...)
}
