package howto_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestReadNightlyReadsEachNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		saver := memory.New()
		reads := make(map[string]int)
		app, err := howto.NewReader(func(_ context.Context, name string) (string, error) {
			reads[name]++
			return "the text", nil
		}, saver)
		if err != nil {
			t.Fatal(err)
		}
		all, err := schedule.New(saver)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // two processes
			if err := howto.ReadNightly(t.Context(), all, app, howto.StateUpdate{Names: state.Append("a")}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 14*24*time.Hour)
		defer cancel()
		time.AfterFunc(13*24*time.Hour+18*time.Hour, func() { // the second Friday
			if err := howto.ReadAgain(ctx, all, time.Date(1999, 12, 20, 0, 0, 0, 0, time.UTC)); err != nil {
				t.Error(err)
			}
		})
		if err := worker.New(saver, worker.Options{}, all, app).Run(ctx); err != nil {
			t.Fatal(err)
		}
		d, err := all.Describe(t.Context(), "nightly")
		if got, want := fmt.Sprint(reads["a"], d.Fired, d.Missed), "16 16 0"; err != nil || got != want {
			t.Errorf("got %s reads, firings and missed ticks, %v; want %s: 10 nights, a trigger and 5 old nights", got, err, want)
		}
	})
}
