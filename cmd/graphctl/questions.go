package main

import (
	"context"
	"strconv"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/shape/value"
)

// questionsOf returns the open questions of a thread, without stops and timers.
func questionsOf(t *checkpoint.Thread) []operate.Question { return ops(nil).Questions(t) }

// questionJSON describes an open question.
type questionJSON struct {
	Thread   string       `json:"thread,omitempty"`
	IDBytes  string       `json:"thread_base64,omitempty"` // if the id of the thread is not UTF-8
	Graph    string       `json:"graph,omitempty"`
	Kind     string       `json:"kind,omitempty"` // of the command waiting: see waitKinds
	ID       string       `json:"id,omitempty"`
	Question string       `json:"question,omitempty"`
	Signal   string       `json:"signal,omitempty"`
	Key      string       `json:"key,omitempty"`
	Queue    string       `json:"queue,omitempty"`
	Since    *time.Time   `json:"since,omitempty"` // of a queue: when the task was handed out
	Node     string       `json:"node"`
	Index    int          `json:"index,omitempty"`
	Summary  string       `json:"summary,omitempty"`
	Expires  *time.Time   `json:"expires,omitempty"`
	Due      *time.Time   `json:"due,omitempty"` // of a timer
	Payload  *value.Value `json:"payload,omitempty"`
	Error    string       `json:"error,omitempty"`
}

func questionOf(q *operate.Question) questionJSON {
	j := questionJSON{
		ID: q.ID, Question: q.Question, Node: nodePath(q.Path, q.Node), Index: q.Index, Summary: q.Summary, Expires: utc(q.Expires),
	}
	if q.Err != nil {
		j.Error = q.Err.Error()
	}
	return j
}

// read adds the payload of the question to j. d describes it; nil if it is not known.
func (j *questionJSON) read(payload []byte, d *shape.Question) {
	var p *shape.Payload
	if d != nil {
		p = &d.Question
	}
	v, err := value.Payload(p, payload)
	if err != nil {
		j.Error = err.Error()
		return
	}
	j.Payload = &v
}

// readQuestions returns the questions of a version with their payloads. It reads descriptions only
// if there are questions.
func readQuestions(ctx context.Context, s checkpoint.Saver, thread string, t *checkpoint.Thread) ([]questionJSON, error) {
	var all []questionJSON
	var known operate.Schemas
	for _, q := range questionsOf(t) {
		j := questionOf(&q)
		if q.Err == nil {
			var d *shape.Question
			var err error
			if known == nil {
				if known, err = ops(s).Schemas(ctx, thread, t.Version); err != nil {
					return nil, err
				}
			}
			if d, err = q.Shape(ctx, ops(s), t, known); err != nil {
				return nil, err
			}
			j.read(q.Payload, d)
		}
		all = append(all, j)
	}
	return all, nil
}

// nodePath returns a node with the subgraph calls around it: "sub/review".
func nodePath(path []graph.PathElement, node graph.ID) string {
	text := ""
	for _, p := range path {
		text += string(p.Node) + "/"
	}
	return text + string(node)
}

// place returns the node and the number of its send.
func (j *questionJSON) place() string { return taskText(j.Node, j.Index) }

// taskText returns a node with the number of its send: "read[2]".
func taskText(node string, index int) string {
	if index > 0 {
		return node + "[" + strconv.Itoa(index) + "]"
	}
	return node
}

// asks returns the payload or the summary of a question, for one cell of a table.
func (j *questionJSON) asks() string {
	switch {
	case j.Error != "":
		return cell(j.Error)
	case j.Payload != nil:
		text := inline(j.Payload, cellWidth)
		if j.Summary != "" {
			return cell(j.Summary) + " " + text
		}
		return text
	}
	return dash(cell(j.Summary))
}

// cellWidth is the number of characters that tables show of a value.
const cellWidth = 80
