package graph

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Option is an option of Compile. An option that holds one value must be given at most once: Compile reports the second
// as a fault. InterruptBefore, InterruptAfter, FormerNames and Observe add to the values given before.
type Option interface{ compile(*options) }

// LimitOption is an option of Compile that each run can override.
type LimitOption interface {
	Option
	RunOption
	InvokeOption
	ResumeOption
}

// options are those of a compiled graph.
type options struct {
	given         given
	saver         checkpoint.Saver
	stops         stops
	formerNames   []string
	strict        bool
	dropUnknown   bool
	releaseOnDone bool
	nested        bool
	hot           int // bytes
	sharedState   bool
	observers     []Observer
	holder        string
	lease         time.Duration
	saverTimeout  time.Duration
	limits
}

// limits are what both Compile and a run can set.
type limits struct {
	maxSteps    int
	concurrency int
	durability  Durability
}

// given notes which options were set. Compile reports an option with one value that was set twice.
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

// processName is the default holder: who runs, as people tell processes apart.
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

// Saver stores the graph's checkpoints in s. Without it a graph can only Run. The caller closes s, after
// the last run. A nil s, or one that holds a nil pointer, is a fault of Compile.
func Saver(s checkpoint.Saver) Option { return singleOption("Saver", func(o *options) { o.saver = s }) }

// Strict gives every node and route a deep copy of the state, fails the run when one of them wrote to what
// it was given, naming the field, when an update changes what its node's Writes does not name, and when a run ends with a join
// half reached. It costs O(state) a task: it is for tests.
func Strict() Option { return singleOption("Strict", func(o *options) { o.strict = true }) }

// DropUnknownFields accepts that stored nested fields which the code does not have are lost, instead of refusing
// the thread with ErrGraphChanged. Its subgraphs do too.
func DropUnknownFields() Option {
	return singleOption("DropUnknownFields", func(o *options) { o.dropUnknown = true })
}

// FormerNames lists names that the graph had: it takes up their threads, and as a subgraph their calls. Any other graph's
// thread is refused with ErrGraphChanged. Keep a former name listed as long as such threads may exist, or are read.
func FormerNames(names ...string) Option {
	return compileOption(func(o *options) { o.formerNames = append(o.formerNames, names...) })
}

// ReleaseOnDone releases the thread's version in the commit that finishes a run, so that the next input starts
// empty.
func ReleaseOnDone() Option {
	return singleOption("ReleaseOnDone", func(o *options) { o.releaseOnDone = true })
}

// HotThreads bounds the memory for threads between runs, in bytes; the default is 64 MB, and 0 is off. A
// run with input that finishes leaves the state of its thread there, and the next Invoke or Stream of the
// same Graph then reads nothing from the saver. State and Resume then read no records. The threads that were used least recently are forgotten
// first. A thread that takes more than an eighth of the bound is not kept.
//
// Other processes may use the same threads. An Invoke whose thread was moved elsewhere costs one call of
// the saver more: its opening write is refused, and it reads the thread again.
func HotThreads(bytes int) Option {
	return singleOption("HotThreads", func(o *options) { o.hot = bytes })
}

// SharedState has HotThreads keep the state of a run itself, instead of a copy that no user code sees. An
// Invoke then costs what it changes, whatever the size of the state; a copy of 1,000 messages takes about
// 10 microseconds. In return nobody may write through what is part of the state, also after the run has
// ended: inputs, what nodes returned, Results and events. Such a write would reach later runs, and not the
// saver.
func SharedState() Option {
	return singleOption("SharedState", func(o *options) { o.sharedState = true })
}

// SubgraphOnly says that the graph is only run as a subgraph: it may stop and ask without a Saver of its own, since it uses
// that of the graph it is in.
func SubgraphOnly() Option { return singleOption("SubgraphOnly", func(o *options) { o.nested = true }) }

// Identity names who runs, in the *checkpoint.BusyError that others get. The default is host, process id and
// program. The name must not be empty.
func Identity(name string) Option {
	return singleOption("Identity", func(o *options) { o.holder = name })
}

// Lease sets how long a run that died keeps others from its thread; a living run renews it. The default, and 0, is
// checkpoint.DefaultLease. Savers whose lease is a lock give it up at once when the process dies.
func Lease(d time.Duration) Option { return singleOption("Lease", func(o *options) { o.lease = d }) }

// SaverTimeout bounds one call of the saver. The default is 10 seconds. Saver calls do not end with the
// caller's context, so that a cancelled run still stores what it finished.
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

// MaxSteps bounds the supersteps of one call; the default is 1000. A run that has committed so many and has
// more to do fails with a *MaxStepsError and can be resumed.
func MaxSteps(n int) LimitOption { return limitOption{"MaxSteps", func(l *limits) { l.maxSteps = n }} }

// Concurrency bounds how many tasks of a superstep run at once; the default is 64.
func Concurrency(n int) LimitOption {
	return limitOption{"Concurrency", func(l *limits) { l.concurrency = n }}
}

// Durability says when a superstep is stored. A Durability is itself an option of Compile, Invoke, Stream, Resume and
// ResumeStream: Compile(Saver(s), Async).
type Durability uint8

const (
	// Sync, the default, commits a superstep before the next one starts: what finished is never run again.
	Sync Durability = iota + 1
	// Async queues commits, in order, and waits for them before the run returns. Commits that wait are
	// stored by one call of the saver. A run waits for room when 128 commits or 1 MiB are queued. A
	// crash may lose, and Resume run again, what was queued.
	Async
	// OnExit stores the opening of a run and what it came to in the end; supersteps between are not in the
	// history, and a crash loses them.
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

// check returns what is wrong with the limits.
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
