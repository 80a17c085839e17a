package cell

import "github.com/graphgen-go/graphgen/runtime/state"

// Changed returns the change from before to after. Generated code has found that they differ.
func Changed[T any](before, after T) state.Change[T] {
	return state.Change[T]{Before: before, After: after, Differs: true}
}

// Diff returns the difference between two lists. Generated code has found that they differ.
func (f *ListField[T]) Diff(before, after []T) state.ListChange[T] {
	return diffList(f.Elem, before, after)
}

// Diff returns the difference between two lists. Generated code has found that they differ.
func (f *UniqueField[T]) Diff(before, after []T) state.ListChange[T] {
	return diffList(f.Elem, before, after)
}

func diffList[T any](elem Codec[T], before, after []T) state.ListChange[T] {
	most := min(len(before), len(after))
	at := 0
	for at < most && elem.Equal(&before[at], &after[at]) {
		at++
	}
	was, is := len(before), len(after)
	for was > at && is > at && elem.Equal(&before[was-1], &after[is-1]) {
		was, is = was-1, is-1
	}
	return state.ListChange[T]{
		Before: before, After: after, At: at, Removed: before[at:was:was], Added: after[at:is:is], Differs: true,
	}
}

// Diff returns the difference between two lists. Generated code has found that they differ.
func (f *KeyedField[K, T]) Diff(before, after []T) state.KeyedChange[T] {
	c := state.KeyedChange[T]{Before: before, After: after, Differs: true}
	at := 0 // elements were replaced in place so far
	for at < len(before) && at < len(after) && f.Key(&before[at]) == f.Key(&after[at]) {
		compareElem(&c, f.Elem, &before[at], &after[at])
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
		compareElem(&c, f.Elem, &before[was+i], &after[is+i])
	}
	return c
}

// compareElem adds an element that both lists have, if it differs.
func compareElem[T any](c *state.KeyedChange[T], elem Codec[T], before, after *T) {
	if !elem.Equal(before, after) {
		c.Changed = append(c.Changed, Changed(*before, *after))
	}
}

// diffMiddle adds how two lists differ that begin and end with other keys.
func (f *KeyedField[K, T]) diffMiddle(c *state.KeyedChange[T], before, after []T) {
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
		compareElem(c, f.Elem, &before[at], &after[i])
		c.Moved = c.Moved || at < last || len(c.Added) > 0
		last, index[key] = at, ^at
	}
	for i := range before {
		if index[f.Key(&before[i])] != ^i {
			c.Removed = append(c.Removed, before[i])
		}
	}
}

// Diff returns the difference between two maps. Generated code has found that they differ.
func (f *MapField[K, V]) Diff(before, after map[K]V) state.MapChange[K, V] {
	c := state.MapChange[K, V]{Before: before, After: after, Differs: true}
	both := new(state.Change[V]) // to point to, since a map's entries have no address
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
