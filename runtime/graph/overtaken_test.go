package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// overtaker stores each opening, and says that another run has taken the thread since.
type overtaker struct {
	checkpoint.Saver
	openings int
}

func (o *overtaker) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	done, err := o.Saver.Append(ctx, a)
	if a.Open == nil || err != nil {
		return done, err
	}
	o.openings++
	return checkpoint.AppendResult{}, &checkpoint.ConflictError{Thread: a.Thread, Want: a.Records[0].ID, Found: checkpoint.ID{1}, Reason: "fence"}
}

// TestAnInputIsStoredOnceIfItsOpeningIsOvertaken: a call that tried again would store its input a
// second time.
func TestAnInputIsStoredOnceIfItsOpeningIsOvertaken(t *testing.T) {
	for name, opts := range map[string][]graph.InvokeOption{"one try": nil, "with Wait": {graph.Wait()}} {
		t.Run(name, func(t *testing.T) {
			s := &overtaker{Saver: memory.New()}
			_, err := compile(t, chain("a"), graph.Saver(s)).Thread("t").Invoke(t.Context(), logged("one"), opts...)
			var busy *checkpoint.BusyError
			if !errors.Is(err, checkpoint.ErrConflict) || errors.As(err, &busy) || s.openings != 1 {
				t.Errorf("got %v after %d openings, want a conflict after one", err, s.openings)
			}
		})
	}
}
