package diagram

import "github.com/graphgen-go/graphgen/runtime/graph"

// Option changes a picture.
type Option func(*options)

type options struct {
	expand  bool
	details bool
	across  bool
	place   Place
}

// Expand draws the nodes of subgraphs inside their nodes. Without it a subgraph is one box. From
// 10,000 boxes on, further subgraphs are one box.
func Expand() Option { return func(o *options) { o.expand = true } }

// Details draws also the nodes with the option graph.Detail. Without it, such a node is drawn only
// if At marks it as due, waiting or failed.
func Details() Option { return func(o *options) { o.details = true } }

// LeftToRight draws the graph from left to right. Without it the graph is drawn from top to
// bottom.
func LeftToRight() Option { return func(o *options) { o.across = true } }

// At marks the nodes of a place: what has run, is due, waits or has failed.
func At(p Place) Option { return func(o *options) { o.place = p } }

// Mark is the state of a node in a picture.
type Mark string

// The marks, in the order in which a later one replaces an earlier one.
const (
	Done    Mark = "done"
	Due     Mark = "due"
	Waiting Mark = "waiting"
	Failed  Mark = "failed"
)

// Place is where a thread stands: the marks of nodes.
type Place struct {
	Marks  map[graph.ID]Mark
	Inside map[graph.ID]*Place // of subgraphs, by their nodes
}

// PlaceOf returns the place of a snapshot. The nodes that ran in the superstep of the snapshot, or
// of an older one, are done. A node is failed if the last attempt of a task has failed. It
// is waiting if a question, a timer, a signal or a stop holds a task. The other due nodes are due.
//
// A snapshot lists the due nodes of the graph itself. Inside subgraphs, only the nodes that wait
// are marked. All sends to a node share its mark.
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

// mark marks nodes, and the subgraphs around them.
func (p *Place) mark(m Mark, around []graph.PathElement, nodes ...graph.ID) {
	if p.Marks == nil {
		p.Marks, p.Inside = make(map[graph.ID]Mark), make(map[graph.ID]*Place)
	}
	if len(around) == 0 {
		for _, id := range nodes {
			p.Marks[id] = m
		}
		return
	}
	sub := around[0].Node
	p.Marks[sub] = m
	if p.Inside[sub] == nil {
		p.Inside[sub] = new(Place)
	}
	p.Inside[sub].mark(m, around[1:], nodes...)
}
