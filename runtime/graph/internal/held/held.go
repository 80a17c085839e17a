// Package held decides whether the due tasks hold a thread or a subgraph call, so that nothing can
// run there. It also decides which of them have lost a race.
//
// The caller describes all tasks that are due in one namespace, as [Task]s. A decision that needs
// a subgraph call names its task. The caller reads the call, adds the Verdict about it to the
// Task, and asks again.
//
// Invariants:
//   - The package does no I/O, and knows neither states nor graphs.
//   - A call is read only if the decision depends on it.
//   - A task that has lost its race has no effect on a decision about other tasks.
package held

// Task is a due task, with what is stored about it.
type Task struct {
	Key        string // the key of the task
	Call       string // the namespace of its subgraph call; empty for none
	Race       int    // the race that the task is in, from 1; 0 for none
	Done       bool   // its result is stored
	Asks       bool   // it has an open question, receive or timer
	AsksInside bool   // its call has one, or a stop
	Fallback   bool   // its node has a fallback

	Inside *Verdict // about its call; nil if the call was not read
}

// Verdict is what holds a thread, or a subgraph call.
type Verdict struct {
	Held  bool // nothing can run: each due task waits, has its result or has lost its race
	Waits bool // a task waits for an answer, a signal or a time; else only stops hold
}

// Decide decides whether the due tasks hold their thread or call. If that depends on a call that
// was not read, it returns the index of the task of the call; else read is -1.
//
// A superstep whose tasks all have results is not held, because it can be committed.
func Decide(tasks []Task) (v Verdict, read int) {
	over := Over(tasks)
	for i := range tasks {
		t := &tasks[i]
		switch {
		case over[i]:
		case t.Asks:
			v = Verdict{Held: true, Waits: true}
		case !t.AsksInside:
			return Verdict{}, -1
		case t.Inside == nil:
			return Verdict{}, i
		case !t.Inside.Held:
			return Verdict{}, -1
		default:
			v = Verdict{Held: true, Waits: v.Waits || t.Inside.Waits}
		}
	}
	return v, -1
}

// Over reports for each due task whether it has ended. Its result is stored, or it has lost its
// race to a task whose result is stored.
func Over(tasks []Task) []bool {
	var won map[int]bool
	for i := range tasks {
		if t := &tasks[i]; t.Done && t.Race > 0 {
			if won == nil {
				won = make(map[int]bool)
			}
			won[t.Race] = true
		}
	}
	over := make([]bool, len(tasks))
	for i := range tasks {
		over[i] = tasks[i].Done || won[tasks[i].Race]
	}
	return over
}

// Lost returns the due tasks whose questions and signals do not count any more, by their indexes.
// lost are those that have lost their races. handled are those with a result whose node has a
// fallback for its call: the call has ended, or the fallback has handled its failure.
func Lost(tasks []Task) (lost, handled []int) {
	over := Over(tasks)
	for i := range tasks {
		switch t := &tasks[i]; {
		case over[i] && !t.Done:
			lost = append(lost, i)
		case t.Done && t.Fallback && t.Call != "":
			handled = append(handled, i)
		}
	}
	return lost, handled
}
