package graph

import (
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/held"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// A superstep can end waiting although one of its races is decided, or although a fallback has
// handled the failure of a subgraph call. The open questions of the other tasks of that race, and
// those of that call, stay stored until the commit. Nothing may be given to them: a signal would
// be missing elsewhere until then.

// beaten are the tasks of a namespace that lost a race, by their keys. They are also the subgraph
// calls of such tasks and of tasks with a stored result, by their names.
type beaten struct{ tasks, calls map[string]bool }

// beatenIn returns the tasks and the calls of a namespace that count no more. c is the head of the
// namespace, which is that of a call of g.
func beatenIn(g *core, c *checkpoint.Chain, namespace string) beaten {
	b := beaten{make(map[string]bool), make(map[string]bool)}
	tasks := g.dueIn(c, namespace)
	for i, over := range held.Over(tasks) {
		if t := &tasks[i]; over {
			b.tasks[t.Key] = !t.Done
			b.calls[t.Call] = true
		}
	}
	return b
}

// dueIn describes the due tasks of a namespace for the decisions of package held. c is the head of
// the namespace, which is that of a call of g.
func (g *core) dueIn(c *checkpoint.Chain, namespace string) []held.Task {
	stored := journal.Gather(c.Writes, c.Last.Base, namespace)
	tasks := make([]held.Task, len(c.Due))
	for i, d := range c.Due {
		key := journal.DueKey(&c.Last, namespace, d)
		_, done := stored.Result(key)
		tasks[i] = held.Task{Key: key, Call: journal.DueCall(&c.Last, namespace, d), Race: g.raceOf(d.Node), Done: done}
	}
	return tasks
}

// counting returns the open questions without those of tasks that lost a race, and of calls whose
// failure a fallback has handled, at any depth. c is the head of the thread.
func (r *opener) counting(c *checkpoint.Chain, open []inbox.Question) (count []inbox.Question, err error) {
	if r.g.plan.Races == 0 && !r.g.nests {
		return open, nil
	}
	known := make(map[string]beaten)
	for i := range open {
		lost, err := r.hasLost(c, known, &open[i])
		if err != nil {
			return nil, err
		}
		if !lost {
			count = append(count, open[i])
		}
	}
	return count, nil
}

// hasLost reports whether the task of an open question, or a call that the task is in, counts no
// more. known has the losers of namespaces, as far as they were read.
func (r *opener) hasLost(c *checkpoint.Chain, known map[string]beaten, q *inbox.Question) (bool, error) {
	g := r.g
	for at, depth := "", 0; g != nil; depth++ {
		name := journal.CallIn(at, q.Stored.Namespace)
		if g.plan.Races > 0 || g.fallsBack {
			b, err := r.losersIn(c, known, g, at)
			if err != nil || b.calls[name] || name == "" && b.tasks[q.Stored.Task] {
				return err == nil, err
			}
		}
		if name == "" || depth >= len(q.Of.Path) {
			return false, nil
		}
		at, g = journal.Within(at, name), g.subgraphOf(q.Of.Path[depth].Node)
	}
	return false, nil
}

// losersIn returns the losers in a namespace, which is that of a call of g, and keeps them in
// known.
func (r *opener) losersIn(c *checkpoint.Chain, known map[string]beaten, g *core, namespace string) (beaten, error) {
	if b, ok := known[namespace]; ok {
		return b, nil
	}
	if namespace != "" {
		inner, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, Namespace: namespace})
		if err != nil {
			return beaten{}, err
		}
		c = &inner
	}
	known[namespace] = beatenIn(g, c, namespace)
	return known[namespace], nil
}
