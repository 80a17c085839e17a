package tree

import (
	"container/heap"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// MaxPassing is the number of lanes that a Row lists as passing. A thread can have thousands of
// branches, and no drawing has room for them.
const MaxPassing = 32

// Row is the place of one record in a drawing of a tree, newest first.
type Row struct {
	// Lane is the column of the record, from 0. If the drawing begins at the head, the records in
	// lane 0 are those of the current branch.
	Lane int
	// Joined are the lanes that end at the record because other children of the record are in
	// them, in ascending order and without Lane. The record is a fork point if there are any.
	Joined []int
	// Passing are the lanes of other branches that pass the record, in ascending order, of those
	// less than MaxPassing. It does not contain Lane or Joined.
	Passing []int
	Tip     bool // no record before this one is a child of it: a branch ends here
	Root    bool // the record has no parent
	More    bool // lanes from MaxPassing on pass the record, too
}

// Lanes places records in lanes, one at a time, newest first. The zero Lanes is ready to use. It
// must not be used concurrently. It keeps one entry for each branch that is open at the record,
// not the records.
type Lanes struct {
	waits   []checkpoint.ID         // by lane: the record that the lane leads to; zero for a free lane
	waiting map[checkpoint.ID][]int // the same by record
	free    ints                    // free lanes, the lowest first
	used    int                     // lanes that are not free, from MaxPassing on
}

// Restore returns the Lanes that continue a drawing after some page. open is the result of Open at
// the end of that page.
func Restore(open []checkpoint.ID) *Lanes {
	l := new(Lanes)
	for lane, id := range open {
		l.waits = append(l.waits, checkpoint.ID{})
		if id.IsZero() {
			heap.Push(&l.free, lane)
			continue
		}
		l.lead(lane, id)
	}
	return l
}

// Open returns for each lane the id of the record that it leads to, and the zero ID for a free
// lane. If no record is left, these records are missing: Prune has removed them. The caller owns
// the result.
func (l *Lanes) Open() []checkpoint.ID { return slices.Clone(l.waits) }

// Add returns the place of the next record. It does not keep rec. Its time does not depend on the
// number of records before, and hardly on the number of branches.
func (l *Lanes) Add(rec *checkpoint.Record) Row {
	row := Row{Root: rec.Parent.IsZero()}
	children := l.waiting[rec.ID]
	delete(l.waiting, rec.ID)
	slices.Sort(children)
	if row.Tip = len(children) == 0; row.Tip {
		row.Lane = l.take()
	} else {
		row.Lane, row.Joined = children[0], slices.Clone(children[1:])
	}
	for _, lane := range children {
		l.count(lane, -1)
		l.waits[lane] = checkpoint.ID{}
	}
	row.Passing = l.passing(row.Lane)
	row.More = l.used > 0
	for _, lane := range row.Joined {
		heap.Push(&l.free, lane)
	}
	if row.Root || rec.Parent == rec.ID {
		heap.Push(&l.free, row.Lane)
		return row
	}
	l.lead(row.Lane, rec.Parent)
	return row
}

// take returns the lowest free lane.
func (l *Lanes) take() int {
	if len(l.free) > 0 {
		lane, _ := heap.Pop(&l.free).(int)
		return lane
	}
	l.waits = append(l.waits, checkpoint.ID{})
	return len(l.waits) - 1
}

// lead makes a lane lead to the record with an id.
func (l *Lanes) lead(lane int, id checkpoint.ID) {
	if l.waiting == nil {
		l.waiting = make(map[checkpoint.ID][]int)
	}
	l.waits[lane] = id
	l.waiting[id] = append(l.waiting[id], lane)
	l.count(lane, 1)
}

func (l *Lanes) count(lane, by int) {
	if lane >= MaxPassing {
		l.used += by
	}
}

// passing returns the first lanes that lead to some record, without the given one.
func (l *Lanes) passing(without int) []int {
	var lanes []int
	for lane := range min(len(l.waits), MaxPassing) {
		if lane != without && !l.waits[lane].IsZero() {
			lanes = append(lanes, lane)
		}
	}
	return lanes
}

// ints is a heap with the lowest number first.
type ints []int

// Len implements heap.Interface.
func (h *ints) Len() int { return len(*h) }

// Less implements heap.Interface.
func (h *ints) Less(i, j int) bool { return (*h)[i] < (*h)[j] }

// Swap implements heap.Interface.
func (h *ints) Swap(i, j int) { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }

// Push implements heap.Interface.
func (h *ints) Push(v any) {
	if n, ok := v.(int); ok {
		*h = append(*h, n)
	}
}

// Pop implements heap.Interface.
func (h *ints) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
