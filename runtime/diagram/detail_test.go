package diagram_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// arrows returns the links of a Mermaid text, as the labels of their boxes with the arrow between.
func arrows(source string) []string {
	labels := make(map[string]string)
	for _, box := range regexp.MustCompile(`(?m)^ *(n\d+)\W*"(.*?)"\W*$`).FindAllStringSubmatch(source, -1) {
		labels[box[1]] = box[2]
	}
	var all []string
	for _, link := range regexp.MustCompile(`(?m)^ *(n\d+) (-.*>) (n\d+)$`).FindAllStringSubmatch(source, -1) {
		all = append(all, labels[link[1]]+" "+link[2]+" "+labels[link[3]])
	}
	slices.Sort(all)
	return all
}

// TestDetailsAreLeftOut draws nodes with the option graph.Detail, and the arrows of their
// neighbours.
func TestDetailsAreLeftOut(t *testing.T) {
	around := []string{"Start --> a", "b -.-> c", "c --> End"}
	whole := append([]string{"a --> log", "again --> a", "b -.-> again", "count --> b", "log --> count"}, around...)
	for name, c := range map[string]struct {
		opts []diagram.Option
		want []string
	}{
		"without":    {nil, append([]string{"a --> b", "b -.-> a"}, around...)},
		"with":       {[]diagram.Option{diagram.Details()}, whole},
		"done":       {marked("count", diagram.Done), append([]string{"a --> b", "b -.-> a"}, around...)},
		"due":        {marked("again", diagram.Due), append([]string{"a --> b", "again --> a", "b -.-> again"}, around...)},
		"waiting":    {marked("log", diagram.Waiting), append([]string{"a --> log", "log --> b", "b -.-> a"}, around...)},
		"failed":     {marked("count", diagram.Failed), append([]string{"a --> count", "b -.-> a", "count --> b"}, around...)},
		"wrong mark": {marked("count", "unknown"), append([]string{"a --> b", "b -.-> a"}, around...)},
	} {
		source := diagram.Mermaid(shapes(t)["details"], c.opts...)
		slices.Sort(c.want)
		if got := arrows(source); !slices.Equal(got, c.want) {
			t.Errorf("%s: got the arrows\n%s\nwant\n%s\nin\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"), source)
		}
	}
}

func marked(node graph.ID, m diagram.Mark) []diagram.Option {
	return []diagram.Option{diagram.At(diagram.Place{Marks: map[graph.ID]diagram.Mark{node: m}})}
}

// TestJoinsAreDrawn draws the two kinds of joins.
func TestJoinsAreDrawn(t *testing.T) {
	all := shapes(t)
	for name, want := range map[string][]string{
		"join": {"Start --> a", "Start --> b1", "a --> c", "all --> both", "b1 --> b2", "b2 --> all", "both --> End", "c --> all"},
		"race": {
			"Start --> cheap", "Start --> fast", "any --> use", "cheap --> any", "fast --> any", "fast --> log", "fast --> use", "log --> End",
			"use --> End",
		},
	} {
		if got := arrows(diagram.Mermaid(all[name])); !slices.Equal(got, want) {
			t.Errorf("%s: got the arrows %q, want %q", name, got, want)
		}
	}
}
