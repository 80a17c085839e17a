package main

import (
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// question is an open question of a thread.
type question struct {
	graph.OpenQuestion
	unread error // why the stored question cannot be read
}

// questionsOf returns the open questions of a thread, without stops and timers. A question that
// cannot be read, for example without its key, has an id only.
func questionsOf(t *checkpoint.Thread) []question {
	var all []question
	for i := range t.Questions {
		w := &t.Questions[i]
		open, err := graph.OpenQuestions(checkpoint.Thread{Questions: t.Questions[i : i+1]})
		if err != nil {
			all = append(all, question{graph.OpenQuestion{ID: w.Task + "/" + w.Name}, err})
			continue
		}
		for _, q := range open {
			all = append(all, question{q, nil})
		}
	}
	return all
}

// questionJSON describes an open question.
type questionJSON struct {
	Thread   string     `json:"thread,omitempty"`
	Graph    string     `json:"graph,omitempty"`
	ID       string     `json:"id"`
	Question string     `json:"question"`
	Node     string     `json:"node"`
	Index    int        `json:"index,omitempty"`
	Summary  string     `json:"summary,omitempty"`
	Expires  *time.Time `json:"expires,omitempty"`
	Payload  any        `json:"payload,omitempty"`
	Error    string     `json:"error,omitempty"`
}

func (q *question) json() questionJSON {
	j := questionJSON{
		ID: q.ID, Question: q.Question, Node: q.path(), Index: q.Index, Summary: q.Summary, Expires: utc(q.Expires),
	}
	if q.unread != nil {
		j.Error = q.unread.Error()
	}
	return j
}

// path returns the node that asked, with the subgraph calls around it: "sub/review".
func (q *question) path() string {
	text := ""
	for _, p := range q.Path {
		text += string(p.Node) + "/"
	}
	return text + string(q.Node)
}
