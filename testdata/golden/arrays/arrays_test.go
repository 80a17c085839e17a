package arrays

import (
	"reflect"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestStateTravels(t *testing.T) { goldentest.State(t, StateSchema, StateDiffOf, nil) }

func FuzzState(f *testing.F) { goldentest.FuzzState(f, StateSchema, nil) }

// TestArraysMerge merges two updates of each reducer, and restores the state from its deltas.
func TestArraysMerge(t *testing.T) {
	live, restored := StateSchema.New(cell.Options{Record: true}), StateSchema.New(cell.Options{})
	var u, v StateUpdate
	u.Last.Set([4]int{1, 2})
	v.Last.Set([4]int{3})
	u.First.Set([2]Point{{1, 2}})
	v.First.Set([2]Point{{3, 4}})
	u.Digest.Set([16]byte{15: 1})
	u.Turn.Set([3]string{"a"})
	u.Input.Set([2]Sum{{1}, {2}})
	u.Digests.Add([16]byte{1}, [16]byte{2})
	v.Digests.Add([16]byte{2}, [16]byte{3})
	u.Edges.Add([2]Point{{1, 1}, {2, 2}})
	v.Edges.Add([2]Point{{1, 1}, {2, 2}}, [2]Point{})
	u.Rows.Append([3]*Point{nil, {1, 2}})
	v.Rows.Append([3]*Point{{3, 4}})
	u.Grids.Put("a", [2][2]float64{{1, 2}, {3, 4}})
	v.Grids.Put("b", [2][2]float64{})
	u.Items.Upsert(Item{ID: "x", Sums: [2]Sum{{1}}, Words: [2][]string{{"w"}}})
	v.Items.Upsert(Item{ID: "x", Sums: [2]Sum{{}, {2}}})
	u.Bounds.Reduce(7)
	v.Bounds.Reduce(-3)
	u.Deep.Set([2][][2]map[string][1]bool{1: {{{"k": {true}}, nil}}})
	u.Pointer.Set(&[2]Point{{5, 6}})
	for i, update := range []*StateUpdate{&u, &v} {
		if err := live.Merge(i, update); err != nil {
			t.Fatal(err)
		}
	}
	delta, err := live.AppendDelta(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := restored.Apply(delta); err != nil {
		t.Fatal(err)
	}
	want := State{
		Digest:  [16]byte{15: 1},
		Last:    [4]int{3},
		First:   [2]Point{{1, 2}},
		Turn:    [3]string{"a"},
		Input:   [2]Sum{{1}, {2}},
		Digests: [][16]byte{{1}, {2}, {3}},
		Edges:   [][2]Point{{{1, 1}, {2, 2}}, {}},
		Rows:    [][3]*Point{{nil, {1, 2}}, {{3, 4}}},
		Grids:   map[string][2][2]float64{"a": {{1, 2}, {3, 4}}, "b": {}},
		Items:   []Item{{ID: "x", Sums: [2]Sum{{}, {2}}}},
		Bounds:  [2]int{-3, 7},
		Deep:    [2][][2]map[string][1]bool{1: {{{"k": {true}}, nil}}},
		Pointer: &[2]Point{{5, 6}},
	}
	for name, got := range map[string]State{"merged": live.View(), "restored": restored.View()} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, want)
		}
	}
}
