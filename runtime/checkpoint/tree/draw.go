package tree

import (
	"slices"
	"strings"
)

// Style is the characters of a drawing. Each is one column wide.
type Style struct {
	Record  string // a record
	Pass    string // a lane that passes
	Branch  string // at the lane of a fork point: the lane continues, and branches come from the right
	Across  string // a branch leads from the right to the fork point
	Over    string // the same, and it crosses a lane that passes
	Merge   string // the last lane that leads to the fork point
	Between string // another lane that leads to the fork point
	More    string // lanes that the drawing has no room for
}

// Lines returns the style with the box drawing characters of Unicode.
func Lines() Style {
	return Style{Record: "●", Pass: "│", Branch: "├", Across: "─", Over: "┼", Merge: "╯", Between: "┴", More: "…"}
}

// ASCII returns the style for terminals without Unicode.
func ASCII() Style {
	return Style{Record: "*", Pass: "|", Branch: "|", Across: "-", Over: "+", Merge: "'", Between: "'", More: ">"}
}

// Draw returns the text before a record, and the line before that one in which branches meet at
// the record. joint is empty if none do. Both have at most width lanes of two columns each, and
// MaxPassing lanes at most. A width less than 1 counts as 1.
func (s Style) Draw(r Row, width int) (joint, line string) {
	width = max(1, min(width, MaxPassing))
	line = s.lane(r, width)
	if len(r.Joined) == 0 {
		return "", line
	}
	return s.joint(r, width), line
}

// lane draws the line of the record itself.
func (s Style) lane(r Row, width int) string {
	cells := s.cells(r, width)
	if r.Lane < width {
		cells[r.Lane] = s.Record + " "
	}
	text := join(cells)
	if r.Lane >= width {
		return text + s.Record
	}
	if r.More || beyond(r.Passing, width) {
		text += " " + s.More
	}
	return text
}

// joint draws the line in which the lanes of Joined lead to the lane of the record.
func (s Style) joint(r Row, width int) string {
	cells := s.cells(r, width)
	last := r.Joined[len(r.Joined)-1]
	for lane := r.Lane; lane <= min(last, width-1); lane++ {
		right := s.Across
		cell := s.Across
		switch {
		case lane == r.Lane:
			cell = s.Branch
		case lane == last:
			cell, right = s.Merge, " "
		case slices.Contains(r.Joined, lane):
			cell = s.Between
		case slices.Contains(r.Passing, lane):
			cell = s.Over
		}
		cells[lane] = cell + right
	}
	text := join(cells)
	if last >= width {
		text += s.More
	}
	return text
}

// cells returns the text of each lane with those that pass.
func (s Style) cells(r Row, width int) []string {
	cells := make([]string, width)
	for i := range cells {
		cells[i] = "  "
	}
	for _, lane := range r.Passing {
		if lane < width {
			cells[lane] = s.Pass + " "
		}
	}
	return cells
}

func join(cells []string) string { return strings.TrimRight(strings.Join(cells, ""), " ") }

func beyond(lanes []int, width int) bool {
	return len(lanes) > 0 && lanes[len(lanes)-1] >= width
}
