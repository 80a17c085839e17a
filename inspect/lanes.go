package inspect

import (
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
)

// maxLanes is the number of branches that are drawn next to each other. The last lane shows all
// further branches.
const maxLanes = 12

// cell is the part of the tree in one row. Columns are numbered from 0.
type cell struct {
	Column int   // of the checkpoint
	Above  bool  // a line leads up from it
	Below  bool  // a line leads down from it
	Pass   []int // columns of lines that pass
	Join   []int // columns of lines from above that end at the checkpoint: its further branches
	Width  int   // the number of columns
}

// cellOf returns the drawing of a row.
func cellOf(row tree.Row) cell {
	c := cell{Column: column(row.Lane), Above: !row.Tip, Below: !row.Root}
	c.Pass, c.Join = columns(row.Passing, c.Column), columns(row.Joined, c.Column)
	c.Width = 1 + max(c.Column, lastOf(c.Pass), lastOf(c.Join))
	return c
}

// column returns the column in which a lane is drawn.
func column(lane int) int { return min(lane, maxLanes-1) }

// columns returns the columns of lanes, which are in ascending order, without one of them.
func columns(lanes []int, without int) (all []int) {
	for _, lane := range lanes {
		if i := column(lane); i != without && (len(all) == 0 || i != lastOf(all)) {
			all = append(all, i)
		}
	}
	return all
}

func lastOf(columns []int) int {
	if len(columns) == 0 {
		return 0
	}
	return columns[len(columns)-1]
}

// lanesText returns the open lanes of a tree as a parameter of the next page. The address of a
// page has room for the first lanes only. A branch that it leaves out begins again on the next
// page.
func lanesText(l *tree.Lanes) string {
	open := l.Open()
	open = open[:min(len(open), tree.MaxPassing)]
	ids := make([]string, len(open))
	for i, id := range open {
		if !id.IsZero() {
			ids[i] = id.String()
		}
	}
	return strings.TrimRight(strings.Join(ids, ","), ",")
}

// lanesOf reads what lanesText wrote.
func lanesOf(s string) (*tree.Lanes, error) {
	if s == "" {
		return new(tree.Lanes), nil
	}
	parts := strings.Split(s, ",")
	if len(parts) > tree.MaxPassing {
		return nil, bad("the parameter lanes has %d ids; want at most %d", len(parts), tree.MaxPassing)
	}
	open := make([]checkpoint.ID, len(parts))
	for i, part := range parts {
		if part == "" {
			continue
		}
		id, err := checkpoint.ParseID(part)
		if err != nil {
			return nil, bad("the parameter lanes: %v", err)
		}
		open[i] = id
	}
	return tree.Restore(open), nil
}

// Sizes of the drawing, in CSS pixels.
const (
	laneWidth = 14
	rowHeight = 34
)

// W returns the width of the drawing.
func (c cell) W() int { return c.Width * laneWidth }

// H returns the height of the drawing.
func (c cell) H() int { return rowHeight }

// X returns the middle of a column.
func (c cell) X(column int) int { return column*laneWidth + laneWidth/2 }

// Y returns the middle of the row.
func (c cell) Y() int { return rowHeight / 2 }
