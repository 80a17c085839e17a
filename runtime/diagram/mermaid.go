package diagram

import (
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Mermaid returns a flowchart for Mermaid 10 or later, as GitHub shows it in Markdown
// (https://mermaid.js.org/syntax/flowchart.html).
func Mermaid(d *graph.Description, opts ...Option) string {
	p := newPicture(d, opts)
	m := mermaid{picture: p}
	direction := "TD"
	if p.across {
		direction = "LR"
	}
	fmt.Fprintf(&m.b, "flowchart %s\n", direction)
	m.group(p.root, "    ")
	m.classes()
	return m.b.String()
}

type mermaid struct {
	*picture
	b      strings.Builder
	marked [len(marks)][]string // the keys of boxes
}

// group writes the boxes and links of a graph.
func (m *mermaid) group(g *group, indent string) {
	for _, b := range g.boxes {
		m.box(b, indent)
	}
	for _, l := range g.links {
		arrow := "-->"
		switch l.kind {
		case graph.KindRoute:
			arrow = "-.->"
		case graph.KindSend:
			arrow = `-. "send" .->`
		}
		fmt.Fprintf(&m.b, "%s%s %s %s\n", indent, l.from.key, arrow, l.to.key)
	}
}

func (m *mermaid) box(b *box, indent string) {
	for i, style := range marks {
		if style.mark == b.mark {
			m.marked[i] = append(m.marked[i], b.key)
		}
	}
	label := mermaidText(b.label)
	for _, n := range b.notes {
		label += "<br/><small>" + mermaidText(n) + "</small>"
	}
	if b.inside != nil {
		fmt.Fprintf(&m.b, "%ssubgraph %s[\"%s\"]\n", indent, b.key, label)
		m.group(b.inside, indent+"    ")
		fmt.Fprintf(&m.b, "%send\n", indent)
		return
	}
	left, right := "[", "]"
	switch b.form {
	case terminal:
		left, right = "([", "])"
	case task:
		left, right = "[/", "/]"
	case subgraph:
		left, right = "[[", "]]"
	case joint:
		left, right = "{{", "}}"
	}
	fmt.Fprintf(&m.b, "%s%s%s\"%s\"%s\n", indent, b.key, left, label, right)
}

// classes writes the colours of marks.
func (m *mermaid) classes() {
	for i, style := range marks {
		if len(m.marked[i]) > 0 {
			fmt.Fprintf(&m.b, "    classDef %s fill:%s,stroke:%s,color:#111\n", style.mark, style.fill, style.line)
			fmt.Fprintf(&m.b, "    class %s %s\n", strings.Join(m.marked[i], ","), style.mark)
		}
	}
}

// mermaidText returns a label for use in quotes.
func mermaidText(s string) string {
	return encoded(s, func(r rune) string { return fmt.Sprintf("#%d;", r) })
}
