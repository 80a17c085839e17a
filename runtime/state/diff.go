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
	changed       bool
}

// Changed returns the Change from before to after. It does not compare them. It is for generated code.
func Changed[T any](before, after T) Change[T] { return Change[T]{before, after, true} }

// IsZero reports whether nothing differs.
func (c Change[T]) IsZero() bool { return !c.changed }

// String says how the value differs: draft -> done. It is empty when nothing does.
func (c Change[T]) String() string {
	if !c.changed {
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
	changed        bool
}

// IsZero reports whether nothing differs.
func (c ListChange[T]) IsZero() bool { return !c.changed }

// String says how the list differs: remove [a b] at 3; append [c]. It is empty when nothing does.
func (c ListChange[T]) String() string {
	if !c.changed {
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
	changed       bool
}

// IsZero reports whether nothing differs.
func (c KeyedChange[T]) IsZero() bool { return !c.changed }

// String says how the list differs: remove [{ID:1}]; change {ID:2 Text:a} -> {ID:2 Text:b}; add [{ID:3}]; move. It is empty
// when nothing does.
func (c KeyedChange[T]) String() string {
	if !c.changed {
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
	changed       bool
}

// IsZero reports whether nothing differs.
func (c MapChange[K, V]) IsZero() bool { return !c.changed }

// String says how the map differs, in order of the keys: remove map[a:1]; change map[b:2 -> 3]; add map[c:4]. It is empty
// when nothing does.
func (c MapChange[K, V]) String() string {
	if !c.changed {
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

// Diff returns how two lists differ, which they do: generated code has compared them.
func (f *ListField[T]) Diff(before, after []T) ListChange[T] { return diffList(f.Elem, before, after) }

// Diff returns how two lists differ, which they do: generated code has compared them.
func (f *UniqueField[T]) Diff(before, after []T) ListChange[T] {
	return diffList(f.Elem, before, after)
}

func diffList[T any](elem Codec[T], before, after []T) ListChange[T] {
	most := min(len(before), len(after))
	at := 0
	for at < most && elem.Equal(&before[at], &after[at]) {
		at++
	}
	was, is := len(before), len(after)
	for was > at && is > at && elem.Equal(&before[was-1], &after[is-1]) {
		was, is = was-1, is-1
	}
	return ListChange[T]{
		Before: before, After: after, At: at, Removed: before[at:was:was], Added: after[at:is:is], changed: true,
	}
}

// Diff returns how two lists differ, which they do: generated code has compared them.
func (f *KeyedField[K, T]) Diff(before, after []T) KeyedChange[T] {
	c := KeyedChange[T]{Before: before, After: after, changed: true}
	at := 0 // elements were replaced in place so far
	for at < len(before) && at < len(after) && f.Key(&before[at]) == f.Key(&after[at]) {
		c.compare(f.Elem, &before[at], &after[at])
		at++
	}
	was, is := len(before), len(after) // and from here on
	for was > at && is > at && f.Key(&before[was-1]) == f.Key(&after[is-1]) {
		was, is = was-1, is-1
	}
	switch at {
	case was:
		c.Added = after[at:is:is]
	case is:
		c.Removed = before[at:was:was]
	default:
		f.diffMiddle(&c, before[at:was], after[at:is])
	}
	c.Moved = c.Moved || len(c.Added) > 0 && is < len(after)
	for i := range after[is:] {
		c.compare(f.Elem, &before[was+i], &after[is+i])
	}
	return c
}

// compare adds an element that both lists have, if it differs.
func (c *KeyedChange[T]) compare(elem Codec[T], before, after *T) {
	if !elem.Equal(before, after) {
		c.Changed = append(c.Changed, Changed(*before, *after))
	}
}

// diffMiddle adds how two lists differ that begin and end with other keys.
func (f *KeyedField[K, T]) diffMiddle(c *KeyedChange[T], before, after []T) {
	index := make(map[K]int, len(before)) // where a key is in before; negative once after has it, too
	for i := range before {
		index[f.Key(&before[i])] = i
	}
	last := -1
	for i := range after {
		key := f.Key(&after[i])
		at, ok := index[key]
		if !ok || at < 0 {
			c.Added = append(c.Added, after[i])
			continue
		}
		c.compare(f.Elem, &before[at], &after[i])
		c.Moved = c.Moved || at < last || len(c.Added) > 0
		last, index[key] = at, ^at
	}
	for i := range before {
		if index[f.Key(&before[i])] != ^i {
			c.Removed = append(c.Removed, before[i])
		}
	}
}

// Diff returns how two maps differ, which they do: generated code has compared them.
func (f *MapField[K, V]) Diff(before, after map[K]V) MapChange[K, V] {
	c := MapChange[K, V]{Before: before, After: after, changed: true}
	both := new(Change[V]) // to point to, since a map's entries have no address
	for key, is := range after {
		was, ok := before[key]
		if !ok {
			put(&c.Added, key, is)
			continue
		}
		if *both = Changed(was, is); !f.Values.Equal(&both.Before, &both.After) {
			put(&c.Changed, key, *both)
		}
	}
	for key, was := range before {
		if _, ok := after[key]; !ok {
			put(&c.Removed, key, was)
		}
	}
	return c
}

// put puts an entry into a map that is made when there is one.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[key] = value
}

// FormatDiff prints how two states differ, a line a field, for the String methods of generated code. Line breaks in values
// are written as \n.
func FormatDiff(changes []FieldChange) string {
	var b strings.Builder
	for i, c := range changes {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(c.Field + ": " + strings.ReplaceAll(c.Change.String(), "\n", `\n`))
	}
	return b.String()
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
