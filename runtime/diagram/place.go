package diagram

import "github.com/graphgen-go/graphgen/runtime/graph"

// Mark is the state of a node in a picture. Pictures ignore other values than the constants.
type Mark string

// The marks. If several tasks of a node have different marks, the picture shows the last one in
// this order.
const (
	Done    Mark = "done"
	Due     Mark = "due"
	Waiting Mark = "waiting"
	Failed  Mark = "failed"
)

// Place is where a thread stands: the marks of nodes. The functions of this package do not modify
// a Place that they get.
type Place struct {
	Marks  map[graph.ID]Mark
	Inside map[graph.ID]*Place // of subgraphs, by their nodes
}

// PlaceOf returns the place of a snapshot. The nodes that ran in the superstep of the snapshot, or
// of an older one, are done. A node is failed if the last attempt of a task has failed. It
// is waiting if a question, a timer, a signal or a stop holds a task. The other due nodes are due.
//
// The snapshots are of a thread, not of a subgraph call in it. A snapshot lists the due nodes of
// the graph itself. Inside subgraphs, PlaceOf marks only the nodes that wait; ReadPlace marks all
// of them.
func PlaceOf[S any](s graph.Snapshot[S], older ...graph.Snapshot[S]) Place {
	var p Place
	for _, o := range older {
		p.mark(Done, nil, o.Ran...)
	}
	p.mark(Done, nil, s.Ran...)
	p.mark(Due, nil, s.Next...)
	for _, q := range s.Questions {
		p.mark(Waiting, q.Path, q.Node)
	}
	for _, t := range s.Timers {
		p.mark(Waiting, t.Path, t.Node)
	}
	for _, w := range s.Signals {
		p.mark(Waiting, w.Path, w.Node)
	}
	for _, stop := range s.Stops {
		p.mark(Waiting, stop.Path, stop.Node)
	}
	for _, t := range s.Tasks {
		if t.Failure != "" && !t.Finished {
			p.mark(Failed, nil, t.Node)
		}
	}
	return p
}

// rank returns the number of a mark in the order of the constants, from 1. It returns 0 for none.
func (m Mark) rank() int {
	for i := range marks {
		if marks[i].mark == m {
			return i + 1
		}
	}
	return 0
}

// mark marks nodes, and the subgraphs around them.
func (p *Place) mark(m Mark, around []graph.PathElement, nodes ...graph.ID) {
	p.init()
	if len(around) > 0 {
		sub := around[0].Node
		p.mark(m, nil, sub)
		p.inside(sub).mark(m, around[1:], nodes...)
		return
	}
	for _, id := range nodes {
		if m.rank() > p.Marks[id].rank() {
			p.Marks[id] = m
		}
	}
}

func (p *Place) init() {
	if p.Marks == nil {
		p.Marks, p.Inside = make(map[graph.ID]Mark), make(map[graph.ID]*Place)
	}
}

// inside returns the place inside a subgraph.
func (p *Place) inside(sub graph.ID) *Place {
	p.init()
	if p.Inside[sub] == nil {
		p.Inside[sub] = new(Place)
	}
	return p.Inside[sub]
}

// merge adds the marks of another place.
func (p *Place) merge(o *Place) {
	for id, m := range o.Marks {
		p.mark(m, nil, id)
	}
	for id, in := range o.Inside {
		p.inside(id).merge(in)
	}
}
