package main

import (
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// questionsOf returns the open questions of a thread, without stops and timers.
func questionsOf(t *checkpoint.Thread) []operate.Question { return ops(nil).Questions(t) }

// waitJSON is something that a task of a thread waits for.
type waitJSON struct {
	Thread  string `json:"thread,omitempty"`
	IDBytes string `json:"thread_base64,omitempty"` // if the id of the thread is not UTF-8
	Graph   string `json:"graph,omitempty"`
	operate.Wait
}

// asks returns the payload or the summary of a question, for one cell of a table.
func asks(w *operate.Wait) string {
	switch {
	case w.Error != "":
		return cell(w.Error)
	case w.Payload != nil:
		text := inline(w.Payload, cellWidth)
		if w.Summary != "" {
			return cell(w.Summary) + " " + text
		}
		return text
	}
	return dash(cell(w.Summary))
}

// cellWidth is the number of characters that tables show of a value.
const cellWidth = 80
