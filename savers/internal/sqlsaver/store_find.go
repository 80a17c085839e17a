package sqlsaver

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// endOfNamespaces sorts after all namespaces, and after all values of indexes.
func endOfNamespaces() []byte { return bytes.Repeat([]byte{0xff}, store.MaxNamespace+1) }

// endOf returns the least bytes that sort after a namespace and those below it.
func endOf(n store.Namespace) []byte {
	if len(n) == 0 {
		return endOfNamespaces()
	}
	b := n.Append(nil)
	b[len(b)-1]++ // 00 01 ends the last part
	return b
}

// Find returns the items that q selects.
func (t *Store) Find(ctx context.Context, q store.Query) (found []store.Record, err error) {
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
	for _, p := range pages(&q) {
		more, err := t.page(ctx, p, &q, q.Limit-len(found))
		if err != nil {
			return nil, t.wrap(ctx, "find", err)
		}
		if found = append(found, more...); len(found) >= q.Limit {
			break
		}
	}
	return found, nil
}

// page is a part of the items in the order of Find. It has the items of one namespace after a key,
// or those of a range of namespaces. A comparison of pairs of columns would need no parts. But
// databases estimate its result by the first column alone. If most items are in one namespace,
// they then read all of them, although an index selects few.
type page struct {
	first, end []byte // the namespaces from first, before end
	one        bool   // only first, after key
	key        string
}

// pages returns the parts that have the items of q, in their order.
func pages(q *store.Query) []page {
	first, end := bounds(q)
	after := first
	if q.After != nil {
		after = q.After.Namespace.Append([]byte{})
	}
	switch place := bytes.Compare(after, first); {
	case q.After == nil || place < 0:
		return []page{{first: first, end: end, one: q.Exact}}
	case bytes.Compare(after, end) >= 0:
		return nil
	case q.Exact:
		return []page{{first: first, end: end, one: true, key: q.After.Key}}
	}
	next := append(slices.Clone(after), 0)
	return []page{{first: after, end: next, one: true, key: q.After.Key}, {first: next, end: end}}
}

// page reads the first items of a page.
func (t *Store) page(ctx context.Context, p page, q *store.Query, limit int) (found []store.Record, err error) {
	c := conditions{first: p.first, end: p.end, exact: p.one}
	statement, second := stStoreFind, p.end
	if p.one {
		statement, second = stStoreFindIn, []byte(p.key)
	}
	text, args := c.insert(&t.s.queries[statement], q, p.first, notNil(second), int64(limit))
	err = t.s.try(ctx, Lost, func() error {
		found = nil
		rows, err := t.s.db.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		var item itemScan
		return each(rows, func(rows Rows) error {
			record, err := item.scan(rows)
			found = append(found, record)
			return err
		})
	})
	return found, err
}

// itemScan reads items, one after another.
type itemScan struct {
	ns, key []byte
	row     storeRow
	columns []any // where they are scanned

	last  []byte // the namespace of the item before
	parts store.Namespace
}

// scan reads an item. more are the columns after those of an item; they must be the same in each
// call.
func (s *itemScan) scan(rows Rows, more ...any) (store.Record, error) {
	r := &s.row
	if s.columns == nil {
		s.columns = append([]any{&s.ns, &s.key, &r.value, &r.version, &r.created, &r.updated, &r.expires}, more...)
	}
	if err := rows.Scan(s.columns...); err != nil {
		return store.Record{}, err
	}
	if s.parts == nil || !bytes.Equal(s.ns, s.last) { // most items have the namespace of the one before
		n, err := store.ParseNamespace(s.ns)
		if err != nil {
			return store.Record{}, err
		}
		s.parts, s.last = n, s.ns
	}
	record := r.record(s.parts, string(s.key))
	var err error
	record.Value, err = cutValue(r.value, s.ns, s.key)
	return record, err
}

// bounds returns the range of the namespaces that q selects.
func bounds(q *store.Query) (first, end []byte) {
	first, end = q.Namespace.Append([]byte{}), endOf(q.Namespace)
	if q.Exact {
		end = append(slices.Clone(first), 0)
	}
	return first, end
}

// where returns a statement with the bounds and the conditions of a query, and its arguments. more
// are those after the bounds.
func (t *Store) where(query *query, q *store.Query, more ...any) (text string, args []any) {
	first, end := bounds(q)
	c := conditions{first: first, end: end, exact: q.Exact}
	return c.insert(query, q, append([]any{first, end}, more...)...)
}

// conditions is the text of conditions on indexes, with the values that it binds.
type conditions struct {
	first, end []byte
	exact      bool
	mark       string // of numbered placeholders; empty if they have no numbers
	next       int    // how many values the text binds
	text       strings.Builder
	args       []any
}

// insert returns a statement with the conditions of a query, and its arguments: values and those
// of the conditions.
func (c *conditions) insert(query *query, q *store.Query, values ...any) (text string, args []any) {
	args = query.bind(values)
	head, tail, _ := strings.Cut(query.text, "/* conditions */")
	c.next = len(args)
	switch {
	case strings.Contains(head, "$1"):
		c.mark = "$"
	case strings.Contains(head, "?1"):
		c.mark = "?"
	}
	for i := range q.Where {
		c.add(&q.Where[i])
	}
	text = head + c.text.String() + tail
	if c.mark != "" {
		return text, append(args, c.args...)
	}
	return text, slices.Insert(args, strings.Count(head, "?"), c.args...)
}

// bind returns the placeholder of a value.
func (c *conditions) bind(v []byte) string {
	c.args = append(c.args, notNil(v))
	if c.next++; c.mark == "" {
		return "?"
	}
	return fmt.Sprintf("%s%d", c.mark, c.next)
}

// add adds a condition, which selects rows of graph_store_index.
func (c *conditions) add(where *store.Condition) {
	c.text.WriteString("\nAND (i.namespace, i.item_key) IN (SELECT x.namespace, x.item_key" +
		" FROM graph_store_index x WHERE x.name = " + c.bind([]byte(where.Index)))
	if c.exact {
		c.text.WriteString(" AND x.namespace = " + c.bind(c.first))
	} else {
		c.text.WriteString(" AND x.namespace >= " + c.bind(c.first) + " AND x.namespace < " + c.bind(c.end))
	}
	for i, r := range where.Ranges {
		if i == 0 {
			c.text.WriteString(" AND (")
		} else {
			c.text.WriteString(" OR ")
		}
		c.inRange(r)
	}
	c.text.WriteString("))")
}

// inRange adds the condition that a value is in a range.
func (c *conditions) inRange(r store.Range) {
	if len(r.To) == len(r.From)+1 && r.To[len(r.From)] == 0 && bytes.HasPrefix(r.To, r.From) {
		c.text.WriteString("x.value = " + c.bind(r.From))
		return
	}
	c.text.WriteString("x.value >= " + c.bind(r.From))
	if r.To != nil {
		c.text.WriteString(" AND x.value < " + c.bind(r.To))
	}
}

// Namespaces returns the namespaces that q selects, with one seek for each.
func (t *Store) Namespaces(ctx context.Context, q store.NamespaceQuery) (found []store.Namespace, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	defer t.s.end()
	err = t.s.read(ctx, func(tx Tx) error {
		found, err = t.namespaces(ctx, tx, &q)
		return err
	})
	if err != nil {
		return nil, t.wrap(ctx, "namespaces", err)
	}
	return found, nil
}

// namespaces returns the namespaces that q selects, by one seek for each.
func (t *Store) namespaces(ctx context.Context, tx Tx, q *store.NamespaceQuery) (found []store.Namespace, err error) {
	limit := store.MaxPage
	if q.Limit > 0 {
		limit = min(limit, q.Limit)
	}
	literal := q.Literal()
	first, end := literal.Append([]byte{}), endOf(literal)
	if len(q.After) > 0 {
		if after := past(q, q.After); bytes.Compare(after, first) > 0 {
			first = after
		}
	}
	for len(found) < limit {
		var ns []byte
		more, err := t.s.one(ctx, tx, stStoreNamespace, []any{first, end}, &ns)
		if err != nil || !more {
			return found, err
		}
		n, err := store.ParseNamespace(ns)
		if err != nil {
			return nil, err
		}
		if !q.Matches(n) {
			first = append(slices.Clone(ns), 0)
			continue
		}
		n = q.Cut(n)
		found = append(found, n)
		first = past(q, n)
	}
	return found, nil
}

// past returns the least bytes that sort after all namespaces that q cuts to n.
func past(q *store.NamespaceQuery, n store.Namespace) []byte {
	if q.Depth > 0 && len(n) >= q.Depth {
		return endOf(n[:q.Depth])
	}
	return append(n.Append(nil), 0)
}
