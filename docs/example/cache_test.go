package example_test

import (
	"context"
	"testing"

	"github.com/graphgen-go/graphgen/docs/example"
	"github.com/graphgen-go/graphgen/runtime/state"
)

func TestATextIsSummarisedOnce(t *testing.T) {
	calls := 0
	app, err := example.NewSummaries(func(context.Context, example.State) (u example.StateUpdate, _ error) {
		calls++
		u.Log.Append("summary")
		return u, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "b", "a"} {
		res, err := app.Run(t.Context(), example.StateUpdate{Status: state.Set(text)})
		if err != nil || len(res.State.Log) != 1 {
			t.Fatalf("got %q, %v; want one summary", res.State.Log, err)
		}
	}
	if calls != 2 {
		t.Errorf("got %d calls, want 2", calls)
	}
}
