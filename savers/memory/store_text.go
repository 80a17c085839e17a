package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// posting is that an item has a word.
type posting struct {
	at           string // the place of the item
	count, total int    // of the word, and of all words of the item in the index
}

// cloneTexts returns a deep copy of texts.
func cloneTexts(texts []store.Text) []store.Text {
	all := slices.Clone(texts)
	for i := range all {
		all[i].Words = slices.Clone(all[i].Words)
	}
	return all
}

// wordPlace returns the beginning of the keys of a word in Store.words. A place follows.
func wordPlace(index, word string) string {
	return string(store.AppendPart(store.AppendPart(nil, index), word))
}

// setWords replaces the words of an item. old and it may be nil.
func (s *Store) setWords(at string, old, it *item) {
	var before, after []store.Text
	if old != nil {
		before = old.texts
	}
	if it != nil {
		after = it.texts
	}
	if len(before) > 0 && len(after) > 0 && &before[0] == &after[0] { // a new life of the same item
		return
	}
	for _, t := range before {
		for _, w := range t.Words {
			s.words.remove(wordPlace(t.Index, w.Word) + at)
		}
	}
	for _, t := range after {
		total := t.Total()
		for _, w := range t.Words {
			s.words.put(wordPlace(t.Index, w.Word)+at, posting{at, w.Count, total})
		}
	}
}

// SearchText reads the items that have one of the words.
func (s *Store) SearchText(ctx context.Context, q store.TextQuery) ([]store.Hit, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx, q.Check()); err != nil {
		return nil, err
	}
	ranking := store.NewRanking(&q)
	for i := range q.Words {
		if err := s.rank(&q, i, ranking); err != nil {
			return nil, err
		}
	}
	return s.hits(ranking.Items()), nil
}

// rank adds the items with a word to a ranking.
func (s *Store) rank(q *store.TextQuery, word int, ranking *store.Ranking) (err error) {
	prefix := wordPlace(q.Index, q.Words[word]) + string(q.Namespace.Append(nil))
	if q.Exact {
		prefix += "\x00\x00"
	}
	at := now()
	s.words.from(prefix, func(key string, p posting) bool {
		if !strings.HasPrefix(key, prefix) {
			return false
		}
		it, _ := s.items.get(p.at)
		if !it.live(at) || !holds(it, q.Where) {
			return true
		}
		err = ranking.Add(word, string(it.Namespace.Append(nil)), it.Key, p.count, p.total)
		return err == nil
	})
	return err
}
