package shape

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Graph describes the data that a graph stores: its state, and the questions and signals of its
// nodes. It is stored once for each version of a thread and fingerprint of the state. It must not
// be modified.
type Graph struct {
	State     State
	Questions []Question // in the order of the nodes' lists, each name once
	Signals   []Signal   // in the order of the nodes' lists, each name once
}

// Question returns the description of a question, or nil.
func (g *Graph) Question(name string) *Question {
	for i := range g.Questions {
		if g.Questions[i].Name == name {
			return &g.Questions[i]
		}
	}
	return nil
}

// Signal returns the description of a signal, or nil.
func (g *Graph) Signal(name string) *Signal {
	for i := range g.Signals {
		if g.Signals[i].Name == name {
			return &g.Signals[i]
		}
	}
	return nil
}

// Question describes a question.
type Question struct {
	Name     string
	Question Payload
	Answer   Payload
}

// Signal describes a signal.
type Signal struct {
	Name    string
	Payload Payload
	Reply   Payload // its Type is empty for a signal without a reply
}

// AppendWire appends the description to b as MessagePack. It does not fail.
func (g *Graph) AppendWire(b []byte) ([]byte, error) {
	b = wire.AppendInt(wire.AppendArrayLen(b, 4), Format)
	b, _ = g.State.AppendWire(b)
	b = wire.AppendArrayLen(b, len(g.Questions))
	for i := range g.Questions {
		q := &g.Questions[i]
		b = wire.AppendString(wire.AppendArrayLen(b, 3), q.Name)
		b, _ = q.Question.AppendWire(b)
		b, _ = q.Answer.AppendWire(b)
	}
	b = wire.AppendArrayLen(b, len(g.Signals))
	for i := range g.Signals {
		s := &g.Signals[i]
		replies := s.Reply.Type != ""
		n := 2
		if replies {
			n++
		}
		b = wire.AppendString(wire.AppendArrayLen(b, n), s.Name)
		if b, _ = s.Payload.AppendWire(b); replies {
			b, _ = s.Reply.AppendWire(b)
		}
	}
	return b, nil
}

// DecodeWire replaces the description by the one in b, as [State.DecodeWire] does.
func (g *Graph) DecodeWire(b []byte) error {
	return decode(g, "Graph", b, (*Graph).ReadWire)
}

// ReadWire reads a description that is part of other data, as [State.ReadWire] does.
func (g *Graph) ReadWire(r *wire.Reader) error {
	if err := readFormat(r, 4); err != nil {
		return err
	}
	var out Graph
	if err := out.State.ReadWire(r); err != nil {
		return err
	}
	var failed error
	out.Questions = list(r, func(q *Question) {
		if failed != nil {
			return
		}
		r.FixedArray(3)
		q.Name = r.Str()
		if failed = q.Question.ReadWire(r); failed == nil {
			failed = q.Answer.ReadWire(r)
		}
	})
	out.Signals = list(r, func(s *Signal) {
		if failed == nil {
			n := r.ArrayLen()
			if r.OK() && n != 2 && n != 3 {
				r.Damage(0, fmt.Errorf("got %d elements; want the 2 or 3 of a signal", n))
			}
			s.Name = r.Str()
			if failed = s.Payload.ReadWire(r); failed == nil && n == 3 {
				failed = s.Reply.ReadWire(r)
			}
			if s.Reply.Type == "" {
				s.Reply = Payload{}
			}
		}
	})
	if failed != nil {
		return failed
	}
	*g = out
	return nil
}
