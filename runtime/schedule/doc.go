// Package schedule (experimental) submits inputs to graphs at the ticks of a cron expression, or
// at intervals.
//
//	schedules, err := schedule.New(saver)
//	err = schedules.Create(ctx, "nightly", schedule.Spec{Cron: "30 2 * * *", Zone: "Europe/Lisbon"},
//		schedule.Submit(report, ReportUpdate{}))
//	err = worker.New(saver, worker.Options{}, schedules, report).Run(ctx)
//
// A schedule is a thread of a graph of its own: it waits for its next tick, submits the input, and
// waits again. So schedules are stored in the saver, and survive each crash. Any number of workers
// can serve them: each tick fires once. All times are on the clock of the saver.
//
// Each tick begins a new thread, whose id contains the tick. A worker that has the graph runs it.
// That can be another worker than the one that serves the schedules.
package schedule
