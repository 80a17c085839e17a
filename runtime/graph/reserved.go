package graph

import (
	"context"
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// ReservedPrefix begins the ids of threads that packages of graphgen create, such as the firings
// of package schedule, and the pauses of package worker. It also begins the names of the graphs of
// these packages, and the ids Start, End and Parent. So a user who chooses the id of a thread
// cannot create such a thread.
//
// Invoke, Stream, Submit and UpdateState return a *checkpoint.InvalidError instead of creating a
// thread whose id is reserved. Invoke, Stream and Submit also refuse further input. Signal, Cancel
// and Wake return checkpoint.ErrNotFound if such a thread does not exist. All other calls work as
// on any thread. Only a graph with a reserved name creates threads with reserved ids.
const ReservedPrefix = "__"

// reserved reports whether the id of a thread or a node, or the name of a graph, is reserved.
func reserved(name string) bool { return strings.HasPrefix(name, ReservedPrefix) }

// mayBegin returns an error if the id of a thread is reserved, and the name of its graph is not.
func mayBegin(graph, thread string) error {
	if !reserved(thread) || reserved(graph) {
		return nil
	}
	return fmt.Errorf("%s: %w", where(graph, thread, -1), &checkpoint.InvalidError{
		Field: "thread", Found: fmt.Sprintf("input for %s", quoted(ID(thread))),
		Want: fmt.Sprintf("an id of your own: packages of graphgen begin the threads whose ids begin with %q", ReservedPrefix),
	})
}

// hasBegun returns ErrNotFound for a thread that mayBegin refuses and that does not exist.
func hasBegun(ctx context.Context, g *core, thread string) error {
	if mayBegin(g.name, thread) == nil {
		return nil
	}
	c, err := loadChain(ctx, g, g.opt.saver, checkpoint.Ref{Thread: thread, Namespace: checkpoint.NoCall})
	if err == nil && c.Thread.Created.IsZero() {
		err = fmt.Errorf("%s: %w: only packages of graphgen begin a thread whose id begins with %q",
			where(g.name, thread, -1), checkpoint.ErrNotFound, ReservedPrefix)
	}
	return err
}
