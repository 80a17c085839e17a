// Package arrays has arrays under all reducers that take them.
package arrays

//go:generate go tool graphgen -type=State

// State has arrays as fields, and within lists, maps and structs.
type State struct {
	Digest  [16]byte
	Last    [4]int                   `graph:"last"`
	First   [2]Point                 `graph:"first"`
	Turn    [3]string                `graph:"ephemeral"`
	Input   [2]Sum                   `graph:"run"`
	Local   [2]chan int              `graph:"untracked"`
	Digests [][16]byte               `graph:"union"`
	Edges   [][2]Point               `graph:"union"`
	Rows    [][3]*Point              `graph:"append"`
	Grids   map[string][2][2]float64 `graph:"merge"`
	Items   []Item                   `graph:"upsert,key=ID"`
	Bounds  [2]int                   `graph:"reduce=widen"`
	Deep    [2][][2]map[string][1]bool
	Pointer *[2]Point
	None    [0]int
}

// Sum is a declared array.
type Sum [8]byte

// Point is a struct in arrays.
type Point struct{ X, Y int }

// Item has arrays.
type Item struct {
	ID    string
	Sums  [2]Sum
	Words [2][]string
}

// widen returns the bounds that include a number.
func widen(old [2]int, n int) [2]int { return [2]int{min(old[0], n), max(old[1], n)} }
