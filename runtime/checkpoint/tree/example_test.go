package tree_test

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
)

// A fork of record 2 became the head. Record 3 and 4 are the branch that it left.
func ExampleLanes() {
	history := []checkpoint.Record{ // as History yields it, newest first
		{ID: checkpoint.ID{6}, Parent: checkpoint.ID{5}, Ran: []string{"answer"}},
		{ID: checkpoint.ID{5}, Parent: checkpoint.ID{2}, Source: checkpoint.Fork},
		{ID: checkpoint.ID{4}, Parent: checkpoint.ID{3}, Ran: []string{"answer"}},
		{ID: checkpoint.ID{3}, Parent: checkpoint.ID{2}, Ran: []string{"search"}},
		{ID: checkpoint.ID{2}, Parent: checkpoint.ID{1}, Ran: []string{"classify"}},
		{ID: checkpoint.ID{1}, Source: checkpoint.Input},
	}
	var lanes tree.Lanes
	for i := range history {
		joint, line := tree.ASCII().Draw(lanes.Add(&history[i]), 8)
		if joint != "" {
			fmt.Println(joint)
		}
		fmt.Println(line, history[i].Ran)
	}
	// Output:
	// * [answer]
	// * []
	// | * [answer]
	// | * [search]
	// |-'
	// * [classify]
	// * []
}
