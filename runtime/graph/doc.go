// Package graph runs programs that are graphs over one typed state.
//
// A node is a function from the state to an update. Edges, routes and joins decide which nodes run
// next: these nodes are due. A run executes supersteps. All due nodes of a superstep run
// concurrently, and their updates merge in the order in which the nodes were declared. One
// checkpoint then stores the new state and the nodes that are due next.
//
//	g := graph.New("support", StateSchema) // graphgen wrote StateSchema
//	g.Node("classify", classify)           // func(context.Context, State) (StateUpdate, error)
//	g.Node("answer", answer)
//	g.Edge(graph.Start, "classify")
//	g.Edge("classify", "answer")
//	g.Edge("answer", graph.End)
//	app, err := g.Compile(graph.Saver(saver), graph.InterruptBefore("answer"))
//
//	t := app.Thread("t-17")
//	res, err := t.Invoke(ctx, input) // Paused: answer is due
//	res, err = t.Resume(ctx)         // in this process or another one, today or next week
//
// [New] returns a [Builder], which collects the nodes and edges. [Builder.Compile] checks them and
// returns a [Graph]. [Graph.Run] runs it without storing anything. [Graph.Thread] returns a
// [Thread], a handle on a named sequence of runs that the saver stores. Its methods run, change
// and read the thread. A run returns a [Result], and a read returns a [Snapshot].
//
// An option compiles only for the calls that it affects. [TakeOver], for example, returns a value
// that is an [InvokeOption], a [ResumeOption] and an [UpdateOption]: these calls accept it.
//
// # Errors
//
// A run returns a [*NodeError], [*RouteError], [*ConflictError], [*OverflowError],
// [*MaxStepsError], [*SaverError] or an error that wraps the context's error. The thread can be
// resumed after each of them. A [*CompileError] lists all faults of a graph.
//
// # What a node may do
//
// A node gets its own copy of the state struct. Slices, maps and pointers in that copy refer to
// memory that the run and the other nodes also read. A node may read this memory until it returns,
// and must never write it. A node returns its changes as an update. [Strict] finds nodes that
// write, for tests.
//
// # More than nodes and edges
//
// Routes choose among declared targets ([Builder.Route]), and so do nodes ([Builder.RoutingNode]).
// A [TaskNode] runs once for each input that is sent to it. Joins wait for several nodes
// ([Builder.Join]) or for the first of them ([Builder.JoinAny]). A node can ask a person a typed
// [Question]: the run ends, and continues when somebody has answered.
//
// A graph can be a node of another graph, over the same state ([Builder.Subgraph]) or over a state
// of its own ([MapSubgraph]). [TaskSubgraph] runs a graph for each send. [Thread.Stream] yields
// events during a run. [Thread.At] returns to any checkpoint.
//
// # What is stored, and when
//
// With a [Saver], [Thread.Resume] never repeats a node whose result is stored, even after a crash,
// a failed sibling or a cancelled context. A node that was running when the process died runs
// again. [CurrentTask] gives the node a key that is the same both times, for side effects that
// must not happen twice.
//
// A thread whose last input has finished stays in memory ([HotThreads]), so the next input reads
// nothing from the saver. Only one run at a time holds a thread. A second call returns a
// *checkpoint.BusyError before any node runs.
package graph
