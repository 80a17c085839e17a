package inspect

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
	"github.com/graphgen-go/graphgen/runtime/graph"
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
	Meta    map[string]string
}

// steps are the records of one page of a history.
type steps struct {
	steps   []step
	records []checkpoint.Record // newest first, without payloads
	more    bool
	lanes   *tree.Lanes // below the last one
}

// history reads one page of a history. q.Limit must be set. The tree continues in lanes.
func (in *Inspector) history(ctx context.Context, v *view, q checkpoint.Query, lanes *tree.Lanes) (h steps, err error) {
	ref := v.ref()
	ref.At = checkpoint.ID{}
	want := q.Limit
	q.Limit, q.Headers = want+1, true
	for rec, err := range in.saver.History(ctx, ref, q) {
		if err != nil {
			return h, err
		}
		if len(h.records) == want {
			h.more = true
			break
		}
		h.records = append(h.records, rec)
	}
	whole := len(q.Sources) == len(tree.Sources()) && q.Ran == "" && q.Next == "" && !q.HasStep && q.Since.IsZero()
	created := make(map[checkpoint.ID]time.Time, len(h.records))
	for i := range h.records {
		created[h.records[i].ID] = h.records[i].Created
	}
	h.lanes = lanes
	for i := range h.records {
		rec := &h.records[i]
		s := step{
			ID: rec.ID, Link: v.at(rec.ID).link("checkpoint"), Step: rec.Step, Source: rec.Source, Ran: rec.Ran, Created: rec.Created,
			Head: rec.ID == v.chain.Head,
		}
		for j := range rec.Due {
			if node := rec.Due[j].Node; !slices.Contains(s.Next, node) {
				s.Next = append(s.Next, node)
			}
		}
		if before, ok := created[rec.Parent]; ok {
			s.Took, s.Idle = rec.Created.Sub(before), rec.Source != checkpoint.Loop
		}
		if whole {
			c := cellOf(lanes.Add(rec))
			s.Cell = &c
		}
		h.steps = append(h.steps, s)
	}
	return h, nil
}

// historyData is a page of the history.
type historyData struct {
	head
	Place   place
	Thread  checkpoint.Thread
	History []step
	More    string // the address of the next page; empty if there is none
	First   string // the address of the first page; empty on the first page
	Sources []checkpoint.Source
	Source  string
	Node    string
	Nodes   []graph.ID
	Step    string
}

// historyPage shows the checkpoints of a thread, newest first, as a tree.
func (in *Inspector) historyPage(w http.ResponseWriter, r *http.Request) error {
	params := r.URL.Query()
	p, err := threadPlaceOf(params)
	if err != nil {
		return err
	}
	q, err := historyQuery(params.Get("source"), params.Get("node"), params.Get("step"), params.Get("before"))
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
	h, err := in.history(r.Context(), &v, q, lanes)
	if err != nil {
		return err
	}
	d := historyData{
		head: in.head(r, "History of "+v.Thread), Place: v.place, Thread: v.thread, History: h.steps, Sources: tree.Sources(),
		Source: params.Get("source"), Node: params.Get("node"), Step: params.Get("step"),
	}
	if desc := in.describe(&v); desc != nil {
		for i := range desc.Nodes {
			d.Nodes = append(d.Nodes, desc.Nodes[i].ID)
		}
	}
	var filters []string
	for _, name := range []string{"source", "node", "step"} {
		if value := params.Get(name); value != "" {
			filters = append(filters, name, value)
		}
	}
	if h.more {
		last := h.records[len(h.records)-1].ID
		next := append(slices.Clone(filters), "before", last.String())
		if text := lanesText(h.lanes); text != "" && h.steps[0].Cell != nil {
			next = append(next, "lanes", text)
		}
		d.More = v.link("history", next...)
	}
	if params.Get("before") != "" {
		d.First = v.link("history", filters...)
	}
	in.render(w, http.StatusOK, "history", d)
	return nil
}

// historyQuery returns the query of a page of the history.
func historyQuery(source, node, number, before string) (q checkpoint.Query, err error) {
	q = checkpoint.Query{Limit: pageSize, Sources: tree.Sources(), Ran: node}
	if source != "" {
		i := slices.IndexFunc(tree.Sources(), func(s checkpoint.Source) bool { return s.String() == source })
		if i < 0 {
			return q, bad("there is no source %q; want one of %v", source, tree.Sources())
		}
		q.Sources = tree.Sources()[i : i+1]
	}
	if number != "" {
		if q.Step, err = strconv.Atoi(strings.TrimSpace(number)); err != nil || q.Step < 0 {
			return q, bad("the superstep %q is no number from 0", number)
		}
		q.HasStep = true
	}
	if before != "" {
		if q.Before, err = checkpoint.ParseID(before); err != nil {
			return q, bad("%v", err)
		}
	}
	return q, nil
}
