package state

import (
	"fmt"
	"strings"
)

// A diff is a struct with one of the types below for each field of a state that is stored. Generated code compares the fields
// and makes a change only of those that differ, so that what is alike costs a comparison and no memory.

// Change is how a value differs between two states. The zero Change says that it does not. What Before and After refer to
// is shared with the two states and must only be read.
type Change[T any] struct {
	Before, After T
	Differs       bool
}

// IsZero reports whether nothing differs.
func (c Change[T]) IsZero() bool { return !c.Differs }

// String says how the value differs: draft -> done. It is empty when nothing does.
func (c Change[T]) String() string {
	if !c.Differs {
		return ""
	}
	return text(c.Before) + " -> " + text(c.After)
}

// ListChange is how a list that is appended to, or in which nothing stands twice, differs between two states. The
// zero ListChange says that it does not.
//
// It is one splice: the elements before At are the same in both lists, in the place of Removed stands Added, and what follows is the
// same again. As much as can be is counted to what comes before, so that elements that were appended are Added at the
// old end. Finding it takes time in proportion to the lists and no memory; it is not the least that could be said when elements
// differ here and there.
//
// All its lists share memory with the two states and must only be read.
type ListChange[T any] struct {
	Before, After  []T // the whole lists; nothing is removed or added when one is nil and the other empty
	At             int
	Removed, Added []T
	Differs        bool
}

// IsZero reports whether nothing differs.
func (c ListChange[T]) IsZero() bool { return !c.Differs }

// String says how the list differs: remove [a b] at 3; append [c]. It is empty when nothing does.
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

// KeyedChange is how a list whose elements have keys differs between two states, by key. The zero KeyedChange says that it
// does not. Finding it takes time in proportion to the lists, and memory for what differs: for an index of Before, too, between the first
// and the last place at which other keys stand, when elements both went and came there.
//
// Keys are taken to stand for one element each, as updates keep them. Of a list from outside in which one stands twice only
// Before and After are to be relied on.
//
// What the elements refer to is shared with the two states and must only be read, and so are the lists.
type KeyedChange[T any] struct {
	Before, After []T         // the whole lists; nothing else is said when one is nil and the other empty
	Removed       []T         // whose keys only Before has, in its order
	Changed       []Change[T] // whose keys both have, in the order of After
	Added         []T         // whose keys only After has, in its order
	Moved         bool        // elements stand elsewhere than removing and upserting alone would leave them
	Differs       bool
}

// IsZero reports whether nothing differs.
func (c KeyedChange[T]) IsZero() bool { return !c.Differs }

// String says how the list differs: remove [{ID:1}]; change {ID:2 Text:a} -> {ID:2 Text:b}; add [{ID:3}]; move. It is empty
// when nothing does.
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

// MapChange is how a map differs between two states. The zero MapChange says that it does not. Finding it takes time in
// proportion to the maps, and memory for what differs. Before, After and what the values refer to are shared with the two states
// and must only be read.
type MapChange[K comparable, V any] struct {
	Before, After map[K]V // the whole maps; nothing else is said when one is nil and the other empty
	Removed       map[K]V // only Before has them; nil for none
	Changed       map[K]Change[V]
	Added         map[K]V // only After has them
	Differs       bool
}

// IsZero reports whether nothing differs.
func (c MapChange[K, V]) IsZero() bool { return !c.Differs }

// String says how the map differs, in order of the keys: remove map[a:1]; change map[b:2 -> 3]; add map[c:4]. It is empty
// when nothing does.
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

// parts are what a change says, in order.
type parts []string

func (p *parts) add(part string) { *p = append(*p, part) }

// or joins the parts; it is otherwise when there are none.
func (p *parts) or(otherwise string) string {
	if len(*p) == 0 {
		return otherwise
	}
	return strings.Join(*p, "; ")
}

// text prints a value. Each is printed by itself, since fmt prints pointers in lists and maps as addresses.
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

// FieldChange is what becomes of one field: what an update does to it, or how it differs between two states.
type FieldChange struct {
	Field  string // in Go
	Change interface {
		IsZero() bool
		String() string
	}
}

// FieldNames returns the Go names of the fields that change; nil when there are none.
func FieldNames(changes []FieldChange) []string {
	var names []string
	for _, c := range changes {
		names = append(names, c.Field)
	}
	return names
}
