package graph

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// The result of a subgraph's task comes about in parts, each stored in the same act as the subgraph's own checkpoint: the
// updates of each superstep, when it is over the same state, named by the step; and where it sends the graph that it is
// in. They are Results with a name, of the task. Once the result itself is stored, they count for nothing. A subgraph that begins
// anew does so at a later step, so the parts of what it began before are never taken for its own.

const (
	// partNext begins the name of the part that says where the subgraph sends the graph that it is in; its last step follows.
	partNext = "next "
	// partLine names what a Rerun stores: the line on which the subgraph runs. What is stored of it on another one counts for nothing.
	partLine = "line"
)

// newLine returns the writes that give the call of the task in w, a Discard, a line of its own.
func newLine(w checkpoint.Write, id checkpoint.ID) []checkpoint.Write {
	w.Name = partLine
	line := w
	line.Kind, line.Payload = checkpoint.Result, id[:]
	return []checkpoint.Write{w, line}
}

// lineOf returns the line on which the call of the given task runs: that of this run, unless it was to begin anew.
func (r *run[S, U]) lineOf(key string) (line checkpoint.ID, err error) {
	stored, ok := r.partial[key][partLine]
	if !ok {
		return r.line.id, nil
	}
	if copy(line[:], stored) != len(line) || len(stored) != len(line) {
		return line, r.changed(checkpoint.ErrDamaged, "the line on which a subgraph began anew")
	}
	return line, nil
}

// outer is what a subgraph's run has to tell the graph that it is in.
type outer struct {
	part        checkpoint.Write // what every part begins with
	stored      bool             // of an OnExit run: the record that parts belong to is stored
	dropUnknown bool             // as that graph says

	next  Next               // where it sends that graph; zero for nowhere
	parts []checkpoint.Write // of an OnExit run: for the outer run to store with what it comes to, now that their checkpoint is stored
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

func (u upward) AppendWire(b []byte) ([]byte, error) { return appendTargets(b, nil, u.next) }

// stored is what is sent to a node of an outer graph, as it was stored.
type stored []byte

func (s stored) AppendWire(b []byte) ([]byte, error) { return append(b, s...), nil }

func (u upward) of() string { return "choice for Parent" }

func (s stored) of() string { return "stored payload" }

// readUpward reads what a stored choice has Parent do.
func readUpward(b []byte) (payload, error) {
	var u upward
	_, err := readTargets(b, false, func(id ID, raw []byte) error {
		t := target{id: id}
		if raw != nil {
			t.sent = stored(raw)
		}
		u.next.Add(Next{first: t})
		return nil
	})
	return u, err
}

// fromBelow returns what a subgraph chose for this graph, with the ids that its nodes have and the payloads as they take them:
// it may have been stored before the graph changed.
func (r *run[S, U]) fromBelow(next Next) (*Next, error) {
	if next.first.id == "" {
		return new(Next), nil
	}
	got := new(Next)
	for i := -1; i < len(next.more); i++ {
		t := next.first
		if i >= 0 {
			t = next.more[i]
		}
		if n, ok := r.g.former[t.id]; ok {
			t.id = r.g.nodes[n].id
		}
		if raw, ok := t.sent.(stored); ok {
			var err error
			if t.sent, err = r.unwrap(t.id, raw); err != nil {
				return nil, err
			}
		}
		got.Add(Next{first: t})
	}
	return got, nil
}

// sendUp takes note of what a route or node has the outer graph do.
func (r *run[S, U]) sendUp(u upward) error {
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
func (r *run[S, U]) endsUpward() error {
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
func (r *run[S, U]) keepChanges() {
	if !r.same || r.plan.Input() {
		return
	}
	for i := range r.slots {
		switch sl := &r.slots[i]; {
		case sl.progress == beaten:
		case r.g.nodes[sl.Node].same:
			r.changes = append(r.changes, sl.call.changes...)
		default:
			r.changes = append(r.changes, sl.update)
		}
	}
}

// tellOuter returns the parts of the outer task's result that the commit under way has to store with it.
func (r *run[S, U]) tellOuter(o outcome) ([]checkpoint.Write, error) {
	if r.outer == nil || r.log == nil {
		return nil, nil
	}
	var parts []checkpoint.Write
	if r.same && r.told.step < r.plan.Step { // also of a step that changed nothing: a gap would be the beginning
		w := r.outer.part
		w.Name = strconv.Itoa(r.plan.Step)
		var err error
		if w.Payload, err = r.appendChanges(r.changes[r.told.changes:]); err != nil {
			return nil, fmt.Errorf("%s: encode what its nodes returned: %w", where(r.g.name, r.thread, r.plan.Step), err)
		}
		r.told.changes, r.told.step = len(r.changes), r.plan.Step
		parts = append(parts, w)
	}
	if r.outer.next.first.id != "" && r.plan.Ended() {
		w := r.outer.part
		w.Name = partNext + strconv.Itoa(r.plan.Step)
		var err error
		if w.Payload, err = appendChoice(nil, r.outer.next); err != nil {
			return nil, fmt.Errorf("%s: what it has Parent do cannot be stored: %w", where(r.g.name, r.thread, r.plan.Step), err)
		}
		parts = append(parts, w)
	}
	return parts, nil
}

// metaNext is the name, in a record's Meta, of what partNext says, in hex.
const metaNext = "next"

// sayNext has the last record of a subgraph over a state of its own say where it sends the graph that it is in. With OnExit
// the record is stored before the task's result, whose parts belong to a record that may not be.
func (r *run[S, U]) sayNext(rec *checkpoint.Record, o outcome) error {
	if r.outer == nil || r.same || r.outer.next.first.id == "" || !r.plan.Ended() {
		return nil
	}
	choice, err := appendChoice(nil, r.outer.next)
	if err != nil {
		return fmt.Errorf("%s: what it has Parent do cannot be stored: %w", where(r.g.name, r.thread, r.plan.Step), err)
	}
	if rec.Meta == nil {
		rec.Meta = make(map[string]string, 1)
	}
	rec.Meta[metaNext] = hex.EncodeToString(choice)
	return nil
}

// saidNext returns what a finished subgraph has the outer graph do, as it is stored; nil for nothing.
func saidNext(last *checkpoint.Record, parts map[string][]byte) ([]byte, error) {
	if choice, ok := parts[partNext+strconv.Itoa(last.Step)]; ok {
		return choice, nil
	}
	choice, err := hex.DecodeString(last.Meta[metaNext])
	if err != nil {
		return nil, fmt.Errorf("record %s: what follows a subgraph: %w: %w", last.ID, checkpoint.ErrDamaged, err)
	}
	return choice, nil
}

// collect takes up the changes of a subgraph over the same state that are stored in parts. It reports whether the subgraph
// has to begin anew, because they were dropped.
func (r *run[S, U]) collect(c *checkpoint.Chain, parts map[string][]byte) (anew bool, err error) {
	last := &c.Records[len(c.Records)-1]
	from := last.Step
	for parts[strconv.Itoa(from)] != nil {
		from--
	}
	for step := from + 1; step <= last.Step; step++ {
		changes, err := r.readChanges(parts[strconv.Itoa(step)])
		if err != nil {
			return false, r.resultChanged(err, "what a subgraph changed in step %d", step)
		}
		r.changes = append(r.changes, changes...)
	}
	r.told.changes, r.told.step = len(r.changes), last.Step
	return from == last.Step && last.Source != checkpoint.Input, nil
}

// appendChanges and readChanges are the codec of several updates: an array of them, as binary.
func (r *run[S, U]) appendChanges(changes []U) (_ []byte, err error) {
	defer rescue(&err)
	b := wire.AppendArrayLen(nil, len(changes))
	var one []byte
	for i := range changes {
		if one, err = r.g.schema.AppendUpdate(one[:0], &changes[i]); err != nil {
			return nil, err
		}
		b = wire.AppendBytes(b, one)
	}
	return b, nil
}

func (r *run[S, U]) readChanges(b []byte) ([]U, error) {
	in := wire.NewReader("changes", b)
	changes := make([]U, in.ArrayLen())
	for i := range changes {
		one := in.Bytes()
		if !in.OK() {
			break
		}
		if err := r.g.schema.DecodeUpdate(one, &changes[i]); err != nil {
			return nil, err
		}
	}
	err := in.End()
	in.Framed()
	return changes, err
}
