// Package shape (experimental) describes the types of stored data as data. With a description, a
// tool can name the fields of a state and show its values without the program that wrote them.
// graphgen generates the descriptions. A state's schema returns its description from Describe, a
// payload from WireShape.
//
// # Types
//
// Types are written as in Go source, without aliases, relative to the package of the state: int,
// []byte, time.Time, *Plan, map[string][]Money, money.Amount.
//
//   - Each named type has an entry in a table, except the predeclared types of Go and time.Time. A
//     struct has one too.
//     The key of an entry is the type as it is written.
//   - All other types consist of bool, numbers, strings and time.Time, combined by *, [], [n] and
//     map[key]. The key of a map is an underlying type.
//
// [Types.Outer] removes one layer of a type.
//
// # Stored data
//
// Stored data is MessagePack:
//
//   - A struct is a map from the wire names of its fields. A union is a map with one entry, from
//     the tag of its member.
//   - A slice or array is an array; one of bytes is binary. A complex number is an array of two.
//   - A time is a timestamp. A pointer is stored as the value that it points to.
//   - A nil slice, map, pointer or union is nil.
//   - A type with its own codec is stored as the codec writes it. Binary is binary, Text and JSON
//     are strings, and Wire can be any value.
//
// A snapshot also has a mark for each field that had a former name and is now stored under a new
// one. The mark is "was," followed by the former name; its value is the new name. Any other
// unknown name is a field that the program that wrote the snapshot did not know.
//
// # Encoding
//
// A description is a MessagePack array. Its first element is the number of this format:
//
//	state:   [3, name, [field ...], [type ...]]
//	payload: [3, type, [type ...]]
//	graph:   [3, state, [[name, payload, payload] ...], [[name, payload] ...]]
//	field:   [name, wire, [was ...], reducer, type, key, input, run]
//	type:    [name, kind, of, [field ...], [[tag, type] ...]]
//
// Equal descriptions have equal bytes. Types are sorted by name.
package shape

// State describes a state. It must not be modified.
type State struct {
	Name   string  // the name of the state's type
	Fields []Field // in order of declaration, including untracked fields
	Types  Types   // the types that stored fields and the inputs of reducers use
}

// Payload describes the payload of a send, a question or an answer. It must not be modified.
type Payload struct {
	Type  string // empty if the type is unknown, because its codec is not generated
	Types Types  // the types that it uses
}

// Field describes one field of a state or of a struct.
type Field struct {
	Name    string   // the name in Go
	Wire    string   // the name in stored data
	Was     []string // former wire names, which are also read
	Reducer string   // as in the tag, or "replace" without one; empty for a field of a struct
	Type    string
	Run     bool   // the next input clears the field: the option run
	Key     string // upsert: the field that identifies an element, or the method with its parentheses
	Input   string // reduce: the type of the values in updates
}

// Stored reports whether the field is stored.
func (f *Field) Stored() bool { return f.Reducer != "untracked" }

// Type describes a type that has a name, or is a struct.
type Type struct {
	Name    string // the name that fields use
	Kind    Kind
	Of      string   // Defined: the type in its declaration
	Fields  []Field  // Struct: the stored fields, in order of declaration
	Members []Member // Union: in order of declaration
}

// Member is one type that a union may hold.
type Member struct {
	Tag  string // the name in stored data
	Type string // the type in Go; a pointer if the union holds pointers
}

// Kind specifies how a type is stored.
type Kind string

// The kinds of types.
const (
	Defined Kind = "defined" // as another type
	Struct  Kind = "struct"  // field by field
	Union   Kind = "union"   // a closed interface
	Wire    Kind = "wire"    // by its methods AppendWire and DecodeWire
	Binary  Kind = "binary"  // by its methods MarshalBinary and UnmarshalBinary
	Text    Kind = "text"    // by its methods MarshalText and UnmarshalText
	JSON    Kind = "json"    // by its methods MarshalJSON and UnmarshalJSON
)
