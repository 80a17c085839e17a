package inspect

import (
	"errors"
	"fmt"
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
	Graphs    []loadRow
	Queues    []loadRow
	Schedules []scheduleRow
	Missing   string // the error of a part of the storage, which the page lacks; empty for none
}

// loadRow is a graph or a queue in its list.
type loadRow struct {
	operate.Load
	May permits
}

// scheduleRow is a schedule in its list.
type scheduleRow struct {
	operate.Schedule
	Fault string // why it cannot be read
	May   permits
}

// mostSchedules is the number of schedules that the page shows. Each costs some calls of the
// saver.
const mostSchedules = 200

// fleetPage shows the workers, graphs, queues and schedules that a request may see.
func (in *Inspector) fleetPage(w http.ResponseWriter, r *http.Request) error {
	if err := in.check(r, Access{Action: View}); err != nil {
		return err
	}
	d := fleetData{head: in.head(r, "Workers")}
	o, ctx := in.operator(r), r.Context()
	f, err := o.Fleet(ctx, loadSize, in.namesFor(r, View)...)
	if err = d.lacks(err); err != nil {
		return err
	}
	d.Workers, d.Graphs, d.Queues = f.Workers, in.visible(r, f.Graphs), in.visible(r, f.Queues)
	if d.Now, err = in.now(ctx); err != nil {
		return err
	}
	for s, err := range o.Schedules(ctx) {
		if s.ID == "" {
			if err = d.lacks(err); err != nil {
				return err
			}
			continue
		}
		row := scheduleRow{Schedule: s, May: in.mayTurn(r, "schedule", s.ID)}
		if err != nil {
			row.Fault = err.Error()
		}
		d.Schedules = append(d.Schedules, row)
		if len(d.Schedules) == mostSchedules {
			break
		}
	}
	in.render(w, http.StatusOK, "fleet", d)
	return nil
}

// lacks notes the error of a part of the storage, and returns any other.
func (d *fleetData) lacks(err error) error {
	if errors.Is(err, checkpoint.ErrPartial) {
		d.Missing, err = err.Error(), nil
	}
	return err
}

// mayTurn returns the actions that a request may do with a graph, a queue or a schedule.
func (in *Inspector) mayTurn(r *http.Request, of, name string) permits {
	may := make(permits)
	for _, a := range []Action{Pause, Trigger} {
		may[string(a)] = in.sees(r, a, turned(of, name)) == nil
	}
	return may
}

// turned returns the thread that an action on a graph, a queue or a schedule writes.
func turned(of, name string) *checkpoint.Thread {
	switch of {
	case "graph":
		return &checkpoint.Thread{ID: worker.PauseThread(name), Graph: name}
	case "queue":
		return &checkpoint.Thread{ID: worker.PauseQueueThread(name)}
	case "schedule":
		return &checkpoint.Thread{ID: schedule.Thread(name), Graph: schedule.Graph}
	}
	return new(checkpoint.Thread)
}

// visible returns the loads of graphs that a request may see.
func (in *Inspector) visible(r *http.Request, all []operate.Load) (some []loadRow) {
	for _, l := range all {
		allowed := true
		for _, name := range l.Graphs {
			allowed = allowed && in.check(r, Access{Action: View, Graph: name}) == nil
		}
		if !allowed {
			continue
		}
		of, name := "queue", l.Queue
		if l.Queue == "" {
			of, name = "graph", l.Graphs[0]
		}
		some = append(some, loadRow{l, in.mayTurn(r, of, name)})
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
	of, name, action := form.Get("of"), form.Get("id"), Pause
	switch of {
	case "graph":
		t.Graph = name
	case "queue":
		t.Queue = name
	case "schedule":
		t.Schedule = name
	}
	if form.Get("action") == "trigger" {
		action = Trigger
	}
	if t.Schedule != "" {
		if _, err := in.find(r, action, schedule.Thread(name)); err != nil {
			return err
		}
	} else if err := in.sees(r, action, turned(of, name)); err != nil {
		return err
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

// tally has the counts of the unfinished threads of a graph, as links.
type tally struct {
	Graph  string
	Counts []choice
}

// tallies returns the counts of unfinished threads by graph.
func (in *Inspector) tallies(r *http.Request) (all []tally, err error) {
	most := tallySize
	if in.opt.Authorize != nil { // it reads the threads
		most = fewTallies
	}
	counts, err := in.operator(r).Tallies(r.Context(), most)
	for _, c := range counts {
		if len(all) == 0 || all[len(all)-1].Graph != c.Graph {
			all = append(all, tally{Graph: c.Graph})
		}
		text := fmt.Sprint(c.Threads, " ", c.Status)
		if c.More {
			text = fmt.Sprint("at least ", text)
		}
		f := filter{Selection: operate.Selection{Graph: c.Graph, Status: c.Status.String()}}
		last := &all[len(all)-1]
		last.Counts = append(last.Counts, choice{"?" + f.values().Encode(), text})
	}
	return all, err
}

// Limits of the threads that a page counts.
const (
	loadSize   = 100    // due threads of a graph
	loadGraphs = 12     // graphs of the list of threads; each costs a query
	tallySize  = 10_000 // threads of a status, by the rows of an index
	fewTallies = 1000   // threads of a status that Authorize checks
)

// load is what is due of a graph.
type load struct {
	operate.Load
	Graph string
	Age   time.Duration // of the oldest one
	Link  string
}
