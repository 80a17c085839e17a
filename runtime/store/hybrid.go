package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxFused is how many items of each index a hybrid search ranks. Limit and offset together may be
// at most MaxFused.
const MaxFused = 100

// fusion is the constant k of reciprocal rank fusion, with the value of its authors.
const fusion = 60

// Hybrid returns both indexes as one, for a hybrid search: by meaning and by words. It takes the
// best [MaxFused] items of each index. The best item of an index has rank 1. The score of an item
// is the sum of 1 / (60 + rank) over the indexes that found it. That is reciprocal rank fusion:
// see Cormack, Clarke and Büttcher, SIGIR 2009.
func Hybrid[T any](meaning *VectorIndex[T], words *TextIndex[T]) SearchIndex[T] {
	return hybrid[T]{meaning, words}
}

type hybrid[T any] struct {
	meaning *VectorIndex[T]
	words   *TextIndex[T]
}

// search returns the items that are near to a text, or have its words.
func (h hybrid[T]) search(ctx context.Context, c *core[T], text string, s *searching) ([]Hit, error) {
	if s.offset < 0 || s.query.Limit > MaxFused || s.offset > MaxFused-s.query.Limit {
		return nil, &InvalidError{
			"offset", strconv.Itoa(s.offset), fmt.Sprintf("0 or more, with the limit at most %d in a hybrid search", MaxFused),
		}
	}
	all := *s
	all.query.Limit, all.offset = MaxFused, 0
	near, err := h.meaning.search(ctx, c, text, &all)
	if err != nil {
		return nil, err
	}
	having, err := h.words.search(ctx, c, text, &all)
	if err != nil {
		return nil, err
	}
	fused := fuse(near, having)
	return fused[min(s.offset, len(fused)):min(s.offset+s.query.Limit, len(fused))], nil
}

// fuse returns the items of lists, by the sums of their reciprocal ranks. Of the states of an item
// that changed between two lists, it returns the newer.
func fuse(lists ...[]Hit) (all []Hit) {
	numbers := make(map[[2]string]int)
	for _, hits := range lists {
		for i := range hits {
			at := [2]string{string(hits[i].Namespace.Append(nil)), hits[i].Key}
			n, known := numbers[at]
			if !known {
				n = len(all)
				numbers[at] = n
				all = append(all, Hit{})
			}
			it := &all[n]
			if hits[i].Version > it.Version {
				it.Record = hits[i].Record
			}
			it.Score += 1 / float64(fusion+i+1)
		}
	}
	slices.SortFunc(all, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score),
			bytes.Compare(a.Namespace.Append(nil), b.Namespace.Append(nil)), strings.Compare(a.Key, b.Key))
	})
	return all
}
