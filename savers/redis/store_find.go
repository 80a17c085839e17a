package redis

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// members returns the range of all members below a namespace in a set whose members are places
// after a prefix, as ZRANGEBYLEX has it.
func members(prefix string, n store.Namespace) (from, to string) {
	return "[" + prefix + string(n.Append(nil)), end(prefix + string(n.Append(nil)))
}

// end returns the end of the range of all members with a prefix. A prefix is empty, or ends with
// less than ff.
func end(prefix string) string {
	if prefix == "" {
		return "+"
	}
	b := []byte(prefix)
	b[len(b)-1]++
	return "(" + string(b)
}

// finding is one call of Find.
type finding struct {
	t     *itemStore
	ctx   context.Context //nolint:containedctx // of one call
	q     *store.Query
	after string // a place; "" for none
	where []any  // the conditions as store_find.lua has them
	found []store.Record

	// hit gets items with what reads says instead of values: v for vectors, w for the numbers of a
	// word. Then found stays empty. It is nil in Find.
	hit   func(at string, version int64, content string) error
	reads string
}

// Find returns the items that q selects.
func (t *itemStore) Find(ctx context.Context, q store.Query) ([]store.Record, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	f := finding{t: t, ctx: ctx, q: &q, where: conditions(q.Where)}
	if err := f.run(); err != nil {
		return nil, err
	}
	return f.found, nil
}

// run finds items.
func (f *finding) run() error {
	q := f.q
	if q.After != nil {
		f.after = itemPlace(q.After.Namespace, q.After.Key)
	}
	equal := slices.IndexFunc(q.Where, func(c store.Condition) bool { return len(c.Ranges) == 1 && exactly(c.Ranges[0]) })
	switch {
	case slices.ContainsFunc(q.Where, func(c store.Condition) bool { return len(c.Ranges) == 0 }):
		return f.t.ready(f.ctx) // no value is in no range
	case equal >= 0: // the entries of one value are in the order of places
		c := &q.Where[equal]
		return f.scan(form(c.Index, c.Ranges[0].From, false))
	case len(q.Where) > 0:
		return f.byRanges()
	}
	return f.scan("")
}

// ready returns the error of a call that asks the server nothing.
func (t *itemStore) ready(ctx context.Context) error {
	if t.closed.Load() {
		return fmt.Errorf("redis: %w", store.ErrClosed)
	}
	return t.wrap(ctx, "find", t.s.server.open(ctx))
}

// exactly reports whether a range has one value.
func exactly(r store.Range) bool {
	return len(r.To) == len(r.From)+1 && r.To[len(r.From)] == 0 && bytes.HasPrefix(r.To, r.From)
}

// conditions returns conditions as store_find.lua has them.
func conditions(where []store.Condition) []any {
	args := []any{len(where)}
	for i := range where {
		args = append(args, len(where[i].Ranges))
		for _, r := range where[i].Ranges {
			from, to := form(where[i].Index, r.From, true), limitOf(where[i].Index, r.To)
			if exactly(r) {
				from, to = form(where[i].Index, r.From, false), ""
			}
			args = append(args, from, to)
		}
	}
	return args
}

// limitOf returns the least form above the values below to; nil is no limit.
func limitOf(index string, to []byte) string {
	if to != nil {
		return form(index, to, true)
	}
	b := store.AppendPart(nil, index)
	b[len(b)-1]++
	return string(b)
}

// scan finds items by the members of a set in their order: of items, or of the values of an index
// entry with a form.
func (f *finding) scan(form string) error {
	prefix := form + string(f.q.Namespace.Append(nil))
	if f.q.Exact {
		prefix += "\x00\x00"
	}
	from, to := "["+prefix, end(prefix)
	if f.q.Exact {
		to = "(" + prefix[:len(prefix)-1] + "\x01"
	}
	if after := form + f.after; f.after != "" && after >= prefix {
		from = "(" + after
	}
	for {
		_, last, done, err := f.page(fmt.Sprint(len(form)), from, to, nil)
		if err != nil || done || len(f.found) == f.q.Limit {
			return err
		}
		from = "(" + form + last
	}
}

// page calls store_find.lua, which reads at most budget members or places. read is how many it has
// read.
func (f *finding) page(source, from, to string, places []string) (read int, last string, done bool, err error) {
	args := make([]any, 0, 6+len(f.where)+len(places))
	args = append(append(args, source, from, to, f.q.Limit-len(f.found), budget, f.reads), f.where...)
	for _, p := range places {
		args = append(args, p)
	}
	r, err := f.t.call(f.ctx, "find", f.t.s.script.storeFind, false, args)
	if err != nil {
		return 0, "", false, err
	}
	done, read, last = r.text() == "1", r.int(), r.text()
	for r.more() {
		at := r.text()
		if f.hit != nil {
			version := r.number()
			_, _, _ = r.time(), r.time(), r.time()
			if err := f.hit(at, version, r.text()); err != nil {
				return 0, "", false, f.t.wrap(f.ctx, "search", err)
			}
			continue
		}
		record, err := r.record(at, true)
		if err == nil {
			i := strings.Index(at, "\x00\x00")
			record.Key = at[i+2:]
			record.Namespace, err = store.ParseNamespace([]byte(at[:i]))
		}
		if err != nil {
			return 0, "", false, f.t.wrap(f.ctx, "find", err)
		}
		f.found = append(f.found, record)
	}
	return read, last, done, f.t.wrap(f.ctx, "find", r.err)
}

// span is a range of members of a set of index entries.
type span struct {
	key      string
	cut      int    // the bytes before the value
	base     string // of the place, if the members end with keys
	from, to string
}

// spans returns the ranges of entries for the first condition. With Exact they have the entries
// of the namespace only.
func (f *finding) spans() []span {
	c := &f.q.Where[0]
	var all []span
	for _, r := range c.Ranges {
		low, high := form(c.Index, r.From, true), limitOf(c.Index, r.To)
		s := span{key: f.t.keys[valuesKey]}
		switch {
		case f.q.Exact:
			s.key, s.base = f.t.keys[indexKey], string(append(f.q.Namespace.Append(nil), 0, 0))
			low, high = s.base+low, s.base+high
		case exactly(r):
			low = form(c.Index, r.From, false)
			s.from, s.to = members(low, f.q.Namespace)
		}
		s.cut = len(s.base) + len(store.AppendPart(nil, c.Index))
		if s.from == "" {
			s.from, s.to = "["+low, "("+high
		}
		all = append(all, s)
	}
	return all
}

// byRanges finds items by the entries of the first condition, or, if there are too many of them,
// by the places of all items.
func (f *finding) byRanges() error {
	spans := f.spans()
	few, err := f.few(spans)
	if err != nil {
		return err
	}
	if !few {
		return f.scan("")
	}
	places, err := f.collect(spans)
	for err == nil && len(places) > 0 && len(f.found) < f.q.Limit {
		var read int
		part := places[:min(len(places), budget)]
		if read, _, _, err = f.page("", "", "", part); err == nil {
			places = places[max(read, 1):]
		}
	}
	return err
}

// few reports whether reading all entries of spans costs less than looking at the items in order,
// until there are enough.
func (f *finding) few(spans []span) (bool, error) {
	if err := f.t.ready(f.ctx); err != nil {
		return false, err
	}
	from, to := members("", f.q.Namespace)
	counts, err := f.pipe(func(pipe goredis.Pipeliner) {
		for _, s := range spans {
			pipe.ZLexCount(f.ctx, s.key, s.from, s.to)
		}
		pipe.ZLexCount(f.ctx, f.t.keys[itemsKey], from, to)
	})
	if err != nil {
		return false, err
	}
	entries, items := int64(0), int64(0)
	for i, cmd := range counts {
		if n, _ := cmd.(*goredis.IntCmd).Result(); i < len(spans) {
			entries += n
		} else {
			items = n
		}
	}
	return entries <= 1000 || entries*entries/int64(f.q.Limit) <= items, nil
}

// pipe sends commands that read, in one round trip.
func (f *finding) pipe(add func(goredis.Pipeliner)) ([]goredis.Cmder, error) {
	got := make(chan []goredis.Cmder, 1)
	_, err := f.t.asked(f.ctx, "find", func(ctx context.Context) (*reply, error) {
		cmds, err := f.t.s.server.client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
			add(pipe)
			return nil
		})
		if err == nil {
			got <- cmds
		}
		return &reply{}, err
	})
	if err != nil {
		return nil, f.t.wrap(f.ctx, "find", err)
	}
	return <-got, nil
}

// collect returns the places of entries, in order, without repetition.
func (f *finding) collect(spans []span) ([]string, error) {
	const part = 5000
	prefix := string(f.q.Namespace.Append(nil))
	var places []string
	for len(spans) > 0 {
		replies, err := f.pipe(func(pipe goredis.Pipeliner) {
			for _, s := range spans {
				pipe.ZRangeByLex(f.ctx, s.key, &goredis.ZRangeBy{Min: s.from, Max: s.to, Count: part})
			}
		})
		if err != nil {
			return nil, err
		}
		var more []span
		for i, s := range spans {
			entries, _ := replies[i].(*goredis.StringSliceCmd).Result()
			for _, member := range entries {
				at := s.base + afterPart(member[s.cut:])
				if strings.HasPrefix(at, prefix) && at > f.after {
					places = append(places, at)
				}
			}
			if len(entries) == part {
				s.from = "(" + entries[part-1]
				more = append(more, s)
			}
		}
		spans = more
	}
	slices.Sort(places)
	return slices.Compact(places), nil
}

// afterPart returns what follows the form of a part.
func afterPart(s string) string {
	_, after, _ := strings.Cut(s, "\x00\x01") // a zero byte of the part is 00 ff
	return after
}
