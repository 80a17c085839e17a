package journal

import (
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Question is a stored question.
type Question struct {
	Path    []PathElement // of the subgraph calls that lead to the asking node
	Node    string        // that asks
	Index   int           // of the send that its task is of
	Name    string
	Payload []byte    // what it asks
	Summary string    // of the task; empty for none
	Due     time.Time // of a timer, or when the question expires; zero for never
	Left    bool      // the branch of its task is not that of the thread any more
}

// Complete adds the summary of the task and a due time to a question that AppendQuestion wrote
// without them.
func Complete(question []byte, summary string, due time.Time) []byte {
	if summary == "" && due.IsZero() || len(question) == 0 {
		return question
	}
	b := append(make([]byte, 0, len(question)+len(summary)+20), question...)
	b[0]++ // one field more
	b = wire.AppendString(b, summary)
	if due.IsZero() {
		return b
	}
	b[0]++
	return wire.AppendTime(b, due)
}

// SummaryName is the name of the Failure that has the summary of a task that failed.
const SummaryName = "summary"

// AppendQuestion appends a question.
func AppendQuestion(b []byte, q Question) []byte {
	b = wire.AppendArrayLen(b, 5)
	b = appendPath(b, q.Path)
	b = wire.AppendString(b, q.Node)
	b = wire.AppendInt(b, int64(q.Index))
	b = wire.AppendString(b, q.Name)
	return Complete(wire.AppendBytes(b, q.Payload), q.Summary, q.Due)
}

// leftMark begins a question whose branch was left: it is the header of an array of one element.
const leftMark = 0x91

// SetLeft returns a stored question as it is stored while its branch is left, or while it is that
// of the thread. It may share the memory of question.
func SetLeft(question []byte, left bool) []byte {
	switch is := len(question) > 0 && question[0] == leftMark; {
	case is == left:
		return question
	case left:
		return append(append(make([]byte, 0, 1+len(question)), leftMark), question...)
	}
	return question[1:]
}

// ReadQuestion reads what AppendQuestion or SetLeft wrote.
func ReadQuestion(b []byte) (q Question, err error) {
	asked := SetLeft(b, false)
	q.Left = len(asked) < len(b)
	r := wire.NewReader("question", asked)
	fields := r.ArrayLen()
	if fields < 5 || fields > 7 {
		r.Damage(0, fmt.Errorf("got %d elements; want the 5 of a question, 6 with a summary, or 7 with a due time", fields))
	}
	q.Path = readPath(&r)
	q.Node, q.Index, q.Name, q.Payload = r.Str(), r.Int(), r.Str(), r.Bytes()
	if fields > 5 {
		q.Summary = r.Str()
	}
	if fields > 6 {
		q.Due = r.Time()
	}
	if fields == 6 && q.Summary == "" || fields == 7 && q.Due.IsZero() {
		r.Damage(0, fmt.Errorf("got an empty summary or due time in %d elements; want it left out", fields))
	}
	err = r.End()
	if !r.Framed() {
		return Question{}, err
	}
	return q, nil
}
