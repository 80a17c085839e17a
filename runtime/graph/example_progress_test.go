package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// The second attempt continues at the page where the first one failed. An attempt that reports no
// page for a minute fails.
func ExampleProgress() {
	b := graph.New("import", TicketSchema)
	b.Node("read", func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		page := 1
		if note, ok := graph.LastProgress(ctx); ok {
			var err error
			if page, err = strconv.Atoi(note); err != nil {
				return u, err
			}
		}
		for attempt := graph.CurrentTask(ctx).Attempt; page <= 4; page++ {
			if err := graph.Progress(ctx, strconv.Itoa(page)); err != nil {
				return u, err
			}
			fmt.Println("page", page)
			if page == 3 && attempt == 1 {
				return u, errors.New("connection reset")
			}
		}
		return u, nil
	}, graph.IdleTimeout(time.Minute), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: time.Millisecond}))
	b.Chain(graph.Start, "read", graph.End)
	app, err := b.Compile()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := app.Run(context.Background(), TicketUpdate{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// page 1
	// page 2
	// page 3
	// page 3
	// page 4
}
