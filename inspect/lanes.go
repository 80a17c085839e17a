package inspect

import (
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// maxLanes is the number of branches that are drawn next to each other.
const maxLanes = 12

// lanes draws the tree of checkpoints, newest first, one row after another. Each lane leads down
// to a checkpoint whose id it holds. It is empty if that is zero.
type lanes []checkpoint.ID

// cell is the part of the tree in one row. Columns are numbered from 0.
type cell struct {
	Column int   // of the checkpoint
	Above  bool  // a line leads up from it
	Below  bool  // a line leads down from it
	Pass   []int // columns of lines that pass
	Join   []int // columns of lines from above that end at the checkpoint: its further branches
	Width  int   // the number of columns
}

// next draws a record and moves down by one row.
func (l *lanes) next(id, parent checkpoint.ID) cell {
	c := cell{Column: -1}
	for i, want := range *l {
		switch {
		case want.IsZero():
		case want != id:
			c.Pass = append(c.Pass, i)
		case c.Column < 0:
			c.Column, c.Above = i, true
		default:
			c.Join = append(c.Join, i)
		}
	}
	if c.Column < 0 {
		c.Column = slices.Index(*l, checkpoint.ID{})
	}
	if c.Column < 0 {
		if len(*l) < maxLanes {
			*l = append(*l, checkpoint.ID{})
		}
		c.Column = len(*l) - 1 // the last lane shows all further branches
	}
	c.Width = len(*l)
	for _, i := range c.Join {
		(*l)[i] = checkpoint.ID{}
	}
	(*l)[c.Column], c.Below = parent, !parent.IsZero()
	for len(*l) > 0 && (*l)[len(*l)-1].IsZero() {
		*l = (*l)[:len(*l)-1]
	}
	return c
}

// String returns the lanes as a parameter of the next page.
func (l *lanes) String() string {
	ids := make([]string, len(*l))
	for i, id := range *l {
		if !id.IsZero() {
			ids[i] = id.String()
		}
	}
	return strings.Join(ids, ",")
}

// lanesOf reads what String wrote.
func lanesOf(s string) (lanes, error) {
	if s == "" {
		return nil, nil
	}
	parts := strings.Split(s, ",")
	if len(parts) > maxLanes {
		return nil, bad("the parameter lanes has %d ids; want at most %d", len(parts), maxLanes)
	}
	l := make(lanes, len(parts))
	for i, part := range parts {
		if part == "" {
			continue
		}
		id, err := checkpoint.ParseID(part)
		if err != nil {
			return nil, bad("the parameter lanes: %v", err)
		}
		l[i] = id
	}
	return l, nil
}

// Sizes of the drawing, in CSS pixels.
const (
	laneWidth = 14
	rowHeight = 34
)

// W returns the width of the drawing.
func (c cell) W() int { return max(c.Width, c.Column+1) * laneWidth }

// H returns the height of the drawing.
func (c cell) H() int { return rowHeight }

// X returns the middle of a column.
func (c cell) X(column int) int { return column*laneWidth + laneWidth/2 }

// Y returns the middle of the row.
func (c cell) Y() int { return rowHeight / 2 }
