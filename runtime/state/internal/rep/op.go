// Package rep contains the representation of the operation sets and the Old of package state.
// Package state defines its types over those here, so that their fields cannot be reached from
// outside. Package cell converts them back to read them. This package knows no reducers: package
// state defines the operations of a call, and cells define merging.
package rep

// Op is an operation of an update. Pending writes store its number.
type Op int

// The operations.
const (
	None Op = iota
	Set
	Append
	Remove
	Replace
	Clear
	Put
	Delete
	Upsert
	Add
	Offer
	Or
	And
	Reduce
)

// Known reports whether o is one of the operations.
func (o Op) Known() bool { return None < o && o <= Reduce }

// String returns the name of o as updates print it.
func (o Op) String() string {
	return [...]string{"", "set", "append", "remove", "replace", "clear", "put", "delete", "upsert", "add", "offer", "or", "and", "reduce"}[o]
}
