package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// TooManyError reports a search that had to compare more than [MaxCompared] vectors one by one.
// Words reports a search by words that found more than MaxCompared entries: an item has an entry
// for each of its words.
type TooManyError struct {
	Index string
	Words bool // Index is a text index
}

func (e *TooManyError) Error() string {
	if e.Words {
		return fmt.Sprintf("store: text index %q: the words of the search have more than %d entries; "+
			"leave out common words, or search a namespace below or by a filter", e.Index, MaxCompared)
	}
	return fmt.Sprintf("store: vector index %q: more than %d vectors match; search a namespace below or by a filter, "+
		"or use PostgreSQL with pgvector", e.Index, MaxCompared)
}

// Nearest keeps the items nearest to the vector of a query, among those that a backend compares
// one by one. Backends without an index of vectors use it. It must not be used concurrently.
type Nearest struct {
	q        *VectorQuery
	compared int
	kept     []Near // a heap: the last in order is first
}

// Near is an item that Nearest keeps.
type Near struct {
	Namespace string // the bytes of Namespace.Append
	Key       string
	Score     float64
}

// NewNearest returns a Nearest without items.
func NewNearest(q *VectorQuery) *Nearest { return &Nearest{q: q} }

// compare orders by score, and then by namespace and key.
func (a *Near) compare(b *Near) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Key, b.Key))
}

// Compare returns the score of a vector, and whether its item may be one of the nearest: then the
// backend calls Keep. It does not keep values. It returns a [*TooManyError] after MaxCompared
// vectors, and an ErrDamaged if values have other dimensions than the vector of the query.
func (n *Nearest) Compare(values []float32) (score float64, near bool, err error) {
	if n.compared++; n.compared > MaxCompared {
		return 0, false, &TooManyError{Index: n.q.Index}
	}
	if len(values) != len(n.q.Vector) {
		return 0, false, fmt.Errorf("store: vector index %q: %w: a vector has %d dimensions, want %d",
			n.q.Index, ErrDamaged, len(values), len(n.q.Vector))
	}
	score = dot(values, n.q.Vector)
	return score, !n.full() || score >= n.kept[0].Score, nil
}

func (n *Nearest) full() bool { return len(n.kept) == n.q.Offset+n.q.Limit }

// Keep keeps an item if it is one of the nearest. namespace has the bytes of Namespace.Append.
func (n *Nearest) Keep(namespace, key string, score float64) {
	it := Near{namespace, key, score}
	same := slices.IndexFunc(n.kept, func(k Near) bool { return k.Key == it.Key && k.Namespace == it.Namespace })
	switch {
	case same >= 0:
		if it.Score > n.kept[same].Score {
			n.kept[same] = it
			n.down(same)
		}
	case !n.full():
		n.kept = append(n.kept, it)
		for i := len(n.kept) - 1; i > 0; {
			parent := (i - 1) / 2
			if n.kept[i].compare(&n.kept[parent]) <= 0 {
				break
			}
			n.kept[i], n.kept[parent] = n.kept[parent], n.kept[i]
			i = parent
		}
	case it.compare(&n.kept[0]) < 0:
		n.kept[0] = it
		n.down(0)
	}
}

// down moves an item, which has become nearer, to its place in the heap.
func (n *Nearest) down(i int) {
	for {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(n.kept); child++ {
			if n.kept[child].compare(&n.kept[last]) > 0 {
				last = child
			}
		}
		if last == i {
			return
		}
		n.kept[i], n.kept[last] = n.kept[last], n.kept[i]
		i = last
	}
}

// Items returns the nearest items after Offset, the nearest first. Items with equal scores are in
// the order of their namespaces and keys.
func (n *Nearest) Items() []Near {
	all := slices.Clone(n.kept)
	slices.SortFunc(all, func(a, b Near) int { return a.compare(&b) })
	return all[min(n.q.Offset, len(all)):]
}

// dot returns the dot product of vectors of one length.
func dot(a, b []float32) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return float64(s0+s1) + float64(s2+s3)
}
