package graph

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// ID names a node of a graph. Untyped constants convert; declare constants for the ids that routes, tests
// and tools name. Ids that begin with two underscores are reserved.
type ID string

// Start and End are where every run begins and where its branches end. Parent is the graph that a subgraph is in. None is
// a node: Start has only out-edges, End only in-edges, and only a choice leads to Parent (ToParent).
const (
	Start  ID = "__start__"
	End    ID = "__end__"
	Parent ID = "__parent__"
)

// String returns the id as people read it: Start, End and Parent by these names.
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

// quoted writes an id for messages: as a string, or as the constant that it is.
func quoted(id ID) string {
	switch id {
	case Start, End, Parent:
		return "graph." + id.String()
	}
	return strconv.Quote(string(id))
}

// ids are names as ids, which print as people read them; nil for none.
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

// Next is what a route or a routing node chose: the tasks of the next superstep. To and Sender.Send make one,
// Add joins several. The zero Next is an error of who returned it, so that a forgotten case, or a loop over
// nothing, is never taken for the end.
type Next struct {
	first target // inline, so that To with one target allocates nothing
	more  []target
	owner *Next // whose Add may append to more in place; a copy of it may not
}

// target is one thing to do next: a node, with what is sent to it if that is a task node, or Parent with what that is to do.
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

// targets calls yield with what n chose, in order.
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

// Add adds what m chose, after what n has. Adding the zero Next changes nothing.
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

// Sender sends to a task node: each send is one task of the next superstep. TaskNode and RoutingTaskNode return it.
type Sender[In any] struct {
	ID   ID // of the node: for targets of routes, joins and edges
	wrap func(In) payload
}

// Send returns a Next of one task of the node, which gets in. Several are joined by Next.Add; they run, and merge,
// in that order. in is stored with the checkpoint, so it must not be changed after.
func (s Sender[In]) Send(in In) Next {
	if s.wrap == nil {
		return To(s.ID) // of no node: the error says so
	}
	return Next{first: target{s.ID, s.wrap(in)}}
}

// payload is what a send carries, of a type that its node knows.
type payload = plan.Payload

// typed is a payload that names its type, for messages.
type typed interface{ of() string }

// sent is the payload of type In.
type sent[In any, P wire.Generated[In]] struct{ in In }

func (s *sent[In, P]) AppendWire(b []byte) ([]byte, error) { return P(&s.in).AppendWire(b) }

func (s *sent[In, P]) of() string { return fmt.Sprintf("%T", s.in) }

func wrap[In any, P wire.Generated[In]](in In) payload { return &sent[In, P]{in} }

// received returns what a task node was sent. A Sender of another graph, whose node of that id takes something else, may have
// sent it.
func received[In any, P wire.Generated[In]](p payload) (in In, err error) {
	s, ok := p.(*sent[In, P])
	if !ok {
		return in, fmt.Errorf("it was sent a %s, and takes a %s; send with the Sender of this very node", p.(typed).of(), new(sent[In, P]).of())
	}
	return s.in, nil
}

func unwrap[In any, P wire.Generated[In]](b []byte) (payload, error) {
	s := new(sent[In, P])
	return s, payloadError(b, P(&s.in).DecodeWire(b))
}
