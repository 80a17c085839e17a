package graph

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// ID names a node of a graph. Untyped constants convert. Declare constants for the ids that
// routes, tests and tools name. Ids that begin with two underscores are reserved.
type ID string

// Start is the beginning of every run, and End the end of its branches. Parent is the graph around
// a subgraph. They are not nodes: Start has only out-edges, End has only in-edges, and only a
// choice leads to Parent (ToParent).
const (
	Start  ID = "__start__"
	End    ID = "__end__"
	Parent ID = "__parent__"
)

// String returns the display name of the id: Start, End and Parent by these names.
func (id ID) String() string {
	switch id {
	case Start:
		return "Start"
	case End:
		return "End"
	case Parent:
		return "Parent"
	}
	return string(id)
}

// nodePath returns the display name of a node within subgraph calls: "sub/pay" or "read[2]/pay".
func nodePath(path []PathElement, node ID) string {
	var s string
	for _, e := range path {
		s += e.String() + "/"
	}
	return s + node.String()
}

// quoted returns an id for messages: a quoted string, or the name of the constant.
func quoted(id ID) string {
	switch id {
	case Start, End, Parent:
		return "graph." + id.String()
	}
	return strconv.Quote(string(id))
}

// ids converts names to ids, which print their display names. It returns nil for nil.
func ids(names []string) []ID {
	if names == nil {
		return nil
	}
	ids := make([]ID, len(names))
	for i, name := range names {
		ids[i] = ID(name)
	}
	return ids
}

// Next is the choice of a route or a routing node: tasks of the next superstep. To and Sender.Send
// return one, and Add combines several. Returning the zero Next is an error; return To(End) to end
// the branch. So a forgotten case, or a loop over an empty list, cannot end a branch by mistake.
type Next struct {
	first target // inline, so that To with one target allocates nothing
	more  []target
	owner *Next // the Next that may append to more in place; copies of it must not
}

// target is one choice: a node, with the input of a task node, or Parent, with its own choice.
type target struct {
	id   ID
	sent payload
}

// To returns a Next of the given nodes. To(End) ends the branch. A node named twice runs once.
func To(first ID, more ...ID) Next {
	n := Next{first: target{id: first}}
	for _, id := range more {
		n.more = append(n.more, target{id: id})
	}
	return n
}

// targets calls yield for each target of n, in order.
func (n *Next) targets(yield func(target) bool) {
	if n.first.id == "" || !yield(n.first) {
		return
	}
	for _, t := range n.more {
		if !yield(t) {
			return
		}
	}
}

// Add appends the tasks of m to those of n. Adding the zero Next changes nothing.
func (n *Next) Add(m Next) {
	if m.first.id == "" {
		return
	}
	if n.first.id == "" {
		n.first, n.more, n.owner = m.first, m.more, m.owner
		return
	}
	if n.owner != n {
		n.more, n.owner = slices.Clip(n.more), n
	}
	n.more = append(append(n.more, m.first), m.more...)
}

// Sender sends inputs to a task node. Each send is one task of the next superstep. TaskNode,
// RoutingTaskNode and TaskSubgraph return it.
type Sender[In any] struct {
	ID   ID // the node, for targets of routes, joins and edges
	wrap func(In) payload
	read func(payload) (In, error)
}

// Send returns a Next of one task of the node, with the input in. Next.Add combines several sends,
// also to several nodes; their updates merge in that order. On a thread, the task gets the decoded
// form of in, so it gets the same value before and after a resume. Without a thread, it gets in
// itself. The caller must not modify the memory of in after the call.
func (s Sender[In]) Send(in In) Next {
	if s.wrap == nil {
		return To(s.ID) // to an empty id, which the error names
	}
	return Next{first: target{s.ID, s.wrap(in)}}
}

// payload is the input of a send, of a type that its node knows.
type payload = plan.Payload

// typed is a payload that names its type, for messages.
type typed interface{ of() string }

// sent is the payload of type In.
type sent[In any, P wire.Generated[In]] struct{ in In }

func (s *sent[In, P]) AppendWire(b []byte) ([]byte, error) { return P(&s.in).AppendWire(b) }

func (s *sent[In, P]) of() string { return fmt.Sprintf("%T", s.in) }

// decoded returns the payload that the bytes b of s encode.
func (s *sent[In, P]) decoded(b []byte) (payload, error) {
	d := new(sent[In, P])
	if err := P(&d.in).DecodeWire(b); err != nil {
		return nil, &wire.LossyError{Methods: "AppendWire and DecodeWire of " + s.of(), Err: err}
	}
	return d, nil
}

func wrap[In any, P wire.Generated[In]](in In) payload { return &sent[In, P]{in} }

// received returns the input of a task node. A Sender of another graph, whose node of that id
// takes another type, may have sent it.
func received[In any, P wire.Generated[In]](p payload) (in In, err error) {
	s, ok := p.(*sent[In, P])
	if !ok {
		return in, fmt.Errorf("the payload is a %s, and the node takes a %s; send with the Sender of this node", p.(typed).of(), new(sent[In, P]).of())
	}
	return s.in, nil
}

func unwrap[In any, P wire.Generated[In]](b []byte) (payload, error) {
	s := new(sent[In, P])
	return s, payloadError(b, P(&s.in).DecodeWire(b))
}
