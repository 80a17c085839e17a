package store

import "math"

// Parameters of BM25, with the usual values: k1, by which repetitions of a word count less, and b,
// by which long texts count less.
const (
	saturation = 1.2
	lengths    = 0.75
)

// Ranking ranks items by the words of a search. The score is BM25, as in "The Probabilistic
// Relevance Framework" by Robertson and Zaragoza, 2009. All backends use Ranking, so they give an
// item the same score. Its statistics are of the items that the search selects and that have one
// of the words. So a score depends on no other items. A Ranking must not be used concurrently.
type Ranking struct {
	q        *TextQuery
	numbers  map[[2]string]int // of items, by namespace and key
	items    []Near
	totals   []int
	postings []posting
	having   []int // how many items have a word
}

// posting is that an item has a word.
type posting struct{ item, word, count int }

// NewRanking returns a Ranking without items.
func NewRanking(q *TextQuery) *Ranking {
	return &Ranking{q: q, numbers: make(map[[2]string]int), having: make([]int, len(q.Words))}
}

// Add says that an item has the word q.Words[word] count times, among total words in the index.
// namespace has the bytes of Namespace.Append. Backends add all items of a word before those of
// the next word. Add returns a [*TooManyError] after MaxCompared calls.
func (r *Ranking) Add(word int, namespace, key string, count, total int) error {
	if len(r.postings) == MaxCompared {
		return &TooManyError{Index: r.q.Index, Words: true}
	}
	at := [2]string{namespace, key}
	n, known := r.numbers[at]
	if !known {
		n = len(r.items)
		r.numbers[at] = n
		r.items, r.totals = append(r.items, Near{Namespace: namespace, Key: key}), append(r.totals, total)
	}
	r.postings = append(r.postings, posting{n, word, count})
	r.having[word]++
	return nil
}

// Items returns the best items after Offset, the best first. Items with equal scores are in the
// order of their namespaces and keys.
func (r *Ranking) Items() []Near {
	sum := 0
	for _, total := range r.totals {
		sum += total
	}
	n, average := float64(len(r.items)), float64(sum)/float64(max(len(r.items), 1))
	for _, p := range r.postings {
		having, count := float64(r.having[p.word]), float64(p.count)
		rarity := math.Log(1 + (n-having+0.5)/(having+0.5))
		length := 1 - lengths + lengths*float64(r.totals[p.item])/average
		r.items[p.item].Score += rarity * count * (saturation + 1) / (count + saturation*length)
	}
	best := NewNearest(&VectorQuery{Query: r.q.Query, Offset: r.q.Offset})
	for i := range r.items {
		if it := &r.items[i]; !best.full() || it.compare(&best.kept[0]) < 0 {
			best.Keep(it.Namespace, it.Key, it.Score)
		}
	}
	return best.Items()
}
