package shape

import (
	"strconv"
	"strings"
)

// Reads reports whether data with the outermost layer old can be read as the layer l. It does not
// compare the elements of lists and maps, nor the fields and members of types. A pointer reads
// what is stored for its element, too, so callers remove pointers first.
//
// A number reads numbers of types whose values it all holds. A slice reads arrays. A string reads
// types with the kinds Text and JSON, and bytes read those of the kind Binary. Two types that
// store themselves fit if they have one name.
func (l Layer) Reads(old Layer) bool {
	switch kind := Kind(old.Kind); kind {
	case Wire, Binary, Text, JSON:
		switch {
		case l.Kind == old.Kind:
			return l.Type != nil && old.Type != nil && l.Type.Name == old.Type.Name
		case kind == Binary:
			return l.Kind == "bytes" && l.Len == ""
		}
		return kind != Wire && l.Kind == "string"
	}
	switch {
	case l.Kind != old.Kind:
		return holds(old.Kind, l.Kind)
	case l.Kind == "map":
		return l.Key == old.Key || holds(old.Key, l.Key)
	case l.Kind == "list" || l.Kind == "bytes":
		return l.Len == "" || l.Len == old.Len
	}
	return l.Kind != "" // the zero Layer is unknown
}

// holds reports whether each value of one type of numbers can be read as another.
func holds(from, to string) bool {
	fromKind, fromBits := number(from)
	toKind, toBits := number(to)
	switch {
	case fromKind == "" || toKind == "":
		return false
	case fromKind == toKind:
		return fromBits <= toBits
	case fromKind == "uint" && toKind == "int":
		return fromBits < toBits
	case toKind == "float" && fromKind != "complex": // a float holds integers of half its bits exactly
		return fromBits <= toBits/2
	}
	return false
}

// number returns the kind and the size of a type of numbers, or "".
func number(name string) (kind string, bits int) {
	kind = strings.TrimRight(name, "0123456789")
	switch kind {
	case "int", "uint", "float", "complex":
	default:
		return "", 0
	}
	if bits, _ = strconv.Atoi(name[len(kind):]); bits == 0 {
		bits = 64 // int and uint
	}
	return kind, bits
}
