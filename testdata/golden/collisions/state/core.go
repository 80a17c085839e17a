// Package state is called like a package of the runtime.
package state

// Core is called like a type of the runtime.
type Core struct {
	A []string
	B map[string]int
}
