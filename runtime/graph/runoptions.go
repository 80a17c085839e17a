package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// Every call has a type of options. An option compiles only for the calls that it affects. An
// option that holds one value must be given at most once: the call returns an error before it
// reads or stores anything.

// RunOption is an option of Graph.Run and Graph.Stream.
type RunOption interface{ run(*runOptions) }

// InvokeOption is an option of Thread.Invoke and Thread.Stream.
type InvokeOption interface{ invoke(*runOptions) }

// ResumeOption is an option of Thread.Resume and Thread.ResumeStream.
type ResumeOption interface{ resume(*runOptions) }

// UpdateOption is an option of Thread.UpdateState and Thread.UpdateStates.
type UpdateOption interface{ update(*runOptions) }

// ReleaseOption is an option of Thread.Release.
type ReleaseOption interface{ release(*runOptions) }

// ResultOption is an option of Thread.Result.
type ResultOption interface{ result(*runOptions) }

// runOptions are the options of one call.
type runOptions struct {
	interceptors interceptors // of the graph, and of the graphs around a subgraph call
	queues       *core        // the graph of the thread, which hands out tasks of queues; nil if the run executes all tasks itself
	given        given
	faults       []string
	strict       bool // of the graph, or of a parent graph
	limits
	takeOver   bool
	wait       bool
	abandon    bool
	as         []ID
	choice     *Next
	stops      *stops         // of this run alone; nil for none
	stopAt     *numberedStops // the same stops by node number
	request    string
	key        string        // of a signal
	timeout    time.Duration // of an input; 0 for none
	rerun      []ID
	answers    []answer
	ifHead     checkpoint.ID
	events     EventKind
	streams    bool              // the call yields events; only set if it has options
	metadata   map[string]string // of the call; nil for none
	title      string            // empty leaves that of the thread
	priority   checkpoint.Priority
	labels     map[string]string   // added to those of the thread
	listen     *listener           // of a run on a thread; nil for an edit
	box        *mailbox            // of a run on a thread, shared with its subgraph calls; nil for an edit
	idle       bool                // a Submit is refused unless the thread is idle
	cancel     *string             // why a Submit cancels what was asked before; nil if it does not
	due        *due                // of a run of a worker; nil for a run that a person opened
	queueSlot  func(string) func() // as in DueOptions; nil to hand out all tasks of queues
	leaveChild bool                // a child stays when its caller ends before it
	until      bool                // a Result does not wait for people, signals and times
	rehearse   bool                // no function of a node or a route is called, see Rehearse
	lease      context.Context     // ends if another run takes the thread; nil without a thread, or if nothing needs it
	beats      *journal.Heartbeats // of a run, shared with its subgraph calls; nil for an edit and in the worker of a queue
	own        *runs               // of the thread in this process; nil for an edit
}

// runOption sets options of a call. The interface that an option's function returns limits the
// calls.
type runOption func(*runOptions)

func (f runOption) run(o *runOptions)     { f(o) }
func (f runOption) invoke(o *runOptions)  { f(o) }
func (f runOption) resume(o *runOptions)  { f(o) }
func (f runOption) update(o *runOptions)  { f(o) }
func (f runOption) release(o *runOptions) { f(o) }
func (f runOption) submit(o *runOptions)  { f(o) }
func (f runOption) signal(o *runOptions)  { f(o) }
func (f runOption) result(o *runOptions)  { f(o) }

// singleRunOption is an option of a call that can be given once.
func singleRunOption(name string, set func(*runOptions)) runOption {
	return func(o *runOptions) {
		o.given.set(name)
		set(o)
	}
}

// fault records an option without a usable value.
func (o *runOptions) fault(format string, args ...any) {
	o.faults = append(o.faults, fmt.Sprintf(format, args...))
}

func (l limitOption) set(o *runOptions) {
	o.given.set(l.name)
	l.apply(&o.limits)
}

func (l limitOption) run(o *runOptions)    { l.set(o) }
func (l limitOption) invoke(o *runOptions) { l.set(o) }
func (l limitOption) resume(o *runOptions) { l.set(o) }

func (d Durability) set(o *runOptions) {
	o.given.set("Durability")
	o.durability = d
}

func (d Durability) invoke(o *runOptions) { d.set(o) }
func (d Durability) resume(o *runOptions) { d.set(o) }

// TakeOver opens the thread although the lease of another run is still valid. The other run finds
// out at its next write, or when it next renews the lease, and then cancels its nodes. Until then
// both runs may execute nodes.
func TakeOver() interface {
	InvokeOption
	ResumeOption
	UpdateOption
} {
	return singleRunOption("TakeOver", func(o *runOptions) { o.takeOver = true })
}

// Wait waits while another run holds the thread, until ctx ends, instead of returning a
// *checkpoint.BusyError. It also waits while the saver's server is unavailable
// (checkpoint.ErrUnavailable) or exceeds SaverTimeout.
func Wait() interface {
	InvokeOption
	ResumeOption
	UpdateOption
	ReleaseOption
} {
	return singleRunOption("Wait", func(o *runOptions) { o.wait = true })
}

// DiscardPending drops the pending tasks of an unfinished thread. Invoke then starts again on the
// last state, and UpdateState with AsNode drops the other due tasks. The dropped tasks stay
// in the history.
//
// The updates of the finished tasks of the superstep merge before the input. So do the updates
// that KeepUpdateOnError has kept of the others. Snapshot.Dropped names the dropped tasks.
func DiscardPending() interface {
	InvokeOption
	SubmitOption
	UpdateOption
} {
	return singleRunOption("DiscardPending", func(o *runOptions) { o.abandon = true })
}

// Rerun drops the stored results of nodes in the superstep that could not commit, so that the
// nodes run again. It is for nodes that caused a conflict and have been corrected. A subgraph
// among them starts again from its input. A node that pauses before its next attempt (Retry) runs
// that attempt now.
func Rerun(nodes ...ID) ResumeOption {
	return runOption(func(o *runOptions) { o.rerun = append(o.rerun, nodes...) })
}

// IfHead makes the call return checkpoint.ErrConflict unless id is the newest record of the
// thread. So the caller detects that another caller has changed the thread since Result.Checkpoint
// was read. id must not be zero.
func IfHead(id checkpoint.ID) interface {
	InvokeOption
	ResumeOption
	UpdateOption
	ReleaseOption
} {
	return singleRunOption("IfHead", func(o *runOptions) {
		o.ifHead = id
		if id.IsZero() {
			o.fault("IfHead has a zero id; pass the Checkpoint of a Result or Snapshot, or leave the option out")
		}
	})
}

// Events chooses the kinds of events that a stream yields, in addition to the EventRunEnded at its
// end. The default is EventUpdate. Run, Invoke and Resume, which have no stream, return an error
// before they read or store anything.
func Events(kinds EventKind) interface {
	RunOption
	InvokeOption
	ResumeOption
} {
	return singleRunOption("Events", func(o *runOptions) {
		if o.events = kinds; !o.streams {
			o.fault("Events is given to a call without events; call Stream or ResumeStream, or leave it out")
		}
	})
}

// setting returns a function that sets the options opts; nil for none. It is all that depends on
// the type of the options, because each package with a graph compiles it.
func setting[O comparable](opts []O, apply func(O, *runOptions)) func(*runOptions) {
	if len(opts) == 0 {
		return nil
	}
	return func(o *runOptions) {
		var none O
		for _, opt := range opts {
			if opt != none {
				apply(opt, o)
			}
		}
	}
}

// streaming sets options of a call with a stream.
func streaming(set func(*runOptions)) func(*runOptions) {
	if set == nil {
		return nil
	}
	return func(o *runOptions) {
		o.streams = true
		set(o)
	}
}

// running returns the options of a call: the graph's limits, overridden by those of set. It
// returns an error for options that are wrong.
func running(l limits, set func(*runOptions)) (runOptions, error) {
	o := runOptions{limits: l, events: EventUpdate}
	if set != nil { // else with would move the options to the heap
		o = with(o, set)
	}
	o.faults = append(o.faults, o.limits.check()...)
	return o, o.check()
}

// checkRun returns an error unless the graph can run, and its run options are valid.
func (g *core) checkRun(wrong error) error {
	switch {
	case len(g.nodes) == 0:
		return fmt.Errorf("graph: %w; make it by Compile", ErrNotCompiled)
	case wrong != nil:
		return fmt.Errorf("graph: %s: %w", g.name, wrong)
	}
	return nil
}

// check returns the faults of the options.
func (o *runOptions) check() error {
	faults := o.faults
	for _, name := range o.given.twice {
		faults = append(faults, name+" is given twice; give it once")
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// with returns o with the options of set, which may be nil.
func with(o runOptions, set func(*runOptions)) runOptions {
	if set != nil {
		set(&o)
	}
	o.rerun = slices.Clone(o.rerun)
	return o
}
