// Package graphhttp serves runs of a graph as server-sent events.
//
//	hub := graphhttp.New(app, encode)     // encode makes a Message of an event, by encoding/json or whatever else
//	http.Handle("/runs/", hub.Handler(read)) // read says which thread a request is about, and what to do with it
//
// POST starts or resumes a run and follows it. GET follows a thread, from the checkpoint that the Last-Event-ID header
// names: a client that lost its connection, or whose server was restarted, misses no checkpoint.
//
// # What a client gets
//
// Every checkpoint is one event, whose id is the checkpoint's. It has the same fields whether it comes from the run or,
// later, from the history. Other events have no id: updates, what tasks do and emit. They are told to who listens when
// they happen, those of a superstep that has not committed may come again, and they are not told later. A client that has to
// be sure of something reads it from checkpoints. The last event is an EventEnd, after an EventQuestion for each question
// that waits. A client that has got what it came for closes its EventSource then, which would otherwise connect again and be
// told the end again. A stream that cannot go on, since the saver does not answer or an event cannot be encoded, ends with an
// event called broken, and the client connects again after five seconds.
//
// # Runs do not wait for clients
//
// A run goes on at its own pace, whoever listens: a phone in a tunnel must not hold a thread's lease, and a thread may have
// many clients. Each has a queue of bounded length. One that falls behind loses what is queued and gets the checkpoints it
// missed from the history, as after a reconnect: the saver is the buffer. A client that leaves ends nothing, unless
// EndWithClient says so.
//
// What a client missed is read in one pass, from old to new, with one state in memory, by a few clients at a time (ReplaysAtOnce).
// A thread that another process runs is looked at once in a while for all its followers (Poll), and not at all while nobody
// follows it.
//
// What a client continues from has to be stored: with graph.Async or graph.OnExit a crash can take a checkpoint back that a
// client has seen. It is then given the newest one there is, as after a Prune, or when it missed more than Replay allows.
// A thread whose version was released (graph.ReleaseOnDone) is not found any more.
package graphhttp
