// Package value (experimental) reads and writes stored data with a description of package shape,
// without the types of the program that stored the data. Tools use it to show states, and to make
// answers, signals and inputs from JSON.
//
// # JSON
//
// [Value.MarshalJSON] writes the JSON that [Encode] and [EncodeUpdate] read:
//
//   - A struct is an object with the names of its fields in Go.
//   - A union is an object with one entry, from the tag of its member.
//   - A map is an object, whose names are the keys as text.
//   - A list is an array, but bytes are a string in base64. A complex number is an array of two.
//   - A time is a string in RFC 3339.
//   - A number that JSON lacks is one of the strings "NaN", "+Inf" and "-Inf".
//   - A type with its own codec is a string for text, any JSON for JSON, and a string in base64
//     for binary.
//   - A type with its own codec for MessagePack is any JSON, and so is a type that is not known.
//     Its bytes and times are strings, too. [Encode] makes strings of them.
//   - A nil slice, map, pointer or union is null.
//   - Bytes of a string that are not UTF-8 become U+FFFD. So a state with such a string changes on
//     its way through JSON.
package value

import (
	"encoding/json"
	"strconv"
)

// Kind specifies the form of a [Value].
type Kind string

// The kinds of values.
const (
	Nil    Kind = "nil"
	Bool   Kind = "bool"
	Number Kind = "number"
	String Kind = "string"
	Bytes  Kind = "bytes" // Text is base64
	Time   Kind = "time"  // Text is RFC 3339 in UTC
	JSON   Kind = "json"  // Text is valid JSON, from a type with its own codec
	Opaque Kind = "opaque"
	List   Kind = "list"
	Map    Kind = "map"    // Fields are its entries
	Struct Kind = "struct" // Fields are its fields
	Union  Kind = "union"  // Fields has one element, whose name is the tag of the member
)

// Value is one value of stored data, and the root of a tree if it is a list, map, struct or union.
// It shares no memory with the stored data.
type Value struct {
	Kind   Kind
	Type   string  // the type in Go as the description writes it; empty if it is not known
	Text   string  // of a bool, number, string, bytes, time, JSON or opaque value; else empty
	Fields []Field // of a map, struct or union
	Items  []Value // of a list
}

// Field is an entry of a map, struct or union.
type Field struct {
	Name  string // of a struct the name in Go, or the wire name if it is not known
	Value Value
}

// Field returns the value of the field with the given name, or nil.
func (v Value) Field(name string) *Value {
	for i := range v.Fields {
		if v.Fields[i].Name == name {
			return &v.Fields[i].Value
		}
	}
	return nil
}

// MarshalJSON returns v as JSON, with the entries in the order of Fields. It does not fail.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendJSON(nil), nil }

func (v Value) appendJSON(b []byte) []byte {
	switch v.Kind {
	case Nil, "":
		return append(b, "null"...)
	case Bool, JSON:
		return append(b, v.Text...)
	case Number:
		if json.Valid([]byte(v.Text)) {
			return append(b, v.Text...)
		}
	case List:
		b = append(b, '[')
		for i := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.Items[i].appendJSON(b)
		}
		return append(b, ']')
	case Map, Struct, Union:
		b = append(b, '{')
		for i := range v.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendQuoted(b, v.Fields[i].Name), ':')
			b = v.Fields[i].Value.appendJSON(b)
		}
		return append(b, '}')
	}
	return appendQuoted(b, v.Text)
}

// appendQuoted appends a JSON string.
func appendQuoted(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // strings always have JSON
		return strconv.AppendQuote(b, s)
	}
	return append(b, quoted...)
}
