// Package subgraph has the state of subgraph calls in a run. The run can be such a call itself,
// and its tasks can make others. The package also knows what calls leave in storage. It runs
// nothing.
//
// Invariants:
//   - A call belongs to the record that made its task due: its namespace is made of both. A call
//     of another record, or one that Rerun began again, is another call.
//   - The updates of a subgraph over the same state are stored with the checkpoints of the call.
//     They are parts of the result of its task, one for each step. The graph around it merges all
//     of them.
//   - The questions of a call are withdrawn when the call counts for nothing any more.
package subgraph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Call is what the run of a subgraph knows of the task that makes the call.
type Call struct {
	Path        []journal.PathElement // the tasks that lead to it
	Same        bool                  // it is over the state of the graph it is in
	Remembers   bool                  // the next call of its node begins with the state that this one leaves
	DropUnknown bool                  // a graph that it is in accepts that unknown fields are lost
	Part        checkpoint.Write

	reported int // how many updates are stored in parts
	step     int // the newest that is
}

// firstStep is that of the record which begins a call: its input. No updates belong to it.
const firstStep = 1

// Begin says that the record of the call's input is the newest.
func (c *Call) Begin() { c.step = firstStep }

// Unreported returns the part that a record of the given step is stored with; nil for none. kept
// is how many updates the call has made so far, with those of its edits. encode encodes those from
// a number on.
func (c *Call) Unreported(step, kept int, encode func(from int) ([]byte, error)) ([]checkpoint.Write, error) {
	if c == nil || !c.Same || c.step == step && c.reported == kept {
		return nil, nil
	}
	w := c.Part
	w.Name = journal.StepName(step) // also of a step that changed nothing: a gap would be damage
	if c.step == step {
		w.Name = journal.EditName(step) // the record is that of a pending route, after an edit
	}
	var err error
	if w.Payload, err = encode(c.reported); err != nil {
		return nil, err
	}
	c.reported, c.step = kept, step
	return []checkpoint.Write{w}, nil
}

// Restore calls add with the parts of a call over the same state, up to the step of its newest
// record. Then it notes that as many updates are reported as kept returns. An error of add is a
// *PartError.
func (c *Call) Restore(last int, parts map[string][]byte, add func([]byte) error, kept func() int) error {
	for step := firstStep + 1; step <= last; step++ {
		part, ok := parts[journal.StepName(step)]
		if !ok {
			return &PartError{step, fmt.Errorf("%w: the changes of the step are not stored", checkpoint.ErrDamaged)}
		}
		if err := add(part); err != nil {
			return &PartError{step, err}
		}
		if edits, ok := parts[journal.EditName(step)]; ok {
			if err := add(edits); err != nil {
				return &PartError{step, err}
			}
		}
	}
	c.reported, c.step = kept(), last
	return nil
}

// PartError says that a stored part of a result cannot be read.
type PartError struct {
	Step int
	Err  error
}

func (e *PartError) Error() string {
	return fmt.Sprintf("the changes of a subgraph in step %d: %v", e.Step, e.Err)
}

func (e *PartError) Unwrap() error { return e.Err }

// Returned is what a call returns in addition to the update of its task.
type Returned struct {
	Below  []Asked        // what it waits for
	Memory Remembered     // what is remembered of it, in a run that stores nothing
	Open   bool           // it or one in it has asked, or stopped for people
	Stops  []journal.Stop // that hold it or one in it

	// PollsAgain is when the run of the thread looks at the tasks of it, and of those in it, that
	// wait for workers of queues; zero if none waits.
	PollsAgain time.Time
}

// Asked is an open question: the key of the task that asks it, its place among what the task
// asks, and the stored question. Due is the time of a timer, or when the question expires.
type Asked struct {
	Namespace   string
	Base        checkpoint.ID
	Task, Place string
	Question    []byte
	Due         time.Time
}

// Memory is what the newest finished calls of subgraphs that remember left, by node.
type Memory map[string]Remembered

// ReadMemory returns the memory of a thread from the namespaces that it has stored, by node.
// renamed returns the present id of a node. A node that has taken over the id of a renamed one
// keeps what it has stored itself.
func ReadMemory(stored map[string]string, renamed func(node string) string) (m Memory) {
	for _, node := range slices.Sorted(maps.Keys(stored)) {
		now := renamed(node)
		if _, own := stored[now]; own && now != node {
			continue
		}
		if m == nil {
			m = make(Memory, len(stored))
		}
		m[now] = Remembered{Namespace: stored[node]}
	}
	return m
}

// Remembered is what one call left.
type Remembered struct {
	Namespace string // of its checkpoints
	Snapshot  []byte // of its state, in a run that stores nothing
	Inner     Memory // what the subgraphs in it remember, in such a run
}

// Withdrawals returns the writes that withdraw the open questions in the given namespaces and
// within them: answers that nobody reads.
func Withdrawals(open []checkpoint.Write, namespaces map[string]bool) []checkpoint.Write {
	var writes []checkpoint.Write
	for _, q := range open {
		for at := q.Namespace; at != ""; at = at[:max(strings.LastIndexByte(at, '/'), 0)] {
			if namespaces[at] {
				q.Kind, q.Payload = checkpoint.Answer, wire.AppendNil(nil)
				writes = append(writes, q)
				break
			}
		}
	}
	return writes
}

// Open returns the open questions and stops of the calls that are due in a namespace, oldest
// first.
func Open(namespace string, c *checkpoint.Chain) []checkpoint.Write {
	var open []checkpoint.Write
	var due map[string]bool // the calls that due tasks make
	last := &c.Last
	for _, q := range c.Thread.Questions {
		call := journal.CallIn(namespace, q.Namespace)
		if call == "" {
			continue
		}
		if due == nil {
			due = make(map[string]bool, len(c.Due))
			for _, d := range c.Due {
				due[journal.DueCall(last, namespace, d)] = true
			}
		}
		if due[call] {
			open = append(open, q)
		}
	}
	return open
}

// ClearStops returns the answers to the stops in the calls that are due.
func ClearStops(c *checkpoint.Chain) []checkpoint.Write {
	var writes []checkpoint.Write
	for _, q := range Open("", c) {
		if q.Task == journal.StopTask {
			q.Kind, q.Payload = checkpoint.Answer, wire.AppendNil(nil)
			writes = append(writes, q)
		}
	}
	return writes
}

// Asking returns the questions of each call in a namespace, with those of the calls within it, by
// the name of the call.
func Asking(namespace string, questions []checkpoint.Write) map[string][]checkpoint.Write {
	calls := make(map[string][]checkpoint.Write)
	for _, q := range questions {
		if name := journal.CallIn(namespace, q.Namespace); name != "" {
			calls[name] = append(calls[name], q)
		}
	}
	return calls
}
