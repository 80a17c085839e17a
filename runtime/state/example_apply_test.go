package state_test

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/state"
)

//go:generate go tool graphgen -type=Search

// Search is the state of a search for the best price.
type Search struct {
	Best  float64  `graph:"min"`
	Shops []string `graph:"union"`
}

// A search starts again: Clear makes a field unset, so that the next offer is the first one.
func ExampleApply() {
	before := Search{Best: 3, Shops: []string{"a", "b"}}
	var u SearchUpdate
	u.Best.Clear()
	u.Best.Offer(9.5)
	u.Shops.Clear()
	after, err := state.Apply(SearchSchema, before, u)
	fmt.Println(after, err)
	// Output: {9.5 []} <nil>
}
