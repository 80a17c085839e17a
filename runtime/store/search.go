package store

import (
	"context"
	"errors"
	"fmt"
)

// Match is an item that a search has found.
type Match[T any] struct {
	Item[T]

	// Score says how well the item matches. It is larger for better items, and depends on the kind
	// of the index: see [Collection.Search].
	Score float64
}

// SearchOption is an option of searches: [Limit], [Offset] and [Exact].
type SearchOption interface{ search(l *searching) }

type searching struct {
	query  Query
	offset int
	err    error
}

// SearchIndex is an index for searches: a [*VectorIndex], by meaning, or a [*TextIndex], by words.
type SearchIndex[T any] interface {
	search(ctx context.Context, c *core[T], text string, s *searching) ([]Hit, error)
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

func (n offset) search(s *searching) { s.offset = int(n) }

// Offset leaves out the n best items of a search, for paging. Limit and offset together may be at
// most [MaxPage]. More, and a negative n, are an [*InvalidError].
func Offset(n int) SearchOption { return offset(n) }

// Search returns the items of c and of the namespaces below it that match text best, the best
// first. The index is one that [NewCollection] got. The default [Limit] is 10.
//
// With a [*VectorIndex], the score is the cosine similarity of text and the nearest text of the
// item: a·b / (|a| |b|). It is 1 for the same direction of their vectors, 0 for nothing in common,
// and -1 for the opposite direction.
//
// With a [*TextIndex], the items have at least one of the words of text. The score is BM25. It is
// larger for more of the words, rarer words, more repetitions and shorter texts. The scores of two
// searches cannot be compared. A text without words finds nothing.
//
// Items with equal scores are in the order of their namespaces and keys. There are fewer items
// than the limit only if fewer match. An item that cannot be read is left out, and Search returns
// the others with a [*ValueError].
//
// Filters and namespaces apply first. A backend without an index of vectors then compares all
// vectors. A search by words ranks all items that have one of them. If it has to compare more than
// [MaxCompared], Search returns a [*TooManyError].
func (c *Collection[T]) Search(
	ctx context.Context, index SearchIndex[T], text string, opts ...SearchOption,
) ([]Match[T], error) {
	return c.Filter().Search(ctx, index, text, opts...)
}

// Search returns the items of s that match text best, as [Collection.Search] does.
func (s *Selection[T]) Search(
	ctx context.Context, index SearchIndex[T], text string, opts ...SearchOption,
) ([]Match[T], error) {
	l := searching{query: Query{Namespace: s.c.ns, Where: s.where, Limit: defaultHits}, err: s.err}
	for _, opt := range opts {
		opt.search(&l)
	}
	switch {
	case l.err != nil:
		return nil, l.err
	case index == nil:
		return nil, &InvalidError{"index", "nil", "an index that NewCollection got"}
	case text == "":
		return nil, &InvalidError{"text", "no text", "a text to search for"}
	}
	hits, err := index.search(ctx, s.c.core, text, &l)
	if err != nil {
		return nil, err
	}
	return s.c.core.matches(hits)
}

// search returns the items whose meaning is nearest to a text.
func (i *VectorIndex[T]) search(ctx context.Context, c *core[T], text string, s *searching) ([]Hit, error) {
	of := c.embedding(i)
	if of == nil {
		return nil, &InvalidError{"vector index", "one that is not of the collection", "an index that NewCollection got"}
	}
	q := VectorQuery{Query: s.query, Index: of.name, Offset: s.offset}
	err := checkSearch(&q.Query, q.Index, q.Offset)
	if err == nil {
		err = of.declare(ctx, c.backend)
	}
	if err == nil {
		q.Vector, err = of.query(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	return c.backend.Search(ctx, q)
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
