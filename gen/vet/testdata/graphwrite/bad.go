package graphwrite

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func putsIntoMap(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	s.Facts["a"] = desk.Fact{} // want `this node assigns to s\.Facts\[\.\.\.\], which belongs to the run`
	return desk.StateUpdate{}, nil
}

func putsIntoMapOrNew(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	if s.Counts == nil {
		s.Counts = make(map[string]int)
	}
	s.Counts["a"]++ // want `this node assigns to s\.Counts\[\.\.\.\]`
	m := s.Facts
	if m == nil {
		m = map[string]desk.Fact{}
	}
	m["a"] = desk.Fact{} // want `this node assigns to m\[\.\.\.\]`
	return desk.StateUpdate{}, nil
}

func ignoresNothing(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	//graphvet:ignore graphwrite
	s.Counts["a"] = 1 // want `this node assigns to s\.Counts\[\.\.\.\]`

	//graphvet:ignore graphcopy the wrong analyzer
	s.Counts["a"] = 1 // want `this node assigns to s\.Counts\[\.\.\.\]`

	//graphvet:ignore graphwrite only two lines

	s.Counts["a"] = 1 // want `this node assigns to s\.Counts\[\.\.\.\]`
	return desk.StateUpdate{}, nil
}

func deletesAndClears(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	delete(s.Facts, "a") // want `this node deletes from s\.Facts`
	clear(s.Log)         // want `this node clears s\.Log`
	return desk.StateUpdate{}, nil
}

func setsElements(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	s.Log[0] = "first" // want `this node assigns to s\.Log\[\.\.\.\]`
	for i := range s.Docs {
		s.Docs[i].Name = "doc" // want `this node assigns to s\.Docs\[\.\.\.\]\.Name`
	}
	for _, d := range s.Docs {
		d.Pages[0] = "page" // want `this node assigns to d\.Pages\[\.\.\.\]`
	}
	for _, item := range s.Items {
		item.N++ // want `this node assigns to s\.Items\[\.\.\.\]\.N`
	}
	return desk.StateUpdate{}, nil
}

func followsPointers(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	p := s.Plan
	for p.Next != nil {
		p = p.Next
	}
	p.Next = &desk.Plan{} // want `this node assigns to p\.Next`
	d := &s.Docs[0]
	d.Name = "doc"        // want `this node assigns to s\.Docs\[\.\.\.\]\.Name`
	*s.Plan = desk.Plan{} // want `this node assigns to s\.Plan`
	return desk.StateUpdate{}, nil
}

func callsTheLibrary(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	sort.Strings(s.Log)                                                                // want `this node sorts s\.Log`
	sort.Slice(s.Docs, func(i, j int) bool { return s.Docs[i].Name < s.Docs[j].Name }) // want `this node sorts s\.Docs`
	slices.Reverse(s.Log)                                                              // want `this node reverses s\.Log`
	_ = slices.DeleteFunc(s.Log, func(string) bool { return true })                    // want `this node deletes in place from s\.Log`
	maps.Copy(s.Counts, map[string]int{"a": 1})                                        // want `this node copies into s\.Counts`
	copy(s.Log, []string{"a"})                                                         // want `this node copies into s\.Log`
	return desk.StateUpdate{}, json.Unmarshal([]byte("{}"), s.Plan)                    // want `this node decodes into s\.Plan`
}

func shallowCopies(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	items := slices.Clone(s.Items)
	items[0].N = 1 // want `this node assigns to items\[\.\.\.\]\.N`
	facts := maps.Clone(s.Facts)
	facts["a"].Tags[0] = "tag" // want `this node assigns to facts\[\.\.\.\]\.Tags\[\.\.\.\]`
	more := append([]*desk.Item(nil), s.Items...)
	more[0].N = 1                                  // want `this node assigns to more\[\.\.\.\]\.N`
	append([]*desk.Item(nil), s.Items...)[0].N = 2 // want `this node assigns to append\(\.\.\.\)\[\.\.\.\]\.N`
	order := s.Order
	order.Items[0] = "item" // want `this node assigns to order\.Items\[\.\.\.\]`
	return desk.StateUpdate{}, nil
}

func decodes(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	b := []byte("{}")
	if err := json.Unmarshal(b, &s.Facts); err != nil { // want `this node decodes into s\.Facts`
		return desk.StateUpdate{}, err
	}
	if err := json.NewDecoder(strings.NewReader("[]")).Decode(&s.Log); err != nil { // want `this node decodes into s\.Log`
		return desk.StateUpdate{}, err
	}
	if err := json.Unmarshal(b, &s.Plan); err != nil { // want `this node decodes into s\.Plan`
		return desk.StateUpdate{}, err
	}
	o := s.Order
	return desk.StateUpdate{}, json.Unmarshal(b, &o) // want `this node decodes into o`
}

func decodesAll(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	return desk.StateUpdate{}, json.Unmarshal([]byte("{}"), &s) // want `this node decodes into s`
}

func sortsBackwards(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	sort.Sort(sort.Reverse(sort.StringSlice(s.Log))) // want `this node sorts s\.Log`
	return desk.StateUpdate{}, nil
}

func usesCapacity(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	_ = slices.Delete(s.Log, 0, 1)                   // want `this node deletes in place from s\.Log`
	_ = slices.Compact(s.Plan.Steps)                 // want `this node deletes in place from s\.Plan\.Steps`
	_ = slices.Replace(s.Plan.Steps, 0, 1, "a", "b") // want `this node replaces in place in s\.Plan\.Steps`
	_ = slices.Replace(s.Log, 0, 2, "a")             // want `this node replaces in place in s\.Log`
	_ = append(slices.Grow(s.Plan.Steps, 1), "x")    // want `this node appends in place to slices\.Grow\(\.\.\.\)`
	return desk.StateUpdate{}, nil
}

func clonesInOneBranch(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	steps := s.Plan.Steps
	if s.Status == "new" {
		steps = slices.Clone(steps)
	}
	steps[0] = "x" // want `this node assigns to steps\[\.\.\.\]`
	if s.Total > 3 {
		s.Counts = maps.Clone(s.Counts)
	}
	s.Counts["a"] = 1 // want `this node assigns to s\.Counts\[\.\.\.\]`
	p := s.Plan
	if s.Status == "old" {
		c := *p
		p = &c
	}
	p.Steps = nil // want `this node assigns to p\.Steps`
	return desk.StateUpdate{}, nil
}

// mark writes for callsHelpers.
func mark(m map[string]int, name string) { m[name] = 1 }

func markTwice(s desk.State) { mark(s.Counts, "a") }

func facts(s desk.State) map[string]desk.Fact { return s.Facts }

type reader struct{ name string }

func (reader) touch(p *desk.Plan) { p.Steps = nil }

func (r reader) read(_ context.Context, s desk.State, d desk.Doc) (desk.StateUpdate, error) {
	d.Index[r.name] = 1 // want `this node assigns to d\.Index\[\.\.\.\]`
	r.touch(s.Plan)     // want `touch assigns to p\.Steps`
	return desk.StateUpdate{}, nil
}

func callsHelpers(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	mark(s.Counts, "a")         // want `mark assigns to m\[\.\.\.\]`
	markTwice(s)                // want `markTwice assigns to m\[\.\.\.\]`
	facts(s)["a"] = desk.Fact{} // want `this node assigns to facts\(\.\.\.\)\[\.\.\.\]`
	func() {
		s.Counts["b"] = 2 // want `this node assigns to s\.Counts\[\.\.\.\]`
	}()
	put := func(m map[string]int) { m["c"] = 3 }
	put(s.Counts) // want `assigns to m\[\.\.\.\]`
	return desk.StateUpdate{}, nil
}

func generic[S any, U any](get func(S) map[string]int) func(context.Context, S) (U, error) {
	return func(_ context.Context, s S) (U, error) {
		get(s)["a"] = 1
		var u U
		return u, nil
	}
}

func store[T any](m map[string]T, v T) { m["a"] = v }

func usesGeneric(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	store(s.Counts, 1) // want `store assigns to m\[\.\.\.\]`
	return desk.StateUpdate{}, nil
}

// Graph registers nodes of each kind.
func Graph(child *graph.Graph[desk.Letter, desk.LetterUpdate]) {
	g := graph.New("bad", desk.StateSchema)
	g.Node("a", generic[desk.State, desk.StateUpdate](func(s desk.State) map[string]int { return s.Counts }))
	g.Node("b", func(_ context.Context, s desk.State) (desk.StateUpdate, error) {
		s.Counts["a"] = 1 // want `this node assigns to s\.Counts\[\.\.\.\]`
		return desk.StateUpdate{}, nil
	})
	graph.TaskNode(g, "c", reader{}.read)
	g.Route("b", func(_ context.Context, s desk.State) (graph.Next, error) {
		s.Log[0] = "routed" // want `this node assigns to s\.Log\[\.\.\.\]`
		return graph.To(graph.End), nil
	}, graph.End)
	g.Fallback("b", func(_ context.Context, s desk.State, _ error) (desk.StateUpdate, error) {
		s.Plan.Steps[0] = "failed" // want `this node assigns to s\.Plan\.Steps\[\.\.\.\]`
		return desk.StateUpdate{}, nil
	})
	graph.MapSubgraph(g, "d", child, func(_ context.Context, s desk.State) (desk.LetterUpdate, error) {
		s.Items[0].N = 2 // want `this node assigns to s\.Items\[\.\.\.\]\.N`
		return desk.LetterUpdate{}, nil
	}, func(_ context.Context, _ desk.State, l desk.Letter) (desk.StateUpdate, error) {
		l.Lines[0] = "" // want `this node assigns to l\.Lines\[\.\.\.\]`
		return desk.StateUpdate{}, nil
	})
}
