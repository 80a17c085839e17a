package graphwrite

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sort"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func fillsTheUpdate(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	u.Facts.Set(map[string]desk.Fact{"a": {}})
	u.Log.Append(s.Log[0])
	return u, nil
}

func clones(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	m := maps.Clone(s.Counts)
	m["a"] = 1
	s.Facts = maps.Clone(s.Facts)
	s.Facts["a"] = desk.Fact{}
	tags := slices.Clone(s.Log)
	sort.Strings(tags)
	steps := append([]string(nil), s.Plan.Steps...)
	steps[0] = "x"
	return desk.StateUpdate{}, nil
}

func clonesElements(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	items := slices.Clone(s.Items)
	for i, item := range items {
		one := *item
		one.N++
		items[i] = &one
		items[i].N++
	}
	plan := *s.Plan
	plan.Next = nil
	plan.Steps = slices.Clone(plan.Steps)
	plan.Steps[0] = "x"
	return desk.StateUpdate{}, nil
}

func copiesStructs(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	d := s.Docs[0]
	d.Name = "doc"
	u.Docs.Upsert(d)
	s.Status = "done"
	u.Status.Set(s.Status)
	return u, nil
}

func appendsToFields(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	log := append(s.Log, "x") // the runtime clips the fields of the state
	log[0] = "y"
	lines := append(s.Lines, "x")
	lines = append(s.Notes.Lines, lines...)
	steps := append(s.Plan.Steps[:1:1], "x")
	steps = append(slices.Clip(s.Plan.Steps), steps...)
	return desk.StateUpdate{}, nil
}

func copiesBeforeItUsesCapacity(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	_ = slices.Insert(s.Log, 0, "x") // the runtime clips the fields of the state
	_ = slices.Replace(s.Log, 0, 0, "x")
	log := slices.Grow(s.Log, 1)
	log = append(log, "x")
	log[0] = "y"
	steps := slices.Delete(slices.Clone(s.Plan.Steps), 0, 1)
	sort.Sort(sort.Reverse(sort.StringSlice(steps)))
	_ = slices.Insert(slices.Clip(s.Plan.Steps), 0, "x")
	return desk.StateUpdate{}, nil
}

func decodesIntoCopies(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	b := []byte("{}")
	var facts map[string]desk.Fact
	if err := json.Unmarshal(b, &facts); err != nil {
		return desk.StateUpdate{}, err
	}
	if err := json.Unmarshal(b, &s.Status); err != nil {
		return desk.StateUpdate{}, err
	}
	s.Facts = nil
	if err := json.Unmarshal(b, &s.Facts); err != nil {
		return desk.StateUpdate{}, err
	}
	counts := maps.Clone(s.Counts)
	if err := json.Unmarshal(b, &counts); err != nil {
		return desk.StateUpdate{}, err
	}
	o := s.Order
	o.Items = nil
	if err := json.Unmarshal(b, &o); err != nil {
		return desk.StateUpdate{}, err
	}
	f := desk.Fact{Text: s.Status}
	return desk.StateUpdate{}, json.Unmarshal(b, &f)
}

func clonesWhereItWrites(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	m, owned := s.Counts, false
	for _, d := range s.Docs {
		if d.Name == "" {
			continue
		}
		if !owned {
			m, owned = maps.Clone(m), true
		}
		m[d.Name] = 1
	}
	first := s.Facts
	for i, d := range s.Docs {
		if i == 0 {
			first = maps.Clone(first)
		}
		first[d.Name] = desk.Fact{}
	}
	steps := s.Plan.Steps
	if len(steps) > 0 {
		steps = slices.Clone(steps)
	}
	slices.Sort(steps)
	facts := s.Facts
	if _, ok := facts["a"]; ok {
		facts = maps.Clone(facts)
	}
	delete(facts, "a")
	if s.Status == "new" {
		s.Log = slices.Clone(s.Log)
		s.Log[0] = "x"
	}
	if s.Total > 3 {
		s.Lines = slices.Clone(s.Lines)
	} else {
		s.Lines = []string{"x"}
	}
	s.Lines[0] = "y"
	return desk.StateUpdate{}, nil
}

func buildsNewMemory(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	byName := make(map[string]*desk.Item)
	for _, item := range s.Items {
		byName[item.Name] = item
	}
	list := make([]desk.Doc, len(s.Docs))
	for i, d := range s.Docs {
		list[i] = d
		list[i].Name = "doc"
	}
	var plan *desk.Plan
	if s.Plan == nil {
		plan = new(desk.Plan)
	} else {
		plan = copyOf(s.Plan)
	}
	plan.Steps = nil
	return desk.StateUpdate{}, nil
}

func copyOf(p *desk.Plan) *desk.Plan {
	c := *p
	c.Steps = append([]string(nil), p.Steps...)
	return &c
}

func normalise(s *desk.State) {
	s.Status = "new"
	s.Counts = map[string]int{}
}

func changesItsCopy(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	normalise(&s)
	s.Counts["a"] = 1
	return desk.StateUpdate{}, nil
}

type cache struct{ seen map[string]bool }

func (c *cache) node(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	c.seen[s.Status] = true // the memory of the receiver
	return desk.StateUpdate{}, nil
}

func changesTheCache(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	s.Cache.Steps[0] = "x" // programs own untracked fields
	return desk.StateUpdate{}, nil
}

func followsCopies(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	p := *s.Plan
	for p.Next != nil {
		p = *p.Next
		p.Steps = nil
	}
	var list []string
	for _, d := range s.Docs {
		if len(list) == 0 {
			list = s.Log
		}
		list = append(list, d.Name)
	}
	var u desk.StateUpdate
	u.Plan.Set(&p)
	u.Log.Append(list...)
	return u, nil
}

// helper is no node: its caller decides what it may change.
func helper(s *desk.State) { s.Counts["a"] = 1 }

func deliberate(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	//graphvet:ignore graphwrite a test needs a node that writes
	s.Counts["a"] = 1
	return desk.StateUpdate{}, nil
}

// deliberateAll is silent in all its lines.
//
//graphvet:ignore graphcopy,graphwrite a test needs a node that writes
func deliberateAll(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	s.Counts["a"] = 1

	s.Counts["b"] = 1
	return desk.StateUpdate{}, nil
}

// GoodGraph registers nodes.
func GoodGraph(c *cache) {
	g := graph.New("good", desk.StateSchema)
	g.Node("a", c.node)
	s := desk.State{Counts: map[string]int{}}
	helper(&s)
	graph.TaskNode(g, "b", func(_ context.Context, _ desk.State, d desk.Doc) (desk.StateUpdate, error) {
		d.Name = "copy"
		s.Counts[d.Name] = 1 // not the state of the run
		return desk.StateUpdate{}, nil
	})
}
