// Package worker resumes threads when they are due, without anybody's call: after a process died,
// a run failed, or a shutdown interrupted it.
//
//	w := worker.New(saver, worker.Options{}, orders, refunds)
//	err := w.Run(ctx) // until ctx ends; then it drains
//
// Any number of workers, in any number of processes, can serve the same saver. The saver is the
// only truth: a thread is due when its Wake has come, and only the opening of a run takes a
// thread. So two workers never hold one thread. A worker serves graphs of different states, and
// leaves threads of graphs that it does not have.
package worker
