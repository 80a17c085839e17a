package memrows_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/internal/memrows/strict"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// TestItemsAsTheMemoryStoreHasThem makes the same calls of a store on rows and of the one in
// memory. Names and values are of few bytes, of those that keys escape.
func TestItemsAsTheMemoryStoreHasThem(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			m := &model{T: t, rand: rand.New(rand.NewPCG(seed, 1)), rows: rows.New("rows", newStore(), rows.Options{}).Store(), memory: memory.NewStore()}
			for _, b := range []store.Backend{m.rows, m.memory} {
				if _, err := b.Declare(t.Context(), store.VectorSpec{Name: "v", Model: "m", Dims: 2}); err != nil {
					t.Fatal(err)
				}
			}
			for range 12 {
				m.write(200)
				for range 40 {
					m.find()
					m.namespaces()
					m.search()
				}
				if m.rand.IntN(3) == 0 {
					m.sweep()
				}
			}
		})
	}
}

// model compares two stores.
type model struct {
	*testing.T
	rand         *rand.Rand
	rows, memory store.Backend
}

// text returns up to n bytes, or at least one.
func (m *model) text(n int) string {
	b := make([]byte, 1+m.rand.IntN(n))
	for i := range b {
		b[i] = "\x00\x01\xffab"[m.rand.IntN(5)]
	}
	return string(b)
}

func (m *model) namespace() store.Namespace {
	n := make(store.Namespace, 1+m.rand.IntN(2))
	for i := range n {
		n[i] = m.text(1)
	}
	return n
}

// value returns a value of an index, which may have no bytes.
func (m *model) value() []byte { return []byte(m.text(3)[1:]) }

// op returns an operation on one of some hundred items.
func (m *model) op() store.Op {
	op := store.Op{Kind: store.OpPut, Namespace: m.namespace(), Key: m.text(2), Value: make([]byte, m.rand.IntN(3)*1500)}
	if m.rand.IntN(4) == 0 {
		return store.Op{Kind: store.OpDelete, Namespace: op.Namespace, Key: op.Key}
	}
	for _, index := range []string{"a", "a\x00", "b"} {
		for range m.rand.IntN(3) {
			e := store.Entry{Index: index, Value: m.value()}
			if !slices.ContainsFunc(op.Index, func(o store.Entry) bool { return o.Index == e.Index && string(o.Value) == string(e.Value) }) {
				op.Index = append(op.Index, e)
			}
		}
	}
	for range m.rand.IntN(3) {
		x := float32(m.rand.IntN(4))
		op.Vectors = append(op.Vectors, store.Vector{Index: "v", Hash: [16]byte{byte(x)}, Values: []float32{x, 1}})
	}
	if m.rand.IntN(2) == 0 {
		words := []store.Word{{Word: "a", Count: 1 + m.rand.IntN(3)}, {Word: "b", Count: 1}}[m.rand.IntN(2):]
		op.Texts = []store.Text{{Index: "t", Words: words}}
	}
	switch m.rand.IntN(5) {
	case 0:
		op.ExpireAt = past
	case 1:
		op.TTL = time.Hour
	case 2:
		op.Kind, op.Value = store.OpIndex, nil
	}
	return op
}

// write runs batches of n operations in all.
func (m *model) write(n int) {
	for n > 0 {
		ops := make([]store.Op, min(n, 1+m.rand.IntN(20)))
		n -= len(ops)
		for i := range ops {
			if ops[i] = m.op(); m.rand.IntN(3) == 0 {
				ops[i] = store.Op{Kind: store.OpGet, Namespace: ops[i].Namespace, Key: ops[i].Key}
			}
		}
		got, err := m.rows.Do(m.Context(), ops)
		want, wantErr := m.memory.Do(m.Context(), ops)
		if err != nil || wantErr != nil {
			m.Fatalf("do: %v, %v", err, wantErr)
		}
		for i := range got {
			if got[i].Found != want[i].Found || ops[i].Kind == store.OpGet && string(got[i].Record.Value) != string(want[i].Record.Value) {
				m.Fatalf("%+v: got %t, want %t", ops[i], got[i].Found, want[i].Found)
			}
		}
	}
}

// ranges returns up to n ranges of values.
func (m *model) ranges(n int) (all []store.Range) {
	for range m.rand.IntN(n + 1) {
		r := store.Range{From: m.value(), To: m.value()}
		switch m.rand.IntN(4) {
		case 0:
			r.To = nil
		case 1:
			r.To = append(slices.Clone(r.From), 0) // one value
		}
		all = append(all, r)
	}
	return all
}

// query returns a query, half of them of all namespaces.
func (m *model) query() store.Query {
	q := store.Query{Limit: 1 + m.rand.IntN(20)}
	if m.rand.IntN(2) == 0 {
		q.Namespace, q.Exact = m.namespace()[:1], m.rand.IntN(2) == 0
	}
	for range m.rand.IntN(3) {
		q.Where = append(q.Where, store.Condition{Index: []string{"a", "a\x00", "b"}[m.rand.IntN(3)], Ranges: m.ranges(3)})
	}
	return q
}

// find compares the pages of a query.
func (m *model) find() {
	q := m.query()
	if m.rand.IntN(3) == 0 {
		q.After = &store.Position{Namespace: m.namespace(), Key: m.text(2)}
	}
	for {
		got, err := m.rows.Find(m.Context(), q)
		want, wantErr := m.memory.Find(m.Context(), q)
		if err != nil || wantErr != nil || !slices.EqualFunc(got, want, sameRecord) {
			m.Fatalf("find %+v: got %v, %v, want %v, %v", q, names(got), err, names(want), wantErr)
		}
		if len(got) < q.Limit {
			return
		}
		last := got[len(got)-1]
		q.After = &store.Position{Namespace: last.Namespace, Key: last.Key}
	}
}

func sameRecord(a, b store.Record) bool {
	return slices.Equal(a.Namespace, b.Namespace) && a.Key == b.Key && string(a.Value) == string(b.Value) && a.Value != nil
}

func names(all []store.Record) (names []string) {
	for i := range all {
		names = append(names, fmt.Sprintf("%q %q", all[i].Namespace, all[i].Key))
	}
	return names
}

// namespaces compares the pages of a query of namespaces.
func (m *model) namespaces() {
	q := store.NamespaceQuery{Depth: m.rand.IntN(4), Limit: m.rand.IntN(6)}
	for _, parts := range []*[]store.Part{&q.Prefix, &q.Suffix} {
		for range m.rand.IntN(3) {
			if m.rand.IntN(2) == 0 {
				*parts = append(*parts, store.Part{Any: true})
			} else {
				*parts = append(*parts, store.Part{Name: m.text(1)})
			}
		}
	}
	for {
		got, err := m.rows.Namespaces(m.Context(), q)
		want, wantErr := m.memory.Namespaces(m.Context(), q)
		if err != nil || wantErr != nil || !slices.EqualFunc(got, want, slices.Equal) {
			m.Fatalf("namespaces %+v: got %q, %v, want %q, %v", q, got, err, want, wantErr)
		}
		if q.Limit == 0 || len(got) < q.Limit {
			return
		}
		q.After = got[len(got)-1]
	}
}

// search compares searches by meaning and by words.
func (m *model) search() {
	q := m.query()
	byMeaning := store.VectorQuery{Query: q, Index: "v", Vector: []float32{1, 0.5}, Offset: m.rand.IntN(3)}
	byWords := store.TextQuery{Query: q, Index: "t", Words: []string{"a", "b", "c"}[m.rand.IntN(3):], Offset: m.rand.IntN(3)}
	got, err := m.rows.Search(m.Context(), byMeaning)
	want, wantErr := m.memory.Search(m.Context(), byMeaning)
	m.equal(fmt.Sprintf("search %+v", byMeaning), got, want, err, wantErr)
	got, err = m.rows.SearchText(m.Context(), byWords)
	want, wantErr = m.memory.SearchText(m.Context(), byWords)
	m.equal(fmt.Sprintf("search by words %+v", byWords), got, want, err, wantErr)
}

func (m *model) equal(what string, got, want []store.Hit, err, wantErr error) {
	if err != nil || wantErr != nil || !slices.EqualFunc(got, want, func(a, b store.Hit) bool { return a.Score == b.Score && sameRecord(a.Record, b.Record) }) {
		m.Fatalf("%s: got %d, %v, want %d, %v\n%v\n%v", what, len(got), err, len(want), wantErr, got, want)
	}
}

// sweep compares the number of items that expired.
func (m *model) sweep() {
	got, err := store.Sweep(m.Context(), m.rows)
	want, wantErr := store.Sweep(m.Context(), m.memory)
	if err != nil || wantErr != nil || got != want {
		m.Fatalf("sweep: got %d, %v, want %d, %v", got, err, want, wantErr)
	}
}

// later is a Store whose clock is ahead.
type later struct {
	rows.Store
	by *atomic.Int64
}

func (l later) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	all, now, err := l.Store.Read(ctx, ranges...)
	return all, now.Add(time.Duration(l.by.Load())), err
}

// TestNothingStaysOfItems writes and sweeps at the same time, and then removes all items. When
// deleted items and uses of Once are forgotten, no row may be left.
func TestNothingStaysOfItems(t *testing.T) {
	memory, ahead := memrows.New(), new(atomic.Int64)
	b := rows.New("rows", later{strict.Store{Store: memory}, ahead}, rows.Options{}).Store()
	var calls sync.WaitGroup
	for seed := range uint64(4) {
		m := &model{T: t, rand: rand.New(rand.NewPCG(seed, 2))}
		calls.Go(func() {
			for n := range 300 {
				ops := make([]store.Op, 1+m.rand.IntN(8))
				for i := range ops {
					ops[i] = m.op()
					ops[i].Namespace = ops[i].Namespace[:1]
					switch k := m.rand.IntN(6); {
					case k == 0:
						ops[i] = store.Op{Kind: store.OpGet, Namespace: ops[i].Namespace, Key: ops[i].Key, Refresh: true}
					case k == 1 && ops[i].Kind != store.OpIndex:
						ops[i].Once = m.text(2)
					}
				}
				_, err := b.Do(t.Context(), ops)
				if n%10 == 0 {
					ahead.Add(int64(20 * time.Minute))
					_, swept := b.Sweep(t.Context(), 1+m.rand.IntN(20))
					err = errors.Join(err, swept)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	found, err := b.Find(t.Context(), store.Query{Limit: store.MaxPage})
	for i := range found {
		_, failed := b.Do(t.Context(), []store.Op{{Kind: store.OpDelete, Namespace: found[i].Namespace, Key: found[i].Key}})
		err = errors.Join(err, failed)
	}
	if err != nil || len(found) == 0 || len(found) == store.MaxPage {
		t.Fatalf("got %d items, %v", len(found), err)
	}
	for range 2 { // items that expire now are forgotten later
		ahead.Add(int64(8 * 24 * time.Hour))
		if _, err := store.Sweep(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []rows.Table{rows.Items, rows.Entries} {
		left, _, err := memory.Read(t.Context(), rows.Range{Key: rows.Key{Table: table, Bytes: []byte{0}}, To: []byte{0xff}})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range left[0] {
			if row.Key[0] != 's' {
				t.Errorf("%s: %q is left", table, row.Key)
			}
		}
	}
}
