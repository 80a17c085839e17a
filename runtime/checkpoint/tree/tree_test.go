package tree_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
)

func id(n int) (id checkpoint.ID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// records returns records 1 to len(parents), newest first. A parent of 0 is none.
func records(parents ...int) []checkpoint.Record {
	var all []checkpoint.Record
	for i, parent := range parents {
		all = append(all, checkpoint.Record{ID: id(i + 1), Seq: uint64(i + 1), Parent: id(parent)})
	}
	slices.Reverse(all)
	return all
}

func draw(s tree.Style, width int, records []checkpoint.Record) string {
	var b strings.Builder
	for _, n := range tree.Build(records) {
		joint, line := s.Draw(n.Row, width)
		if joint != "" {
			b.WriteString(joint + "\n")
		}
		b.WriteString(line + " " + strconv.FormatUint(n.Record.Seq, 10) + "\n")
	}
	return b.String()
}

func TestDrawings(t *testing.T) {
	for _, test := range []struct {
		name    string
		parents []int
		width   int
		want    []string
	}{
		{"nothing", nil, 4, nil},
		{"one record", []int{0}, 4, []string{"● 1"}},
		{"a line", []int{0, 1, 2}, 4, []string{"● 3", "● 2", "● 1"}},
		{"a fork", []int{0, 1, 2, 1}, 4, []string{"● 4", "│ ● 3", "│ ● 2", "├─╯", "● 1"}},
		{"two forks of one record", []int{0, 1, 1, 1}, 4, []string{"● 4", "│ ● 3", "│ │ ● 2", "├─┴─╯", "● 1"}},
		{
			"a fork of a fork, across a lane", []int{0, 1, 2, 1, 2, 4}, 4,
			[]string{"● 6", "│ ● 5", "● │ 4", "│ │ ● 3", "│ ├─╯", "│ ● 2", "├─╯", "● 1"},
		},
		{"a lane that is crossed", []int{0, 0, 1, 2, 1}, 4, []string{"● 5", "│ ● 4", "│ │ ● 3", "│ ● │ 2", "├───╯", "● 1"}},
		{"no room", []int{0, 1, 1, 1, 1}, 2, []string{"● 5", "│ ● 4", "│ │● 3", "│ │● 2", "├─┴─…", "● 1"}},
		{"a parent that is missing", []int{0, 77, 1}, 4, []string{"● 3", "│ ● 2", "● │ 1"}},
		{"its own parent", []int{1, 2}, 4, []string{"● 2", "● 1"}},
		{"a parent that is newer", []int{2, 1}, 4, []string{"● 2", "● 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := draw(tree.Lines(), test.width, records(test.parents...))
			want := ""
			for _, line := range test.want {
				want += line + "\n"
			}
			if got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestBuildLinksNodes(t *testing.T) {
	nodes := tree.Build(records(0, 1, 2, 1, 99))
	type link struct {
		Parent   int
		Children []int
		Current  bool
	}
	var got []link
	for _, n := range nodes {
		got = append(got, link{n.Parent, n.Children, n.Current})
	}
	want := []link{
		{tree.None, nil, true},
		{4, nil, false},
		{3, nil, false},
		{4, []int{2}, false},
		{tree.None, []int{3, 1}, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the nodes differ (-want +got):\n%s", diff)
	}
}

// TestPagesContinueADrawing reads random histories in pages, and compares the rows with those of
// the whole history. It also compares the lanes with a slow definition.
func TestPagesContinueADrawing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		parents := make([]int, 1+random.IntN(60))
		for i := range parents {
			if parents[i] = i; random.IntN(3) == 0 {
				parents[i] = random.IntN(i + 1)
			}
		}
		all := records(parents...)
		whole := tree.Build(all)
		lanes := new(tree.Lanes)
		for i := range all {
			if random.IntN(4) == 0 {
				lanes = tree.Restore(lanes.Open())
			}
			if diff := cmp.Diff(whole[i].Row, lanes.Add(&all[i])); diff != "" {
				t.Fatalf("parents %v, record %d: the row after a page differs (-whole +page):\n%s", parents, i, diff)
			}
		}
		checkLanes(t, parents, whole)
	}
}

// checkLanes checks that a lane leads from each child to its parent without meeting another
// record.
func checkLanes(t *testing.T, parents []int, nodes []tree.Node) {
	t.Helper()
	for i, n := range nodes {
		if n.Current != (n.Row.Lane == 0) && nodes[len(nodes)-1].Parent == tree.None && onlyRoot(nodes) {
			t.Fatalf("parents %v, record %d: current is %v in lane %d", parents, i, n.Current, n.Row.Lane)
		}
		if n.Parent == tree.None {
			continue
		}
		for between := i + 1; between < n.Parent; between++ {
			if nodes[between].Row.Lane == n.Row.Lane {
				t.Fatalf("parents %v: record %d is in lane %d, which leads from %d to %d", parents, between, n.Row.Lane, i, n.Parent)
			}
		}
		parent := nodes[n.Parent].Row
		if parent.Lane != n.Row.Lane && !slices.Contains(parent.Joined, n.Row.Lane) {
			t.Fatalf("parents %v: lane %d of record %d does not end at its parent %d", parents, n.Row.Lane, i, n.Parent)
		}
	}
}

func onlyRoot(nodes []tree.Node) bool {
	roots := 0
	for _, n := range nodes {
		if n.Parent == tree.None {
			roots++
		}
	}
	return roots == 1
}

func TestManyForksOfOneRecord(t *testing.T) {
	const forks = 100_000
	parents := make([]int, forks+1)
	for i := range parents[1:] {
		parents[i+1] = 1
	}
	all := records(parents...)
	var lanes tree.Lanes
	for i := range all[:forks] {
		if got := len(lanes.Add(&all[i]).Passing); got > tree.MaxPassing {
			t.Fatalf("a row lists %d lanes, more than %d", got, tree.MaxPassing)
		}
	}
	if got := len(lanes.Add(&all[forks]).Joined); got != forks-1 {
		t.Errorf("%d lanes end at the fork point, want %d", got, forks-1)
	}
}

func FuzzBuild(f *testing.F) {
	f.Add([]byte{0, 1, 2, 1}, uint8(4))
	f.Add([]byte{9, 1, 3, 2, 2}, uint8(0))
	f.Fuzz(func(t *testing.T, parents []byte, width uint8) {
		var all []int
		for _, p := range parents {
			all = append(all, int(p))
		}
		text := draw(tree.ASCII(), int(width), records(all...))
		if got := strings.Count(text, "*"); got != len(parents) {
			t.Errorf("%d records are drawn, want %d:\n%s", got, len(parents), text)
		}
	})
}
