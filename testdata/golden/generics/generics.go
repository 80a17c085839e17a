// Package generics has instantiated generic types.
package generics

import "github.com/graphgen-go/graphgen/testdata/golden/generics/opt"

//go:generate go tool graphgen -type=State,Letter

// State holds instances of generic types, its own and those of another package.
type State struct {
	Box    Box[string]
	Boxes  []Box[Item]                   `graph:"append"`
	Pairs  []Pair[ID, *Item]             `graph:"upsert,key=Key"`
	Table  map[ID]Pair[int, []Box[bool]] `graph:"merge"`
	Maybe  opt.Of[Item]
	Mays   []opt.Of[[]string]
	Set    Set[ID]
	Chain  Chain[int]
	Deep   Box[Box[opt.Of[Box[int]]]]
	Alias  ItemBox
	Number Sum          `graph:"sum"`
	Grow   Vec[float32] `graph:"append"`
}

// ID is a declared key.
type ID string

// Item is an argument.
type Item struct {
	Name string
	Tags []string
}

// Box holds one value.
type Box[T any] struct {
	Value T
	Full  bool
}

// Pair holds two.
type Pair[K comparable, V any] struct {
	Key K
	Val V
}

// Set is a generic map.
type Set[K comparable] map[K]struct{}

// Vec is a generic slice.
type Vec[T any] []T

// Chain is generic and holds itself.
type Chain[T any] struct {
	Value T
	Next  *Chain[T]
}

// ItemBox is an alias of an instance.
type ItemBox = Box[Item]

// Sum is an alias of a basic type.
type Sum = int64

// Letter is a payload that holds an instance.
type Letter struct{ Content Box[[]Item] }
