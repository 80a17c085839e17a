package lock

import (
	"fmt"
	"strconv"
	"strings"
)

// read returns the reason why values of the type from in the file cannot be read as the type to in
// the sources, or "". It reports differences within structs and unions at their fields. migrates
// says that the types are within a field of a state that its method Migrate gets.
func (c *comparer) read(from, to string, migrates bool) string {
	key := pair{from, to, migrates}
	if c.seen[key] {
		return "" // reported, or in progress
	}
	o, n := c.old.outer(from), c.now.outer(to)
	if o.kind == n.kind {
		c.match(from, to)
	}
	switch {
	case o.kind == pointer && n.kind == pointer:
		return c.read(o.elem, n.elem, migrates)
	case n.kind == pointer:
		return c.read(from, n.elem, migrates)
	case o.kind == pointer:
		return fmt.Sprintf("the stored type is %s, which may be nil, and %s is never nil", from, to)
	case o.kind != n.kind:
		return c.otherKind(from, to, o, n)
	}
	switch n.kind {
	case structure:
		c.seen[key] = true
		c.fields(c.old.Structs[o.name], c.now.Structs[n.name], c.next.Structs[n.name], false, migrates)
	case union:
		c.seen[key] = true
		c.members(c.old.Unions[o.name], c.now.Unions[n.name], c.next.Unions[n.name], migrates)
	case codec:
		if o.codec != n.codec || o.name != n.name {
			return unknown(from, to)
		}
	case basic:
		if o.name != n.name && !holds(o.name, n.name) {
			return changed(from, to)
		}
	case bytes:
		if n.size != "" && n.size != o.size {
			return changed(from, to)
		}
	case dict:
		if o.key != n.key && !holds(o.key, n.key) {
			return changed(from, to)
		}
		return c.elements(key, o, n)
	case list:
		if n.size != "" && n.size != o.size {
			return changed(from, to)
		}
		return c.elements(key, o, n)
	}
	return ""
}

// elements compares the elements of two lists or maps, which may contain themselves.
func (c *comparer) elements(key pair, o, n layer) string {
	c.seen[key] = true
	defer delete(c.seen, key)
	if c.read(o.elem, n.elem, key.migrates) != "" {
		return changed(key.from, key.to)
	}
	return ""
}

// otherKind returns the reason for types with different outermost layers, or "".
func (c *comparer) otherKind(from, to string, o, n layer) string {
	switch {
	case o.kind == codec && n.kind == basic && n.name == "string" && (o.codec == "text" || o.codec == "json"):
		return "" // stored as a string
	case o.kind == codec && n.kind == bytes && n.size == "" && o.codec == "binary":
		return "" // stored as binary
	case o.kind == codec || n.kind == codec:
		return unknown(from, to)
	}
	return changed(from, to)
}

func changed(from, to string) string {
	return fmt.Sprintf("the stored type is %s, which %s cannot read", from, to)
}

// unknown is the reason for a type that stores itself.
func unknown(from, to string) string {
	return fmt.Sprintf("the stored type is %s and now %s, of which graphgen cannot see whether their methods store the same bytes", from, to)
}

// holds reports whether each value of one basic type can be read as another.
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

// match notes which type of the sources reads a type of the file.
func (c *comparer) match(from, to string) {
	if c.old.Has(from) && c.now.Has(to) && c.labels[from] == "" {
		c.labels[from] = to
	}
}
