package diagram_test

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv/diagrams"
	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the pictures in testdata")

// variants are the options that each shape is drawn with.
var variants = map[string][]diagram.Option{
	"folded":   nil,
	"expanded": {diagram.Expand(), diagram.Details(), diagram.LeftToRight()},
	"placed":   {diagram.Expand(), diagram.At(everywhere)},
}

// everywhere marks nodes of several shapes.
var everywhere = diagram.Place{
	Marks: map[graph.ID]diagram.Mark{
		"a": diagram.Done, "b": diagram.Due, "c": diagram.Failed, "reserve": diagram.Done, "price": diagram.Failed,
		"payment": diagram.Waiting, "first": diagram.Done, "whole": diagram.Waiting, "<b>x</b>": diagram.Due,
	},
	Inside: map[graph.ID]*diagram.Place{
		"whole": {
			Marks:  map[graph.ID]diagram.Mark{"review": diagram.Waiting},
			Inside: map[graph.ID]*diagram.Place{"review": {Marks: map[graph.ID]diagram.Mark{"ask": diagram.Waiting}}},
		},
	},
}

// drawn calls f with each shape in each variant.
func drawn(t *testing.T, f func(name string, d *graph.Description, opts []diagram.Option)) {
	t.Helper()
	all := shapes(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, variant := range slices.Sorted(maps.Keys(variants)) {
			f(name+", "+variant, all[name], variants[variant])
		}
	}
}

// collapsed reports whether a node is left out of a shape in a variant.
func collapsed(name string, n *graph.NodeDescription) bool {
	return n.Detail && !strings.HasSuffix(name, ", expanded")
}

// TestPictures compares the pictures of some shapes with files.
func TestPictures(t *testing.T) {
	all := shapes(t)
	for name, of := range map[string]struct{ shape, variant string }{
		"loop": {"loop", "placed"}, "order": {"order", "placed"}, "sends": {"sends", "placed"}, "subgraphs": {"subgraphs", "placed"},
		"details-folded": {"details", "folded"}, "details-expanded": {"details", "expanded"},
		"join-folded": {"join", "folded"}, "race-folded": {"race", "folded"},
	} {
		d := all[of.shape]
		opts := variants[of.variant]
		for file, got := range map[string]string{
			name + ".mmd": diagram.Mermaid(d, opts...), name + ".dot": diagram.DOT(d, opts...),
			name + ".puml": diagram.PlantUML(d, opts...), name + ".svg": string(diagram.SVG(d, opts...)),
		} {
			path := filepath.Join("testdata", file)
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs; look at it, and run go test -rewrite\n%s", path, got)
			}
		}
	}
}

func TestMermaidParses(t *testing.T) {
	var places, sources []string
	drawn(t, func(name string, d *graph.Description, opts []diagram.Option) {
		places, sources = append(places, name), append(sources, diagram.Mermaid(d, opts...))
	})
	for i, err := range diagrams.Mermaid(t, append(sources, "flowchart LR\n a -- b c\n")) {
		switch {
		case i < len(places) && err != "":
			t.Errorf("%s: %s\nin\n%s", places[i], err, sources[i])
		case i == len(places) && err == "":
			t.Error("Mermaid parses what is no diagram: the test proves nothing")
		}
	}
}

// TestGraphvizShowsLabels parses the graphs and reads their labels.
func TestGraphvizShowsLabels(t *testing.T) {
	if _, err := diagrams.Graphviz(t, "json", "digraph { a -> }"); err == nil {
		t.Fatal("dot parses what is no graph: the test proves nothing")
	}
	drawn(t, func(name string, d *graph.Description, opts []diagram.Option) {
		source := diagram.DOT(d, opts...)
		out, err := diagrams.Graphviz(t, "dot_json", source)
		if err != nil {
			t.Errorf("%s: %v\nin\n%s", name, err, source)
			return
		}
		var parsed struct {
			Name    string
			Objects []struct{ Label string }
		}
		if err := json.Unmarshal([]byte(out), &parsed); err != nil {
			t.Fatalf("%s: %v in %s", name, err, out)
		}
		if parsed.Name != d.Graph {
			t.Errorf("%s: the graph has the name %q, want %q", name, parsed.Name, d.Graph)
		}
		for _, n := range d.Nodes {
			want := strings.ReplaceAll(shown(n.ID), `\`, `\\`) // dot prints labels as they are written
			found := slices.ContainsFunc(parsed.Objects, func(o struct{ Label string }) bool {
				label, _, _ := strings.Cut(o.Label, `\n`)
				return label == want || o.Label == want || strings.HasPrefix(o.Label, want+`\n`)
			})
			if found == collapsed(name, &n) {
				t.Errorf("%s: found the label %q: %t, want %t, in %s", name, want, found, !found, out)
			}
		}
	})
}

// shown returns an id as pictures show it.
func shown(id graph.ID) string {
	return strings.NewReplacer("\n", `\u000a`, "\x00", `\u0000`, "\t", `\u0009`, "\xff", `\xff`, "\u202e", `\u202e`).Replace(string(id))
}

func TestPlantUMLParses(t *testing.T) {
	if err := diagrams.PlantUML(t, "@startuml\nstate \"x\" as n1 -->\n--> --> a\n@enduml\n"); err == nil {
		t.Fatal("PlantUML parses what is no diagram: the test proves nothing")
	}
	var places, sources []string
	drawn(t, func(name string, d *graph.Description, opts []diagram.Option) {
		places, sources = append(places, name), append(sources, diagram.PlantUML(d, opts...))
	})
	if diagrams.PlantUML(t, sources...) == nil {
		return
	}
	for i, source := range sources {
		if err := diagrams.PlantUML(t, source); err != nil {
			t.Errorf("%s: %v\nin\n%s", places[i], err, source)
		}
	}
}

// area is a box of an SVG document.
type area struct{ x, y, width, height float64 }

// TestSVG reads the documents: they are XML, have each node once, and no two boxes of a graph
// overlap.
func TestSVG(t *testing.T) {
	drawn(t, func(name string, d *graph.Description, opts []diagram.Option) {
		source := diagram.SVG(d, opts...)
		decoder := xml.NewDecoder(strings.NewReader(string(source)))
		groups := [][]area{nil} // the boxes of the graphs around the present place
		seen := make(map[string]int)
		var open []string
		for {
			token, err := decoder.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v in %s", name, err, source)
			}
			switch e := token.(type) {
			case xml.StartElement:
				class := attribute(e, "class")
				open = append(open, class)
				switch {
				case e.Name.Local == "script" || attribute(e, "onload") != "":
					t.Errorf("%s: has a script", name)
				case class == "graphgen":
					groups = append(groups, nil)
				case strings.HasPrefix(class, "node"):
					seen[attribute(e, "data-node")]++
				case class == "box" && strings.HasPrefix(open[len(open)-2], "node"):
					groups[len(groups)-1] = overlap(t, name, groups[len(groups)-1], e)
				}
			case xml.EndElement:
				if open[len(open)-1] == "graphgen" {
					groups = groups[:len(groups)-1]
				}
				open = open[:len(open)-1]
			}
		}
		for _, n := range d.Nodes {
			if found := seen[shown(n.ID)] > 0; found == collapsed(name, &n) {
				t.Errorf("%s: found the node %q: %t, want %t", name, n.ID, found, !found)
			}
		}
	})
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// overlap adds the box of an element, and reports one that it overlaps. The two borders of one box
// are within each other.
func overlap(t *testing.T, name string, boxes []area, e xml.StartElement) []area {
	t.Helper()
	var b area
	for of, to := range map[string]*float64{"x": &b.x, "y": &b.y, "width": &b.width, "height": &b.height} {
		if _, err := fmt.Sscan(attribute(e, of), to); err != nil {
			t.Fatalf("%s: %s of a box: %v", name, of, err)
		}
	}
	for _, o := range boxes {
		apart := b.x >= o.x+o.width || o.x >= b.x+b.width || b.y >= o.y+o.height || o.y >= b.y+b.height
		sameBox := max(b.x, o.x)-min(b.x, o.x) <= 4 && max(b.y, o.y)-min(b.y, o.y) <= 4
		if !apart && !sameBox {
			t.Errorf("%s: the boxes %v and %v overlap", name, o, b)
		}
	}
	return append(boxes, b)
}

// TestDescriptionsSurviveJSON draws what was encoded and decoded.
func TestDescriptionsSurviveJSON(t *testing.T) {
	for name, d := range shapes(t) {
		if name == "names" {
			continue // JSON has no bytes that are not UTF-8
		}
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var got graph.Description
		if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(&got, d) {
			t.Errorf("%s: got %+v, %v\nwant %+v", name, got, err, d)
		}
		if again := describeAgain(t, name); !reflect.DeepEqual(again, d) {
			t.Errorf("%s: two compiled graphs have the descriptions %+v\nand %+v", name, again, d)
		}
	}
}

// TestNothingIsDrawn draws graphs without nodes, and marks that no node or picture has.
func TestNothingIsDrawn(t *testing.T) {
	strange := diagram.At(diagram.Place{
		Marks:  map[graph.ID]diagram.Mark{"absent": diagram.Failed, "a": "unknown"},
		Inside: map[graph.ID]*diagram.Place{"absent": nil, "a": {Marks: map[graph.ID]diagram.Mark{"b": diagram.Due}}},
	})
	chain := shapes(t)["chain"]
	for name, draw := range map[string]func(*graph.Description, ...diagram.Option) string{
		"Mermaid": diagram.Mermaid, "DOT": diagram.DOT, "PlantUML": diagram.PlantUML,
		"SVG": func(d *graph.Description, opts ...diagram.Option) string { return string(diagram.SVG(d, opts...)) },
	} {
		if got, want := draw(nil, nil), draw(new(graph.Description)); got != want || !strings.Contains(got, "Start") {
			t.Errorf("%s of nil: got\n%s\nwant\n%s", name, got, want)
		}
		if got, want := draw(chain, strange, diagram.Expand()), draw(chain); got != want {
			t.Errorf("%s with strange marks: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func describeAgain(t *testing.T, name string) *graph.Description {
	t.Helper()
	return shapes(t)[name]
}

// FuzzUnchecked draws descriptions that no graph has.
func FuzzUnchecked(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"nodes":[{"id":"a"}],"edges":[{"from":"a","to":"b"},{"from":"__start__","to":"a"}]}`,
		`{"nodes":[{"id":"a"},{"id":"a"}],"edges":[{"from":"a","to":"a"}],"joins":[{"from":[],"to":"a"},{"from":["x"],"to":"__end__"}]}`,
		`{"nodes":[{"id":"","subgraph":{"nodes":[{"id":"b","detail":true}],"edges":[{"from":"b","to":"b","kind":"x\"><"}]}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d graph.Description
		if json.Unmarshal(b, &d) != nil {
			return
		}
		for _, opts := range variants {
			_, _, _ = diagram.Mermaid(&d, opts...), diagram.DOT(&d, opts...), diagram.PlantUML(&d, opts...)
			source := diagram.SVG(&d, opts...)
			decoder := xml.NewDecoder(strings.NewReader(string(source)))
			for {
				if _, err := decoder.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("%v in %s", err, source)
				}
			}
		}
	})
}
