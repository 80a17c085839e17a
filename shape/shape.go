// Package shape describes the types of stored data as data, so that tools can name the fields of a state, and show its values,
// without the program that wrote it. graphgen generates the descriptions; a state's schema and a payload's method WireShape
// return them.
//
// # Types
//
// Types are written as Go writes them, without aliases, relative to the package of the state: int, []byte, time.Time, *Plan,
// map[string][]Money, money.Amount. Every type with a name that Go does not declare itself, and every struct, has an entry
// in a table, by the text that it is written as. All others are made of bool, numbers, strings and time.Time by *, [], [n] and
// map[key], with the underlying type for the key. [Types.Outer] takes off one layer.
//
// # In stored data
//
// Structs, maps and unions are MessagePack maps: a struct from the wire names of its fields, a union from the tag of its one
// member. Slices and arrays are arrays, those of bytes are binary, complex numbers are arrays of two, times are timestamps, and
// pointers are what they point to. A nil slice, map, pointer or union is nil.
// Types with a codec of their own are what that writes: Binary is binary, Text is a string, and Wire can be anything.
//
// A snapshot also has a mark for each former name of a field that is stored under a newer one: "was," and the former name, with
// the newer one for its value. Its other names are those of fields that the program which wrote it did not have.
//
// # Encoding
//
// Descriptions are MessagePack arrays, whose first element is the number of this format:
//
//	state:   [1, name, [field ...], [type ...]]
//	payload: [1, type, [type ...]]
//	graph:   [1, state, [[name, payload, payload] ...]]
//	field:   [name, wire, [was ...], reducer, type, key, input]
//	type:    [name, kind, of, [field ...], [[tag, type] ...]]
//
// Equal descriptions are equal bytes. Types are in the order of their names.
package shape

// State describes a state. It must not be modified.
type State struct {
	Name   string  // of the state's type
	Fields []Field // in order of declaration, untracked ones too
	Types  Types   // that stored fields and the inputs of reducers are made of
}

// Payload describes what a send carries, a question asks or an answer says. It must not be modified.
type Payload struct {
	Type  string // empty if nothing is known: the type's codec is not generated
	Types Types  // that it is made of
}

// Field describes one field of a state or of a struct.
type Field struct {
	Name    string   // in Go
	Wire    string   // in stored data
	Was     []string // wire names that it is also read by
	Reducer string   // of a state's field: as in the tag, "replace" if it has none; empty for a field of a struct
	Type    string
	Key     string // upsert: the field or the method, with its parentheses, that tells elements apart
	Input   string // reduce: the type of what updates give
}

// Stored reports whether the field is part of what is stored.
func (f *Field) Stored() bool { return f.Reducer != "untracked" }

// Type describes a type that has a name, or is a struct.
type Type struct {
	Name    string // as fields name it
	Kind    Kind
	Of      string   // Defined: the type that it is declared as
	Fields  []Field  // Struct: those that are stored, in order of declaration
	Members []Member // Union: in order of declaration
}

// Member is one type that a union may hold.
type Member struct {
	Tag  string // in stored data
	Type string // in Go; a pointer if the union holds pointers
}

// Kind says how a type is stored.
type Kind string

// The kinds.
const (
	Defined Kind = "defined" // as another type
	Struct  Kind = "struct"  // field by field
	Union   Kind = "union"   // a closed interface
	Wire    Kind = "wire"    // by its methods AppendWire and DecodeWire
	Binary  Kind = "binary"  // by its methods MarshalBinary and UnmarshalBinary
	Text    Kind = "text"    // by its methods MarshalText and UnmarshalText
)
