package inspect

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// threadData is the page of a thread, or of a subgraph call in it.
type threadData struct {
	head
	Place     place
	Thread    checkpoint.Thread
	Empty     bool // no checkpoint is stored
	Snap      graph.Snapshot[[]byte]
	Wait      operate.Standing
	May       permits
	Picture   string // its address; empty without an app
	PictureUp string // the expanded one
	Tasks     []taskRow
	Questions []questionForm
	Signals   []signalRow
	Send      []signalForm
	Timers    []graph.Timer
	Calls     []callRow
	State     valueTree
	Timeline  *timeline
	History   []step
	More      bool // the history has further checkpoints
	Waiting   []message
	Refused   []message
	Replied   []message
	Versions  []checkpoint.Version
	Reason    string
	Locked    error     // why the stored data cannot be read; nil if it can be
	RunError  *runError // of the last run that the pages started; nil for none
}

// taskRow is a due task.
type taskRow struct {
	operate.Task

	Retry   bool        // a Rerun can begin the attempt now
	Updates []valueTree // that a finished task has returned, of the first dueSize tasks
}

// Name returns the name of the task, as pictures have it.
func (t taskRow) Name() string { return taskText(t.Node, t.Index) }

// callRow is a subgraph call.
type callRow struct {
	Name string
	Link string
}

// signalRow is a signal for which a task waits.
type signalRow struct {
	graph.OpenSignal
	Where string
}

// message is a message of the inbox.
type message struct {
	checkpoint.Message
	Text string // of the payload; empty if it is not readable
}

// historySize is the number of checkpoints on the page of a thread.
const historySize = 50

// threadPage shows a thread at its head.
func (in *Inspector) threadPage(w http.ResponseWriter, r *http.Request) error {
	p, err := threadPlaceOf(r.URL.Query())
	if err != nil {
		return err
	}
	p.At = checkpoint.ID{}
	d, err := in.threadOf(r, p)
	if err != nil {
		return err
	}
	in.render(w, http.StatusOK, "thread", d)
	return nil
}

// threadOf returns the page of a thread at its head.
func (in *Inspector) threadOf(r *http.Request, p place) (*threadData, error) {
	v, err := in.load(r, p, true)
	if err != nil {
		return nil, err
	}
	d := &threadData{
		head: in.head(r, cmp.Or(v.thread.Title, v.Thread)), Place: v.place, Thread: v.thread, Empty: v.Chain.Empty(),
		Snap: v.Snap, May: in.may(r, &v.thread),
	}
	if d.Now, err = in.now(r.Context()); err != nil {
		return nil, err
	}
	d.Wait = in.ops.Standing(&v.thread, d.Now)
	if err := in.complete(r.Context(), &v.thread, d.Now, &d.Wait); err != nil {
		return nil, err
	}
	if err := in.enliven(r, &v, &d.head); err != nil {
		return nil, err
	}
	if desc := in.describe(&v); desc != nil {
		d.Picture, d.PictureUp = picturesOf(v.place, desc, d.Beat)
	}
	d.Send = in.signalForms(&v)
	d.RunError = in.runs.of(v.Thread)
	if v.Namespace != "" || v.Version != 0 {
		d.May = nil // actions are those of the thread itself, at its open version
	}
	if err := in.addMail(r, &v, d); err != nil {
		return nil, err
	}
	if !d.Empty {
		if err := in.addPosition(r, &v, d); err != nil {
			return nil, err
		}
	}
	if d.Versions, err = in.saver.Versions(r.Context(), v.Thread); err != nil {
		return nil, err
	}
	slices.Reverse(d.Versions)
	return d, nil
}

// picturesOf returns the addresses of the picture of a place, and of the one with the subgraphs,
// which is empty if there are none. beat is the pulse of a live page: a browser shows an image
// that it has loaded before, unless its address has changed. It is empty for a page that is not
// live.
func picturesOf(p place, d *graph.Description, beat string) (plain, expanded string) {
	var live []string
	if beat != "" {
		live = []string{"beat", beat}
	}
	plain = p.link("picture.svg", live...)
	for i := range d.Nodes {
		if d.Nodes[i].Subgraph != nil || d.Nodes[i].Detail {
			expanded = p.link("picture.svg", append(live, "expand", "1")...)
		}
	}
	return plain, expanded
}

// addPosition adds where the thread stands, and its history.
func (in *Inspector) addPosition(r *http.Request, v *view, d *threadData) (err error) {
	if d.Locked = v.Locked; d.Locked == nil {
		d.Reason = v.Snap.Reason
		d.Tasks, d.Timers = tasksOf(v), v.Snap.Timers
		d.Questions = questionForms(v, d.May[string(Answer)])
		d.State = stateTree(v.Schemas.State(v.Chain.Last.Fingerprint), v.Snap.State)
	}
	for _, s := range v.Snap.Signals {
		d.Signals = append(d.Signals, signalRow{s, pathText(s.Path, s.Node, s.Index)})
	}
	if d.Calls, err = in.calls(r, v); err != nil {
		return err
	}
	h, err := in.history(r.Context(), v, new(historyFilter), historySize, new(tree.Lanes))
	if err != nil {
		return err
	}
	d.History, d.More = h.steps, h.more
	w, err := windowOf(r.URL.Query(), func(pairs ...string) string { return v.at(checkpoint.ID{}).link("thread", pairs...) })
	if err != nil {
		return err
	}
	if d.Timeline = timelineOf(h.records, v, d.Now, w); d.Timeline != nil && h.more {
		d.Timeline.Older = h.older(v) + "#timeline"
	}
	return nil
}

// tasksOf returns the due tasks of a view.
func tasksOf(v *view) (rows []taskRow) {
	for i, t := range v.Tasks() {
		row := taskRow{Task: t, Retry: t.State == "retrying" || t.State == "failed"}
		if t.State == "finished" && i < dueSize {
			updates, err := v.Updates(&t)
			for k := range updates {
				row.Updates = append(row.Updates, treeOf(&updates[k]))
			}
			if err != nil {
				row.Updates = []valueTree{{Fault: err.Error()}}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// callsSize is the number of subgraph calls that one page looks for.
const callsSize = 50

// calls returns the subgraph calls of the due tasks that have stored something.
func (in *Inspector) calls(r *http.Request, v *view) (rows []callRow, err error) {
	for _, call := range v.Snap.Calls[:min(len(v.Snap.Calls), callsSize)] {
		p := v.in(call.Namespace)
		for _, err := range in.saver.History(r.Context(), p.ref(), checkpoint.Query{Limit: 1, Headers: true, Sources: tree.Sources()}) {
			if err != nil {
				return rows, err
			}
			rows = append(rows, callRow{taskText(call.Node, call.Index), p.link("thread")})
		}
	}
	return rows, nil
}

// mailSize is the number of messages of each kind on the page of a thread.
const mailSize = 100

// addMail adds the messages of the thread.
func (in *Inspector) addMail(r *http.Request, v *view, d *threadData) error {
	if v.Namespace != "" || v.thread.Posted == 0 {
		return nil
	}
	all, err := in.ops.Inbox(r.Context(), v.Thread, mailSize)
	if err != nil {
		return err
	}
	d.Waiting, d.Refused, d.Replied = in.messages(v, all.Waiting), in.messages(v, all.Refused), in.messages(v, all.Replied)
	return nil
}

// messages returns messages of the inbox with their texts.
func (in *Inspector) messages(v *view, all []checkpoint.Message) (shown []message) {
	for i := range all {
		shown = append(shown, message{all[i], in.mailText(v, &all[i])})
	}
	return shown
}
