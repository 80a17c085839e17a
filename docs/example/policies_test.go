package example_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/docs/example"
)

// ticks counts how often an attempt waited to start.
type ticks int

func (n *ticks) Wait(context.Context) error { *n++; return nil }

func TestEachKindOfErrorIsRetriedByItsOwnPolicy(t *testing.T) {
	for _, c := range []struct {
		err   error
		fails int
		want  ticks
	}{
		{nil, 0, 2},
		{example.ErrInvalid, 1, 1},
		{example.ErrRateLimit, 9, 11},
		{example.ErrRateLimit, 10, 10},
		{errors.New("another error"), 2, 4},
		{errors.New("another error"), 3, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			var starts ticks
			left := c.fails
			node := func(context.Context, example.State) (u example.StateUpdate, _ error) {
				if left > 0 {
					left--
					return u, c.err
				}
				return u, nil
			}
			app, err := example.NewLetters(node, node, &starts)
			if err != nil {
				t.Fatal(err)
			}
			_, err = app.Run(t.Context(), example.StateUpdate{})
			if starts != c.want || (left > 0 || err != nil) && !errors.Is(err, c.err) {
				t.Errorf("%v, %d times: got %d attempts, %v; want %d", c.err, c.fails, starts, err, c.want)
			}
		})
	}
}
