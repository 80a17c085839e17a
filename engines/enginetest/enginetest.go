// Package enginetest (experimental) tests engines. It has a test for every promise of a
// [worker.Engine]. A type is a valid engine if Run passes.
//
//	func TestEngine(t *testing.T) {
//		enginetest.Run(t, func(tb testing.TB) enginetest.Place {
//			server := start(tb)
//			return enginetest.Place{
//				Open:      func(tb testing.TB) worker.Engine { return open(tb, server) },
//				Interrupt: func(tb testing.TB) { server.Restart(tb) },
//			}
//		})
//	}
package enginetest

import (
	"cmp"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/worker"
)

// Place describes a server, or whatever carries hints between processes.
type Place struct {
	// Open returns an engine on the place, as another process has it. The suite calls Open several
	// times. Use tb.Cleanup to close an engine.
	Open func(tb testing.TB) worker.Engine

	// Interrupt cuts all connections of the engines, or restarts the server. It returns when the
	// place can be reached again. It is nil if hints do not leave the process.
	Interrupt func(tb testing.TB)

	// Patience is how long a test waits for a hint before it fails. The default is five minutes,
	// for busy machines.
	Patience time.Duration
}

// patience returns p.Patience or the default.
func (p Place) patience() time.Duration { return cmp.Or(p.Patience, 5*time.Minute) }

// Run tests an engine, with one subtest for each promise. Each subtest calls open, which must
// return a new Place. Two Places may share a server if they share no hints.
//
// A good engine passes within seconds.
func Run(t *testing.T, open func(tb testing.TB) Place) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Test(t, open(t)) })
	}
}

// Case is one promise with its test.
type Case struct {
	Name string
	Test func(tb testing.TB, place Place)
}

// Cases returns the cases that Run runs.
func Cases() []Case {
	return []Case{
		{"a listener begins with an empty hint", testBegins},
		{"a hint reaches each listener of its graph", testReaches},
		{"a hint reaches no listener of another graph", testApart},
		{"a listener hears several graphs", testSeveralGraphs},
		{"names of graphs and threads are any bytes", testNames},
		{"a wake without a listener succeeds", testNobody},
		{"a wake ends with its context", testWakeEnds},
		{"a listener ends with its context", testListenEnds},
		{"listeners come and go while hints are sent", testConcurrent},
		{"hints that nobody hears take no memory", testMemory},
		{"an interrupted listener hears again", testInterrupt},
		{"a worker runs what is announced", testWorkerHears},
		{"a worker looks after an interruption", testWorkerInterrupted},
		{"threads are not lost with their hints", testWorkerLoses},
		{"hints may be repeated, late and out of order", testWorkerDisorder},
	}
}
