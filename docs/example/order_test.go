package example_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/docs/example"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestAnOrderThatIsNotPaidIsTakenBack(t *testing.T) {
	refused := errors.New("the card is refused")
	for name, c := range map[string]struct {
		fails int
		want  []string
	}{
		"paid at once": {0, []string{"reserved", "shipped"}},
		"paid at last": {2, []string{"reserved", "shipped"}},
		"refused":      {3, []string{"reserved", "charge: the card is refused", "released"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			app, err := example.NewOrder(memory.New(), func(context.Context, example.State) error {
				if calls++; calls <= c.fails {
					return refused
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			res, err := app.Thread("t").Invoke(t.Context(), example.StateUpdate{})
			if err != nil || !slices.Equal(res.State.Log, c.want) {
				t.Errorf("%s: got %q, %v; want %q", name, res.State.Log, err, c.want)
			}
		})
	}
}

func TestAnOrderThatIsCancelledIsNotRefused(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	app, err := example.NewOrder(memory.New(), func(ctx context.Context, _ example.State) error {
		if tries++; tries == 1 {
			cancel()
		}
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	thread := app.Thread("t")
	if res, err := thread.Invoke(ctx, example.StateUpdate{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %+v, %v; want it cancelled", res, err)
	}
	res, err := thread.Resume(t.Context())
	if err != nil || res.Status != graph.Done || res.State.Status != "paid" {
		t.Errorf("got %+v, %v; want it paid", res, err)
	}
}
