package rows

import (
	"bytes"
	"context"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// The numbers of rows that a Read of a search asks for. Each next Read asks for twice as many.
const (
	fewItems  = 128
	mostItems = 4096
)

// Find returns the items that q selects.
func (t *items) Find(ctx context.Context, q store.Query) (found []store.Record, err error) {
	err = t.read(ctx, q.Check(), func() error {
		found = nil
		var last parsed
		f := finding{s: t.s, q: &q, values: true}
		f.visit = func(i *item) error {
			r, err := i.found(&last)
			found = append(found, r)
			f.ended = len(found) == q.Limit
			return err
		}
		return f.run(ctx)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// finding visits the items that a query selects, in order.
type finding struct {
	s      *Saver
	q      *store.Query
	values bool // read large values
	visit  func(*item) error
	ended  bool // visit needs no more items
	checks int  // how many items check reads next

	first, end []byte // the bounds of places
}

// bounds sets the bounds of places that q selects.
func (f *finding) bounds() {
	f.first = f.q.Namespace.Append(nil)
	if f.q.Exact {
		f.first = append(f.first, 0, 0)
	}
	f.end = after(f.first)
	if p := f.q.After; p != nil {
		if next := append(placeOf(p.Namespace, p.Key), 0); bytes.Compare(next, f.first) > 0 {
			f.first = next
		}
	}
}

// within returns the rows of a table for the places, after a prefix.
func (f *finding) within(k Key, limit int) Range {
	r := Range{Key: k, To: slices.Concat(k.Bytes, f.end), Limit: limit}
	r.Bytes = slices.Concat(k.Bytes, f.first)
	if len(r.To) > MaxKey+1 { // no end
		r.To = after(k.Bytes)
	}
	return r
}

// run visits the items.
func (f *finding) run(ctx context.Context) error {
	f.bounds()
	var streams []Key // of the entries of one value, which are in the order of places
	var others []store.Condition
	for _, c := range f.q.Where {
		switch {
		case len(c.Ranges) == 0:
			return nil // no value is in no range
		case len(c.Ranges) == 1 && exactly(c.Ranges[0]):
			streams = append(streams, indexKey(form(c.Index, c.Ranges[0].From), nil))
		default:
			others = append(others, c)
		}
	}
	switch {
	case len(f.q.Where) == 0:
		return f.scan(ctx, itemKey(rowOfItem))
	case len(f.q.Where) == 1 && len(streams) == 1:
		return f.scan(ctx, streams[0])
	}
	for n := fewItems; !f.ended && bytes.Compare(f.first, f.end) < 0; n = min(2*n, mostItems) {
		if err := f.step(ctx, streams, others, n); err != nil {
			return err
		}
		if n == mostItems || n*rangesOf(others) > 4*mostItems {
			others = nil // they have too many entries
		}
	}
	return nil
}

// rangesOf returns the number of ranges of conditions.
func rangesOf(all []store.Condition) (n int) {
	for i := range all {
		n += len(all[i].Ranges)
	}
	return n
}

// exactly reports whether a range has one value.
func exactly(r store.Range) bool {
	return len(r.To) == len(r.From)+1 && r.To[len(r.From)] == 0 && bytes.HasPrefix(r.To, r.From)
}

// scan visits the items of the namespaces whose rows, or entries, have keys that begin with k.
// Each Read returns twice as many rows as the one before, because the items of many may be gone.
func (f *finding) scan(ctx context.Context, k Key) error {
	for n := min(f.q.Limit, mostItems); ; n = min(2*n, mostItems) {
		r := f.within(k, n)
		if k.Table == Entries {
			r.Items = len(k.Bytes) - 1 // they end with the first byte of the key of an item
		}
		rows, now, err := f.s.read(ctx, r)
		if err == nil {
			err = f.emit(ctx, rows[0], now.UnixMicro())
		}
		if err != nil || f.ended || len(rows[0]) < n {
			return err
		}
		f.first = successor(rows[0][n-1].Key[1:])
	}
}

// emit visits the items of rows that are selected. It reads no more large values at a time than a
// page has.
func (f *finding) emit(ctx context.Context, found []Row, now int64) error {
	for some := range slices.Chunk(found, f.q.Limit) {
		if err := f.emitSome(ctx, some, now); err != nil || f.ended {
			return err
		}
	}
	return nil
}

// emitSome is emit for some rows. Large values are in rows of their own.
func (f *finding) emitSome(ctx context.Context, found []Row, now int64) error {
	var chosen []*item
	var items, values []Range
	for j := range found {
		i, err := f.chosen(&found[j], now)
		if err != nil {
			return err
		}
		if i == nil {
			continue
		}
		if chosen = append(chosen, i); f.values && i.large {
			items, values = append(items, point(itemKey(rowOfItem, i.place))), append(values, point(entryKey(rowOfValue, i.place)))
		}
	}
	var again [][]Row // the rows of items, and then those of values
	if len(items) > 0 {
		rows, at, err := f.s.read(ctx, append(items, values...)...)
		if err != nil {
			return err
		}
		again, now = rows, at.UnixMicro()
	}
	n := 0
	for _, i := range chosen {
		if f.values && i.large {
			var err error
			if i, err = f.renewed(again[n], again[n+len(values)], now); err != nil {
				return err
			}
			if n++; i == nil {
				continue
			}
		}
		if err := f.visit(i); err != nil || f.ended {
			return err
		}
	}
	return nil
}

// chosen returns the item of a row if it is selected, else nil.
func (f *finding) chosen(r *Row, now int64) (*item, error) {
	i, err := r.item()
	if err != nil || !i.live(now) || !i.holds(f.q.Where) {
		return nil, err
	}
	return i, nil
}

// renewed returns an item that was read again with its large value. It returns nil if the item is
// not selected any more.
func (f *finding) renewed(found, value []Row, now int64) (*item, error) {
	if len(found) == 0 {
		return nil, nil
	}
	i, err := f.chosen(&found[0], now)
	if err == nil && i != nil && i.large && len(value) > 0 {
		i.value, err = unseal(value[0].Value, value[0].Key)
	}
	return i, err
}

// holds reports whether all conditions hold.
func (i *item) holds(where []store.Condition) bool {
	for _, c := range where {
		if !slices.ContainsFunc(i.index, func(e store.Entry) bool {
			return e.Index == c.Index && slices.ContainsFunc(c.Ranges, func(r store.Range) bool {
				return bytes.Compare(e.Value, r.From) >= 0 && (r.To == nil || bytes.Compare(e.Value, r.To) < 0)
			})
		}) {
			return false
		}
	}
	return true
}

// step visits some of the items that conditions select. Nobody knows which condition selects few
// items. So a step reads n entries of each, and continues with the one that reaches furthest.
// Entries of other conditions are in the order of their values: these help only if n are all.
func (f *finding) step(ctx context.Context, streams []Key, others []store.Condition, n int) error {
	var ranges []Range
	for _, k := range streams {
		ranges = append(ranges, f.within(k, n))
	}
	if len(streams) == 0 {
		ranges = append(ranges, f.within(itemKey(rowOfItem), n))
	}
	inOrder := len(ranges)
	for _, c := range others {
		for _, r := range c.Ranges {
			ranges = append(ranges, entriesOf(c.Index, r, n))
		}
	}
	rows, now, err := f.s.read(ctx, ranges...)
	if err != nil {
		return err
	}
	at := inOrder
	for _, c := range others {
		some := rows[at : at+len(c.Ranges)]
		if at += len(c.Ranges); !slices.ContainsFunc(some, func(found []Row) bool { return len(found) == n }) {
			return f.whole(ctx, slices.Concat(some...))
		}
	}
	var places [][]byte
	next := f.first
	for j, found := range rows[:inOrder] {
		end := f.end
		if len(found) == n {
			end = append(bytes.Clone(f.placeIn(&ranges[j], &found[n-1])), 0)
		}
		if bytes.Compare(end, next) < 0 {
			continue
		}
		next, places = end, nil
		for k := range found {
			if len(streams) == 0 {
				if i, err := f.chosen(&found[k], now.UnixMicro()); err != nil {
					return err
				} else if i == nil {
					continue
				}
			}
			places = append(places, f.placeIn(&ranges[j], &found[k]))
		}
	}
	f.first = next
	return f.check(ctx, places)
}

// placeIn returns the place at the end of the key of a row, in a range that begins with a place.
func (f *finding) placeIn(r *Range, row *Row) []byte { return row.Key[len(r.Bytes)-len(f.first):] }

// entriesOf returns the entries of an index in a range.
func entriesOf(index string, r store.Range, limit int) Range {
	all := Range{Key: entryKey(rowOfEntry, form(index, r.From)), Limit: limit}
	all.Bytes = all.Bytes[:len(all.Bytes)-2] // without the end of the value
	if r.To == nil {
		all.To = after(entryKey(rowOfEntry, store.AppendPart(nil, index)).Bytes)
		return all
	}
	all.To = entryKey(rowOfEntry, form(index, r.To)).Bytes
	all.To = all.To[:len(all.To)-2]
	return all
}

// whole visits the items of entries, which are all that can be selected.
func (f *finding) whole(ctx context.Context, entries []Row) error {
	var places [][]byte
	for i := range entries {
		if place := afterPart(entries[i].Key, 2)[1:]; bytes.Compare(place, f.first) >= 0 && bytes.Compare(place, f.end) < 0 {
			places = append(places, place)
		}
	}
	f.first = f.end
	slices.SortFunc(places, bytes.Compare)
	return f.check(ctx, slices.CompactFunc(places, bytes.Equal))
}

// check visits those of the items at places that are live and for which the conditions hold. Each
// Read is of twice as many as the one before, as those of scan.
func (f *finding) check(ctx context.Context, places [][]byte) error {
	if f.checks == 0 {
		f.checks = mostItems
		if f.values {
			f.checks = min(f.q.Limit, fewItems)
		}
	}
	for ; len(places) > 0; f.checks = min(2*f.checks, mostItems) {
		ranges := make([]Range, min(f.checks, len(places)))
		for i := range ranges {
			ranges[i] = point(itemKey(rowOfItem, places[i]))
		}
		places = places[len(ranges):]
		rows, now, err := f.s.read(ctx, ranges...)
		if err == nil {
			err = f.emit(ctx, slices.Concat(rows...), now.UnixMicro())
		}
		if err != nil || f.ended {
			return err
		}
	}
	return nil
}

// Namespaces returns the namespaces that q selects. It reads a few items of each, and more if
// namespaces have few items.
func (t *items) Namespaces(ctx context.Context, q store.NamespaceQuery) (found []store.Namespace, err error) {
	err = t.read(ctx, q.Check(), func() error {
		found, err = t.namespaces(ctx, &q)
		return err
	})
	return found, err
}

// namespaces returns the namespaces that q selects.
func (t *items) namespaces(ctx context.Context, q *store.NamespaceQuery) (found []store.Namespace, err error) {
	limit := store.MaxPage
	if q.Limit > 0 {
		limit = min(limit, q.Limit)
	}
	f := finding{s: t.s, q: &store.Query{Namespace: q.Literal()}}
	f.bounds()
	if past := pastNamespace(q, q.After); len(q.After) > 0 && bytes.Compare(past, f.first) > 0 {
		f.first = past
	}
	for n := 8; bytes.Compare(f.first, f.end) < 0; {
		rows, now, err := t.s.read(ctx, f.within(itemKey(rowOfItem), n))
		if err != nil {
			return nil, err
		}
		passed := 0
		for j := range rows[0] {
			i, err := rows[0][j].item()
			if err != nil {
				return nil, err
			}
			if bytes.Compare(i.place, f.first) < 0 {
				continue
			}
			if f.first = append(bytes.Clone(i.place), 0); !i.live(now.UnixMicro()) {
				continue
			}
			at, _ := cutPlace(i.place)
			ns, err := store.ParseNamespace(at)
			if err != nil {
				return nil, err
			}
			f.first = append(bytes.Clone(at), 0, 1)
			if passed++; !q.Matches(ns) {
				continue
			}
			if found = append(found, q.Cut(ns)); len(found) == limit {
				return found, nil
			}
			f.first = pastNamespace(q, found[len(found)-1])
		}
		if len(rows[0]) < n {
			break
		}
		if n = min(4*n, mostItems); passed == 1 { // it has many items
			n = 8
		}
	}
	return found, nil
}

// pastNamespace returns the least bytes that sort after all places of namespaces that q cuts to n.
func pastNamespace(q *store.NamespaceQuery, n store.Namespace) []byte {
	if q.Depth > 0 && len(n) >= q.Depth {
		return after(n[:q.Depth].Append(nil))
	}
	return append(n.Append(nil), 0, 1)
}
