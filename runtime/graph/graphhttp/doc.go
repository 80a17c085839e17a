// Package graphhttp (experimental) serves runs of a graph as server-sent events.
//
//	hub := graphhttp.New(app, encode) // encode makes a Message of an event, for example by encoding/json
//	http.Handle("/runs/", hub.Handler(read)) // read returns the thread and the operation of a request
//
// POST starts or resumes a run and follows it. GET follows a thread from the checkpoint in the
// Last-Event-ID header. A client that lost its connection, or whose server restarted, misses no
// checkpoint.
//
// # Events
//
// Every checkpoint is one event, whose id is the checkpoint's ID. The event has the same fields
// whether it comes from the run or, later, from the history.
//
// The Hub keeps the custom events of tasks in progress, such as the tokens of an answer. A client
// that connects in the middle gets them from the beginning of the attempt, after the checkpoints.
// Their ids let a client that reconnects continue after the last one that it has. A new attempt of
// the task drops them, and so does the commit of its superstep. CustomBuffer bounds their size: a
// client from which older ones are missing gets an event named missing. Its data is JSON with the
// node, the index and the attempt of the task. The nodes of a path are separated by slashes.
//
// All other events, such as updates, have no id. Clients get them only live. The events of a
// superstep that has not committed may be repeated. A client that must not miss something reads it
// from checkpoints.
//
// The stream ends with an EventQuestion for each open question, followed by an EventRunEnded. A
// client that needs no further events then closes its EventSource. Otherwise the EventSource
// reconnects and receives the EventRunEnded again. If the stream cannot continue, because the
// saver does not answer or an event cannot be encoded, it ends with an event named broken. The
// client reconnects after five seconds.
//
// # Slow clients
//
// A run never waits for clients. A phone in a tunnel must not hold the lease of a thread, and a
// thread may have many clients. Each client has a bounded queue. If the queue is full, the Hub
// discards the queue. The client then gets the missed checkpoints from the history, as after a
// reconnect. A client that disconnects does not cancel the run, unless the Hub has
// CancelOnDisconnect.
//
// The Hub reads missed checkpoints in one pass, from old to new, with one state in memory.
// CatchUpConcurrency limits how many clients do so concurrently. If another process runs a thread,
// the Hub polls the thread once for all its followers, at the PollInterval. It does not poll a
// thread without followers.
//
// Clients can continue only from stored checkpoints. With graph.Async or graph.OnExit, a crash can
// lose a checkpoint that a client has seen. The client then gets the newest checkpoint. The same
// applies after a Prune, and if the client missed more checkpoints than the CatchUpLimit. A thread
// whose version was released (graph.ReleaseOnDone) is not found.
package graphhttp
