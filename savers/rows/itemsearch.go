package rows

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// Searcher is a Store with indexes of the vectors that rows of Entries have.
type Searcher interface {
	// IndexVectors makes the index of vectors for spec, if the storage can have one. Savers call
	// it before they store or search vectors of spec.
	IndexVectors(ctx context.Context, spec store.VectorSpec) error

	// Nearest returns the keys of up to n rows of a range of Entries, whose vectors in the index
	// are nearest to v. The nearest is first. Fewer than n keys mean that the index finds no more.
	// It may leave out some of the nearest. ok is false if there is no index.
	Nearest(ctx context.Context, index string, v []float32, r Range, n int) (keys [][]byte, ok bool, err error)
}

// Search returns the nearest items, by the index of the storage if it has one. If that finds too
// few, Search compares the vectors of all items that q selects.
func (t *items) Search(ctx context.Context, q store.VectorQuery) (hits []store.Hit, err error) {
	score := func(vectors []store.Vector) (score float64, has bool) {
		n := store.NewNearest(&q)
		for i := range vectors {
			if vectors[i].Index != q.Index {
				continue
			}
			if s, _, err := n.Compare(vectors[i].Values); err == nil && (!has || s > score) {
				score, has = s, true
			}
		}
		return score, has
	}
	err = t.read(ctx, q.Check(), func() (err error) {
		if s, can := t.s.store.(Searcher); can {
			if hits, err = t.indexed(ctx, s, &q, score); hits != nil || err != nil {
				return err
			}
		}
		all := q // an item before Offset may be gone, too
		all.Offset, all.Limit = 0, q.Offset+q.Limit
		for gone := make(map[string]bool); ; {
			near, err := t.nearest(ctx, &all, gone)
			if err != nil {
				return err
			}
			n := len(gone)
			if hits, err = t.hits(ctx, near, gone, score); err != nil {
				return err
			}
			if len(gone) == n {
				sortHits(hits)
				hits = hits[min(q.Offset, len(hits)):]
				return nil
			}
		}
	})
	return hits, err
}

// sortHits sorts hits by their scores, and then by namespace and key.
func sortHits(hits []store.Hit) {
	slices.SortFunc(hits, func(a, b store.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(placeOf(a.Namespace, a.Key), placeOf(b.Namespace, b.Key)))
	})
}

// indexed searches by the index of the storage. It returns nil if there is none, or if that finds
// too few of the items that q selects. An item may have several of the nearest vectors, and items
// can have equal scores. So it asks for more vectors until the last one is certainly too far.
func (t *items) indexed(
	ctx context.Context, s Searcher, q *store.VectorQuery, score func([]store.Vector) (float64, bool),
) ([]store.Hit, error) {
	f := finding{s: t.s, q: &q.Query}
	f.bounds()
	need := q.Offset + q.Limit
	for n := need + 1; n <= mostItems; n *= 4 {
		keys, ok, err := s.Nearest(ctx, q.Index, q.Vector, f.within(entryKey(rowOfVector), 0), n)
		if err != nil || !ok {
			return nil, err
		}
		var near []store.Near
		var places [][]byte
		add := func(place []byte) {
			ns, key := cutPlace(place)
			near = append(near, store.Near{Namespace: string(ns), Key: string(key)})
		}
		seen := make(map[string]bool)
		for _, key := range keys {
			p := placeOfVector(key)
			switch {
			case seen[string(p)]:
			case len(q.Where) == 0: // hits reads the item
				add(p)
			default:
				places = append(places, p)
			}
			seen[string(p)] = true
		}
		f.visit = func(i *item) error {
			add(i.place)
			return nil
		}
		if err := f.check(ctx, places); err != nil {
			return nil, err
		}
		hits, err := t.hits(ctx, near, make(map[string]bool), score)
		if err != nil {
			return nil, err
		}
		last := len(hits) - 1
		sortHits(hits)
		if last >= need && hits[last].Score < hits[need-1].Score {
			return hits[q.Offset:need], nil
		}
		if len(keys) < n {
			break
		}
	}
	return nil, nil
}

// vectorsRead is how many vectors a Read returns, of those that are compared.
const vectorsRead = 1024

// nearest compares vectors, but not those of items that are gone. The vectors of many may still be
// there. So if an item is gone, nearest looks at all items before it reads their vectors.
func (t *items) nearest(ctx context.Context, q *store.VectorQuery, gone map[string]bool) ([]store.Near, error) {
	nearest := store.NewNearest(q)
	compare := func(all []Row) error {
		for i := range all {
			v, err := all[i].Vector()
			if err != nil {
				return err
			}
			if v.Index != q.Index {
				continue
			}
			score, near, err := nearest.Compare(v.Values)
			if err != nil {
				return err
			}
			if place := placeOfVector(all[i].Key); near && !gone[string(place)] {
				ns, key := cutPlace(place)
				nearest.Keep(string(ns), string(key), score)
			}
		}
		return nil
	}
	f := finding{s: t.s, q: &q.Query}
	if len(q.Where) > 0 || len(gone) > 0 {
		var ranges []Range
		flush := func() error {
			rows, _, err := t.s.read(ctx, ranges...)
			if ranges = nil; err != nil {
				return err
			}
			return compare(slices.Concat(rows...))
		}
		f.visit = func(i *item) error {
			for n := range i.vectors {
				if i.vectors[n].Index == q.Index {
					ranges = append(ranges, point(vectorKey(i.place, n)))
				}
			}
			if len(ranges) < vectorsRead {
				return nil
			}
			return flush()
		}
		err := f.run(ctx)
		if err == nil && len(ranges) > 0 {
			err = flush()
		}
		return nearest.Items(), err
	}
	for f.bounds(); ; {
		rows, _, err := t.s.read(ctx, f.within(entryKey(rowOfVector), vectorsRead))
		if err == nil {
			err = compare(rows[0])
		}
		if err != nil || len(rows[0]) < vectorsRead {
			return nearest.Items(), err
		}
		f.first = successor(rows[0][vectorsRead-1].Key[1:])
	}
}

// mostLoads is how often a search reads its items again, before it searches again.
const mostLoads = 20

// hits reads the items that a search has chosen. It adds those that are gone to gone. score
// returns the score of an item with vectors; nil keeps the scores.
func (t *items) hits(
	ctx context.Context, chosen []store.Near, gone map[string]bool, score func(vectors []store.Vector) (float64, bool),
) (hits []store.Hit, err error) {
	if len(chosen) == 0 {
		return nil, nil
	}
	var b itemBatch
	for tries := 0; ; tries++ { // a new search would cost more
		b = itemBatch{}
		for _, near := range chosen {
			s := &slot{place: []byte(near.Namespace + "\x00\x00" + near.Key), reads: true, vectors: score != nil}
			b.order = append(b.order, s)
		}
		err := b.load(ctx, t.s)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrChanged) || tries == mostLoads {
			return nil, err
		}
	}
	var last parsed
	for i, s := range b.order {
		value, has := chosen[i].Score, true
		if score != nil {
			value, has = score(s.storedVectors)
		}
		if !has || !s.item.live(b.now) {
			gone[string(s.place)] = true
			continue
		}
		record, err := s.item.found(&last)
		if err != nil {
			return nil, err
		}
		hits = append(hits, store.Hit{Record: record, Score: value})
	}
	return hits, nil
}

// SearchText reads the rows of the words, and ranks the items.
func (t *items) SearchText(ctx context.Context, q store.TextQuery) (hits []store.Hit, err error) {
	err = t.read(ctx, q.Check(), func() error {
		ranking, err := t.ranked(ctx, &q)
		if err != nil {
			return err
		}
		gone := make(map[string]bool)
		if hits, err = t.hits(ctx, ranking, gone, nil); err == nil && len(gone) > 0 {
			err = ErrChanged
		}
		return err
	})
	return hits, err
}

// posting is that an item has a word.
type posting struct {
	place        []byte
	count, total int64
}

// ranked ranks the items that have one of the words.
func (t *items) ranked(ctx context.Context, q *store.TextQuery) ([]store.Near, error) {
	words := make([][]posting, len(q.Words))
	found := make(map[string]bool) // whether the item at a place is selected
	var ranges []Range             // of words that have more rows
	var of []int                   // the words of ranges
	all := finding{s: t.s, q: &q.Query}
	all.bounds()
	for i, word := range q.Words {
		ranges, of = append(ranges, all.within(entryKey(rowOfWord, form(q.Index, []byte(word))), mostItems)), append(of, i)
	}
	for total := 0; len(ranges) > 0; {
		rows, _, err := t.s.read(ctx, ranges...)
		if err != nil {
			return nil, err
		}
		var next []Range
		var nextOf []int
		for j, some := range rows {
			i := of[j]
			for k := range some {
				p := posting{place: afterPart(some[k].Key, 2)}
				if p.count, p.total, err = some[k].two(); err != nil {
					return nil, err
				}
				words[i], found[string(p.place)] = append(words[i], p), false
			}
			if total += len(some); total > store.MaxCompared {
				return nil, &store.TooManyError{Index: q.Index, Words: true}
			}
			if len(some) == mostItems {
				ranges[j].Bytes = successor(some[mostItems-1].Key)
				next, nextOf = append(next, ranges[j]), append(nextOf, i)
			}
		}
		ranges, of = next, nextOf
	}
	f := finding{s: t.s, q: &q.Query}
	f.visit = func(i *item) error {
		found[string(i.place)] = true
		return nil
	}
	places := make([][]byte, 0, len(found))
	for p := range found {
		places = append(places, []byte(p))
	}
	slices.SortFunc(places, bytes.Compare)
	if err := f.check(ctx, places); err != nil {
		return nil, err
	}
	ranking := store.NewRanking(q)
	for i := range words {
		for _, p := range words[i] {
			if ns, key := cutPlace(p.place); found[string(p.place)] {
				if err := ranking.Add(i, string(ns), string(key), int(p.count), int(p.total)); err != nil {
					return nil, err
				}
			}
		}
	}
	return ranking.Items(), nil
}
