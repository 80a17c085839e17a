package journal

import "github.com/graphgen-go/graphgen/runtime/checkpoint"

// heldWrite is a pending write with the namespace that wrote it. A subgraph call also writes
// parts of its task's result, and that result is in the namespace around it.
type heldWrite struct {
	checkpoint.Write
	by string
}

// writeSet is pending writes as a saver keeps them. The first Result of an identity stands. Any
// other write replaces an earlier one.
type writeSet struct {
	list   []heldWrite
	places map[writeID]int // in list
}

// writeID identifies a pending write. Its base says which namespace it is in.
type writeID struct {
	base       checkpoint.ID
	kind       checkpoint.Kind
	task, name string
}

func (s *writeSet) add(w heldWrite) {
	id := writeID{w.Base, w.Kind, w.Task, w.Name}
	i, found := s.places[id]
	switch {
	case !found:
		if s.places == nil {
			s.places = make(map[writeID]int)
		}
		s.places[id] = len(s.list)
		s.list = append(s.list, w)
	case w.Kind != checkpoint.Result:
		s.list[i] = w
	}
}
