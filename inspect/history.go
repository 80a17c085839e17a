package inspect

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// step is a checkpoint in a history.
type step struct {
	ID      checkpoint.ID
	Link    string
	Step    int
	Source  checkpoint.Source
	Ran     []string
	Next    []string
	Created time.Time
	Took    time.Duration // since the record before it in the same branch; 0 if it is unknown
	Idle    bool          // nothing ran during Took
	Head    bool
	Cell    *cell // nil if a filter leaves out records
	Resumes int   // how many resumes in a row the step stands for, or ran after
	Meta    map[string]string
}

// steps are the records of one page of a history.
type steps struct {
	steps   []step
	records []checkpoint.Record // newest first, without payloads
	read    int                 // records that were read, also those that do not match
	last    checkpoint.ID       // the last record that was read
	more    bool
	lanes   *tree.Lanes // below the last one
}

// Sizes of a history with a filter. No saver has an index for the filters, so the page is bounded.
const (
	historyScan = 10_000 // records that one page reads at most
	failedLoads = 200    // checkpoints that one page loads at most, to find failures
)

// historyFilter selects checkpoints.
type historyFilter struct {
	Source string
	Node   string
	Step   string
	Failed bool // only those with a failed task that no later checkpoint continues
	query  checkpoint.Query
}

// whole reports whether the filter selects every checkpoint.
func (f *historyFilter) whole() bool {
	return f.Source == "" && f.Node == "" && f.Step == "" && !f.Failed
}

// history reads one page of a history, of up to want checkpoints. The tree continues in lanes.
func (in *Inspector) history(ctx context.Context, v *view, f *historyFilter, want int, lanes *tree.Lanes) (h steps, err error) {
	ref := v.Ref
	ref.At = checkpoint.ID{}
	limit := want
	if !f.whole() {
		limit = historyScan
	}
	failed := failures{in: in, ref: ref}
	created := make(map[checkpoint.ID]time.Time, want)
	h.lanes = lanes
	q := checkpoint.Query{Limit: limit + 1, Before: f.query.Before, Headers: true, Sources: tree.Sources()}
	for rec, err := range in.saver.History(ctx, ref, q) {
		if err != nil {
			return h, err
		}
		if len(h.records) == want || h.read == limit || failed.loads == failedLoads {
			h.more = true
			break
		}
		h.read++
		h.last, created[rec.ID] = rec.ID, rec.Created
		match := f.whole() || f.query.Match(&rec)
		if match && f.Failed {
			if match, err = failed.at(ctx, &rec); err != nil {
				return h, err
			}
		}
		if match {
			h.records = append(h.records, rec)
		}
	}
	h.steps = make([]step, 0, len(h.records))
	for i := range h.records {
		s := stepOf(v, &h.records[i], created)
		if f.whole() {
			c := cellOf(lanes.Add(&h.records[i]))
			s.Cell = &c
		}
		if n := len(h.steps); n == 0 || !h.steps[n-1].folds(&s) {
			h.steps = append(h.steps, s)
		}
	}
	return h, nil
}

// folds adds a resume to the step after it, and reports whether it has. That is a superstep, or
// another resume whose superstep has not committed. A resume at which a branch ends or begins
// stays a step of its own.
func (s *step) folds(before *step) bool {
	if s.Source != checkpoint.Resume && s.Source != checkpoint.Loop || before.Source != checkpoint.Resume || before.Cell == nil ||
		len(before.Cell.Join) > 0 || !before.Cell.Above || !before.Cell.Below || before.Cell.Column != s.Cell.Column {
		return false
	}
	if s.Resumes++; s.Source == checkpoint.Resume {
		s.Took += before.Took
	}
	return true
}

// Happened says what has happened at a step.
func (s *step) Happened() string {
	switch ran := strings.Join(s.Ran, ", "); {
	case s.Source == checkpoint.Input && slices.Contains(s.Next, nodeText(string(graph.Start))):
		return "input taken"
	case s.Source == checkpoint.Input:
		return "input merged"
	case s.Source == checkpoint.Loop:
		return "ran " + ran
	case s.Source == checkpoint.Update:
		return "state edited"
	case s.Source == checkpoint.Fork && ran != "":
		return "state edited as the result of " + ran
	case s.Source == checkpoint.Fork:
		return "new branch"
	}
	return "resumed"
}

// older returns the address of the page that continues a history.
func (h *steps) older(v *view, filters ...string) string {
	next := append(slices.Clone(filters), "before", h.last.String())
	if text := lanesText(h.lanes); text != "" {
		next = append(next, "lanes", text)
	}
	return v.at(checkpoint.ID{}).link("history", next...)
}

// given returns the names and values of those parameters that are not empty.
func given(params url.Values, names ...string) (pairs []string) {
	for _, name := range names {
		if value := params.Get(name); value != "" {
			pairs = append(pairs, name, value)
		}
	}
	return pairs
}

// stepOf returns a record as a history shows it.
func stepOf(v *view, rec *checkpoint.Record, created map[checkpoint.ID]time.Time) step {
	s := step{
		ID: rec.ID, Link: v.at(rec.ID).link("checkpoint"), Step: rec.Step, Source: rec.Source, Ran: rec.Ran, Created: rec.Created,
		Head: rec.ID == v.Chain.Head,
	}
	if rec.Source == checkpoint.Resume {
		s.Resumes = 1
	}
	for j := range rec.Due {
		if node := nodeText(rec.Due[j].Node); !slices.Contains(s.Next, node) {
			s.Next = append(s.Next, node)
		}
	}
	if before, ok := created[rec.Parent]; ok {
		s.Took, s.Idle = rec.Created.Sub(before), rec.Source != checkpoint.Loop
	}
	return s
}

// happenings returns the sources of checkpoints, as the form of a history names them.
func happenings() []choice {
	return []choice{{"input", "inputs"}, {"loop", "supersteps"}, {"update", "edits"}, {"fork", "new branches"}, {"resume", "resumes"}}
}

// failures finds the checkpoints with failed tasks. It gets the records newest first.
type failures struct {
	in    *Inspector
	ref   checkpoint.Ref
	over  map[checkpoint.ID]bool // bases that a newer record commits, or that were looked at
	loads int
}

// at reports whether a task of a record has failed, and no later record continues it. A saver
// keeps the failures of tasks until a checkpoint commits their superstep.
func (f *failures) at(ctx context.Context, rec *checkpoint.Record) (bool, error) {
	if f.over == nil {
		f.over = make(map[checkpoint.ID]bool)
	}
	f.over[rec.Commits] = true
	if f.over[rec.Base] {
		return false, nil
	}
	f.over[rec.Base] = true
	f.loads++
	ref := f.ref
	ref.At = rec.ID
	c, err := f.in.saver.Load(ctx, ref)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(c.Writes, func(w checkpoint.Write) bool {
		return w.Kind == checkpoint.Failure && w.Name == "" && w.Namespace == ref.Namespace
	}), nil
}

// historyData is a page of the history.
type historyData struct {
	head
	Place    place
	Thread   checkpoint.Thread
	History  []step
	More     string // the address of the next page; empty if there is none
	First    string // the address of the first page; empty on the first page
	Read     string // the number of checkpoints that were read for the filter; empty without a filter
	Sources  []choice
	Filter   *historyFilter
	Nodes    []graph.ID
	Timeline *timeline // nil with a filter, or if there is nothing to draw
	Compare  string    // the checkpoint to compare each of History with; empty for none
}

// historyPage shows the checkpoints of a thread, newest first, as a tree.
func (in *Inspector) historyPage(w http.ResponseWriter, r *http.Request) error {
	params := r.URL.Query()
	p, err := threadPlaceOf(params)
	if err != nil {
		return err
	}
	f, err := historyFilterOf(params)
	if err != nil {
		return err
	}
	lanes, err := lanesOf(params.Get("lanes"))
	if err != nil {
		return err
	}
	p.At = checkpoint.ID{}
	v, err := in.load(r, p, false)
	if err != nil {
		return err
	}
	h, err := in.history(r.Context(), &v, f, pageSize, lanes)
	if err != nil {
		return err
	}
	d := historyData{
		head: in.head(r, "History of "+v.Thread), Place: v.place, Thread: v.thread, History: h.steps, Sources: happenings(),
		Filter: f,
	}
	if !f.whole() {
		d.Read = plural(h.read, "checkpoint")
	} else if f.query.Before.IsZero() { // the rest of a history does not change
		if err := in.enliven(r, &v, &d.head); err != nil {
			return err
		}
	}
	if a := params.Get("a"); a != "" {
		if _, err := checkpoint.ParseID(a); err != nil {
			return bad("%v", err)
		}
		d.Compare = a
	}
	if desc := in.describe(&v); desc != nil {
		for i := range desc.Nodes {
			d.Nodes = append(d.Nodes, desc.Nodes[i].ID)
		}
	}
	filters := given(params, "source", "node", "step", "failed", "a")
	if h.more {
		d.More = h.older(&v, filters...)
	}
	if d.Now, err = in.now(r.Context()); err != nil {
		return err
	}
	if f.whole() {
		here := slices.Clip(given(params, "a", "before", "lanes"))
		w, err := windowOf(params, func(pairs ...string) string {
			return v.at(checkpoint.ID{}).link("history", append(here, pairs...)...)
		})
		if err != nil {
			return err
		}
		if d.Timeline = timelineOf(h.records, &v, d.Now, w); d.Timeline != nil && h.more {
			d.Timeline.Older = d.More + "#timeline"
		}
	}
	if params.Get("before") != "" {
		d.First = v.link("history", filters...)
	}
	in.render(w, http.StatusOK, "history", d)
	return nil
}

// historyFilterOf reads a filter, and where its page begins, from the parameters of a request.
func historyFilterOf(params url.Values) (*historyFilter, error) {
	f := &historyFilter{
		Source: params.Get("source"), Node: params.Get("node"), Step: params.Get("step"), Failed: params.Get("failed") != "",
	}
	f.query = checkpoint.Query{Sources: tree.Sources(), Ran: f.Node}
	var err error
	if f.Source != "" {
		source, err := operate.Choose("source", f.Source, tree.Sources()...)
		if err != nil {
			return nil, err
		}
		f.query.Sources = []checkpoint.Source{source}
	}
	if f.Step != "" {
		if f.query.Step, err = strconv.Atoi(strings.TrimSpace(f.Step)); err != nil || f.query.Step < 0 {
			return nil, bad("the superstep %q is no number from 0", f.Step)
		}
		f.query.HasStep = true
	}
	if before := params.Get("before"); before != "" {
		if f.query.Before, err = checkpoint.ParseID(before); err != nil {
			return nil, bad("%v", err)
		}
	}
	return f, nil
}
