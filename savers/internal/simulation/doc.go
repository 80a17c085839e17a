// Package simulation runs a fleet of workers in one process, in virtual time. A seed decides all
// that goes wrong. It has only tests.
//
// # What is simulated
//
// Several workers run the threads of two graphs. The threads live on shards. Half of the shards
// are savers in memory, and the others are savers of package rows over rows in memory. Each
// process has its own connection to each shard. Clients submit inputs, some with an
// ExecutionTimeout, and wait for their results. They answer questions, send signals, edit states,
// cancel, release, and pause graphs and a queue. Workers remove old checkpoints and threads.
//
// For some minutes things go wrong. Calls are slow, fail, lose their replies, or happen after the
// caller has given up. Processes die, stop for longer than a lease, and lose the connection to a
// shard. Another version of the program replaces them. Then the faults end, and all threads must
// end.
//
// In half of the seeds the layout of the shards changes one to three times. All shards have rows
// then. Shards are added and drained, and weights change. One to three processes move the threads.
// They die at any of their calls, and others continue. Or they stop for some minutes, and may wake
// up during another change. Other processes keep the old list of shards for up to a minute. No
// other call takes longer than the 20 seconds that package shards allows.
//
// # What is checked
//
//   - Nothing lost: each input, answer and signal that was acknowledged has its effect.
//   - Nothing twice: each line is in the state once, and each effect outside has had one key.
//   - Nothing stuck: all threads end, and nothing is due or waits.
//   - Nothing out of order: the inputs of a thread run in the order of their submits.
//   - A list without an error has each thread once.
//   - A result is that of its input, also if later inputs have run.
//   - Workers begin nothing that is paused, and remove each ended thread of a Retention.
//   - One shard has each thread: the one that the layout names. A drained shard has none.
//
// # The runtime
//
// The tests have the build tag deterministic, and need the runtime of internal/simruntime. In the
// runtime of Go, select statements are random. And no time passes in a bubble while a goroutine
// waits for a mutex that another one holds during a call.
//
// # How to read a failure
//
// The report ends with the newest events: the calls of all processes that arrived at a shard, and
// the nodes that ran. CONTRIBUTING.md says how to run a seed again.
package simulation
