package diagram

import (
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// PlantUML returns a state diagram for PlantUML (https://plantuml.com/state-diagram).
func PlantUML(d *graph.Description, opts ...Option) string {
	p := newPicture(d, opts)
	var w plantuml
	w.b.WriteString("@startuml\nhide empty description\n")
	if p.across {
		w.b.WriteString("left to right direction\n")
	}
	w.group(p.root, "")
	w.b.WriteString("@enduml\n")
	return w.b.String()
}

type plantuml struct{ b strings.Builder }

// group writes the boxes and links of a graph.
func (w *plantuml) group(g *group, indent string) {
	for _, b := range g.boxes {
		w.box(b, indent)
	}
	for _, l := range g.links {
		arrow, label := "-->", ""
		switch l.kind {
		case graph.KindRoute:
			arrow = "-[dashed]->"
		case graph.KindSend:
			arrow, label = "-[dotted]->", " : send"
		}
		fmt.Fprintf(&w.b, "%s%s %s %s%s\n", indent, l.from.key, arrow, l.to.key, label)
	}
}

func (w *plantuml) box(b *box, indent string) {
	fill := ""
	if style := styleOf(b.mark); style != nil {
		fill = " " + style.fill
	}
	kind := ""
	switch b.form {
	case task:
		kind = " <<each send>>"
	case subgraph:
		kind = " <<subgraph>>"
	case joint:
		kind = " <<join of>>"
	}
	fmt.Fprintf(&w.b, "%sstate \"%s\" as %s%s%s", indent, plantumlText(b.label), b.key, kind, fill)
	if b.inside != nil {
		w.b.WriteString(" {\n")
		w.group(b.inside, indent+"  ")
		fmt.Fprintf(&w.b, "%s}\n", indent)
	} else {
		w.b.WriteString("\n")
	}
	for _, n := range b.notes {
		fmt.Fprintf(&w.b, "%s%s : %s\n", indent, b.key, plantumlText(n))
	}
}

// plantumlText returns a label for use in quotes or at the end of a line.
func plantumlText(s string) string {
	return encoded(s, func(r rune) string { return fmt.Sprintf("<U+%04X>", r) })
}
