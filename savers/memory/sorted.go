package memory

import (
	"slices"
	"strings"
)

// sorted is a map whose keys are in order, in chunks of at most 2*half keys. The zero sorted is
// empty.
type sorted[V any] struct{ chunks [][]pair[V] }

// pair is a value with its key.
type pair[V any] struct {
	key   string
	value V
}

const half = 256

// place returns the place of the first key that is at least key, and whether it is key. The chunk
// may be one past the last.
func (s *sorted[V]) place(key string) (chunk, i int, found bool) {
	chunk, _ = slices.BinarySearchFunc(s.chunks, key, func(c []pair[V], key string) int {
		return strings.Compare(c[len(c)-1].key, key)
	})
	if chunk == len(s.chunks) {
		return chunk, 0, false
	}
	i, found = slices.BinarySearchFunc(s.chunks[chunk], key, func(p pair[V], key string) int {
		return strings.Compare(p.key, key)
	})
	return chunk, i, found
}

// get returns the value of a key.
func (s *sorted[V]) get(key string) (v V, found bool) {
	chunk, i, found := s.place(key)
	if found {
		v = s.chunks[chunk][i].value
	}
	return v, found
}

// put sets the value of a key.
func (s *sorted[V]) put(key string, v V) {
	chunk, i, found := s.place(key)
	if found {
		s.chunks[chunk][i].value = v
		return
	}
	if chunk == len(s.chunks) {
		if chunk == 0 {
			s.chunks = [][]pair[V]{{{key, v}}}
			return
		}
		chunk--
		i = len(s.chunks[chunk])
	}
	c := slices.Insert(s.chunks[chunk], i, pair[V]{key, v})
	s.chunks[chunk] = c
	if len(c) == 2*half {
		s.chunks[chunk] = c[:half:half]
		s.chunks = slices.Insert(s.chunks, chunk+1, slices.Clone(c[half:]))
	}
}

// remove removes a key, if it is there.
func (s *sorted[V]) remove(key string) {
	chunk, i, found := s.place(key)
	if !found {
		return
	}
	if s.chunks[chunk] = slices.Delete(s.chunks[chunk], i, i+1); len(s.chunks[chunk]) == 0 {
		s.chunks = slices.Delete(s.chunks, chunk, chunk+1)
	}
}

// from calls visit with the pairs from key on, in order, until it returns false. visit must not
// change s.
func (s *sorted[V]) from(key string, visit func(key string, v V) bool) {
	chunk, i, _ := s.place(key)
	for ; chunk < len(s.chunks); chunk, i = chunk+1, 0 {
		for _, p := range s.chunks[chunk][i:] {
			if !visit(p.key, p.value) {
				return
			}
		}
	}
}
