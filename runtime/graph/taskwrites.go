package graph

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// This file decides what is stored about a task that has no result: questions, results of durable
// calls, and its failure. The functions get the task, and a write about it without its kind, name
// and payload.

// questionWrites returns the writes of the questions that a task waits for, unless they are
// stored.
func (r *run) questionWrites(of checkpoint.Write, sl *exec.Task) (writes []checkpoint.Write) {
	if sl.Asks == nil || sl.Progress != exec.Asking || sl.Stored {
		return nil
	}
	for _, o := range sl.Asks.Open() {
		of.Kind, of.Name, of.Payload = checkpoint.Question, o.Place, journal.Complete(o.Payload, sl.Summary, o.Due)
		writes = append(writes, of)
	}
	if sl.Err != nil { // another attempt begins later
		writes = append(writes, r.failureWrites(of, sl, sl.Err)...)
	}
	return writes
}

// callWrites returns the writes of the results of durable calls that are not stored.
func callWrites(of checkpoint.Write, sl *exec.Task) (writes []checkpoint.Write) {
	sl.Calls.EachUnstored(func(name string, c task.CallResult) {
		writes = append(writes, callWrite(of, name, c))
	})
	return writes
}

// callWrite returns the write of the result of a durable call.
func callWrite(of checkpoint.Write, name string, c task.CallResult) checkpoint.Write {
	of.Kind, of.Name, of.Payload = checkpoint.Result, name, journal.AppendCall(nil, journal.DurableCall{Number: c.Number, Value: c.Value})
	return of
}

// failureWrites returns the writes of a task that failed: why, its failed attempts that are not
// stored, and its summary.
func (r *run) failureWrites(of checkpoint.Write, sl *exec.Task, why error) []checkpoint.Write {
	part := func(name string, payload []byte) checkpoint.Write {
		of.Kind, of.Name, of.Payload = checkpoint.Failure, name, payload
		return of
	}
	attempts := sl.Attempts
	if n := len(attempts); n == 0 || attempts[n-1].Number != sl.Attempt { // its update could not be merged or encoded
		attempts = append(slices.Clip(attempts), exec.AttemptError{Number: sl.Attempt, Failed: time.Now(), Err: why})
	}
	writes := []checkpoint.Write{part("", failureText(r.redacted(why.Error())))}
	for i, a := range attempts {
		kept := journal.StoredAttempt{Ordinal: sl.Before + i + 1, Number: a.Number, Failed: a.Failed, Worker: r.g.opt.holder, Text: journal.Cut(r.redacted(a.Err.Error()), maxAttemptText)}
		var elsewhere *QueueError
		var panicked *PanicError
		if errors.As(a.Err, &elsewhere) {
			kept.Worker = "" // the worker of the queue is unknown
		} else if errors.As(a.Err, &panicked) {
			kept.Stack = journal.Cut(r.redacted(string(panicked.Stack)), maxAttemptStack)
		}
		writes = append(writes, part(journal.AttemptName(kept.Ordinal), journal.AppendAttempt(nil, &kept)))
	}
	if sl.Summary != "" {
		writes = append(writes, part(journal.SummaryName, []byte(sl.Summary)))
	}
	return writes
}

// blame assigns an error of merging or routing to a task.
type blame struct {
	cause error
	node  ID
	index int
	done  bool // only for a task that succeeded
}

// blames returns the tasks that caused an error. Several tasks may share one error.
func blames(cause error) []blame {
	var all []blame
	var node *NodeError
	var route *RouteError
	var conflict *ConflictError
	if errors.As(cause, &node) {
		all = append(all, blame{cause, node.Node, node.Index, true})
	}
	if errors.As(cause, &route) {
		all = append(all, blame{cause, route.Node, 0, false})
	}
	if errors.As(cause, &conflict) {
		all = append(all, blame{cause, conflict.Nodes[1], conflict.Indexes[1], false})
	}
	var over *OverflowError
	if errors.As(cause, &over) {
		last := len(over.Nodes) - 1
		all = append(all, blame{cause, over.Nodes[last], over.Indexes[last], false})
	}
	return all
}

// failureOf returns the error of a task of node id: its own, or that of merging its update or
// calling its route.
func failureOf(id ID, sl *exec.Task, blamed []blame) error {
	if sl.Progress == exec.Failed {
		return sl.Err
	}
	for _, b := range blamed {
		if b.node == id && b.index == sl.Index && (!b.done || sl.Progress == exec.Succeeded) {
			return b.cause
		}
	}
	return nil
}

// maxFailure bounds the stored text of an error, in bytes. An error that quotes all the data of
// its node may be larger than a server accepts. Then the end of the run could not be stored.
const maxFailure = 8 << 10

// Sizes of what is stored of each failed attempt, in bytes.
const (
	maxAttemptText  = 1 << 10
	maxAttemptStack = 4 << 10
)

// failureText returns the text of an error in its stored form: the whole text, or its beginning up
// to a character boundary, and a mark.
func failureText(text string) []byte {
	if len(text) <= maxFailure {
		return []byte(text)
	}
	end := len(journal.Cut(text, maxFailure))
	return fmt.Appendf([]byte(text[:end]), "... (%d of %d bytes cut)", len(text)-end, len(text))
}
