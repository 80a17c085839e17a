// Package state contains the types that node functions use in updates. It also contains the types
// with which programs compare states, migrate stored states and handle errors.
//
// # Updates
//
// A node returns an update, a struct that graphgen generates from the state's struct. Each field
// of an update is an operation set. It has only the methods that the field's reducer allows:
//
//	reducer                                     update    methods, and Clear
//	replace, last, first, ephemeral, untracked  [Value]   Set
//	append                                      [List]    Append, Remove, Replace
//	upsert                                      [Keyed]   Upsert, Remove, Replace
//	union                                       [Unique]  Add, Remove, Replace
//	merge                                       [Map]     Put, Merge, Delete, Replace
//	sum                                         [Sum]     Add
//	min, max                                    [Min], [Max]  Offer
//	or, and                                     [Or], [And]   Or, And
//	reduce=f                                    [Reduce]  Reduce
//
// Operations on one field apply in the order of the calls. A field without calls keeps its value.
// Clear makes a field unset. A later operation is then its first write again. Replace makes a list
// or map empty if it has no arguments; Clear makes it nil.
//
// [Set], [Append], [Upsert], [Put], [Merge] and [Add] return an update with one operation, for
// inputs and tests. [Build] makes any update in one expression. [Apply] merges an update in a
// test.
//
// # Comparing states
//
// graphgen also generates a type for the difference between two states. It has a field for each
// stored field:
//
//	reducer           diff
//	append, union     [ListChange]
//	upsert            [KeyedChange]
//	merge             [MapChange]
//	all others        [Change]
//
// # Stored form
//
// A snapshot is a whole stored state: a MessagePack map of all fields that were ever written. The
// keys are the wire names, in bytewise order: the Go name of the field, or the name in its tag.
// Structs are maps in order of declaration, and Go maps are written in order of their keys, so
// equal states have equal bytes.
//
// A delta is the stored change of one checkpoint. It lists the operations on each field that
// changed: set, append, put, delete, set at an index, remove at indexes, clear. The stored
// operation alone defines its effect. Reading therefore runs no reducer, so a changed reducer
// affects no checkpoint. But stored results of tasks contain updates, which merge later by the
// changed reducer. A stored field that the code does not have is kept unchanged and written back.
//
// A graph uses a state through its [Schema]. Generated code calls package cell, which merges and
// stores.
package state
