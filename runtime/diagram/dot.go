package diagram

import (
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// DOT returns a digraph in the language of Graphviz (https://graphviz.org/doc/info/lang.html).
func DOT(d *graph.Description, opts ...Option) string {
	p := newPicture(d, opts)
	var w dot
	fmt.Fprintf(&w.b, "digraph %s {\n", dotText(p.name))
	w.b.WriteString("\tcompound=true\n")
	if p.across {
		w.b.WriteString("\trankdir=LR\n")
	}
	w.b.WriteString("\tfontname=\"Helvetica\"\n\tnode [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\"]\n")
	w.b.WriteString("\tedge [fontname=\"Helvetica\", fontsize=10]\n")
	w.group(p.root, "\t")
	w.b.WriteString("}\n")
	return w.b.String()
}

type dot struct{ b strings.Builder }

// group writes the boxes and links of a graph.
func (w *dot) group(g *group, indent string) {
	for _, b := range g.boxes {
		w.box(b, indent)
	}
	for _, l := range g.links {
		var attributes []string
		switch l.kind {
		case graph.KindRoute:
			attributes = append(attributes, "style=dashed")
		case graph.KindSend:
			attributes = append(attributes, "style=dotted", "label=send")
		}
		from, to := l.from, l.to
		if from.inside != nil { // an edge joins boxes, and is cut at the border of a cluster
			attributes = append(attributes, "ltail=cluster_"+from.key)
			from = innermost(from)
		}
		if to.inside != nil {
			attributes = append(attributes, "lhead=cluster_"+to.key)
			to = innermost(to)
		}
		fmt.Fprintf(&w.b, "%s%s -> %s", indent, from.key, to.key)
		if len(attributes) > 0 {
			fmt.Fprintf(&w.b, " [%s]", strings.Join(attributes, ", "))
		}
		w.b.WriteString("\n")
	}
}

// innermost returns the Start in an expanded subgraph.
func innermost(b *box) *box { return b.inside.boxes[0] }

func (w *dot) box(b *box, indent string) {
	label := dotText(strings.Join(append([]string{b.label}, b.notes...), "\n"))
	fill := ""
	if style := styleOf(b.mark); style != nil {
		fill = fmt.Sprintf(", fillcolor=%q, color=%q", style.fill, style.line)
	}
	if b.inside != nil {
		fmt.Fprintf(&w.b, "%ssubgraph cluster_%s {\n%s\tlabel=%s\n", indent, b.key, indent, label)
		if fill != "" {
			fmt.Fprintf(&w.b, "%s\tgraph [style=\"rounded,filled\"%s]\n", indent, fill)
		} else {
			fmt.Fprintf(&w.b, "%s\tgraph [style=rounded]\n", indent)
		}
		w.group(b.inside, indent+"\t")
		fmt.Fprintf(&w.b, "%s}\n", indent)
		return
	}
	form := ""
	switch b.form {
	case terminal:
		form = ", shape=oval, style=filled"
	case task:
		form = ", shape=box3d, style=filled"
	case subgraph:
		form = ", peripheries=2"
	case joint:
		form = ", shape=hexagon, style=filled, fontsize=10, margin=0, height=0.3"
	}
	fmt.Fprintf(&w.b, "%s%s [label=%s%s%s]\n", indent, b.key, label, form, fill)
}

// dotText returns a text in quotes.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
