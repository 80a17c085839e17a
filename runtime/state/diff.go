package state

import (
	"fmt"
	"strings"
)

// A diff is a struct that has one of the types below for each stored field of a state. Generated
// code compares the fields and fills in only those that differ, so equal fields cost a comparison
// and no memory.

// Change is the difference between two values of a field. The zero Change means that the values
// are equal. Before and After share memory with the two states and must only be read.
type Change[T any] struct {
	Before, After T
	Differs       bool
}

// IsZero reports whether the values are equal.
func (c Change[T]) IsZero() bool { return !c.Differs }

// String describes the difference, such as "draft -> done". It returns "" if there is none.
func (c Change[T]) String() string {
	if !c.Differs {
		return ""
	}
	return text(c.Before) + " -> " + text(c.After)
}

// ListChange is the difference between two lists of a field with the reducer append or union. The
// zero ListChange means that the lists are equal.
//
// The difference is one splice at index At: Added takes the place of Removed. The elements before
// and after the splice are equal in both lists. At is as large as possible, so appended elements
// are Added at the end of the old list. Finding the splice takes time in proportion to the lists
// and no memory. The splice is not a minimal difference if elements differ in several places.
//
// All lists share memory with the two states and must only be read.
type ListChange[T any] struct {
	Before, After  []T // the whole lists; Removed and Added are empty when one list is nil and the other empty
	At             int
	Removed, Added []T
	Differs        bool
}

// IsZero reports whether the lists are equal.
func (c ListChange[T]) IsZero() bool { return !c.Differs }

// String describes the difference, such as "remove [a b] at 3; append [c]". It returns "" if there
// is none.
func (c ListChange[T]) String() string {
	if !c.Differs {
		return ""
	}
	var p parts
	if len(c.Removed) > 0 {
		p.add(fmt.Sprintf("remove %v at %d", texts(c.Removed), c.At))
	}
	switch {
	case len(c.Added) == 0:
	case c.At+len(c.Added) == len(c.After):
		p.add(fmt.Sprintf("append %v", texts(c.Added)))
	default:
		p.add(fmt.Sprintf("insert %v at %d", texts(c.Added), c.At))
	}
	return p.or(listText(c.Before) + " -> " + listText(c.After))
}

// KeyedChange is the difference, by key, between two lists whose elements have keys. The zero
// KeyedChange means that the lists are equal. Finding it takes time in proportion to the lists,
// and memory for the differences. If elements were both removed and added, it also needs memory
// for an index of a part of Before. The part reaches from the first to the last place where the
// keys differ.
//
// Each key must belong to one element, as updates ensure. If a list from elsewhere has a key
// twice, only Before and After are reliable.
//
// The lists and everything that the elements refer to share memory with the two states and must
// only be read.
type KeyedChange[T any] struct {
	Before, After []T         // the whole lists. If one list is nil and the other has no elements, Removed, Changed and Added are empty
	Removed       []T         // elements with keys that only Before has, in its order
	Changed       []Change[T] // elements with keys in both lists, in the order of After
	Added         []T         // elements with keys that only After has, in its order
	Moved         bool        // removing and upserting alone would leave the elements in another order
	Differs       bool
}

// IsZero reports whether the lists are equal.
func (c KeyedChange[T]) IsZero() bool { return !c.Differs }

// String describes the difference, such as "remove [{ID:1}]; change {ID:2 Text:a} -> {ID:2
// Text:b}; add [{ID:3}]; move". It returns "" if there is none.
func (c KeyedChange[T]) String() string {
	if !c.Differs {
		return ""
	}
	var p parts
	if len(c.Removed) > 0 {
		p.add(fmt.Sprintf("remove %v", texts(c.Removed)))
	}
	for _, e := range c.Changed {
		p.add("change " + e.String())
	}
	if len(c.Added) > 0 {
		p.add(fmt.Sprintf("add %v", texts(c.Added)))
	}
	if c.Moved {
		p.add("move")
	}
	return p.or(listText(c.Before) + " -> " + listText(c.After))
}

// MapChange is the difference between two maps. The zero MapChange means that the maps are equal.
// Finding it takes time in proportion to the maps, and memory for the differences. Before, After
// and everything that the values refer to share memory with the two states and must only be read.
type MapChange[K comparable, V any] struct {
	Before, After map[K]V // the whole maps; the other fields are empty when one map is nil and the other empty
	Removed       map[K]V // entries that only Before has; nil for none
	Changed       map[K]Change[V]
	Added         map[K]V // entries that only After has
	Differs       bool
}

// IsZero reports whether the maps are equal.
func (c MapChange[K, V]) IsZero() bool { return !c.Differs }

// String describes the difference in order of the keys, such as "remove map[a:1]; change map[b:2
// -> 3]; add map[c:4]". It returns "" if there is none.
func (c MapChange[K, V]) String() string {
	if !c.Differs {
		return ""
	}
	var p parts
	if len(c.Removed) > 0 {
		p.add(fmt.Sprintf("remove %v", tableText(c.Removed)))
	}
	if len(c.Changed) > 0 {
		p.add(fmt.Sprintf("change %v", tableText(c.Changed)))
	}
	if len(c.Added) > 0 {
		p.add(fmt.Sprintf("add %v", tableText(c.Added)))
	}
	return p.or(nilText(c.Before == nil, "map[]") + " -> " + nilText(c.After == nil, "map[]"))
}

// parts holds the parts of a description, in order.
type parts []string

func (p *parts) add(part string) { *p = append(*p, part) }

// or joins the parts. It returns otherwise if there are none.
func (p *parts) or(otherwise string) string {
	if len(*p) == 0 {
		return otherwise
	}
	return strings.Join(*p, "; ")
}

// text prints a value. Values are printed one by one because fmt prints pointers in lists and maps
// as addresses.
func text[T any](v T) string {
	if s := fmt.Sprintf("%+v", v); s != "" {
		return s
	}
	return `""`
}

func texts[T any](list []T) []string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = text(v)
	}
	return all
}

func tableText[K comparable, V any](m map[K]V) map[K]string {
	all := make(map[K]string, len(m))
	for key, v := range m {
		all[key] = text(v)
	}
	return all
}

func listText[T any](list []T) string { return nilText(list == nil, fmt.Sprint(texts(list))) }

func nilText(isNil bool, otherwise string) string {
	if isNil {
		return "nil"
	}
	return otherwise
}

// FieldChange describes one field: the operations of an update on it, or its difference between
// two states.
type FieldChange struct {
	Field  string // the Go name
	Change interface {
		IsZero() bool
		String() string
	}
}

// FieldNames returns the Go names of the fields in changes, or nil if there are none.
func FieldNames(changes []FieldChange) []string {
	var names []string
	for _, c := range changes {
		names = append(names, c.Field)
	}
	return names
}
