// Package graph runs programs that are graphs over one typed state.
//
// A node is a function from the state to an update. Edges, routes and joins say what runs next. A run goes in
// supersteps: all nodes that are due run at the same time, their updates are merged in the order in which the
// nodes were declared, and what they came to is committed as one checkpoint, with what is due next.
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
// # What a node may do
//
// A node gets its own copy of the state, made as an assignment makes one: what slices, maps and pointers in it
// refer to is shared with the run and with nodes beside it. It may be read until the node returns, and never be
// written. Changes are returned as an update. Graphs compiled with [Strict], in tests, find nodes that write.
//
// # More than nodes and edges
//
// Routes choose among declared targets ([Builder.Route]), and so do nodes ([Builder.RoutingNode]). A [TaskNode] runs once
// for each thing sent to it. Joins wait for several nodes ([Builder.Join]) or for the first of them
// ([Builder.JoinAny]). A node can ask a person a typed [Question]; the run ends, and goes on when somebody has answered. A
// graph can be a node of another, over the same state ([Builder.Subgraph]) or one of its own ([MapSubgraph]).
// [Thread.Stream] shows a run as it goes on, and [Thread.At] goes back to any checkpoint.
//
// # What is stored, and when
//
// With a [Saver], a node whose result was acknowledged is not run again by [Thread.Resume], whatever happened
// since: a crash, a failed sibling, a cancelled context. A node that was running when the process died runs
// again; [CurrentTask] gives it a key that is the same both times, for side effects that must not happen twice.
// A thread whose last input has finished stays in memory ([HotThreads]): the next input then reads nothing.
// One run at a time holds a thread: another one fails with a *checkpoint.BusyError before any of its nodes runs.
//
// # Errors
//
// A run fails with a [*NodeError], [*RouteError], [*ConflictError], [*OverflowError], [*MaxStepsError], [*SaverError] or an error
// that wraps the context's. The thread can then be resumed. A [*CompileError] lists all that is wrong with a graph.
package graph
