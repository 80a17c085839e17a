// Package proof proves every saver against what it must survive: many processes at once, kills, restarts, cut
// connections, deadlines and full disks. It has tests only, and the state of the graph that they run.
//
// The short form is part of go test. With GRAPHGEN_SOAK set to a duration such as 10m, TestSoak goes on with the same
// for about that long:
//
//	GRAPHGEN_SOAK=10m go test -run Soak -timeout 60m -v ./savers/internal/proof
//
// # Linearizability
//
// Clients in several processes do random things to a few threads. When each call began and ended is told by one counter
// that all of the processes share, so that no clock has to be trusted. Package porcupine then looks for an order of the
// calls in which a plain model of a thread answers the same. A call whose outcome is not known, because its context
// ended, may have happened at any time since, or never. Of a thread that was pruned the model says only that its heads,
// and what is pending, are as they were, and that what is left of a log is of it.
//
// # Faults
//
// The nodes of a graph, and what it gets acknowledged by its saver, are written to a journal beside it, in the order in
// which they happen: a task that runs after its result was acknowledged, and an acknowledged checkpoint that is not in
// the history exactly once, are losses.
//
// # Random graphs
//
// Graphs that package graphmodel draws run on each saver, travel in time and are run in storms, and have to come to what
// that package's model says: the same on every saver.
package proof

//go:generate go tool graphgen -type=State

// State is the state of the graph that runs while things go wrong.
type State struct {
	Log   []string          `graph:"append"`
	Count int64             `graph:"sum"`
	Facts map[string]string `graph:"merge"`
}
