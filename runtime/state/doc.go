// Package state is what node functions write in updates, and what programs read of states: how two of them differ, what a
// stored one had before its type changed, and why merging or reading one failed.
//
// # Updates
//
// A node returns an update, a struct that graphgen makes of the state's struct. Each of its fields is an operation
// set, which has the methods that the field's reducer allows and no others:
//
//	reducer                                     update    methods
//	replace, last, first, ephemeral, untracked  [Value]   Set
//	append                                      [List]    Append, Remove, Replace, Clear
//	upsert                                      [Keyed]   Upsert, Remove, Replace, Clear
//	union                                       [Unique]  Add, Remove
//	merge                                       [Map]     Put, Merge, Delete, Replace
//	sum                                         [Sum]     Add
//	min, max                                    [Min], [Max]  Offer
//	or, and                                     [Or], [And]   Or, And
//	reduce=f                                    [Reduce]  Reduce
//
// Operations on one field apply in the order in which they were called. Calling none leaves the field as it is.
// [Set], [Append], [Put] and [Add] make operation sets for literals in inputs and tests. [Apply] merges an update
// in a test.
//
// # Comparing states
//
// graphgen also makes a type of what differs between two states, with a field for each field that is stored:
//
//	reducer           diff
//	append, union     [ListChange]
//	upsert            [KeyedChange]
//	merge             [MapChange]
//	all others        [Change]
//
// # What is stored
//
// A snapshot is a MessagePack map of the fields that were ever written, by wire name, in bytewise order of the names.
// Structs are maps in order of declaration, Go maps are written in order of their keys, so equal states are equal
// bytes. A delta lists the operations on each field that changed: set, append, put, delete, set at an index, remove at
// indexes, clear. What an operation does follows from what is stored, so reading runs no reducer and outlives a
// changed one. A field that the code does not have is kept as it is and written back.
//
// # What is elsewhere
//
// Generated code calls package cell, which merges and stores. A graph calls a state through its [Schema]. This package
// imports neither. Operation sets have no exported fields and no methods for either of them: package cell reads them through
// an internal package, so that a node sees only what it may call.
package state
