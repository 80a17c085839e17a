package lock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/shape"
)

// kind is the outermost layer of a type.
type kind int

const (
	invalid kind = iota
	basic        // a basic type of Go, or time.Time
	bytes        // stored as binary
	pointer
	list
	dict
	structure
	union
	codec
)

// layer is the outermost layer of a type.
type layer struct {
	kind  kind
	name  string // basic: its name; structure, union, codec: the label
	size  string // bytes, list: the length of an array, as digits; empty for a slice
	key   string // dict
	elem  string // pointer, list, dict
	codec string // codec: its form
}

// shape returns the layer as package shape describes it, which has the rule of what can be read.
func (l layer) shape() shape.Layer {
	switch l.kind {
	case basic:
		return shape.Layer{Kind: l.name}
	case codec:
		return shape.Layer{Kind: l.codec, Type: &shape.Type{Name: l.name}}
	}
	kind := map[kind]string{bytes: "bytes", list: "list", dict: "map", structure: string(shape.Struct), union: string(shape.Union)}[l.kind]
	return shape.Layer{Kind: kind, Len: l.size, Key: l.key, Elem: l.elem}
}

// basics are the types without parts.
var basics = []string{
	"bool", "string", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64",
	"float32", "float64", "complex64", "complex128", "time.Time",
}

// IsBasic reports whether name is a type without parts, which needs no entry.
func IsBasic(name string) bool { return slices.Contains(basics, name) }

// peel returns the outermost layer of a type that is not a label. The layer of a label is invalid.
func peel(text string) layer {
	if elem, ok := strings.CutPrefix(text, "*"); ok {
		return layer{kind: pointer, elem: elem}
	}
	if rest, ok := strings.CutPrefix(text, "map["); ok {
		if end := shape.Closing(rest); end >= 0 {
			return layer{kind: dict, key: rest[:end], elem: rest[end+1:]}
		}
	}
	if rest, ok := strings.CutPrefix(text, "["); ok {
		size, elem, ok := strings.Cut(rest, "]")
		switch {
		case !ok || strings.Trim(size, "0123456789") != "":
			return layer{}
		case elem == "byte":
			return layer{kind: bytes, size: size}
		}
		return layer{kind: list, size: size, elem: elem}
	}
	if IsBasic(text) {
		return layer{kind: basic, name: text}
	}
	return layer{}
}

// outer returns the outermost layer of a type. It is invalid if the type refers to nothing.
func (l *Lock) outer(text string) layer {
	for range len(l.Named) + 1 {
		of, ok := l.Named[text]
		if !ok {
			break
		}
		text = of
	}
	switch {
	case l.Structs[text] != nil:
		return layer{kind: structure, name: text}
	case l.Unions[text] != nil:
		return layer{kind: union, name: text}
	case l.Codecs[text] != "":
		return layer{kind: codec, name: text, codec: l.Codecs[text]}
	}
	return peel(text)
}

// isKey reports whether text can be the type of a map's keys.
func (l *Lock) isKey(text string) bool { return peel(text).kind == basic || l.Codecs[text] == "text" }

// maxLayers limits the layers of one type, because damaged files may have any number.
const maxLayers = 1000

// check returns an error if a type, or one within it, is neither basic nor described in the file.
func (l *Lock) check(text string) error {
	whole := text
	for range maxLayers {
		if l.Has(text) {
			return nil
		}
		at := peel(text)
		switch {
		case at.kind == invalid:
			return fmt.Errorf("type %s is not described; add its lines, or restore the file", text)
		case at.kind == dict && !l.isKey(at.key):
			return fmt.Errorf("type %s has the key %s, which cannot be stored; restore the file", whole, at.key)
		case at.elem == "":
			return nil
		}
		text = at.elem
	}
	return fmt.Errorf("a type has more than %d layers; restore the file", maxLayers)
}
