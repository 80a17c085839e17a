package graph

import (
	"context"
	"iter"
)

// Edited is a thread together with an update, with which its next run begins. Thread.Edit returns it.
type Edited[S, U any] struct{ thread Thread[S, U] }

// Edit returns the thread with an update for Resume. The update is stored in the same act that opens the run,
// together with the answers: a crash stores all of them or none.
//
//	res, err := t.Edit(u).Resume(ctx, approve.Answer(q, true))
//
// Otherwise it has the effect of UpdateState followed by Resume. At the head it is an edit: due tasks stay due, and see the
// new state. At an older checkpoint it is a fork. On a finished thread it only stores the update.
func (t Thread[S, U]) Edit(u U) Edited[S, U] {
	t.edit = &u
	return Edited[S, U]{t}
}

// Resume is Thread.Resume, which begins with the update. Nothing is stored if the update cannot be merged or
// an answer is wrong.
func (e Edited[S, U]) Resume(ctx context.Context, opts ...ResumeOption) (Result[S], error) {
	return e.thread.Resume(ctx, opts...)
}

// ResumeStream is Thread.ResumeStream, which begins with the update. See Resume.
func (e Edited[S, U]) ResumeStream(ctx context.Context, opts ...ResumeStreamOption) iter.Seq2[Event[S, U], error] {
	return e.thread.ResumeStream(ctx, opts...)
}
