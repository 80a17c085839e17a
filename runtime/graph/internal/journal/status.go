package journal

import "github.com/graphgen-go/graphgen/runtime/checkpoint"

// Reasons are the reasons for which a run can end. The first that applies decides the status of
// the thread.
type Reasons struct {
	Done        bool // nothing is due
	Stop        bool // a static stop holds the run
	Failed      bool // an error other than the end of the context
	Interrupted bool // work is due that needs no person, but the run ends: its context ended, a drain, a left stream
	Asks        bool // a task waits for an answer
	StopInside  bool // a static stop holds a subgraph call
}

// Status returns the status of a thread whose run ends for these reasons. It returns zero if the
// run continues.
func (r Reasons) Status() checkpoint.Status {
	switch {
	case r.Done:
		return checkpoint.Done
	case r.Stop:
		return checkpoint.Paused
	case r.Failed:
		return checkpoint.Failed
	case r.Interrupted:
		return checkpoint.Ready
	case r.Asks:
		return checkpoint.Waiting
	case r.StopInside:
		return checkpoint.Paused
	}
	return 0
}
