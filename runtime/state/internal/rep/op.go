// Package rep is what the operation sets and the Old of package state consist of. Package state defines its types over those
// here, so that their fields cannot be reached from outside, and package cell converts them back to read them. Nothing here
// knows a reducer: the methods of package state say what a call does, and cells say what merging does.
package rep

// Op is an operation of an update. Its number is what pending writes have.
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

// Known reports whether there is such an operation.
func (o Op) Known() bool { return None < o && o <= Reduce }

// String returns the name of an operation as updates print it.
func (o Op) String() string {
	return [...]string{"", "set", "append", "remove", "replace", "clear", "put", "delete", "upsert", "add", "offer", "or", "and", "reduce"}[o]
}
