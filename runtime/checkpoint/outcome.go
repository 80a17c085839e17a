package checkpoint

import (
	"context"
	"fmt"
	"strconv"
)

// Outcomes stores the outcomes of tasks that other processes run for the run that holds their
// thread. Every [Saver] has it.
//
// An outcome is a [Write] of kind [Outcome]. Its Base and Task name the task, and its Name one
// execution of the task. The process that stores it has no fence and no lease, so it can change
// nothing else. The run that holds the thread decides what an outcome leads to. Loads and openings
// return outcomes like other pending writes, and a commit of the base retires them.
type Outcomes interface {
	// PutOutcome stores the outcome of a task of the open version of a thread. It changes neither
	// the lease nor the status nor anything else. If an outcome with the same Namespace, Base,
	// Task and Name is stored already, that one stays, and PutOutcome succeeds.
	//
	// If the base is committed, PutOutcome succeeds and has no effect. If the open version has no
	// record with the id Base, PutOutcome returns ErrNotFound. This is also the case if the
	// version of the base was released, or its thread deleted.
	PutOutcome(ctx context.Context, thread string, outcome Write) error

	// Outcomes returns those outcomes that q names and that are stored, in any order. It returns
	// none if the base is committed, or if it is not in the open version. Nobody may modify the
	// payloads.
	Outcomes(ctx context.Context, q OutcomeQuery) ([]Write, error)
}

// OutcomeQuery names outcomes of tasks that have one base.
type OutcomeQuery struct {
	Thread    string
	Namespace string
	Base      ID
	Names     []OutcomeName
}

// OutcomeName names one execution of a task.
type OutcomeName struct {
	Task string
	Name string
}

// Write returns the outcome that n names, without its payload.
func (q *OutcomeQuery) Write(n OutcomeName) Write {
	return Write{Namespace: q.Namespace, Base: q.Base, Task: n.Task, Kind: Outcome, Name: n.Name}
}

// Check returns an [*InvalidError] for the first value in q that no saver accepts, or nil.
func (q *OutcomeQuery) Check() error {
	if err := checkNames(q.Thread, q.Namespace); err != nil {
		return err
	}
	for i, n := range q.Names {
		w := q.Write(n)
		if err := w.check(); err != nil {
			err.Field = fmt.Sprintf("names[%d].%s", i, err.Field)
			return err
		}
	}
	return nil
}

// CheckOutcome returns an [*InvalidError] if no saver accepts outcome for thread, or nil.
func CheckOutcome(thread string, outcome *Write) error {
	if err := CheckThread(thread); err != nil {
		return err
	}
	if outcome.Kind != Outcome {
		return &InvalidError{"outcome.Kind", strconv.Itoa(int(outcome.Kind)), "Outcome"}
	}
	if err := outcome.check(); err != nil {
		err.Field = "outcome." + err.Field
		return err
	}
	return nil
}
