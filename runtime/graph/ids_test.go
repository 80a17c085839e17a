package graph_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestRecordsFollowEachOtherWhateverTheClockDoes runs graphs on clocks that are years apart. The
// newest id of the process then goes back all the time, as on a machine whose clock is set back.
// The records of one opening must follow each other all the same.
func TestRecordsFollowEachOtherWhateverTheClockDoes(t *testing.T) {
	for year := range 8 {
		t.Run(fmt.Sprint(year), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Duration(year) * 365 * 24 * time.Hour)
				app := compile(t, chain("a"), graph.Saver(memory.New()))
				for i := range 200 {
					if _, err := app.Thread(fmt.Sprint(i)).Invoke(t.Context(), update{}); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
