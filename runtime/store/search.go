package store

import (
	"context"
	"errors"
	"fmt"
)

// Match is an item that a search has found.
type Match[T any] struct {
	Item[T]

	// Score is the cosine similarity of the query and the nearest text of the item: 1 for the same
	// direction, 0 for none in common, and -1 for the opposite direction.
	Score float64
}

// SearchOption is an option of searches: [Limit], [Offset] and [Exact].
type SearchOption interface{ search(l *searching) }

type searching struct {
	query VectorQuery
	err   error
}

// defaultHits is the default of Limit in a search.
const defaultHits = 10

func (n limit) search(s *searching) {
	if s.query.Limit = int(n); n < 1 {
		s.err = &InvalidError{"limit", fmt.Sprint(int(n)), "at least 1"}
	}
}

func (exact) search(s *searching) { s.query.Exact = true }

type offset int

func (n offset) search(s *searching) { s.query.Offset = int(n) }

// Offset leaves out the n nearest items of a search, for paging. Limit and offset together may be
// at most [MaxPage].
func Offset(n int) SearchOption { return offset(n) }

// Search returns the items of c and of the namespaces below it whose meaning is nearest to text,
// the nearest first. The index is one that [NewCollection] got. The default [Limit] is 10.
//
// The score is the cosine similarity of the vectors: a·b / (|a| |b|). Items with equal scores are
// in the order of their namespaces and keys. There are fewer items than the limit only if fewer
// match. An item that cannot be read is left out, and Search returns the others with a
// [*ValueError].
//
// A backend without an index of vectors compares all vectors of the namespaces for which the
// filters hold. If there are more than [MaxCompared], Search returns a [*TooManyError].
func (c *Collection[T]) Search(
	ctx context.Context, index *VectorIndex[T], text string, opts ...SearchOption,
) ([]Match[T], error) {
	return c.Filter().Search(ctx, index, text, opts...)
}

// Search returns the items of s that are nearest to text, as [Collection.Search] does.
func (s *Selection[T]) Search(
	ctx context.Context, index *VectorIndex[T], text string, opts ...SearchOption,
) ([]Match[T], error) {
	query := VectorQuery{Query: Query{Namespace: s.c.ns, Where: s.where, Limit: defaultHits}}
	l := searching{query: query, err: s.err}
	for _, opt := range opts {
		opt.search(&l)
	}
	of := s.c.core.embedding(index)
	switch {
	case l.err != nil:
		return nil, l.err
	case of == nil:
		return nil, &InvalidError{"vector index", "one that is not of the collection", "an index that NewCollection got"}
	case text == "":
		return nil, &InvalidError{"text", "no text", "a text to search for"}
	}
	l.query.Index = of.name
	if err := l.query.checkPlace(); err != nil {
		return nil, err
	}
	b := s.c.core.backend
	err := of.declare(ctx, b)
	if err == nil {
		l.query.Vector, err = of.query(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	hits, err := b.Search(ctx, l.query)
	if err != nil {
		return nil, err
	}
	return s.c.core.matches(hits)
}

// embedding returns the embedding of an index; nil if the collection lacks it.
func (c *core[T]) embedding(index *VectorIndex[T]) *embedding {
	for _, i := range c.vectors {
		if i.VectorIndex == index {
			return i.of
		}
	}
	return nil
}

func (c *core[T]) matches(hits []Hit) ([]Match[T], error) {
	all := make([]Match[T], 0, len(hits))
	var faults []error
	for i := range hits {
		it, err := c.item(&hits[i].Record)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		all = append(all, Match[T]{it, hits[i].Score})
	}
	return all, errors.Join(faults...)
}
