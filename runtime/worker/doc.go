// Package worker resumes threads that are due, so a program need not call Resume. A thread is due,
// for example, after its process died, its run failed, or a shutdown interrupted the run. It is
// also due if a submitted input waits, or if its wait has ended.
//
//	w := worker.New(saver, worker.Options{}, orders, refunds)
//	err := w.Run(ctx) // until ctx ends; then it drains
//
// Any number of workers, in any number of processes, can serve the same saver. The saver stores
// the time at which each thread is due, as Wake. A worker takes a thread by the first write of a
// run. The saver accepts that write of only one run, so two workers never hold one thread. One
// worker can serve graphs of different states.
// It leaves threads of all other graphs to other workers.
package worker
