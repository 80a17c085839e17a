package graph

import (
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// outer is what the run of a subgraph knows of the task that it is.
type outer struct {
	part        checkpoint.Write // of the task: what it stores parts of its result as
	dropUnknown bool             // as the graph says that it is in

	next Next // where it sends that graph; zero for nowhere
}

// ToParent returns a Next that ends a subgraph and has the graph that it is in do next, instead of what follows the
// subgraph's node by a route; edges of that node fire as ever. The route or routing node that returns it declares Parent
// among its targets, and the subgraph's node lists next's targets in Targets. Nothing else may be due in the subgraph by
// then. It works its way up: next may be a ToParent again.
func ToParent(next Next) Next { return Next{first: target{Parent, upward{next}}} }

// Targets lists what a subgraph may choose by ToParent: nodes of the graph that it is added to, and End. It makes the
// subgraph's node one that routes.
func Targets(ids ...ID) NodeOption {
	return nodeOption(func(o *nodeOptions) { o.targets = append(o.targets, ids...) })
}

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

// fromBelow returns what a subgraph chose for this graph, with the ids that its nodes have and the payloads as they take them:
// it may have been stored before the graph changed.
func (r *run) fromBelow(next Next) (got Next, err error) {
	if next.first.id == "" {
		return got, nil
	}
	for t := range next.targets {
		if n, ok := r.g.former[t.id]; ok {
			t.id = r.g.nodes[n].id
		}
		if b, ok := t.sent.(raw); ok {
			if t.sent, err = r.unwrap(t.id, b); err != nil {
				return got, err
			}
		}
		got.Add(Next{first: t})
	}
	return got, nil
}

// sendUp takes note of what a route or node has the outer graph do.
func (r *run) sendUp(u upward) error {
	switch {
	case r.outer == nil:
		return errors.New("it chose Parent, and the graph is in no other")
	case u.next.first.id == "":
		return errors.New("it has Parent do nothing; return graph.To(graph.End) to finish")
	}
	r.outer.next.Add(u.next)
	return nil
}

// endsUpward reports an error when the subgraph sends the outer graph on while it has something to do itself.
func (r *run) endsUpward() error {
	if r.outer == nil || r.outer.next.first.id == "" {
		return nil
	}
	others := r.plan.Chosen()
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("%s: it sends its Parent on, while %v is due in it; end or join its branches first", where(r.g.name, r.thread, r.plan.Step), r.names(others))
}

// keepChanges keeps the updates of the superstep that has just been merged, in a subgraph over the same state.
func (r *run) keepChanges() {
	if !r.same || r.plan.Input() {
		return
	}
	for i := range r.exec.Tasks {
		if sl := &r.exec.Tasks[i]; sl.Progress != exec.Beaten {
			r.state.keep(i, &r.g.nodes[sl.Node])
		}
	}
}

// parts returns what a subgraph over the same state stores with its record: the updates of the superstep, as a part of the
// result of its task. Together the parts are what the state around it has yet to merge.
func (r *run) parts() ([]checkpoint.Write, error) {
	if !r.same || r.told.step == r.plan.Step {
		return nil, nil
	}
	w := r.outer.part
	w.Name = journal.StepName(r.plan.Step) // also of a step that changed nothing: a gap would be damage
	var err error
	if w.Payload, err = r.state.appendKept(r.told.changes); err != nil {
		return nil, fmt.Errorf("%s: encode what its nodes returned: %w", where(r.g.name, r.thread, r.plan.Step), err)
	}
	r.told.changes, r.told.step = r.state.kept(), r.plan.Step
	return []checkpoint.Write{w}, nil
}

// collect restores the changes of a subgraph over the same state from the parts that are stored.
func (r *run) collect(last *checkpoint.Record, parts map[string][]byte) error {
	const input = 1 // the step of the record that begins a call
	for step := input + 1; step <= last.Step; step++ {
		part, ok := parts[journal.StepName(step)]
		if !ok {
			return fmt.Errorf("%s: what a subgraph changed in step %d is not stored: %w", where(r.g.name, r.thread, step), step, checkpoint.ErrDamaged)
		}
		if err := r.state.addKept(part); err != nil {
			return r.resultChanged(err, "what a subgraph changed in step %d", step)
		}
	}
	r.told.changes, r.told.step = r.state.kept(), last.Step
	return nil
}
