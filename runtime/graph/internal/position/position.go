// Package position translates where a run stands between its two forms. A plan knows nodes by
// number. A record stores their ids, because the numbers change with the graph.
//
// Invariants:
//   - The package does no I/O, and knows neither states nor payloads.
//   - Place finds again what Store has stored, as long as each node keeps its id or lists it as a
//     former one. The order of the due tasks stays.
//   - A stored id that no node has, or had, is reported. It is never dropped silently. The sends
//     to such ids are tasks of the catch-all, if the graph has one.
package position

import (
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// Names are the ids of a graph's nodes. They must not change while they are in use.
type Names struct {
	IDs     []string       // by number; that of Start is the first
	Numbers map[string]int // by id, also by former ids; and plan.End by its id
	End     string         // the id of plan.End
	Joins   []plan.Join

	CatchAll int // the node that gets the sends to nodes that do not exist; 0 for none
}

// Of returns the ids of nodes, and the id of End for plan.End; nil for none.
func (n *Names) Of(numbers []int) []string {
	var ids []string
	for _, number := range numbers {
		if number == plan.End {
			ids = append(ids, n.End)
			continue
		}
		ids = append(ids, n.IDs[number])
	}
	return ids
}

// Store stores a position in rec. due is memory for the due tasks, with one place for each.
func (n *Names) Store(rec *checkpoint.Record, p *plan.Position, due []checkpoint.Task) {
	for i := range due {
		t := &p.Due[i]
		due[i] = checkpoint.Task{Node: n.IDs[t.Node], Index: uint32(t.Index), Payload: t.Raw}
	}
	rec.Step, rec.Due, rec.PendingRoutes, rec.ClearedStops = p.Step, due, n.Of(p.Pending), n.Of(p.Cleared)
	for i, reached := range p.Joins {
		j := checkpoint.Join{To: n.IDs[n.Joins[i].To]}
		for source, yes := range reached {
			if yes {
				j.Fired = append(j.Fired, n.IDs[n.Joins[i].From[source]])
			}
		}
		if len(j.Fired) > 0 {
			rec.Joins = append(rec.Joins, j)
		}
	}
}

// Placed says how a stored position differs from that of the same nodes in the present graph.
type Placed struct {
	Was     []Was    // the due tasks whose node has another id
	Missing []string // stored ids that no node has, or had
}

// Was is a due task that was stored under another id than that of its node.
type Was struct {
	Due    int             // its index among the due tasks of the position
	Stored checkpoint.Task // the same task, as stored
	Caught bool            // its node is the catch-all
}

// Place makes p the position of a record, whose due tasks are due. It does not set the step, nor
// what was sent to the tasks. It returns an error if two stored nodes are now one.
func (n *Names) Place(p *plan.Position, rec *checkpoint.Record, due []checkpoint.Task) (placed Placed, err error) {
	p.Due = make([]plan.Task, 0, len(due))
	type place struct{ node, index int }
	under := make(map[place]string) // the id under which a task is stored
	for _, t := range due {
		number, ok := n.Numbers[t.Node]
		caught := !ok && t.Payload != nil && n.CatchAll > 0
		if caught {
			number, ok = n.CatchAll, true
		}
		if !ok {
			placed.Missing = append(placed.Missing, t.Node)
			continue
		}
		at := place{number, int(t.Index)}
		if before, ok := under[at]; ok && before != t.Node {
			return placed, fmt.Errorf("%q and %q are due, and both are now node %q; keep them as separate nodes until the thread has passed them",
				before, t.Node, n.IDs[number])
		}
		under[at] = t.Node
		if n.IDs[number] != t.Node {
			placed.Was = append(placed.Was, Was{Due: len(p.Due), Stored: t, Caught: caught})
		}
		p.Due = append(p.Due, plan.Task{Node: number, Index: int(t.Index), Raw: t.Payload})
	}
	p.Pending, p.Cleared = n.find(rec.PendingRoutes, &placed), n.find(rec.ClearedStops, &placed)
	placed.Missing = append(placed.Missing, n.PlaceJoins(p, rec.Joins)...)
	slices.Sort(placed.Missing)
	placed.Missing = slices.Compact(placed.Missing)
	return placed, nil
}

// find returns the numbers of stored ids, and adds those that no node has to placed.Missing.
func (n *Names) find(ids []string, placed *Placed) (numbers []int) {
	for _, id := range ids {
		number, ok := n.Numbers[id]
		if !ok {
			placed.Missing = append(placed.Missing, id)
			continue
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// PlaceJoins makes the joins of p those that some of their sources have reached. It returns the
// targets of the stored joins that the graph does not have.
func (n *Names) PlaceJoins(p *plan.Position, stored []checkpoint.Join) (missing []string) {
	if len(stored) == 0 {
		return nil
	}
	to := make(map[int][]int) // joins, by the node that they lead to
	for i, j := range n.Joins {
		to[j.To] = append(to[j.To], i)
	}
	for _, j := range stored {
		target, ok := n.Numbers[j.To]
		at := slices.IndexFunc(to[target], func(i int) bool { return n.placeJoin(p, i, j.Fired) })
		if !ok || at < 0 {
			missing = append(missing, j.To)
			continue
		}
		to[target] = slices.Delete(to[target], at, at+1)
	}
	return missing
}

// placeJoin restores join i if all of fired are among its sources, and reports whether they are.
// Several joins can lead to one node; their sources distinguish them.
func (n *Names) placeJoin(p *plan.Position, i int, fired []string) bool {
	sources := make(map[int]int, len(n.Joins[i].From))
	for source, number := range n.Joins[i].From {
		sources[number] = source
	}
	reached := make([]bool, len(sources))
	for _, id := range fired {
		number, ok := n.Numbers[id]
		source, waits := sources[number]
		if !ok || !waits {
			return false
		}
		reached[source] = true
	}
	if len(fired) == len(reached) {
		return false // a join that all its sources have reached has fired
	}
	p.Joins[i] = reached
	return true
}
