package graph

import (
	"context"
	"iter"
)

// ThreadEdit is an edit of a thread that its Resume stores first. Thread.Edit returns it.
type ThreadEdit[S, U any] struct{ thread Thread[S, U] }

// Edit returns the thread with an update for Resume. One act stores the update, the answers and
// the opening of the run: a crash stores all of them or none.
//
//	res, err := t.Edit(u).Resume(ctx, approve.Answer(q, true))
//
// Otherwise it has the effect of UpdateState followed by Resume. At the head it is an edit: due
// tasks stay due, and see the new state. At an older checkpoint it is a fork. On a finished thread
// it only stores the update. If the thread has a cancel that no run has taken, Resume stores the
// update without the answers, and ends the thread as Cancelled.
func (t Thread[S, U]) Edit(u U) ThreadEdit[S, U] {
	t.edit, t.thread.edited = &u, true
	return ThreadEdit[S, U]{t}
}

// Resume merges the update and then works like Thread.Resume. It stores nothing if the update
// cannot be merged or an answer is wrong.
func (e ThreadEdit[S, U]) Resume(ctx context.Context, opts ...ResumeOption) (Result[S], error) {
	return e.thread.Resume(ctx, opts...)
}

// ResumeStream merges the update and then works like Thread.ResumeStream. See Resume.
func (e ThreadEdit[S, U]) ResumeStream(ctx context.Context, opts ...ResumeOption) iter.Seq2[Event[S, U], error] {
	return e.thread.ResumeStream(ctx, opts...)
}
