package shape

import "github.com/graphgen-go/graphgen/runtime/wire"

// Graph describes the data that a graph stores: its state and the questions of its nodes. It is
// stored once for each version of a thread and fingerprint of the state. It must not be modified.
type Graph struct {
	State     State
	Questions []Question // in the order of the nodes' lists, each name once
}

// Question describes a question.
type Question struct {
	Name     string
	Question Payload
	Answer   Payload
}

// AppendWire appends the description to b as MessagePack. It does not fail.
func (g *Graph) AppendWire(b []byte) ([]byte, error) {
	b = wire.AppendInt(wire.AppendArrayLen(b, 3), Format)
	b, _ = g.State.AppendWire(b)
	b = wire.AppendArrayLen(b, len(g.Questions))
	for i := range g.Questions {
		q := &g.Questions[i]
		b = wire.AppendString(wire.AppendArrayLen(b, 3), q.Name)
		b, _ = q.Question.AppendWire(b)
		b, _ = q.Answer.AppendWire(b)
	}
	return b, nil
}

// DecodeWire replaces the description by the one in b, as [State.DecodeWire] does.
func (g *Graph) DecodeWire(b []byte) error {
	return decode(g, "Graph", b, (*Graph).ReadWire)
}

// ReadWire reads a description that is part of other data, as [State.ReadWire] does.
func (g *Graph) ReadWire(r *wire.Reader) error {
	if err := readFormat(r, 3); err != nil {
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
	if failed != nil {
		return failed
	}
	*g = out
	return nil
}
