package memrows_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// refusing is a Store that says of each change that a row has changed.
type refusing struct {
	rows.Store
	tries int
}

func (s *refusing) Apply(context.Context, *rows.Change) (uint64, [][]rows.Row, error) {
	s.tries++
	return 0, nil, rows.ErrChanged
}

// TestACallIsNotTriedForEver makes calls whose changes are refused for ever.
func TestACallIsNotTriedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &refusing{Store: newStore()}
		s := rows.New("rows", store, rows.Options{})
		p := checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}}
		if _, err := s.Post(t.Context(), p); !errors.Is(err, checkpoint.ErrUnavailable) || store.tries < 100 {
			t.Errorf("after %d tries: got %v, want ErrUnavailable after more", store.tries, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := s.Post(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline of the call", err)
		}
	})
}
