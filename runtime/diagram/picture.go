package diagram

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// picture is what all formats draw.
type picture struct {
	options
	name  string
	boxes int // how many there are
	root  *group
}

// group is a graph, with its boxes and the links between them.
type group struct {
	boxes []*box
	links []link
}

type box struct {
	key    string // unique in the picture
	form   form
	label  string
	notes  []string // lines below the label
	mark   Mark     // empty for none
	inside *group   // an expanded subgraph; else nil
	detail bool     // it is left out
}

// form is the shape of a box.
type form int

const (
	plain    form = iota
	terminal      // Start, End or Parent
	task
	subgraph
	joint // a join
)

type link struct {
	from, to *box
	kind     graph.EdgeKind
}

// maxExpanded is the number of boxes from which on no subgraph is expanded. A graph can contain
// another one twice, and that one a third one twice, and so on.
const maxExpanded = 10_000

// newPicture returns the picture of a graph.
func newPicture(d *graph.Description, opts []Option) *picture {
	if d == nil {
		d = new(graph.Description)
	}
	p := &picture{name: printable(d.Graph)}
	for _, o := range opts {
		if o != nil {
			o(&p.options)
		}
	}
	p.root = p.group(d, &p.place)
	return p
}

// group returns the boxes of a graph. place is nil if nothing in it is marked.
func (p *picture) group(d *graph.Description, place *Place) *group {
	g := new(group)
	byID := make(map[graph.ID]*box)
	terminals := func(id graph.ID, label string) {
		b := p.box(terminal, label)
		byID[id] = b
		g.boxes = append(g.boxes, b)
	}
	terminals(graph.Start, "Start")
	for i := range d.Nodes {
		b := p.node(&d.Nodes[i], place)
		byID[d.Nodes[i].ID] = b
		g.boxes = append(g.boxes, b)
	}
	for _, e := range d.Edges {
		if byID[e.To] == nil && (e.To == graph.End || e.To == graph.Parent) {
			terminals(e.To, strings.TrimPrefix(e.To.String(), "graph."))
		}
		g.link(byID[e.From], byID[e.To], e.Kind)
	}
	for _, j := range d.Joins {
		label := "all"
		if j.Any {
			label = "any"
		}
		b := p.box(joint, label)
		g.boxes = append(g.boxes, b)
		for _, from := range j.From {
			g.link(byID[from], b, graph.KindEdge)
		}
		if byID[j.To] == nil && j.To == graph.End {
			terminals(graph.End, "End")
		}
		g.link(b, byID[j.To], graph.KindEdge)
	}
	g.leaveOut()
	return g
}

// box returns a new box.
func (p *picture) box(f form, label string) *box {
	p.boxes++
	if label == "" { // a Description that nothing checked
		label = "(no id)"
	}
	return &box{key: fmt.Sprint("n", p.boxes), form: f, label: printable(label)}
}

// node returns the box of a node.
func (p *picture) node(n *graph.NodeDescription, place *Place) *box {
	f := plain
	switch {
	case n.Subgraph != nil:
		f = subgraph
	case n.Kind == graph.KindTask:
		f = task
	}
	b := p.box(f, string(n.ID))
	var within *Place
	if place != nil {
		b.mark, within = place.Marks[n.ID], place.Inside[n.ID]
		if styleOf(b.mark) == nil {
			b.mark = ""
		}
	}
	b.detail = n.Detail && !p.details && (b.mark == "" || b.mark == Done)
	if n.Subgraph != nil && p.expand && p.boxes < maxExpanded {
		b.inside = p.group(n.Subgraph, within)
	}
	note := func(what string, names ...string) {
		b.notes = append(b.notes, printable(what+strings.Join(names, ", ")))
	}
	if len(n.Questions) > 0 {
		note("asks ", n.Questions...)
	}
	if len(n.Signals) > 0 {
		note("waits for ", n.Signals...)
	}
	if n.Queue != "" {
		note("queue ", n.Queue)
	}
	if n.InterruptBefore {
		note("stops before")
	}
	if n.InterruptAfter {
		note("stops after")
	}
	return b
}

// link adds a link, unless it is there. A Description that nothing checked can lack an end, or
// have another kind.
func (g *group) link(from, to *box, kind graph.EdgeKind) {
	if from == nil || to == nil {
		return
	}
	if kind != graph.KindRoute && kind != graph.KindSend {
		kind = graph.KindEdge
	}
	for _, l := range g.links {
		if l.from == from && l.to == to && l.kind == kind {
			return
		}
	}
	g.links = append(g.links, link{from, to, kind})
}

// leaveOut removes the boxes that are details, and links their neighbours.
func (g *group) leaveOut() {
	kept := g.boxes[:0]
	for _, b := range g.boxes {
		if !b.detail {
			kept = append(kept, b)
			continue
		}
		links := g.links
		g.links = nil
		for _, l := range links {
			switch {
			case l.from != b && l.to != b:
				g.link(l.from, l.to, l.kind)
			case l.to == b && l.from != b:
				for _, next := range links {
					if next.from == b && next.to != b {
						g.link(l.from, next.to, through(l.kind, next.kind))
					}
				}
			}
		}
	}
	g.boxes = kept
}

// through returns the kind of a link through a box that is left out.
func through(first, second graph.EdgeKind) graph.EdgeKind {
	if second == graph.KindEdge {
		return first
	}
	return second
}

// marks are the colours of boxes with a mark.
var marks = [...]markStyle{
	{Done, "#d8f0dd", "#2f7d44"},
	{Due, "#dbe9ff", "#2a5fb0"},
	{Waiting, "#fff0c8", "#9a6a00"},
	{Failed, "#ffdcd8", "#b3261e"},
}

type markStyle struct {
	mark       Mark
	fill, line string
}

// styleOf returns the colours of a mark, nil for none.
func styleOf(m Mark) *markStyle {
	for i := range marks {
		if marks[i].mark == m {
			return &marks[i]
		}
	}
	return nil
}

// printable returns a text in which nothing breaks a line or has no width.
func printable(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// encoded replaces the characters of a text that a format could take for its own. Letters, digits
// and single spaces stay, and so do '_', '-' and '.' between letters or digits.
func encoded(s string, replace func(rune) string) string {
	var b strings.Builder
	runes := []rune(s)
	word := func(i int) bool {
		return i >= 0 && i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))
	}
	for i, r := range runes {
		between := word(i-1) && word(i+1)
		if word(i) || between && strings.ContainsRune(" _-.", r) || r == ',' && word(i-1) || r == ' ' && i > 0 && runes[i-1] == ',' {
			b.WriteRune(r)
		} else {
			b.WriteString(replace(r))
		}
	}
	return b.String()
}
