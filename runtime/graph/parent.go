package graph

import (
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// ToParent returns a Next that ends a subgraph and has the graph that it is in do next, instead of what follows the
// subgraph's node by a route; edges of that node fire as ever. The route or routing node that returns it declares Parent
// among its targets, and the subgraph's node lists next's targets in Targets. Nothing else may be due in the subgraph by
// then. It works its way up: next may be a ToParent again.
func ToParent(next Next) Next { return Next{first: target{Parent, upward{next}}} }

// upward is what Parent is to do. To a subgraph the payloads of its sends are bytes.
type upward struct{ next Next }

func (u upward) AppendWire(b []byte) ([]byte, error) {
	targets, err := encodeTargets(u.next)
	return journal.AppendTargets(b, targets), err
}

// raw is what is sent to a node of an outer graph, as it was stored.
type raw []byte

func (r raw) AppendWire(b []byte) ([]byte, error) { return append(b, r...), nil }

func (u upward) of() string { return "choice for Parent" }

func (r raw) of() string { return "stored payload" }

// readUpward reads what a stored choice has Parent do.
func readUpward(b []byte) (payload, error) {
	var u upward
	err := journal.ReadTargets(b, func(stored journal.Target) error {
		t := target{id: ID(stored.Node)}
		if stored.Sent != nil {
			t.sent = raw(stored.Sent)
		}
		u.next.Add(Next{first: t})
		return nil
	})
	return u, classed(err)
}

// translateChoice returns what a subgraph chose for this graph, with the ids that its nodes have and the payloads as they take them:
// it may have been stored before the graph changed.
func (g *core) translateChoice(next Next) (got Next, err error) {
	if next.first.id == "" {
		return got, nil
	}
	for t := range next.targets {
		if n, ok := g.former[t.id]; ok {
			t.id = g.nodes[n].id
		}
		if b, ok := t.sent.(raw); ok {
			if t.sent, err = g.unwrap(t.id, b); err != nil {
				return got, err
			}
		}
		got.Add(Next{first: t})
	}
	return got, nil
}

// callee is the run of a subgraph, as the run around it sees it. Some of its methods are also called for the run itself:
// chooseForParent then returns an error, checkParentChoice and keepUpdates do nothing, and open reports what it says.
type callee struct{ *run }

func (r *run) within() callee { return callee{r} }

// chooseForParent adds what a route or node has the Parent do.
func (r callee) chooseForParent(u upward) error {
	switch {
	case r.call == nil:
		return errors.New("it chose Parent, and the graph is in no other")
	case u.next.first.id == "":
		return errors.New("it has Parent do nothing; return graph.To(graph.End) to finish")
	}
	r.state.up().Add(u.next)
	return nil
}

// checkParentChoice returns an error if the subgraph chose for its Parent although something is due in it.
func (r callee) checkParentChoice() error {
	if r.state.up().first.id == "" {
		return nil
	}
	others := r.plan.Chosen()
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("%s: it sends its Parent on, while %v is due in it; end or join its branches first", where(r.g.name, r.thread, r.plan.Step), r.g.names(others))
}

// keepUpdates keeps the updates of the superstep that has just been merged, in a subgraph over the same state.
func (r callee) keepUpdates() {
	if !r.call.Same || r.plan.Input() {
		return
	}
	for i := range r.exec.Tasks {
		if sl := &r.exec.Tasks[i]; sl.Progress != exec.Beaten {
			r.state.keep(i, &r.g.nodes[sl.Node])
		}
	}
}

// parts returns what a subgraph over the same state stores with its record: the updates of the superstep.
func (r recorder) parts() ([]checkpoint.Write, error) {
	writes, err := r.call.Unreported(r.plan.Step, r.state.kept(), r.state.appendKept)
	if err != nil {
		err = fmt.Errorf("%s: encode what its nodes returned: %w", where(r.g.name, r.thread, r.plan.Step), err)
	}
	return writes, err
}
