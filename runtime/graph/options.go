package graph

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Option is an option of Compile. An option that holds one value must be given at most once:
// Compile reports the second as a fault. InterruptBefore, InterruptAfter, FormerNames, Observe,
// Log, Intercept and Propagate add to the values given before.
type Option interface{ compile(*options) }

// options are the options of a compiled graph.
type options struct {
	given         given
	saver         checkpoint.Saver
	stops         stops
	formerNames   []string
	strict        bool
	dropUnknown   bool
	releaseOnDone bool
	keep          int // checkpoints; 0 is all
	nested        bool
	hot           int // bytes
	sharedState   bool
	observers     []Observer
	interceptors  interceptors
	propagators   propagators
	redact        func(string) string // nil for no change
	holder        string
	lease         time.Duration
	saverTimeout  time.Duration
	limits
}

// limits are the options that both Compile and a run can set.
type limits struct {
	maxSteps    int
	concurrency int
	durability  Durability
}

// given records which options were set. Compile reports an option with one value that was set
// twice.
type given struct{ once, twice []string }

func (g *given) set(name string) {
	switch {
	case !slices.Contains(g.once, name):
		g.once = append(g.once, name)
	case !slices.Contains(g.twice, name):
		g.twice = append(g.twice, name)
	}
}

func defaults() options {
	return options{
		holder:       processName(),
		lease:        checkpoint.DefaultLease,
		saverTimeout: 10 * time.Second,
		hot:          64 << 20,
		limits:       limits{maxSteps: 1000, concurrency: 64, durability: Sync},
	}
}

// processName returns the default name of the holder: host, process id and program.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s pid %d (%s)", host, os.Getpid(), filepath.Base(os.Args[0]))
}

type compileOption func(*options)

func (f compileOption) compile(o *options) { f(o) }

// singleOption is an option of Compile that can be given once.
func singleOption(name string, set func(*options)) Option {
	return compileOption(func(o *options) {
		o.given.set(name)
		set(o)
	})
}

// Saver stores the graph's checkpoints in s. Without it a graph can only Run. The caller closes s
// after the last run. A nil s, or one that holds a nil pointer, is a fault of Compile.
func Saver(s checkpoint.Saver) Option { return singleOption("Saver", func(o *options) { o.saver = s }) }

// Strict gives every node and route a deep copy of the state. It is for tests, because each task
// then takes time in proportion to the state. The run returns an error in four cases:
//   - A node or route changed the state that it got. The error names the field.
//   - An update changes a field that the Writes of its node does not name.
//   - The run ends while only some sources of a join have run.
//   - The methods of a type do not give back a value of an update. The error is a
//     *wire.LossyError. Runs with a saver return it without Strict, too.
func Strict() Option { return singleOption("Strict", func(o *options) { o.strict = true }) }

// DropUnknownFields drops stored nested fields that the code does not have. Without it, loading a
// thread with such fields returns ErrGraphChanged. It also applies to subgraphs.
func DropUnknownFields() Option {
	return singleOption("DropUnknownFields", func(o *options) { o.dropUnknown = true })
}

// FormerNames lists earlier names of the graph. The graph resumes threads, and as a subgraph
// calls, that were stored under a former name. For threads of all other graphs it returns
// ErrGraphChanged. Keep a former name listed as long as such threads may exist, or are read.
func FormerNames(names ...string) Option {
	return compileOption(func(o *options) { o.formerNames = append(o.formerNames, names...) })
}

// ReleaseOnDone releases the thread's version in the commit that finishes a run. The next input
// then starts with an empty state.
func ReleaseOnDone() Option {
	return singleOption("ReleaseOnDone", func(o *options) { o.releaseOnDone = true })
}

// KeepCheckpoints removes old checkpoints of a thread while it runs. It keeps the newest n, at
// least 1; without the option a thread keeps all. The runs of a thread prune it after every n new
// records, or 16 if n is less. So a thread has at most about 2n checkpoints.
//
// The log of each subgraph call counts separately, and keeps at least its newest record. The
// records that pending work needs always stay. For a subgraph, the option of the graph of the
// thread counts, and its own has no effect.
//
// A removed checkpoint is not in the history, and calls on Thread.At with its id return
// checkpoint.ErrNotFound. If the saver cannot remove checkpoints, the run continues, and observers
// get EventPruneFailed.
func KeepCheckpoints(n int) Option {
	return singleOption("KeepCheckpoints", func(o *options) { o.keep = n })
}

// HotThreads bounds the memory for threads between runs, in bytes. The default is 64 MB, and 0 is
// off. When a run with input has finished, the Graph keeps the state of its thread in this memory.
// The next Invoke or Stream of the same Graph then reads nothing from the saver. State and Resume
// read no records. Threads that were used least recently are evicted first. A thread that takes
// more than an eighth of the bound is not kept.
//
// Other processes may use the same threads. If another process has changed the thread, the opening
// write of an Invoke is refused, and the thread is read again. That costs one more call of the
// saver.
func HotThreads(bytes int) Option {
	return singleOption("HotThreads", func(o *options) { o.hot = bytes })
}

// SharedState makes HotThreads keep the state of a run itself, instead of a deep copy. The cost of
// an Invoke then depends on its changes, not on the size of the state; copying 1,000 messages
// takes about 10 microseconds.
//
// In return, no code may write to the memory of the state, even after the run has ended. This
// holds for inputs, updates that nodes returned, Results and events. Such a write would reach
// later runs, but not the saver.
func SharedState() Option {
	return singleOption("SharedState", func(o *options) { o.sharedState = true })
}

// SubgraphOnly declares that the graph runs only as a subgraph. It can stop and ask without a
// Saver of its own, because it uses the Saver of its parent.
func SubgraphOnly() Option { return singleOption("SubgraphOnly", func(o *options) { o.nested = true }) }

// Holder sets the name of the holder in the *checkpoint.BusyError of other runs. The default is
// host, process id and program. The name must not be empty.
func Holder(name string) Option {
	return singleOption("Holder", func(o *options) { o.holder = name })
}

// Lease sets how long a thread stays held after the process of its run died. A living run renews
// its lease. The default, also for 0, is checkpoint.DefaultLease.
func Lease(d time.Duration) Option { return singleOption("Lease", func(o *options) { o.lease = d }) }

// SaverTimeout bounds one call of the saver. The default is 10 seconds. Saver calls do not end
// with the caller's context, so that a cancelled run still stores the results of finished nodes.
func SaverTimeout(d time.Duration) Option {
	return singleOption("SaverTimeout", func(o *options) { o.saverTimeout = d })
}

// limitOption sets one of the limits.
type limitOption struct {
	name  string
	apply func(*limits)
}

func (l limitOption) compile(o *options) {
	o.given.set(l.name)
	l.apply(&o.limits)
}

// MaxSteps bounds the supersteps of one call. The default is 1000. A run that has more to do after
// that many commits returns a *MaxStepsError, and can be resumed.
func MaxSteps(n int) interface {
	Option
	RunOption
	InvokeOption
	ResumeOption
} {
	return limitOption{"MaxSteps", func(l *limits) { l.maxSteps = n }}
}

// Concurrency bounds how many tasks of a superstep run concurrently. The default is 64.
func Concurrency(n int) interface {
	Option
	RunOption
	InvokeOption
	ResumeOption
} {
	return limitOption{"Concurrency", func(l *limits) { l.concurrency = n }}
}

// Durability decides when a superstep is stored. A Durability is itself an option of Compile,
// Invoke, Stream, Resume and ResumeStream: Compile(Saver(s), Async).
type Durability uint8

const (
	// Sync, the default, commits a superstep before the next one starts. A finished task never
	// runs again.
	Sync Durability = iota + 1
	// Async queues commits, in order, and waits for them before the run returns. One call of the
	// saver stores several queued commits. A run waits for room when 128 commits or 1 MiB are
	// queued. A crash may lose queued commits, and Resume runs their nodes again.
	Async
	// OnExit stores the opening of a run and its outcome. The supersteps between them are not in
	// the history, and a crash loses them.
	OnExit
)

// String returns "sync", "async" or "on exit".
func (d Durability) String() string {
	switch d {
	case Sync:
		return "sync"
	case Async:
		return "async"
	case OnExit:
		return "on exit"
	}
	return "no durability"
}

func (d Durability) compile(o *options) {
	o.given.set("Durability")
	o.limits.durability = d
}

// check returns the faults of the limits.
func (l *limits) check() (faults []string) {
	if l.maxSteps < 1 {
		faults = append(faults, fmt.Sprintf("MaxSteps is %d; want at least 1", l.maxSteps))
	}
	if l.concurrency < 1 {
		faults = append(faults, fmt.Sprintf("Concurrency is %d; want at least 1", l.concurrency))
	}
	if l.durability < Sync || l.durability > OnExit {
		faults = append(faults, fmt.Sprintf("Durability is %d; want Sync, Async or OnExit", l.durability))
	}
	return faults
}
