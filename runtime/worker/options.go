package worker

import (
	"cmp"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Options are the settings of a Worker. A zero field is its default.
type Options struct {
	// Name is the holder of the threads in the *checkpoint.BusyError of others. The default is
	// the Holder of each graph.
	Name string
	// Slots is the maximum number of threads that run at the same time. The default is 64.
	Slots int
	// Queues are the queues whose tasks the worker runs (graph.Queue), with the maximum number of
	// tasks of each graph that run at the same time. Tasks take no Slots. The default is none.
	Queues map[string]int
	// QueuesOnly makes the worker run tasks of Queues, and no threads.
	QueuesOnly bool
	// Limits bound the threads of single graphs that run at the same time in this worker.
	Limits []Limit
	// Retention says what the worker removes of finished threads and old checkpoints. All workers
	// of a graph should have the same. By default, nothing is removed.
	Retention []Retention
	// Retry decides when a thread runs again after its run failed. Attempts is the maximum number
	// of runs in a row that fail or die without a new result; then the thread is Failed, and stays
	// so until somebody resumes it. The defaults are 10 attempts, a Base of 1 s and a Max of 10
	// min. With 1 attempt nothing runs again.
	//
	// The retries of a node (graph.Retry) happen within one run.
	Retry graph.RetryPolicy
	// Poll is the mean time between two polls for due threads, if nothing announces them earlier.
	// The default is 1 s, and 15 s with an Engine. A saver that is a checkpoint.Notifier needs no
	// polling.
	Poll time.Duration
	// Engine announces threads that may be due. Of the workers that share it, one polls for each
	// hint. If the saver of the worker is an Announcer, and not another saver around one, a run
	// that ends needs no further poll. Workers send each other a hint every 15 s, to know which of
	// them live. Full workers send one each second while hints arrive. The default is none.
	Engine Engine
	// Register makes the worker store its Status in the saver while it runs, for Workers and for
	// the pages of package inspect. That costs a write each 5 seconds. While these writes fail,
	// their pause grows to a minute. A worker that stops takes at most a second to remove its
	// Status. The default is not to register.
	Register bool
	// SaverTimeout bounds one call of the saver by the worker itself. The default is 10 s.
	SaverTimeout time.Duration

	// DrainTimeout is the time that runs have, when Run ends, to finish their current superstep.
	// Then their contexts are cancelled. The default is 10 s. If it is less than 0, the contexts
	// are cancelled immediately.
	DrainTimeout time.Duration
	// CancelTimeout is the time that cancelled runs have to end. Then the worker gives up the
	// leases of their threads. The default is 10 s.
	CancelTimeout time.Duration

	// OnEvent is called with each Event, one call at a time for each thread. It must return soon.
	// A panic of OnEvent ends the worker. By default, nothing is called.
	OnEvent func(Event)
}

// Limit bounds how many threads of a graph run at the same time in one worker.
type Limit struct {
	Graph string // the name of the graph; threads under its FormerNames count
	Max   int    // at least 1
}

// reserve is the time for which other workers do not get a thread that Ready returned.
const reserve = 5 * time.Second

// mostMail is how many messages of a thread Ready returns with it at most.
const mostMail = 16

// withDefaults returns o with defaults in place of zero fields, or an error.
func (o Options) withDefaults() (Options, error) {
	o.Slots = cmp.Or(o.Slots, 64)
	o.Retry.Attempts = cmp.Or(o.Retry.Attempts, 10)
	o.Retry.Base, o.Retry.Max = cmp.Or(o.Retry.Base, time.Second), cmp.Or(o.Retry.Max, 10*time.Minute)
	poll := time.Second
	if o.Engine != nil {
		poll = 15 * time.Second
	}
	o.Poll, o.SaverTimeout = cmp.Or(o.Poll, poll), cmp.Or(o.SaverTimeout, 10*time.Second)
	o.DrainTimeout, o.CancelTimeout = cmp.Or(o.DrainTimeout, 10*time.Second), cmp.Or(o.CancelTimeout, 10*time.Second)
	for name, n := range map[string]int{"Slots": o.Slots, "Retry.Attempts": o.Retry.Attempts} {
		if n < 1 {
			return o, fmt.Errorf("worker: %s is %d; want at least 1, or 0 for the default", name, n)
		}
	}
	for name, d := range map[string]time.Duration{
		"Poll": o.Poll, "SaverTimeout": o.SaverTimeout, "CancelTimeout": o.CancelTimeout, "Retry.Base": o.Retry.Base, "Retry.Max": o.Retry.Max,
	} {
		if d < 0 {
			return o, fmt.Errorf("worker: %s is %s; want a positive duration, or 0 for the default", name, d)
		}
	}
	return o, nil
}
