package shape

import (
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Types is a table of types, sorted by name.
type Types []Type

// Find returns the type with the given name, or nil.
func (ts Types) Find(name string) *Type {
	i, ok := slices.BinarySearchFunc(ts, name, func(t Type, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return &ts[i]
}

// Layer is the outermost layer of a type.
type Layer struct {
	Kind string // list, map, pointer, bytes, a type that Go declares, or the Kind of Type
	Len  string // the length of an array, as digits; empty for a slice
	Key  string // map: the type of its keys
	Elem string // list, map, pointer: the type of its elements
	Type *Type  // the entry of the table, which is not Defined
}

// Outer returns the outermost layer of a type. It resolves Defined types. It returns the zero
// Layer if neither the table nor Go declares the type.
func (ts Types) Outer(text string) Layer {
	for range len(ts) + 1 { // damaged data can define types as each other
		t := ts.Find(text)
		switch {
		case t == nil:
			return split(text)
		case t.Kind != Defined:
			return Layer{Kind: string(t.Kind), Type: t}
		}
		text = t.Of
	}
	return Layer{}
}

// split returns the outermost layer of a type that is not in the table.
func split(text string) Layer {
	switch rest, isMap := strings.CutPrefix(text, "map["); {
	case isMap:
		if end := Closing(rest); end >= 0 {
			return Layer{Kind: "map", Key: rest[:end], Elem: rest[end+1:]}
		}
	case strings.HasPrefix(text, "*"):
		return Layer{Kind: "pointer", Elem: text[1:]}
	case strings.HasPrefix(text, "["):
		size, elem, ok := strings.Cut(text[1:], "]")
		switch {
		case !ok || strings.Trim(size, "0123456789") != "":
		case elem == "byte" || elem == "uint8":
			return Layer{Kind: "bytes", Len: size}
		default:
			return Layer{Kind: "list", Len: size, Elem: elem}
		}
	case slices.Contains(declared, text):
		return Layer{Kind: text}
	case text == "byte":
		return Layer{Kind: "uint8"}
	case text == "rune":
		return Layer{Kind: "int32"}
	}
	return Layer{}
}

// declared are the types that Go declares, and time.Time.
var declared = []string{
	"bool", "string", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "uintptr",
	"float32", "float64", "complex64", "complex128", "time.Time",
}

// Closing returns the index of the bracket that closes the one before text, or -1. So it finds the
// end of the key in the text of a map type after "map[".
func Closing(text string) int {
	depth := 1
	for i, c := range text {
		switch c {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// Of returns the description of a payload. Without generated code it knows only the types of
// package wire.
func Of[T any, P wire.Generated[T]]() Payload {
	switch p := any(P(new(T))).(type) {
	case interface{ WireShape() Payload }:
		return p.WireShape()
	case *wire.String:
		return Payload{Type: "string"}
	case *wire.Bool:
		return Payload{Type: "bool"}
	case *wire.Int:
		return Payload{Type: "int64"}
	}
	return Payload{}
}
