package storetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// textFaults has a broken backend for each case of search by words.
func textFaults() map[string]*broken {
	var mu sync.Mutex
	first := make(map[string][]store.Text)
	added := func(op *store.Op) { // words of earlier puts stay
		if op.Kind != store.OpPut {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if first[op.Key] == nil {
			first[op.Key] = op.Texts
		} else {
			op.Texts = first[op.Key]
		}
	}
	return map[string]*broken{
		"a search by words ranks the items that have them": {searchText: inOrderOfKeys},
		"a search by words ranks as BM25 says": {op: func(op *store.Op) { // counts each word once
			op.Texts = changed(op.Texts, func(w *store.Word) { w.Count = 1 })
		}},
		"texts are split into words": {searchText: func(ctx context.Context, b store.Backend, q store.TextQuery) ([]store.Hit, error) {
			q.Words = slices.DeleteFunc(slices.Clone(q.Words), func(word string) bool { return len(word) < 3 })
			return b.SearchText(ctx, q) // as a full-text index with a least length of words
		}},
		"hostile searches by words": {searchText: func(ctx context.Context, b store.Backend, q store.TextQuery) ([]store.Hit, error) {
			if len(q.Words) == 0 || len(q.Words) > 1 && q.Words[0] == "or" {
				return nil, errors.New("syntax error in full-text query")
			}
			q.Index, _, _ = strings.Cut(q.Index, "\x00")
			return b.SearchText(ctx, q)
		}},
		"long texts": {op: func(op *store.Op) {
			op.Texts = slices.Clone(op.Texts)
			for i := range op.Texts {
				op.Texts[i].Words = op.Texts[i].Words[:min(len(op.Texts[i].Words), 1000)]
			}
		}},
		"a search by words with a filter that selects 1 %": {searchText: filtersWordsLater},
		"a search by words is of its namespace and index": {searchText: func(ctx context.Context, b store.Backend, q store.TextQuery) ([]store.Hit, error) {
			q.Exact = false
			return b.SearchText(ctx, q)
		}},
		"equal scores of words are in order": {searchText: func(ctx context.Context, b store.Backend, q store.TextQuery) ([]store.Hit, error) {
			hits, err := b.SearchText(ctx, q)
			slices.Reverse(hits)
			return hits, err
		}},
		"words follow their item": {op: added},
		"old items get words": {op: func(op *store.Op) {
			if op.Kind == store.OpIndex {
				op.Texts = nil
			}
		}},
		"concurrent writers leave the words of the last": {op: added},
	}
}

// changed returns texts with other words.
func changed(texts []store.Text, change func(w *store.Word)) []store.Text {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i].Words = slices.Clone(texts[i].Words)
		for j := range texts[i].Words {
			change(&texts[i].Words[j])
		}
	}
	return texts
}

// inOrderOfKeys is a SearchText without a ranking.
func inOrderOfKeys(ctx context.Context, b store.Backend, q store.TextQuery) ([]store.Hit, error) {
	hits, err := b.SearchText(ctx, q)
	slices.SortFunc(hits, func(a, b store.Hit) int { return strings.Compare(b.Key, a.Key) })
	return hits, err
}

// filtersWordsLater is a SearchText that looks among the best items of all for those that a filter
// selects.
func filtersWordsLater(ctx context.Context, b store.Backend, q store.TextQuery) ([]store.Hit, error) {
	where := q.Where
	q.Where = nil
	hits, err := b.SearchText(ctx, q)
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
