package redis

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// vectorBytes returns vectors as lua/store.lua has them.
func vectorBytes(vectors []store.Vector) string {
	var b []byte
	for i := range vectors {
		v := &vectors[i]
		b = append(b, v.Hash[:]...)
		b = append(append(b, byte(len(v.Index))), v.Index...)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(v.Values)))
		for _, x := range v.Values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return string(b)
}

// eachVector calls f for each vector that vectorBytes has written. values is valid during f.
func eachVector(b string, f func(hash, index string, values []float32) error) error {
	var values []float32
	for len(b) > 0 {
		hash, rest, ok := cut(b, 16)
		index, rest, ok := cutPrefixed(rest, 1, ok)
		numbers, rest, ok := cutPrefixed(rest, 2, ok)
		if !ok {
			return fmt.Errorf("the vectors of an item: %w: %d bytes", store.ErrDamaged, len(b))
		}
		values = values[:0]
		for ; numbers != ""; numbers = numbers[4:] {
			bits := uint32(numbers[0]) | uint32(numbers[1])<<8 | uint32(numbers[2])<<16 | uint32(numbers[3])<<24
			values = append(values, math.Float32frombits(bits))
		}
		if err := f(hash, index, values); err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// cut cuts the first n bytes off b. ok is false if b is shorter.
func cut(b string, n int) (part, rest string, ok bool) {
	if len(b) < n {
		return "", "", false
	}
	return b[:n], b[n:], true
}

// cutPrefixed cuts a part with its length before it: a byte, or two bytes that count float32.
func cutPrefixed(b string, size int, ok bool) (part, rest string, cutOK bool) {
	head, b, found := cut(b, size)
	if !ok || !found {
		return "", "", false
	}
	n := int(head[0])
	if size == 2 {
		n = 4 * (n | int(head[1])<<8)
	}
	return cut(b, n)
}

// vectors reads the result of OpVectors, after its first two values.
func (r *reply) vectors(op *store.Op) (store.Result, error) {
	record := store.Record{Namespace: slices.Clone(op.Namespace), Key: op.Key, Version: r.number()}
	_, _, _ = r.time(), r.time(), r.time()
	err := eachVector(r.text(), func(hash, index string, values []float32) error {
		v := store.Vector{Index: index, Values: slices.Clone(values)}
		copy(v.Hash[:], hash)
		record.Vectors = append(record.Vectors, v)
		return nil
	})
	return store.Result{Record: record, Found: len(record.Vectors) > 0}, errors.Join(err, r.err)
}

// Declare makes a vector index, unless it exists.
func (t *itemStore) Declare(ctx context.Context, spec store.VectorSpec) (store.VectorSpec, error) {
	if err := spec.Check(); err != nil {
		return store.VectorSpec{}, err
	}
	r, err := t.call(ctx, "declare", t.s.script.storeDeclare, false, []any{spec.Name, strconv.Itoa(spec.Dims) + " " + spec.Model})
	if err != nil {
		return store.VectorSpec{}, err
	}
	dims, model, _ := strings.Cut(strings.TrimPrefix(r.text(), "v"), " ")
	stored := store.VectorSpec{Name: spec.Name, Model: model}
	if stored.Dims, err = strconv.Atoi(dims); err != nil || r.err != nil {
		return store.VectorSpec{}, fmt.Errorf("redis: declare: vector index %q: %w: %w", spec.Name, store.ErrDamaged, errors.Join(err, r.err))
	}
	return stored, nil
}

// tries is how often a search starts again because other writers have changed what it found.
const tries = 5

// Search asks the vector set of the index. If that returns too few items, Search reads all vectors
// by several scripts, and compares them.
func (t *itemStore) Search(ctx context.Context, q store.VectorQuery) ([]store.Hit, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	return t.hits(ctx, func(versions map[string]int64) ([]store.Near, error) {
		found, err := t.bySet(ctx, &q, versions)
		if err == nil && len(found) < q.Limit {
			found, err = t.compared(ctx, &q, versions)
		}
		return found, err
	})
}

// hits calls search, which finds items by several scripts, and reads these items by one script.
// search keeps the versions of items by place. If one has changed meanwhile, hits starts again.
// The last try leaves out items that have changed.
func (t *itemStore) hits(
	ctx context.Context, search func(versions map[string]int64) ([]store.Near, error),
) ([]store.Hit, error) {
	for try := 1; ; try++ {
		versions := make(map[string]int64)
		found, err := search(versions)
		if err != nil {
			return nil, err
		}
		hits, err := t.unchanged(ctx, found, versions)
		if err != nil || len(hits) == len(found) || try == tries {
			return hits, err
		}
	}
}

// unchanged reads the items that still have the versions.
func (t *itemStore) unchanged(ctx context.Context, found []store.Near, versions map[string]int64) (hits []store.Hit, err error) {
	ops := make([]store.Op, len(found))
	for i, near := range found {
		ns, err := store.ParseNamespace([]byte(near.Namespace))
		if err != nil {
			return nil, t.wrap(ctx, "search", err)
		}
		ops[i] = store.Op{Kind: store.OpGet, Namespace: ns, Key: near.Key}
	}
	if len(ops) == 0 {
		return nil, nil
	}
	results, err := t.Do(ctx, ops)
	if err != nil {
		return nil, err
	}
	for i, near := range found {
		if results[i].Found && results[i].Record.Version == versions[near.Namespace+"\x00\x00"+near.Key] {
			hits = append(hits, store.Hit{Record: results[i].Record, Score: near.Score})
		}
	}
	return hits, nil
}

// compared compares the vectors of all items that q selects.
func (t *itemStore) compared(ctx context.Context, q *store.VectorQuery, versions map[string]int64) ([]store.Near, error) {
	nearest := store.NewNearest(q)
	all := q.Query
	all.Limit = store.MaxCompared + 1
	f := finding{t: t, ctx: ctx, q: &all, where: conditions(q.Where), reads: "v"}
	f.hit = func(at string, version int64, vectors string) error {
		return eachVector(vectors, func(_, index string, values []float32) error {
			if index != q.Index {
				return nil
			}
			score, near, err := nearest.Compare(values)
			if near {
				ns, key, _ := strings.Cut(at, "\x00\x00")
				nearest.Keep(ns, key, score)
				versions[at] = version
			}
			return err
		})
	}
	err := f.run()
	return nearest.Items(), err
}

// bySet asks the vector set. It returns fewer items than the limit if there is no set, if a filter
// has a range, or if the set has no more. Elements of one item, and equal scores, make it ask for
// more elements.
func (t *itemStore) bySet(ctx context.Context, q *store.VectorQuery, versions map[string]int64) ([]store.Near, error) {
	filter, ok := setFilter(&q.Query)
	if !ok {
		return nil, nil
	}
	var vector []byte
	for _, x := range q.Vector {
		vector = binary.LittleEndian.AppendUint32(vector, math.Float32bits(x))
	}
	need := q.Offset + q.Limit
	for count := need + 1; ; count *= 4 {
		r, err := t.call(ctx, "search", t.s.script.storeNear, false, []any{q.Index, vector, filter, count})
		if err != nil || r.text() != "1" {
			return nil, err
		}
		elements, nearest := r.int(), store.NewNearest(q)
		seen, least, last := make(map[string]bool), 0.0, 0.0
		for r.more() {
			at, version := r.text(), r.number()
			last, err = strconv.ParseFloat(r.text(), 64)
			r.check(err)
			if ns, key, _ := strings.Cut(at, "\x00\x00"); !seen[at] {
				seen[at], versions[at] = true, version
				nearest.Keep(ns, key, 2*last-1) // VSIM has (1 + cosine) / 2
			}
			if len(seen) == need {
				least = last
			}
		}
		if r.err != nil || elements < count || len(seen) > need && last < least {
			return nearest.Items(), t.wrap(ctx, "search", r.err)
		}
	}
}

// setFilter returns the filter of a vector set for a query. It reports false if there is none: it
// has no ranges.
func setFilter(q *store.Query) (filter string, ok bool) {
	quoted := func(s string) string { return `"` + hex.EncodeToString([]byte(s)) + `"` }
	var all []string
	switch ns := string(q.Namespace.Append(nil)); {
	case q.Exact:
		all = append(all, ".x == "+quoted(ns))
	case ns != "":
		all = append(all, quoted(ns)+" in .n")
	}
	for _, c := range q.Where {
		var one []string
		for _, r := range c.Ranges {
			if !exactly(r) {
				return "", false
			}
			one = append(one, quoted(form(c.Index, r.From, false))+" in .e")
		}
		if len(one) == 0 {
			return "", false
		}
		all = append(all, "("+strings.Join(one, " or ")+")")
	}
	return strings.Join(all, " and "), true
}
