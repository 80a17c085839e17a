// Package cell merges, stores and restores the fields of states, for the code that graphgen generates. Only generated code
// should call it; it may change with any version of graphgen, together with that code.
//
// A cell holds one field of one run's state. What several fields do alike is done here, so that generated code has nothing to
// say twice. For a state S generated code is, in this order:
//
//   - the type SUpdate, a struct of operation sets of package state, with String ([FormatUpdate]) and Equal ([SameUpdate]);
//   - the type SDiff, a struct with a change for each field that is stored, with IsZero, Changes ([Changes]) and String
//     ([FormatDiff]), and the function SDiffOf, which compares each field, and asks the field's description for the change of
//     a list or a map that differs;
//   - the variable SSchema, and a conversion of S that stops compiling when S changes;
//   - the variable graphgenSFields, a struct that describes each field once: its names, its reducer and its codecs ([ListField]
//     and its like). Its methods write and read updates and compare lists and maps;
//   - the type graphgenS, which is the [Live]: a [Core], the state, and the cells ([ListCell] and its like). Core has most
//     of Live's methods. New calls bind, which calls Init, OnMigrate if S has a method Migrate, and Bind of every cell in
//     bytewise order of the wire names. View clips slices, Load ends with Adopt, Fork with Follow, and Merge is Begin, a
//     Merge of each field whose update is not zero, and End;
//   - a [Codec] for each type that is not a basic one: a type without fields, with a method Clone if assigning does not
//     copy all. Types that hold themselves count how deep they are (wire.AppendDepth, wire.Reader.Enter).
//
// # Invariants
//
//   - Cells are bound once, in bytewise order of their wire names, and snapshots and deltas are written in that order.
//   - A cell writes in place only into memory that it allocated and that no lasting view has; it copies the rest first.
//   - While recording, the operations that a cell logs turn the stored value of its field into the current one, without a
//     reducer; [Core] counts the bytes that they displace.
//   - After the first error a Core stays failed, and its run must drop it.
//   - Package cell imports package state, and never the other way round.
package cell
