package graph

import (
	"context"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// inside marks a Thread that is seen from a subgraph call in it.
type inside struct {
	namespace   string
	saver       checkpoint.Saver // of the parent graph
	dropUnknown bool             // its option

	edit func(context.Context, runOptions, callEdit) (checkpoint.ID, error) // stores an edit of the call in its thread
}

// Inside returns t as seen from child, the graph of call. State and History show the checkpoints
// of that call, and its subgraph calls. The call comes from a Snapshot of t, which may itself be
// inside another call. UpdateState edits the state of the call while the thread is stopped. Only
// the thread itself can resume, fork or release; those methods return ErrInside here.
//
// State returns checkpoint.ErrNotFound if the call has not stored anything yet; its History is
// then empty. State returns ErrGraphChanged if child has another name than the stored graph,
// unless FormerNames lists the stored name.
//
// Inside is a function because a method has no type parameters of its own.
func Inside[S, U, CS, CU any](t Thread[S, U], call SubgraphCall, child *Graph[CS, CU]) Thread[CS, CU] {
	return Thread[CS, CU]{g: child, thread: t.thread.within(call, child.untyped())}
}

// within is Inside.
func (t threadCore) within(call SubgraphCall, child *core) threadCore {
	in := &inside{namespace: call.Namespace, edit: t.openInside}
	if t.inside != nil {
		in.edit = t.inside.edit
	}
	if t.g != nil {
		in.saver, in.dropUnknown = t.saver(), t.dropUnknown()
	}
	return threadCore{g: child, id: t.id, version: call.Version, inside: in}
}

// call returns the subgraph call of a task that is due at rec.
func (t threadCore) call(rec *checkpoint.Record, due checkpoint.Task) SubgraphCall {
	name := journal.DueCall(rec, t.namespace(), due)
	return SubgraphCall{Node: ID(due.Node), Index: int(due.Index), Namespace: journal.Within(t.namespace(), name), Version: t.version}
}

func (t threadCore) namespace() string {
	if t.inside == nil {
		return ""
	}
	return t.inside.namespace
}

// depth returns how many calls lead to the one that a thread is seen from.
func (in *inside) depth() int {
	if in == nil {
		return 0
	}
	return 1 + strings.Count(in.namespace, "/")
}

func (t threadCore) saver() checkpoint.Saver {
	if t.inside == nil {
		return t.g.opt.saver
	}
	return t.inside.saver
}

func (t threadCore) dropUnknown() bool {
	return t.g.opt.dropUnknown || t.inside != nil && t.inside.dropUnknown
}

// place returns the place of the checkpoint at; the zero id stands for the newest.
func (t threadCore) place(at checkpoint.ID) checkpoint.Ref {
	return checkpoint.Ref{Thread: t.id, Version: t.version, Namespace: t.namespace(), At: at}
}
