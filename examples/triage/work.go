package main

import (
	"context"
	"sync"
)

// work handles all tickets as far as possible without a person, parallel at a time. It calls tell
// with each report, one call at a time, and returns after the last call. When ctx ends, running
// tickets stop after their node, and the others do not start.
func (h *house) work(ctx context.Context, tickets []Line, parallel int, tell func(Report)) {
	jobs := make(chan Line)
	reports := make(chan Report)
	var workers sync.WaitGroup
	for range min(parallel, len(tickets)) {
		workers.Go(func() {
			for l := range jobs {
				reports <- h.handle(ctx, l)
			}
		})
	}
	go func() {
		for _, l := range tickets {
			if ctx.Err() == nil {
				jobs <- l
			} else {
				reports <- Report{Ticket: l.ID, Standing: Stopped}
			}
		}
		close(jobs)
		workers.Wait()
		close(reports)
	}()
	for r := range reports {
		tell(r)
	}
}
