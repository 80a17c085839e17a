package inspect

import (
	"errors"
	"net/http"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// fleetData is the page of workers, graphs, queues and schedules.
type fleetData struct {
	head
	Workers   []worker.Registered
	Graphs    []operate.Load
	Queues    []operate.Load
	Schedules []scheduleRow
	May       permits // of the actions on all of them
}

// scheduleRow is a schedule in its list.
type scheduleRow struct {
	operate.Schedule
	Fault string // why it cannot be read
}

// mostSchedules is the number of schedules that the page shows. Each costs some calls of the
// saver.
const mostSchedules = 200

// fleetPage shows the workers, graphs, queues and schedules that a request may see.
func (in *Inspector) fleetPage(w http.ResponseWriter, r *http.Request) error {
	if err := in.check(r, Access{Action: View}); err != nil {
		return err
	}
	d := fleetData{head: in.head(r, "Workers"), May: make(permits)}
	o, ctx := in.operator(r), r.Context()
	f, err := o.Fleet(ctx, loadSize, in.namesFor(r, View)...)
	if err != nil {
		return err
	}
	d.Workers, d.Graphs, d.Queues = f.Workers, in.visible(r, f.Graphs), in.visible(r, f.Queues)
	if d.Now, err = in.now(ctx); err != nil {
		return err
	}
	for s, err := range o.Schedules(ctx) {
		if err != nil && s.ID == "" {
			return err
		}
		row := scheduleRow{Schedule: s}
		if err != nil {
			row.Fault = err.Error()
		}
		d.Schedules = append(d.Schedules, row)
		if len(d.Schedules) == mostSchedules {
			break
		}
	}
	for _, a := range []Action{Pause, Trigger} {
		d.May[string(a)] = in.check(r, Access{Action: a}) == nil
	}
	in.render(w, http.StatusOK, "fleet", d)
	return nil
}

// visible returns the loads of graphs that a request may see.
func (in *Inspector) visible(r *http.Request, all []operate.Load) (some []operate.Load) {
	for _, l := range all {
		allowed := true
		for _, name := range l.Graphs {
			allowed = allowed && in.check(r, Access{Action: View, Graph: name}) == nil
		}
		if allowed {
			some = append(some, l)
		}
	}
	return some
}

// actOnFleet pauses, resumes or triggers, and sends the reader back to the page.
func (in *Inspector) actOnFleet(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(r); err != nil {
		return err
	}
	form := r.PostForm
	var t operate.Target
	name, access := form.Get("id"), Access{Action: Pause}
	switch form.Get("of") {
	case "graph":
		t.Graph, access.Graph = name, name
	case "queue":
		t.Queue = name
	case "schedule":
		t.Schedule = name
	}
	if form.Get("action") == "trigger" {
		access.Action = Trigger
	}
	if err := in.check(r, access); err != nil {
		return err
	}
	if t.Schedule != "" {
		if _, err := in.find(r, access.Action, schedule.Thread(name)); err != nil {
			return err
		}
	}
	o, note := in.operator(r), in.actor(r)["actor"]
	var err error
	switch form.Get("action") {
	case "pause":
		err = o.Pause(r.Context(), t, note)
	case "unpause":
		err = o.Unpause(r.Context(), t, note)
	case "trigger":
		err = o.Trigger(r.Context(), t.Schedule)
	default:
		err = bad("there is no action %q", form.Get("action"))
	}
	if err != nil {
		return err
	}
	redirect(w, "fleet?note="+form.Get("action"))
	return nil
}

// loadView is a load on a page.
type loadView struct {
	Load operate.Load
	Now  time.Time
}

// turning is a form with a button for a graph, a queue or a schedule.
type turning struct{ Action, Of, Name, Text string }

// pausing returns the button that pauses or resumes.
func pausing(of, name string, paused bool) turning {
	if paused {
		return turning{"unpause", of, name, "Resume"}
	}
	return turning{"pause", of, name, "Pause"}
}

// loads returns what is due of graphs. It leaves out a graph that has nothing due and visible.
func (in *Inspector) loads(r *http.Request, graphs []string) (all []load, err error) {
	var partial error
	for _, name := range graphs[:min(len(graphs), loadGraphs)] {
		l, now, err := in.operator(r).Due(r.Context(), name, loadSize)
		if errors.Is(err, checkpoint.ErrPartial) {
			partial = err
		} else if err != nil {
			return nil, err
		}
		if l.Due > 0 {
			f := filter{Selection: operate.Selection{Graph: name}}
			all = append(all, load{l, name, now.Sub(*l.Oldest), "?" + f.values().Encode()})
		}
	}
	return all, partial
}

// Limits of the due threads that a page counts.
const (
	loadSize   = 100 // threads of a graph
	loadGraphs = 12  // graphs of the list of threads; each costs a query
)

// load is what is due of a graph.
type load struct {
	operate.Load
	Graph string
	Age   time.Duration // of the oldest one
	Link  string
}
