// Package work has the state of the graphs that package enginetest runs.
package work

//go:generate go tool graphgen -type=State

// State is the state of a graph.
type State struct {
	Ran int `graph:"sum"`
}
