// Package graphotel (experimental) reports the runs of graphs to OpenTelemetry: as traces and as
// metrics.
//
//	tel, err := graphotel.New()
//	saver := tel.Saver(db)
//	app, err := b.Compile(append(tel.Options(), graph.Saver(saver))...)
//	stop, err := tel.WatchThreads(saver, graphotel.ThreadLimit(5000))
//
// # Traces
//
// A run has a span, with a child for each superstep. A superstep has a child for each attempt of a
// task and for each call of a route. A call of the saver is a child of the span in its context.
// A subgraph call is a task, and its supersteps are children of that task.
//
// A thread stores the trace context of its newest run, and the next run links to it, also in
// another process. See [Telemetry.Options] and [ContinueTrace].
//
// An error sets the status of a span, and error.type. A run or a task that waits or pauses has no
// error. Neither has a cancelled or superseded task.
//
// # Metrics
//
// The README lists the metrics. [Telemetry.WatchThreads] adds gauges about stored threads, and
// [Telemetry.WatchFleet] about due ones and workers. [Telemetry.OnEvent] measures latencies.
//
// Attributes of metrics name graphs, nodes, outcomes and types of errors. They never name threads.
package graphotel
