package inspect

import (
	"html/template"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// moment is a time that a page shows relative to its own.
type moment struct{ Now, T time.Time }

// doing is a form with one button.
type doing struct {
	Place  place
	Action Action
	Text   string
	Why    string
	At     string
	Node   graph.ID
}

// at returns a time, or a pointer to one, relative to now.
func at(now time.Time, t any) moment {
	if p, ok := t.(*time.Time); ok {
		return moment{now, *p}
	}
	at, _ := t.(time.Time)
	return moment{now, at}
}

// crumbs are the links above the title of a page.
type crumbs struct {
	P    place
	Text string
}

// stepsData is the table of a history.
type stepsData struct {
	Place place
	Steps []step
	Now   time.Time
	First string // the checkpoint to compare each of them with; empty if the reader has chosen none
}

// answering is the JSON form of an answer.
type answering struct {
	Thread string
	Q      questionForm
}

// mailData is a table of messages.
type mailData struct {
	All []message
	Now time.Time
}

// waitData is what a thread waits for.
type waitData struct {
	Wait operate.Standing
	Now  time.Time
}

// attemptsData is a table of failed attempts.
type attemptsData struct {
	All []operate.Attempt
	Now time.Time
}

// funcs are the functions of the templates.
func funcs() template.FuncMap {
	return template.FuncMap{
		"ago": ago, "exact": exact, "took": took, "short": shortID, "text": printable, "clip": clip, "plural": plural,
		"join":    func(names []string) string { return strings.Join(names, ", ") },
		"at":      at,
		"waiting": func(w operate.Standing, now time.Time) waitData { return waitData{w, now} },
		"duration": func(d time.Duration) string {
			return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
		},
		"loadAt":     func(l operate.Load, now time.Time) loadView { return loadView{l, now} },
		"pausing":    pausing,
		"triggering": func(id string) turning { return turning{"trigger", "schedule", id, "Trigger"} },
		"crumbs":     func(p place, text string) crumbs { return crumbs{p, text} },
		"stepsOf":    func(p place, all []step, now time.Time, first string) stepsData { return stepsData{p, all, now, first} },
		"mailOf":     func(all []message, now time.Time) mailData { return mailData{all, now} },
		"attemptsOf": func(all []operate.Attempt, now time.Time) attemptsData { return attemptsData{all, now} },
		"doing": func(p place, action, text, why string) doing {
			return doing{Place: p, Action: Action(action), Text: text, Why: why}
		},
		"retrying": func(p place, node graph.ID) doing {
			return doing{Place: p, Action: Resume, Text: "Retry now", Why: "Run the task again in this process", Node: node}
		},
		"replaying": func(p place) doing {
			return doing{Place: p, Action: Replay, Text: "Replay from here", Why: "Run what was due here again", At: p.At.String()}
		},
		"answering": func(d threadData, q questionForm) answering { return answering{d.Thread.ID, q} },
		"version": func(p place, number int) string {
			p = p.root()
			p.Version = number
			return p.link("thread")
		},
	}
}

// Home returns the address of the thread.
func (c crumbs) Home() string { return place{Thread: c.P.Thread}.link("thread") }
