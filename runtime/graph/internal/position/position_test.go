package position

import (
	"reflect"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// The nodes of the tests.
const (
	a = 1 + iota
	b
	c
	d
)

// names are those of a graph in which c was "old c", and d waits for a and b, and for b and c.
func names() *Names {
	return &Names{
		IDs: []string{"start", "a", "b", "c", "d"}, End: "end",
		Numbers: map[string]int{"start": plan.Start, "a": a, "b": b, "c": c, "d": d, "old c": c, "end": plan.End},
		Joins:   []plan.Join{{To: d, From: []int{a, b}}, {To: d, From: []int{b, c}}},
	}
}

// at returns the position of a thread that is new, with some due tasks.
func at(due ...plan.Task) plan.Position {
	return plan.Position{Due: due, Joins: [][]bool{{false, false}, {false, false}}}
}

// TestAPositionIsStoredByIDs: rules 2.1, 5.2 and the stored routes and stops.
func TestAPositionIsStoredByIDs(t *testing.T) {
	for name, test := range map[string]struct {
		change func(p *plan.Position)
		want   checkpoint.Record
	}{
		"nothing is due": {func(*plan.Position) {}, checkpoint.Record{}},
		"the order of due tasks and the numbers of sends (rule 2.2)": {
			func(p *plan.Position) {
				p.Due = []plan.Task{{Node: c, Index: 1, Raw: []byte("x")}, {Node: c}, {Node: a}}
			},
			checkpoint.Record{Due: []checkpoint.Task{{Node: "c", Index: 1, Payload: []byte("x")}, {Node: "c"}, {Node: "a"}}},
		},
		"only joins that a source has reached (rule 5.2)": {
			func(p *plan.Position) { p.Joins[1][1] = true },
			checkpoint.Record{Joins: []checkpoint.Join{{To: "d", Fired: []string{"c"}}}},
		},
		"pending routes, also that of a stop after the last node": {
			func(p *plan.Position) { p.Pending = []int{plan.Start, b, plan.End} },
			checkpoint.Record{PendingRoutes: []string{"start", "b", "end"}},
		},
		"cleared stops": {func(p *plan.Position) { p.Cleared = []int{b} }, checkpoint.Record{ClearedStops: []string{"b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := at()
			test.change(&p)
			var got checkpoint.Record
			var due []checkpoint.Task
			if len(p.Due) > 0 {
				due = make([]checkpoint.Task, len(p.Due))
			}
			names().Store(&got, &p, due)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("stored\n%+v, want\n%+v", got, test.want)
			}
			back := at()
			placed, err := names().Place(&back, &got, got.Due)
			if err != nil || placed.Was != nil || placed.Missing != nil {
				t.Fatal(placed, err)
			}
			if back.Due = back.Due[:len(back.Due):len(back.Due)]; len(back.Due) == 0 {
				back.Due = nil
			}
			if !reflect.DeepEqual(back, p) {
				t.Errorf("placed\n%+v, want\n%+v", back, p)
			}
		})
	}
}

// TestAStoredPositionIsPlacedInTheNewGraph places what a graph with other nodes has stored.
func TestAStoredPositionIsPlacedInTheNewGraph(t *testing.T) {
	for name, test := range map[string]struct {
		rec    checkpoint.Record
		want   plan.Position
		placed Placed
		caught bool // node a is a catch-all
		wrong  string
	}{
		"the node of a due task was renamed": {
			rec:    checkpoint.Record{Due: []checkpoint.Task{{Node: "old c", Index: 2}, {Node: "b"}}},
			want:   at(plan.Task{Node: c, Index: 2}, plan.Task{Node: b}),
			placed: Placed{Was: []Was{{Stored: checkpoint.Task{Node: "old c", Index: 2}}}},
		},
		"nodes are gone, and the graph has a catch-all (rule 9.5)": {
			caught: true,
			rec: checkpoint.Record{Due: []checkpoint.Task{
				{Node: "b"}, {Node: "gone", Payload: []byte("x")}, {Node: "c", Index: 1, Payload: []byte("y")}, {Node: "lost", Index: 2, Payload: []byte("z")}, {Node: "plain"},
			}},
			want: at(plan.Task{Node: b}, plan.Task{Node: a, Raw: []byte("x")}, plan.Task{Node: c, Index: 1, Raw: []byte("y")}, plan.Task{Node: a, Index: 2, Raw: []byte("z")}),
			placed: Placed{Missing: []string{"plain"}, Was: []Was{
				{Due: 1, Stored: checkpoint.Task{Node: "gone", Payload: []byte("x")}, Caught: true},
				{Due: 3, Stored: checkpoint.Task{Node: "lost", Index: 2, Payload: []byte("z")}, Caught: true},
			}},
		},
		"two nodes are now one": {
			rec:   checkpoint.Record{Due: []checkpoint.Task{{Node: "c"}, {Node: "old c"}}},
			wrong: `"c" and "old c" are due, and both are now node "c"`,
		},
		"the node of a due task is gone": {
			rec:    checkpoint.Record{Due: []checkpoint.Task{{Node: "gone"}, {Node: "gone", Index: 1}, {Node: "a"}}},
			want:   at(plan.Task{Node: a}),
			placed: Placed{Missing: []string{"gone"}},
		},
		"a route, a stop and the target of a join are gone": {
			rec: checkpoint.Record{
				PendingRoutes: []string{"z", "b"}, ClearedStops: []string{"y"}, Joins: []checkpoint.Join{{To: "x", Fired: []string{"a"}}},
			},
			want:   plan.Position{Pending: []int{b}, Joins: at().Joins},
			placed: Placed{Missing: []string{"x", "y", "z"}},
		},
		"sources distinguish the joins of one node": {
			rec:  checkpoint.Record{Joins: []checkpoint.Join{{To: "d", Fired: []string{"old c"}}, {To: "d", Fired: []string{"b"}}}},
			want: plan.Position{Joins: [][]bool{{false, true}, {false, true}}},
		},
		"a source of a join is gone": {
			rec:    checkpoint.Record{Joins: []checkpoint.Join{{To: "d", Fired: []string{"gone"}}}},
			want:   at(),
			placed: Placed{Missing: []string{"d"}},
		},
		"a source is none of the join": {
			rec:    checkpoint.Record{Joins: []checkpoint.Join{{To: "d", Fired: []string{"a", "c"}}}},
			want:   at(),
			placed: Placed{Missing: []string{"d"}},
		},
		"a join without its last source would have fired (rule 5.2)": {
			rec:    checkpoint.Record{Joins: []checkpoint.Join{{To: "d", Fired: []string{"a", "b"}}}},
			want:   at(),
			placed: Placed{Missing: []string{"d"}},
		},
		"a second stored join finds no join": {
			rec:    checkpoint.Record{Joins: []checkpoint.Join{{To: "d", Fired: []string{"a"}}, {To: "d", Fired: []string{"a"}}}},
			want:   plan.Position{Joins: [][]bool{{true, false}, {false, false}}},
			placed: Placed{Missing: []string{"d"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := at()
			n := names()
			if test.caught {
				n.CatchAll = a
			}
			placed, err := n.Place(&got, &test.rec, test.rec.Due)
			if test.wrong != "" || err != nil {
				if err == nil || test.wrong == "" || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("error %v, want %q", err, test.wrong)
				}
				return
			}
			if !reflect.DeepEqual(placed, test.placed) {
				t.Errorf("placed %+v, want %+v", placed, test.placed)
			}
			if len(got.Due) == 0 {
				got.Due = nil
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("position %+v, want %+v", got, test.want)
			}
		})
	}
}
