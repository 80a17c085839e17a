// Package proof proves that every saver survives several processes, kills, restarts, cut
// connections, deadlines and full disks. It has only tests, and the state of the graph that they
// run.
//
// go test runs the short form. With GRAPHGEN_SOAK set to a duration such as 10m, TestSoak runs the
// same tests for about that long:
//
//	GRAPHGEN_SOAK=10m go test -run Soak -timeout 60m -v ./savers/internal/proof
//
// # Linearizability
//
// Clients in several processes make random calls on a few threads. All processes share one
// counter, which gives the beginning and the end of each call, so the proof trusts no clock.
// Package porcupine then looks for an order of the calls in which a plain model of a thread gives
// the same answers. A call whose context ended has an unknown outcome: it may have happened at any
// later time, or never. For a pruned thread the model knows only the heads and the pending writes,
// and that the remaining records belong to the log. The model has the whole inbox: what a run
// takes, refuses and returns, the limits, posts to idle threads, and the attempts of a thread.
//
// # Faults
//
// A journal next to the graph records in order when nodes run and what the saver acknowledges. Two
// things are losses: a task that runs after its result was acknowledged, and an acknowledged
// checkpoint that is not in the history exactly once.
//
// Threads that wait for a task of a queue, for a child and for a signal are begun meanwhile.
// Workers run them, also in the processes that are killed and stopped. At the end each must have
// its result, and nothing may be due.
//
// # Store
//
// Writers of the store are killed, and lose connections. Each acknowledged batch must be whole,
// every other one whole or absent. The indexes must agree with the items. A batch that is repeated
// under its keys of Once must change nothing.
//
// # Random graphs
//
// Package graphmodel draws graphs. They run on each saver, with time travel and in storms. Their
// results must be those of the model, and so the same on every saver.
package proof

//go:generate go tool graphgen -type=State,Note

// State is the state of the graph that runs while things go wrong.
type State struct {
	Log   []string          `graph:"append"`
	Count int64             `graph:"sum"`
	Facts map[string]string `graph:"merge"`
}

// Note is a value of the store.
type Note struct {
	Text string
}
