package graph

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/ending"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// A timer is a question that nobody answers but the run that holds the thread, once its time has
// come. A question that expires is answered in the same way. Answers are stored, so that a node
// that runs again sees what it saw before.

// earliest returns the earliest due time of open questions; zero for none.
func earliest(asked []subgraph.Asked) (next time.Time) {
	for i := range asked {
		next = inbox.Earlier(next, asked[i].Due)
	}
	return next
}

// Wakes implements exec.Host.
func (r *run) Wakes(i int) time.Time {
	due := r.opt.box.nextDue(r.askedBy(i))
	if due.IsZero() {
		return due
	}
	return time.Now().Add(due.Sub(r.log.Now()))
}

// Wake implements exec.Host.
func (r *run) Wake(tasks []int) (woken []int, err error) {
	var asked []subgraph.Asked
	for _, i := range tasks {
		asked = append(asked, r.askedBy(i)...)
	}
	answers := make(map[string][]byte) // by the id of the question
	err = r.opt.box.wake(asked, r.log.Now(), func(a inbox.Act) error {
		for i := range a.Writes {
			answers[inbox.QuestionID(&a.Writes[i])] = a.Writes[i].Payload
		}
		var questions []checkpoint.Write // that are not stored yet
		for _, i := range tasks {
			if slices.ContainsFunc(r.askedBy(i), func(a subgraph.Asked) bool { return answers[a.Task+"/"+a.Place] != nil }) {
				questions = append(questions, r.questionWrites(r.writeOf(&r.exec.Tasks[i].Task), &r.exec.Tasks[i])...)
				woken = append(woken, i)
			}
		}
		if len(woken) == 0 && a.Messages.Empty() {
			return nil
		}
		if err := r.log.Put(r.ctx, append(questions, a.Writes...), journal.Change{Messages: a.Messages}); err != nil {
			return r.saving("put writes", err)
		}
		if len(a.Messages.Take) > 0 {
			return r.saving("put writes", r.log.WaitStored())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	woken = slices.DeleteFunc(woken, func(i int) bool { return !r.give(i, answers) })
	return woken, nil
}

// give gives stored answers, by the ids of the questions, to task i. It reports whether the task
// runs again.
func (r *run) give(i int, answers map[string][]byte) bool {
	t := &r.exec.Tasks[i]
	if t.Asks == nil {
		return true // of a subgraph
	}
	key := r.taskKey(&t.Task)
	byPlace := make(map[string][]byte)
	for _, o := range t.Asks.Open() {
		if answer := answers[key+"/"+o.Place]; answer != nil {
			byPlace[o.Place] = answer
		}
	}
	t.Asks.Give(byPlace)
	t.Stored = true
	return len(t.Asks.Open()) == 0
}

// Park implements exec.Host.
func (r *run) Park(i int, delay time.Duration) bool {
	if r.log == nil || delay <= r.g.lease() {
		return false
	}
	t := &r.exec.Tasks[i]
	if t.Asks == nil {
		t.Asks = r.newAsks(&r.g.nodes[t.Node], t.Index)
	}
	t.Asks.Park(t.Attempt+1, delay)
	return true
}

// await decides whether a run that has nothing else to do continues, and waits in memory for its
// next timer. It reports whether tasks are due again.
func (r *run) await() (again bool, err error) {
	if r.log == nil || r.call != nil || r.opt.rehearse || r.exec.Has(exec.Stopped) || r.exec.Has(exec.Drained) || !r.pollsAgain().IsZero() {
		return false, nil
	}
	asked := r.asked()
	idle := ending.Idle{Next: earliest(asked), Lease: r.g.lease()}
	idle.Open = slices.ContainsFunc(asked, func(a subgraph.Asked) bool { return !task.IsTimer(a.Place) })
	if idle.Signal, err = r.opt.box.come(asked); err != nil {
		return false, err
	}
	idle.Draining = r.drains.stopping()
	until, ok := idle.Rest(r.log.Now())
	if !ok {
		return false, nil
	}
	if !until.IsZero() {
		if r.log.Eager() { // else the end of the run stores what still counts (rule 14.6)
			if err := r.acknowledge(r.exec.Unstored()); err != nil {
				return false, err
			}
		}
		if err := r.log.WaitStored(); err != nil { // else a crash would move the time
			return false, r.saving("put writes", err)
		}
		if again, err := r.rest(until); !again || err != nil {
			return false, err
		}
	}
	return r.exec.Wake()
}

// lease returns for how long a run of the graph holds its thread between two renewals.
func (g *core) lease() time.Duration { return cmp.Or(g.opt.lease, checkpoint.DefaultLease) }

// rest waits until due, on the saver's clock. It returns false if the graph, the thread or the
// worker drains first.
func (r *run) rest(due time.Time) (bool, error) {
	t := time.NewTimer(due.Sub(r.log.Now()))
	defer t.Stop()
	select {
	case <-t.C:
		return true, nil
	case <-r.drains.graph.stops():
		return false, nil
	case <-r.drains.thread.stops():
		return false, nil
	case <-r.drains.worker:
		return false, nil
	case <-r.ctx.Done():
		return false, r.cancelled()
	}
}

// saverTime returns the time on the saver's clock if one of the open questions has a due time,
// else zero.
func saverTime(r *run, open []inbox.Question) (time.Time, error) {
	if !slices.ContainsFunc(open, func(q inbox.Question) bool { return !q.Of.Due.IsZero() }) {
		return time.Time{}, nil
	}
	return readTime(r)
}

// readTime returns the time on the saver's clock.
func readTime(r *run) (time.Time, error) {
	call, cancel := context.WithTimeout(r.ctx, r.g.opt.saverTimeout)
	defer cancel()
	got, err := r.g.opt.saver.Ready(call, checkpoint.ReadyQuery{Limit: 1}) // of no graph: only the time
	if err != nil && r.ctx.Err() != nil {
		return got.Now, r.cancelled()
	}
	return got.Now, r.saving("read the time", err)
}

// skipped returns the answers that end the pauses before a retry of the nodes of Rerun.
func (r *run) skipped(open []inbox.Question) (writes []checkpoint.Write) {
	for _, d := range r.plan.Due {
		if d.Node == start || !slices.Contains(r.opt.rerun, r.g.nodes[d.Node].id) {
			continue
		}
		writes = append(writes, inbox.EndPauses(open, r.log.Namespace, r.taskKey(&d))...)
	}
	return writes
}

// wakeOf returns when the thread is due after an edit at its head, which leaves what is due. c is
// the head before it. A waiting thread is due now if writes, those of the edit, void the outcomes
// of queued tasks: a run hands these out again. The timers of a cancelled thread do not count, nor
// those of tasks that lost a race.
func (r *run) wakeOf(c *checkpoint.Chain, writes []checkpoint.Write) (time.Time, error) {
	voids := slices.ContainsFunc(writes, func(w checkpoint.Write) bool { return w.Kind == checkpoint.Outcome })
	switch {
	case c.Thread.Status == Cancelled:
		return c.Thread.Wake, nil
	case c.Thread.Status == Waiting && voids:
		return c.Thread.Now, nil
	}
	open, err := r.counting(c, r.g.questions(openQuestions("", c)))
	_, next := inbox.Expire(open, nil, time.Time{})
	return inbox.Earlier(c.Thread.Wake, next), err
}
