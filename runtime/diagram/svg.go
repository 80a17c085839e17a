package diagram

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// SVG returns a picture as an SVG document. It is dark for readers who prefer that. A box has the
// class "node", its mark, and the attribute data-node with the id of the node. The document has no
// script and names no other resource, so a page can include it.
func SVG(d *graph.Description, opts ...Option) []byte {
	p := newPicture(d, opts)
	w := svg{picture: p}
	drawn := w.draw(p.root)
	width, height := drawn.width+2*margin, drawn.height+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="%s" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`+"\n",
		html.EscapeString("graph "+p.name), width, height, width, height)
	b.WriteString(style)
	fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n%s</g>\n</svg>\n", margin, margin, drawn.text)
	return []byte(b.String())
}

// Sizes in pixels.
const (
	margin    = 12
	padding   = 16 // around the graph in a box
	fontSize  = 13
	noteSize  = 11
	maxLabel  = 40 // in characters; longer labels are cut, and whole in a title
	arrowSize = 7
)

const style = `<style>
.graphgen { font: 13px Helvetica, Arial, sans-serif }
.graphgen .box { fill: #fff; stroke: #555; stroke-width: 1.2 }
.graphgen text { fill: #1b1b1b; text-anchor: middle; dominant-baseline: central }
.graphgen .note { font-size: 11px; fill: #555 }
.graphgen .link { fill: none; stroke: #666; stroke-width: 1.2 }
.graphgen .arrow { fill: #666 }
.graphgen .route { stroke-dasharray: 6 4 }
.graphgen .send { stroke-dasharray: 1.5 4; stroke-linecap: round; stroke-width: 2 }
.graphgen .done > .box { fill: #d8f0dd; stroke: #2f7d44 }
.graphgen .due > .box { fill: #dbe9ff; stroke: #2a5fb0 }
.graphgen .waiting > .box { fill: #fff0c8; stroke: #9a6a00 }
.graphgen .failed > .box { fill: #ffdcd8; stroke: #b3261e }
@media (prefers-color-scheme: dark) {
.graphgen .box { fill: #22262b; stroke: #9aa4af }
.graphgen text { fill: #eceff2 }
.graphgen .note { fill: #b4bcc6 }
.graphgen .link { stroke: #9aa4af }
.graphgen .arrow { fill: #9aa4af }
.graphgen .done > .box { fill: #143d22; stroke: #6fce8b }
.graphgen .due > .box { fill: #17335f; stroke: #8db8ff }
.graphgen .waiting > .box { fill: #4a3700; stroke: #f0c04c }
.graphgen .failed > .box { fill: #5a1a15; stroke: #ff9d92 }
}
</style>
`

type svg struct{ *picture }

// drawing is a graph as SVG, with its size. Its origin is the upper left corner.
type drawing struct {
	text          string
	width, height float64
}

// point is a place in a drawing.
type point struct{ x, y float64 }

// draw draws a graph.
func (w *svg) draw(g *group) drawing {
	inner := make(map[*box]drawing)
	for _, b := range g.boxes {
		if b.inside != nil {
			inner[b] = w.draw(b.inside)
		}
	}
	size := func(b *box) (along, across float64) {
		width, height := textSize(b)
		if in, ok := inner[b]; ok {
			width, height = max(width, in.width+2*padding), height+in.height+padding
		}
		if w.across {
			return width, height
		}
		return height, width
	}
	l := newLayout(g, size)
	w.leaveRoom(l)
	var b strings.Builder
	b.WriteString(`<g class="graphgen">` + "\n")
	w.links(&b, l)
	for i, layer := range l.layers {
		for _, s := range layer {
			if s.b != nil {
				w.box(&b, s.b, w.point((l.begin[i]+l.end[i])/2, s.at), s, inner)
			}
		}
	}
	b.WriteString("</g>\n")
	end := w.point(l.end[len(l.end)-1], l.across)
	return drawing{text: b.String(), width: end.x, height: end.y}
}

// leaveRoom makes the drawing wide enough for the links from a box to itself.
func (w *svg) leaveRoom(l *layout) {
	for _, layer := range l.layers {
		for _, s := range layer {
			if slices.ContainsFunc(l.loops, func(k link) bool { return k.from == s.b }) {
				l.across = max(l.across, s.at+s.across/2+spacing)
			}
		}
	}
}

// point returns the place of a point of a layout.
func (w *svg) point(along, across float64) point {
	if w.across {
		return point{along, across}
	}
	return point{across, along}
}

// textSize returns the size of a box for its text.
func textSize(b *box) (width, height float64) {
	width = textWidth(short(b.label), fontSize)
	for _, n := range b.notes {
		width = max(width, textWidth(short(n), noteSize))
	}
	height = float64(fontSize + 17 + len(b.notes)*(noteSize+4))
	if b.form == joint {
		return width + 24, 22
	}
	return width + 26, height
}

// textWidth estimates the width of a text in Helvetica, rather too wide.
func textWidth(s string, size float64) (width float64) {
	for _, r := range s {
		switch {
		case strings.ContainsRune("ijl.,:;'|!()[] ", r):
			width += 0.36
		case r >= 0x1100:
			width += 1.05
		case unicode.IsUpper(r), r == 'm', r == 'w', r > 0x2ff:
			width += 0.84
		default:
			width += 0.59
		}
	}
	return width * size
}

// short cuts a long label.
func short(s string) string {
	if r := []rune(s); len(r) > maxLabel {
		return string(r[:maxLabel-1]) + "…"
	}
	return s
}

// box draws a box around a centre.
func (w *svg) box(b *strings.Builder, x *box, at point, s *slot, inner map[*box]drawing) {
	width, height := s.across, s.along
	if w.across {
		width, height = height, width
	}
	left, top := at.x-width/2, at.y-height/2
	fmt.Fprintf(b, `<g class="%s" data-node="%s">`, strings.TrimSpace("node "+string(x.mark)), html.EscapeString(x.label))
	if short(x.label) != x.label {
		fmt.Fprintf(b, "<title>%s</title>", html.EscapeString(x.label))
	}
	rect := func(inset, radius float64) {
		fmt.Fprintf(b, `<rect class="box" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f"/>`,
			left+inset, top+inset, width-2*inset, height-2*inset, radius)
	}
	switch x.form {
	case terminal, joint:
		rect(0, height/2)
	case task:
		fmt.Fprintf(b, `<rect class="box" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4"/>`, left+4, top-4, width, height)
		rect(0, 4)
	case subgraph:
		rect(0, 7)
		if x.inside == nil {
			rect(3, 5)
		}
	default:
		rect(0, 7)
	}
	line := at.y - float64(len(x.notes)*(noteSize+4))/2
	in, expanded := inner[x]
	if expanded {
		line = top + padding
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f">%s</text>`, at.x, line, html.EscapeString(short(x.label)))
	for _, n := range x.notes {
		line += noteSize + 4
		fmt.Fprintf(b, `<text class="note" x="%.1f" y="%.1f">%s</text>`, at.x, line, html.EscapeString(short(n)))
	}
	if expanded {
		fmt.Fprintf(b, "\n"+`<g transform="translate(%.1f %.1f)">`+"\n%s</g>\n", at.x-in.width/2, top+height-in.height-padding, in.text)
	}
	b.WriteString("</g>\n")
}

// links draws the links.
func (w *svg) links(b *strings.Builder, l *layout) {
	for _, r := range l.routes {
		w.arrow(b, r.kind, w.path(l, r))
	}
	for _, k := range l.loops {
		for i, layer := range l.layers {
			for _, s := range layer {
				if s.b == k.from {
					w.loop(b, k.kind, (l.begin[i]+l.end[i])/2, s)
				}
			}
		}
	}
}

// path returns the points of a link. It leaves and enters boxes along, and passes layers of boxes
// along, between two points.
func (w *svg) path(l *layout, r *route) (points []knot) {
	last := len(r.slots) - 1
	for i, s := range r.slots {
		begin, end := l.begin[s.layer], l.end[s.layer]
		switch middle := (begin + end) / 2; {
		case s.b != nil:
			begin, end = middle-s.along/2, middle+s.along/2
		case s.layer%2 == 1:
			points = append(points, knot{along: middle, across: s.at, bends: true})
			continue
		}
		if i > 0 {
			points = append(points, knot{along: begin, across: s.at + offset(s, s.from, r.slots[i-1])})
		}
		if i < last {
			points = append(points, knot{along: end, across: s.at + offset(s, s.to, r.slots[i+1])})
		}
	}
	if r.turned {
		slices.Reverse(points)
	}
	return points
}

// knot is a point of a curve. The curve passes it along, or, if it bends there, in the direction
// from the point before to the point after.
type knot struct {
	along, across float64
	bends         bool
}

// offset returns where the link to a neighbour leaves a box, as a distance from its centre. The
// links of a side are spread over the middle of it.
func offset(s *slot, neighbours []*slot, to *slot) float64 {
	if s.b == nil || len(neighbours) < 2 {
		return 0
	}
	sorted := slices.Clone(neighbours)
	slices.SortStableFunc(sorted, func(a, b *slot) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	step := min(slotSize, s.across*0.7/float64(len(sorted)-1))
	return (float64(slices.Index(sorted, to)) - float64(len(sorted)-1)/2) * step
}

// arrow draws a curve through points, which ends with an arrow.
func (w *svg) arrow(b *strings.Builder, kind graph.EdgeKind, knots []knot) {
	last := &knots[len(knots)-1]
	tip := w.point(last.along, last.across)
	if direction := last.along - knots[len(knots)-2].along; direction > 0 {
		last.along -= arrowSize
	} else {
		last.along += arrowSize
	}
	neck := w.point(last.along, last.across)
	at := w.point(knots[0].along, knots[0].across)
	fmt.Fprintf(b, `<path class="link %s" d="M%.1f %.1f`, kind, at.x, at.y)
	for i := 1; i < len(knots); i++ {
		along1, across1 := tangent(knots, i-1, knots[i].along-knots[i-1].along)
		along2, across2 := tangent(knots, i, knots[i].along-knots[i-1].along)
		c1 := w.point(knots[i-1].along+along1, knots[i-1].across+across1)
		c2 := w.point(knots[i].along-along2, knots[i].across-across2)
		q := w.point(knots[i].along, knots[i].across)
		fmt.Fprintf(b, " C%.1f %.1f %.1f %.1f %.1f %.1f", c1.x, c1.y, c2.x, c2.y, q.x, q.y)
	}
	b.WriteString(`"/>` + "\n")
	w.head(b, tip, neck)
	if kind == graph.KindSend {
		middle := knots[len(knots)/2]
		p := w.point(middle.along, middle.across)
		if w.across {
			p.y -= noteSize
		} else {
			p.x += 2 * noteSize
		}
		fmt.Fprintf(b, `<text class="note" x="%.1f" y="%.1f">send</text>`+"\n", p.x, p.y)
	}
}

// tangent returns the way from a knot to its control point, on a part of the curve that is long
// along.
func tangent(knots []knot, i int, long float64) (along, across float64) {
	if !knots[i].bends {
		return long / 2, 0
	}
	before, after := knots[i-1], knots[i+1]
	along = long / 3
	return along, along * (after.across - before.across) / (after.along - before.along)
}

// head draws the head of an arrow.
func (w *svg) head(b *strings.Builder, tip, neck point) {
	const half = arrowSize * 0.55
	dx, dy := 0.0, half
	if tip.x == neck.x {
		dx, dy = half, 0
	}
	fmt.Fprintf(b, `<path class="arrow" d="M%.1f %.1f L%.1f %.1f L%.1f %.1f Z"/>`+"\n", tip.x, tip.y, neck.x-dx, neck.y-dy, neck.x+dx, neck.y+dy)
}

// loop draws a link from a box to itself, on the side of it.
func (w *svg) loop(b *strings.Builder, kind graph.EdgeKind, along float64, s *slot) {
	side := s.at + s.across/2
	step := min(s.along/4, 9)
	from, out1 := w.point(along+step, side), w.point(along+2.4*step, side+spacing)
	out2, neck := w.point(along-2.4*step, side+spacing), w.point(along-step, side+arrowSize)
	tip := w.point(along-step, side)
	fmt.Fprintf(b, `<path class="link %s" d="M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f"/>`+"\n",
		kind, from.x, from.y, out1.x, out1.y, out2.x, out2.y, neck.x, neck.y)
	w.head(b, tip, neck)
}
