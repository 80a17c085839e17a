// Package state is what generated code stands on and what node functions write in updates.
//
// # For nodes
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
// bytes. A delta says what became of each field that changed: set, append, put, delete, set at an index, remove at
// indexes, clear. What that does follows from what is stored, so reading runs no reducer and outlives a
// changed one. A field that the code does not have is kept as it is and written back.
//
// # For generated code
//
// Everything below [Schema], [Live] and the operation sets is for generated code. For a state S that is, in this order:
//
//   - the type SUpdate, a struct of operation sets, with String ([FormatUpdate]) and Equal;
//   - the type SDiff, a struct with a [Change], [ListChange], [KeyedChange] or [MapChange] for each field that is stored, with IsZero,
//     Changes and String ([FormatDiff]), and the function SDiffOf: it compares each field, and asks the field's description how those that
//     differ do;
//   - the variable SSchema, and a conversion of S that stops compiling when S changes;
//   - the variable graphgenSFields, a struct that describes each field once: how it is called, merged, written, read and
//     compared ([ListField] and its like). Its methods write, read and compare updates;
//   - the type graphgenS, which is the Live: [Core], the state, and the cells that merge ([ListCell] and its
//     like). Core has most of Live's methods. New calls Init, OnMigrate when S has a method Migrate, and Bind of every cell
//     in bytewise order of the wire names. View clips slices, Load ends with Adopt, and Merge is Begin, a Merge of each field
//     whose update is not zero, and End;
//   - a [Codec] for each type that is no basic one: a type without fields, with a method Clone more where assigning is not
//     enough. Types that hold themselves count how deep they are (wire.AppendDepth, wire.Reader.Enter).
//
// What several fields do alike is done here, so that generated code has nothing to say twice.
package state
