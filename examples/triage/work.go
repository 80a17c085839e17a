package main

import (
	"context"
	"sync"
)

// work brings all tickets as far as they go by themselves, parallel at a time, and tells each report to tell, one at a
// time, as they come in. It returns when all have been told. When ctx ends, running tickets stop after their node
// and the others are not begun.
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
