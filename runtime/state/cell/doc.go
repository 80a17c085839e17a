// Package cell merges, stores and restores the fields of states for generated code. Only generated
// code should call it. The package may change with any version of graphgen, together with that
// code.
//
// A cell holds one field of the state of one run. This package has the code that all fields share,
// so that generated code is short. For a state S graphgen generates, in this order:
//
//   - The type SUpdate, a struct of operation sets of package state, with String ([FormatUpdate])
//     and Equal ([SameUpdate]).
//
//   - The type SDiff, a struct with a change for each stored field. It has the methods IsZero,
//     Changes ([Changes]) and String ([FormatDiff]). The function SDiffOf compares each field. The
//     descriptions of lists and maps compute their changes.
//
//   - The variable SSchema, and a conversion of S that stops compiling when S changes.
//
//   - The variable graphgenSFields, a struct that describes each field once: its names, its
//     reducer and its codecs ([ListField] and similar types). The descriptions write and read
//     updates and compare lists and maps.
//
//   - The type graphgenS, which is the [Live]: a [Core], the state, and the cells ([ListCell] and
//     similar types). Core has most methods of Live. New calls bind. The method bind calls Init,
//     OnMigrate for each method Migrate of S and its structs, and Bind of every cell. The cells
//     are in bytewise order of the wire names. View clips slices, Load ends with Adopt, and Fork
//     with Follow. Merge calls Begin, Merge of each cell with a nonzero update, and End.
//
//   - A [Codec] for each type that is not a basic one: a type without fields. It has a method
//     Clone if an assignment does not copy the whole value. Codecs of recursive types count the
//     depth (wire.AppendDepth, wire.Reader.Enter).
//
// # Invariants
//
//   - Cells are bound once, in bytewise order of their wire names. Snapshots and deltas have the
//     same order.
//
//   - A cell writes in place only into memory that it allocated and that no lasting view shares.
//     It copies other memory first.
//
//   - While recording, the logged operations of a cell turn the stored value of its field into the
//     current one, without a reducer. [Core] counts the bytes that they displace.
//
//   - After the first error a Core stays failed, and its run must drop it.
//
//   - Package cell imports package state, never the reverse.
package cell
