package sqlsaver

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// VectorSearch is how a server searches a vector index by an index of its own.
type VectorSearch struct {
	// Settings returns statements for the transaction, before a search for a number of rows.
	Settings func(rows int) []string

	// Text finds the nearest rows, and Exact finds them without the index. Both bind the first
	// namespace, the end of the namespaces, the vector and the limit. They contain
	// "/* conditions */". They return the columns of store_find and the score.
	Text, Exact string
}

// Search returns the nearest items, by the server's index of vectors if it has one. Otherwise it
// compares the vectors of all items that q selects.
func (t *Store) Search(ctx context.Context, q store.VectorQuery) (hits []store.Hit, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	defer t.s.end()
	if slices.ContainsFunc(q.Where, func(c store.Condition) bool { return len(c.Ranges) == 0 }) {
		return nil, nil // no value is in no range
	}
	err = t.s.read(ctx, func(tx Tx) (err error) {
		if s, ok := t.searches.Load(q.Index); ok {
			hits, err = t.byIndex(ctx, tx, s.(*VectorSearch), &q)
			return err
		}
		near, err := t.nearest(ctx, tx, &q)
		if err == nil {
			hits, err = t.hits(ctx, tx, near)
		}
		return err
	})
	if err != nil {
		return nil, t.wrap(ctx, "search", err)
	}
	return hits, nil
}

// SearchText reads the entries of the words by their index, and ranks the items. If the protocol
// has a pipeline, the entries of all words take one round trip.
func (t *Store) SearchText(ctx context.Context, q store.TextQuery) (hits []store.Hit, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	defer t.s.end()
	if len(q.Words) == 0 || slices.ContainsFunc(q.Where, func(c store.Condition) bool { return len(c.Ranges) == 0 }) {
		return nil, nil
	}
	err = t.s.read(ctx, func(tx Tx) error {
		best, err := t.ranked(ctx, tx, &q)
		if err == nil {
			hits, err = t.hits(ctx, tx, best)
		}
		return err
	})
	if err != nil {
		return nil, t.wrap(ctx, "search", err)
	}
	return hits, nil
}

// ranked ranks the items that have one of the words.
func (t *Store) ranked(ctx context.Context, tx Tx, q *store.TextQuery) ([]store.Near, error) {
	calls := make([]Call, len(q.Words))
	for i, word := range q.Words {
		text, args := t.where(&t.s.queries[stStoreWords], &q.Query, []byte(q.Index), []byte(word), int64(store.MaxCompared+1))
		calls[i] = Call{Text: text, Args: args}
	}
	ranking := store.NewRanking(q)
	err := tx.Pipeline(ctx, calls, func(word int, rows Rows) error {
		var ns, key []byte
		var n, total int
		if err := rows.Scan(&ns, &key, &n, &total); err != nil {
			return err
		}
		return ranking.Add(word, string(ns), string(key), n, total)
	})
	if err != nil {
		return nil, err
	}
	return ranking.Items(), nil
}

// nearest compares vectors one by one.
func (t *Store) nearest(ctx context.Context, tx Tx, q *store.VectorQuery) ([]store.Near, error) {
	text, args := t.where(&t.s.queries[stStoreSearch], &q.Query, []byte(q.Index), int64(store.MaxCompared+1))
	rows, err := tx.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	n := store.NewNearest(q)
	var values []float32
	err = each(rows, func(rows Rows) error {
		var ns, key, column []byte
		if err := rows.Scan(&ns, &key, &column); err != nil {
			return err
		}
		var err error
		if values, err = t.s.d.parseVector(values[:0], column); err != nil {
			return err
		}
		score, near, err := n.Compare(values)
		if near {
			n.Keep(string(ns), string(key), score)
		}
		return err
	})
	return n.Items(), err
}

// hits reads items that a search has found.
func (t *Store) hits(ctx context.Context, tx Tx, near []store.Near) ([]store.Hit, error) {
	ops := make([]store.Op, len(near))
	for i, n := range near {
		ns, err := store.ParseNamespace([]byte(n.Namespace))
		if err != nil {
			return nil, err
		}
		ops[i] = store.Op{Kind: store.OpGet, Namespace: ns, Key: n.Key}
	}
	results, err := t.reads(ctx, tx, ops)
	if err != nil {
		return nil, err
	}
	var hits []store.Hit
	for i := range results {
		if results[i].Found { // otherwise it has expired since
			hits = append(hits, store.Hit{Record: results[i].Record, Score: near[i].Score})
		}
	}
	return hits, nil
}

// byIndex searches by the server's index. An item may have several of the nearest rows, so it asks
// for more rows until there are enough items. If the index finds too few, because it stopped
// before it found enough rows for which the conditions hold, the server compares all of them.
func (t *Store) byIndex(ctx context.Context, tx Tx, s *VectorSearch, q *store.VectorQuery) ([]store.Hit, error) {
	need := q.Offset + q.Limit
	for _, setting := range s.Settings(need) {
		if err := tx.Later(ctx, nil, setting); err != nil {
			return nil, err
		}
	}
	text := query{text: s.Text}
	for limit := need; ; {
		hits, rows, err := t.nearestRows(ctx, tx, &text, q, limit)
		switch {
		case err != nil:
			return nil, err
		case len(hits) >= need:
			return hits[q.Offset:need], nil
		case rows == limit:
			limit *= 4
		case text.text == s.Exact:
			return hits[min(q.Offset, len(hits)):], nil
		default:
			text, limit = query{text: s.Exact}, need
		}
	}
}

// nearestRows returns the items of the nearest rows, in order, and the number of rows.
func (t *Store) nearestRows(
	ctx context.Context, tx Tx, text *query, q *store.VectorQuery, limit int,
) (hits []store.Hit, found int, err error) {
	statement, args := t.where(text, &q.Query, t.s.d.vector(q.Vector), int64(limit))
	rows, err := tx.Query(ctx, statement, args...)
	if err != nil {
		return nil, 0, err
	}
	seen := make(map[[2]string]bool)
	var item itemScan
	var score float64
	err = each(rows, func(rows Rows) error {
		found++
		record, err := item.scan(rows, &score)
		at := [2]string{string(record.Namespace.Append(nil)), record.Key}
		if err == nil && !seen[at] {
			seen[at] = true
			hits = append(hits, store.Hit{Record: record, Score: score})
		}
		return err
	})
	slices.SortStableFunc(hits, func(a, b store.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score),
			bytes.Compare(a.Namespace.Append(nil), b.Namespace.Append(nil)), strings.Compare(a.Key, b.Key))
	})
	return hits, found, err
}
