package graph

import (
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// inside says that a Thread is seen from a subgraph call in it.
type inside struct {
	namespace   string
	saver       checkpoint.Saver // of the outer graph
	dropUnknown bool             // as that says
}

// Inside returns t as child sees it, the graph that made call: State and History show the checkpoints of that call, and
// the calls in them. The call comes from a Snapshot of t, which may itself be inside another. A call that has not begun, or
// stored nothing yet, is checkpoint.ErrNotFound, and has no history; one of a graph of another name is ErrGraphChanged, unless
// FormerNames lists that. What runs there is the thread's to resume: everything else is ErrInside.
//
// It is a function because a method has no type parameters of its own.
func Inside[S, U, CS, CU any](t Thread[S, U], call SubgraphCall, child *Graph[CS, CU]) Thread[CS, CU] {
	in := &inside{namespace: call.Namespace}
	if t.g != nil {
		in.saver, in.dropUnknown = t.saver(), t.dropUnknown()
	}
	return Thread[CS, CU]{g: child, id: t.id, version: call.Version, inside: in}
}

// call is that of the subgraph which a task due at rec runs.
func (t Thread[S, U]) call(rec *checkpoint.Record, due checkpoint.Task) SubgraphCall {
	name := journal.DueCall(rec, t.namespace(), due)
	return SubgraphCall{Node: ID(due.Node), Namespace: journal.Within(t.namespace(), name), Version: t.version}
}

func (t Thread[S, U]) namespace() string {
	if t.inside == nil {
		return ""
	}
	return t.inside.namespace
}

func (t Thread[S, U]) saver() checkpoint.Saver {
	if t.inside == nil {
		return t.g.opt.saver
	}
	return t.inside.saver
}

func (t Thread[S, U]) dropUnknown() bool {
	return t.g.opt.dropUnknown || t.inside != nil && t.inside.dropUnknown
}

// place is where the checkpoint at is; zero is the newest.
func (t Thread[S, U]) place(at checkpoint.ID) checkpoint.Ref {
	return checkpoint.Ref{Thread: t.id, Version: t.version, Namespace: t.namespace(), At: at}
}
