package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// lease is how long a killed process holds its threads.
const lease = 2 * time.Second

// The nodes.
const (
	NodePlan    graph.ID = "plan"
	NodeApprove graph.ID = "approve"
	NodeSearch  graph.ID = "search"
	NodeReflect graph.ID = "reflect"
	NodeWrite   graph.ID = "write"
)

// The limits of a piece of research.
const (
	maxRounds   = 3
	maxSearches = 12
	enough      = 6 // documents that suffice
)

// approve asks people to approve the plan before any search.
var approve = graph.NewQuestion[Plan, Verdict]("approve")

// flow is the graph of a piece of research.
type flow = graph.Graph[State, StateUpdate]

// desk contains the nodes as methods.
type desk struct {
	corpus  *corpus
	latency time.Duration // of a search, for demonstrations
}

// newFlow wires the nodes:
//
//	plan - approve -+= search =+- reflect -+- write
//	                |    ^=================+
//	                +- End
func newFlow(d desk, saver checkpoint.Saver, opts ...graph.Option) (*flow, error) {
	writing, err := newWriting()
	if err != nil {
		return nil, err
	}
	g := graph.New("research", StateSchema)
	g.Node(NodePlan, d.plan)
	g.Node(NodeApprove, d.approve, approve)
	search := graph.TaskNode(g, NodeSearch, d.search)
	g.RoutingNode(NodeReflect, d.reflect(search), graph.Targets(NodeSearch, NodeWrite))
	graph.MapSubgraph(g, NodeWrite, writing, toPaper, fromPaper)
	g.Edge(graph.Start, NodePlan)
	g.Edge(NodePlan, NodeApprove)
	g.Route(NodeApprove, func(_ context.Context, s State) (graph.Next, error) {
		if !s.Verdict.OK {
			return graph.To(graph.End), nil
		}
		return sends(search, s.Plan.Steps), nil
	}, NodeSearch, graph.End)
	g.Edge(NodeSearch, NodeReflect) // runs once, when all searches are done
	g.Edge(NodeWrite, graph.End)
	return g.Compile(append(opts, graph.Saver(saver), graph.Lease(lease))...)
}

// sends returns a search for each step. There is at least one step.
func sends(search graph.Sender[Step], steps []Step) graph.Next {
	var next graph.Next
	for _, s := range steps {
		next.Add(search.Send(s))
	}
	return next
}

// plan searches all texts for the whole question, and the titles for each of its words.
func (d desk) plan(_ context.Context, s State) (StateUpdate, error) {
	ws := words(s.Question)
	if len(ws) == 0 {
		return StateUpdate{}, fmt.Errorf("research: question %q has no word to search for", s.Question)
	}
	p := Plan{Title: s.Question, Steps: []Step{{Query: s.Question, Engine: FullText}}}
	slices.Sort(ws)
	ws = slices.Compact(ws)
	for _, w := range ws[:min(4, len(ws))] {
		p.Steps = append(p.Steps, Step{Query: w, Engine: Titles})
	}
	var u StateUpdate
	u.Plan.Set(p)
	u.Messages.Append(&User{Text: s.Question}, &Assistant{Text: fmt.Sprintf("I would make %d searches.", len(p.Steps))})
	return u, nil
}

func (d desk) approve(ctx context.Context, s State) (StateUpdate, error) {
	v, err := approve.Ask(ctx, s.Plan)
	if err != nil {
		return StateUpdate{}, err // no answer yet
	}
	var u StateUpdate
	u.Verdict.Set(v)
	switch {
	case !v.OK:
		u.Messages.Append(&User{Text: "No."})
	case v.Add != "":
		p := s.Plan
		p.Steps = append(slices.Clip(p.Steps), Step{Query: v.Add, Engine: FullText})
		u.Plan.Set(p)
		u.Messages.Append(&User{Text: "Yes, and look for " + v.Add + "."})
	default:
		u.Messages.Append(&User{Text: "Yes."})
	}
	return u, nil
}

// search runs one search. A document that an earlier round found keeps its first query.
func (d desk) search(ctx context.Context, s State, step Step) (StateUpdate, error) {
	select {
	case <-time.After(d.latency):
	case <-ctx.Done():
		return StateUpdate{}, ctx.Err()
	}
	found := Tool{Step: step}
	var u StateUpdate
	for _, doc := range d.corpus.search(step, 3) {
		if !slices.ContainsFunc(s.Observations, func(o Observation) bool { return o.Doc == doc.Title }) {
			u.Observations.Upsert(Observation{Doc: doc.Title, Query: step.Query, Text: doc.Text})
		}
		found.Found = append(found.Found, doc.Title)
	}
	graph.Emit(ctx, fmt.Sprintf("%s in %s: %d found", step.Query, step.Engine, len(found.Found)))
	u.Messages.Append(&found)
	u.Asked.Add(step.Query)
	u.Searches.Add(1)
	return u, nil
}

// reflect decides whether the documents suffice. If not, it searches for the titles of related
// documents.
func (d desk) reflect(search graph.Sender[Step]) func(context.Context, State) (StateUpdate, graph.Next, error) {
	return func(_ context.Context, s State) (StateUpdate, graph.Next, error) {
		var u StateUpdate
		u.Rounds.Add(1)
		var more []Step
		for _, o := range s.Observations {
			if !slices.Contains(s.Asked, o.Doc) && s.Searches+len(more) < maxSearches {
				more = append(more, Step{Query: o.Doc, Engine: FullText})
			}
		}
		if len(s.Observations) >= enough || s.Rounds+1 >= maxRounds || len(more) == 0 {
			u.Messages.Append(&Assistant{Text: fmt.Sprintf("I write with %d documents.", len(s.Observations))})
			return u, graph.To(NodeWrite), nil
		}
		u.Messages.Append(&Assistant{Text: fmt.Sprintf("%d documents are too few: %d more searches.", len(s.Observations), len(more))})
		return u, sends(search, more), nil
	}
}

// newWriting returns the graph that writes a section for each query with documents, and then the
// report.
func newWriting() (*graph.Graph[Paper, PaperUpdate], error) {
	g := graph.New("writing", PaperSchema)
	section := graph.TaskNode(g, "section", writeSection)
	g.Node("bind", bind)
	g.Route(graph.Start, func(_ context.Context, p Paper) (graph.Next, error) {
		var queries []string
		for _, o := range p.Observations {
			if !slices.Contains(queries, o.Query) {
				queries = append(queries, o.Query)
			}
		}
		if len(queries) == 0 {
			return graph.To("bind"), nil
		}
		var next graph.Next
		for _, q := range queries {
			next.Add(section.Send(Step{Query: q}))
		}
		return next, nil
	}, "section", "bind")
	g.Edge("section", "bind")
	g.Edge("bind", graph.End)
	return g.Compile(graph.SubgraphOnly())
}

func writeSection(_ context.Context, p Paper, s Step) (PaperUpdate, error) {
	var b strings.Builder
	for _, o := range p.Observations {
		if o.Query == s.Query {
			fmt.Fprintf(&b, "%s [%s]\n", o.Text, o.Doc)
		}
	}
	var u PaperUpdate
	u.Sections.Put(s.Query, b.String())
	return u, nil
}

func bind(_ context.Context, p Paper) (PaperUpdate, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", p.Title)
	if len(p.Sections) == 0 {
		b.WriteString("\nNothing was found.\n")
	}
	for _, q := range slices.Sorted(maps.Keys(p.Sections)) {
		fmt.Fprintf(&b, "\n## %s\n\n%s", q, p.Sections[q])
	}
	return PaperUpdate{Text: state.Set(b.String())}, nil
}

func toPaper(_ context.Context, s State) (PaperUpdate, error) {
	return PaperUpdate{Title: state.Set(s.Question), Observations: state.Set(s.Observations)}, nil
}

func fromPaper(_ context.Context, _ State, p Paper) (StateUpdate, error) {
	return StateUpdate{Report: state.Set(p.Text)}, nil
}
