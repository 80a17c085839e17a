package memory

import (
	"context"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// cloneVectors returns a deep copy of vectors.
func cloneVectors(vectors []store.Vector) []store.Vector {
	all := slices.Clone(vectors)
	for i := range all {
		all[i].Values = slices.Clone(all[i].Values)
	}
	return all
}

// vectorsOf is the result of OpVectors. it is the live item.
func vectorsOf(op *store.Op, it *item) store.Result {
	r := store.Result{Record: store.Record{Namespace: slices.Clone(op.Namespace), Key: op.Key}}
	if it != nil {
		r.Found, r.Record.Version, r.Record.Vectors = len(it.vectors) > 0, it.Version, it.vectors
	}
	return r
}

// Declare makes a vector index, unless it exists.
func (s *Store) Declare(ctx context.Context, spec store.VectorSpec) (store.VectorSpec, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx, spec.Check()); err != nil {
		return store.VectorSpec{}, err
	}
	if stored, ok := s.specs[spec.Name]; ok {
		return stored, nil
	}
	if s.specs == nil {
		s.specs = make(map[string]store.VectorSpec)
	}
	s.specs[spec.Name] = spec
	return spec, nil
}

// Search compares the vectors of all items that q selects.
func (s *Store) Search(ctx context.Context, q store.VectorQuery) ([]store.Hit, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx, q.Check()); err != nil {
		return nil, err
	}
	nearest := store.NewNearest(&q)
	var err error
	f := finding{s: s, q: &q.Query, now: now()}
	f.visit = func(it *item) bool {
		for i := range it.vectors {
			if it.vectors[i].Index != q.Index {
				continue
			}
			var score float64
			var near bool
			if score, near, err = nearest.Compare(it.vectors[i].Values); err != nil {
				return false
			}
			if near {
				nearest.Keep(string(it.Namespace.Append(nil)), it.Key, score)
			}
		}
		return true
	}
	f.run()
	if err != nil {
		return nil, err
	}
	return s.hits(nearest.Items()), nil
}

// hits returns the items that a search has chosen.
func (s *Store) hits(chosen []store.Near) (hits []store.Hit) {
	for _, near := range chosen {
		it, _ := s.items.get(near.Namespace + "\x00\x00" + near.Key)
		hits = append(hits, store.Hit{Record: it.Record, Score: near.Score})
	}
	return hits
}
