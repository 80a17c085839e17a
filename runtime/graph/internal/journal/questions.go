package journal

import (
	"errors"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Question is a stored question.
type Question struct {
	Path    []PathElement // of the subgraph calls that lead to the asking node
	Node    string        // that asks
	Index   int           // of the send that its task is of
	Name    string
	Payload []byte // what it asks
	Summary string // of the task; empty for none
}

var errFields = errors.New("a question has five fields, or six with a summary")

// Summarise adds the summary of the task to a question that AppendQuestion wrote without one.
func Summarise(question []byte, summary string) []byte {
	if summary == "" || len(question) == 0 {
		return question
	}
	b := append(make([]byte, 0, len(question)+len(summary)+5), question...)
	b[0]++ // one field more
	return wire.AppendString(b, summary)
}

// SummaryName is the name of the failure that has the summary of a task.
const SummaryName = "summary"

// AppendQuestion appends a question.
func AppendQuestion(b []byte, q Question) []byte {
	b = wire.AppendArrayLen(b, 5)
	b = appendPath(b, q.Path)
	b = wire.AppendString(b, q.Node)
	b = wire.AppendInt(b, int64(q.Index))
	b = wire.AppendString(b, q.Name)
	return Summarise(wire.AppendBytes(b, q.Payload), q.Summary)
}

// ReadQuestion reads what AppendQuestion wrote.
func ReadQuestion(b []byte) (q Question, err error) {
	r := wire.NewReader("question", b)
	fields := r.ArrayLen()
	if fields < 5 || fields > 6 {
		r.Damage(0, errFields)
	}
	q.Path = readPath(&r)
	q.Node, q.Index, q.Name, q.Payload = r.Str(), r.Int(), r.Str(), r.Bytes()
	if fields == 6 {
		if q.Summary = r.Str(); q.Summary == "" {
			r.Damage(0, errFields)
		}
	}
	err = r.End()
	if !r.Framed() {
		return Question{}, err
	}
	return q, nil
}
