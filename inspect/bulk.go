package inspect

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// Limits of actions on many threads.
const (
	countSize = 10_000 // threads that the page of a confirmation counts
	keptJobs  = 50     // jobs whose outcome is kept
	keptFails = 20     // errors of a job that are kept
)

// bulkActions are the actions on many threads.
var bulkActions = []struct {
	action Action
	text   string
}{
	{Wake, "Retry all"}, {Signal, "Signal all"}, {Replay, "Replay all"}, {Cancel, "Cancel all"}, {Delete, "Delete all"},
}

// bulkLinks returns the addresses of the confirmations for a filter.
func (in *Inspector) bulkLinks(f filter) (links []bulkLink) {
	for _, b := range bulkActions {
		if in.allowed[b.action] && (b.action != Replay || len(in.apps) > 0) {
			q := f.values()
			q.Set("action", string(b.action))
			links = append(links, bulkLink{b.text, "bulk?" + q.Encode()})
		}
	}
	return links
}

// bulkAction returns the action in the parameters of a request.
func bulkAction(q url.Values) (Action, string, error) {
	for _, b := range bulkActions {
		if string(b.action) == q.Get("action") {
			return b.action, b.text, nil
		}
	}
	return "", "", bad("there is no action %q for many threads", q.Get("action"))
}

// bulkData is the confirmation of an action on many threads.
type bulkData struct {
	head
	Action Action
	Text   string
	Filter filter
	Fields []choice // of the filter, for the form
	Count  int
	More   bool // further threads match
	Sample []row
	Held   int    // threads of Count that a run holds, which Delete leaves
	ID     string // of the request, so that a form sent twice signals each thread once
}

// bulkPage asks for the confirmation of an action on all threads that a filter matches.
func (in *Inspector) bulkPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	a, text, err := bulkAction(q)
	if err != nil {
		return err
	}
	f, err := filterOf(q)
	if err != nil {
		return err
	}
	if err := in.check(r, Access{Action: a, Graph: f.Graph}); err != nil {
		return err
	}
	now, err := in.now(r.Context())
	if err != nil {
		return err
	}
	fields := f.values()
	all, err := in.scan(r.Context(), r, f.byID(), a, now, countSize, 10*countSize)
	if err != nil {
		return err
	}
	if all.missing != nil {
		return all.missing
	}
	all.rows = slices.DeleteFunc(all.rows, func(r row) bool { return r.Unread != "" }) // the action reports them
	d := bulkData{head: in.head(r, text), Action: a, Text: text, Filter: f, Count: len(all.rows), More: all.more}
	for i := range all.rows {
		if all.rows[i].Holder != "" {
			d.Held++
		}
	}
	d.Sample = all.rows[:min(len(all.rows), 10)]
	id, err := checkpoint.NewID()
	if err != nil {
		return err
	}
	d.ID = id.String()
	for name, values := range fields {
		d.Fields = append(d.Fields, choice{name, values[0]})
	}
	in.render(w, http.StatusOK, "bulk", d)
	return nil
}

// startBulk starts an action on all threads that a filter matches.
func (in *Inspector) startBulk(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(r); err != nil {
		return err
	}
	a, text, err := bulkAction(r.PostForm)
	if err != nil {
		return err
	}
	f, err := filterOf(r.PostForm)
	if err != nil {
		return err
	}
	if err := in.check(r, Access{Action: a, Graph: f.Graph}); err != nil {
		return err
	}
	if r.PostForm.Get("confirm") != string(a) {
		return bad("write %q into the field to confirm", a)
	}
	id, err := checkpoint.NewID()
	if err != nil {
		return err
	}
	op, err := in.operation(r, a)
	if err != nil {
		return err
	}
	j := &job{id: id.String(), action: a, text: text, op: op, began: time.Now(), filter: f, actor: op.Metadata["actor"]}
	// Authorize gets a copy of the request, because the server ends the request itself.
	kept := r.Clone(context.WithoutCancel(r.Context()))
	kept.Body = http.NoBody
	if err := in.jobs.start(j, func(ctx context.Context) error { return in.work(ctx, kept, j) }); err != nil {
		return err
	}
	redirect(w, "job?job="+j.id)
	return nil
}

// operation returns the operation in the form of a request.
func (in *Inspector) operation(r *http.Request, a Action) (op operate.Operation, err error) {
	form := r.PostForm
	op = operate.Operation{Action: operate.Action(a), Reason: form.Get("reason"), Metadata: in.actor(r)}
	switch a {
	case Signal:
		op.Signal, op.Options, op.JSON = form.Get("signal"), keyed(form), operate.JSON(form.Get("json"))
		if op.Signal == "" {
			return op, bad("the form has no signal; write its name")
		}
	case Replay:
		if op.To = strings.TrimSpace(form.Get("to")); op.To == "" {
			return op, bad("the form has no checkpoint; write head~1, or due: and the name of a node")
		}
	}
	return op, operate.CheckReason(op.Reason)
}

// work performs the action of a job on all threads that its filter matches. It reports damaged
// threads, which savers list whatever the filter is, and leaves them alone.
func (in *Inspector) work(ctx context.Context, r *http.Request, j *job) error {
	now, err := in.now(ctx)
	if err != nil {
		return err
	}
	o := in.ops
	o.Sees = func(t *checkpoint.Thread) bool {
		j.reads()
		return in.sees(r, j.action, t) == nil && ctx.Err() == nil
	}
	f := j.filter.byID()
	for t, err := range o.Threads(ctx, f.query(now), f.Filter) {
		var changed operate.Changed
		if err != nil && !operate.OfOneThread(&t.Thread, err) {
			return cmp.Or(context.Cause(ctx), err)
		}
		if err == nil {
			changed, err = o.Do(ctx, j.op, &t.Thread)
		}
		if ctx.Err() != nil {
			break
		}
		j.count(&t.Thread, changed.Skipped, err)
	}
	return context.Cause(ctx)
}

// jobData is the page of a job.
type jobData struct {
	head
	ID       string
	Text     string
	Filter   string
	Running  bool
	Done     int
	Left     int // the action does not fit them
	Failed   int
	Read     int // 0 if it is not shown
	Errors   []choice
	Err      string
	Began    time.Time
	Took     time.Duration
	Stopping bool
	Back     string
}

// jobPage shows the progress of a job.
func (in *Inspector) jobPage(w http.ResponseWriter, r *http.Request) error {
	j, err := in.job(r, r.URL.Query().Get("job"))
	if err != nil {
		return err
	}
	d := j.data(in.head(r, j.text), func(t *checkpoint.Thread) bool { return in.sees(r, View, t) == nil })
	if in.opt.Authorize != nil {
		d.Read = 0 // the number of the other threads is not for the reader
	}
	in.render(w, http.StatusOK, "job", d)
	return nil
}

// job returns a job that the request may see and stop.
func (in *Inspector) job(r *http.Request, id string) (*job, error) {
	j := in.jobs.find(id)
	if j != nil && in.opt.Authorize != nil && in.opt.Actor != nil && in.opt.Actor(r) != j.actor {
		j = nil // as if it did not exist
	}
	if j == nil {
		return nil, bad("there is no such action; this process keeps the last %d", keptJobs)
	}
	return j, in.check(r, Access{Action: j.action, Graph: j.filter.Graph})
}

// stopJob stops a job.
func (in *Inspector) stopJob(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(r); err != nil {
		return err
	}
	j, err := in.job(r, r.PostForm.Get("job"))
	if err != nil {
		return err
	}
	j.cancel(errStopped)
	redirect(w, "job?job="+j.id)
	return nil
}
