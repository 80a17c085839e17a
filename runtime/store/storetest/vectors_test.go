package storetest_test

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// vectorFaults has a broken backend for each case of search by meaning.
func vectorFaults() map[string]*broken {
	var mu sync.Mutex
	first := make(map[string][]store.Vector)
	stale := func(op *store.Op) {
		if op.Kind != store.OpPut {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if old, ok := first[op.Key]; ok {
			op.Vectors = old
		} else {
			first[op.Key] = op.Vectors
		}
	}
	return map[string]*broken{
		"a search finds the nearest": {search: func(ctx context.Context, b store.Backend, q store.VectorQuery) ([]store.Hit, error) {
			hits, err := b.Search(ctx, q)
			slices.Reverse(hits)
			return hits, err
		}},
		"texts of one value are embedded apart":     {op: func(op *store.Op) { op.Vectors = op.Vectors[:min(len(op.Vectors), 1)] }},
		"a search with a filter that selects 1 %":   {search: filtersLater},
		"a search is of its namespace":              {search: joinedSearch},
		"equal scores are in order":                 {search: swapsTies},
		"hostile texts and names of vector indexes": {declare: cutName, op: cutNames},
		"an embedder that fails": {declare: func(context.Context, store.Backend, store.VectorSpec) (store.VectorSpec, error) {
			return store.VectorSpec{}, store.ErrUnavailable
		}},
		"an update embeds only what changed": {result: func(_ *store.Op, r *store.Result) { r.Record.Vectors = nil }},
		"vectors follow their item":          {op: stale},
		"old items get vectors": {op: func(op *store.Op) {
			if op.Kind == store.OpIndex {
				op.Vectors = nil
			}
		}},
		"a reindex runs while others write": {op: func(op *store.Op) {
			if op.Kind == store.OpIndex {
				op.IfVersion = 0
			}
		}},
		"a vector index is of one model": {declare: func(_ context.Context, _ store.Backend, spec store.VectorSpec) (store.VectorSpec, error) {
			return spec, nil
		}},
		"concurrent writers leave the vectors of the last": {op: func(op *store.Op) {
			if op.Kind == store.OpPut && len(op.Vectors) > 0 {
				op.Vectors = append(slices.Clone(op.Vectors), op.Vectors[0])
			}
		}},
	}
}

// filtersLater is a Search that looks among the nearest items of all for those that a filter
// selects.
func filtersLater(ctx context.Context, b store.Backend, q store.VectorQuery) ([]store.Hit, error) {
	where := q.Where
	q.Where = nil
	hits, err := b.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	filter := q.Query
	filter.Where, filter.Limit = where, store.MaxPage
	selected, err := b.Find(ctx, filter)
	return slices.DeleteFunc(hits, func(h store.Hit) bool {
		return !slices.ContainsFunc(selected, func(r store.Record) bool { return r.Key == h.Key })
	}), err
}

// joinedSearch is a Search that takes every namespace whose joined parts begin alike.
func joinedSearch(ctx context.Context, b store.Backend, q store.VectorQuery) ([]store.Hit, error) {
	want := q.Namespace.String()
	q.Namespace, q.Exact = q.Namespace[:1], false
	hits, err := b.Search(ctx, q)
	return slices.DeleteFunc(hits, func(h store.Hit) bool { return !strings.HasPrefix(h.Namespace.String(), want) }), err
}

// swapsTies is a Search in which the last of two items with equal scores is first.
func swapsTies(ctx context.Context, b store.Backend, q store.VectorQuery) ([]store.Hit, error) {
	hits, err := b.Search(ctx, q)
	for i := 1; i < len(hits); i++ {
		if hits[i].Score == hits[i-1].Score {
			hits[i], hits[i-1] = hits[i-1], hits[i]
		}
	}
	return hits, err
}

// cutName and cutNames end names of indexes at a zero byte.
func cutName(ctx context.Context, b store.Backend, spec store.VectorSpec) (store.VectorSpec, error) {
	spec.Name, _, _ = strings.Cut(spec.Name, "\x00")
	return b.Declare(ctx, spec)
}

func cutNames(op *store.Op) {
	for i := range op.Vectors {
		op.Vectors[i].Index, _, _ = strings.Cut(op.Vectors[i].Index, "\x00")
	}
}
