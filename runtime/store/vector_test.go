package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// length is an embedder whose vectors depend on the length of a text.
func length(_ context.Context, texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, text := range texts {
		all[i] = []float32{float32(len(text)), 1}
	}
	return all, nil
}

func textOf(f *Fact) []string { return []string{f.Text} }

func TestNearestKeepsTheBest(t *testing.T) {
	const n, limit, offset = 2000, 20, 7
	random := rand.New(rand.NewPCG(1, 2))
	q := &store.VectorQuery{Index: "x", Vector: []float32{1, 0, 0, 0, 0}, Offset: offset}
	q.Limit = limit
	nearest := store.NewNearest(q)
	best := make(map[string]float64)
	for range n {
		key := fmt.Sprint(random.IntN(n / 4)) // several vectors an item
		vector := []float32{float32(random.IntN(50)) / 50, 0, 0, 0, 0}
		score, near, err := nearest.Compare(vector)
		if err != nil {
			t.Fatal(err)
		}
		if near {
			nearest.Keep("ns", key, score)
		}
		best[key] = max(best[key], score)
	}
	var all []store.Near
	for key, score := range best {
		all = append(all, store.Near{Namespace: "ns", Key: key, Score: score})
	}
	slices.SortFunc(all, func(a, b store.Near) int {
		if a.Score != b.Score {
			return map[bool]int{true: -1, false: 1}[a.Score > b.Score]
		}
		return strings.Compare(a.Key, b.Key)
	})
	if got, want := nearest.Items(), all[offset:offset+limit]; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNearestRefusesTooMany(t *testing.T) {
	q := &store.VectorQuery{Index: "facts", Vector: []float32{1}}
	q.Limit = 1
	nearest := store.NewNearest(q)
	for range store.MaxCompared {
		if _, _, err := nearest.Compare(q.Vector); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := nearest.Compare(q.Vector)
	var many *store.TooManyError
	if !errors.As(err, &many) || many.Index != "facts" {
		t.Errorf("after %d vectors: got %v, want a *TooManyError of the index", store.MaxCompared, err)
	}
	_, _, err = store.NewNearest(q).Compare([]float32{1, 2})
	if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a vector of other dimensions: got %v, want ErrDamaged", err)
	}
}

func TestASearchOfMemoryHasABound(t *testing.T) {
	b := memory.NewStore()
	ops := make([]store.Op, 0, store.MaxOps)
	for i := range store.MaxCompared + 1 {
		ops = append(ops, store.Op{
			Kind: store.OpPut, Namespace: store.Namespace{fmt.Sprint(i % 2)}, Key: fmt.Sprint(i),
			Vectors: []store.Vector{{Index: "x", Values: []float32{1}}},
		})
		if len(ops) == cap(ops) || i == store.MaxCompared {
			if _, err := b.Do(t.Context(), ops); err != nil {
				t.Fatal(err)
			}
			ops = ops[:0]
		}
	}
	q := store.VectorQuery{Index: "x", Vector: []float32{1}}
	q.Limit = 1
	if _, err := b.Search(t.Context(), q); !errors.As(err, new(*store.TooManyError)) {
		t.Errorf("a search of all: got %v, want a *TooManyError", err)
	}
	q.Namespace = store.Namespace{"1"}
	if hits, err := b.Search(t.Context(), q); err != nil || len(hits) != 1 {
		t.Errorf("a search of one namespace: got %d items, %v, want 1", len(hits), err)
	}
}

func TestVectorIndexesThatAreRefused(t *testing.T) {
	good := store.Embedder{Model: "m", Dims: 2, Embed: length}
	for what, change := range map[string]func(e *store.Embedder) (name string){
		"no name":          func(*store.Embedder) string { return "" },
		"a long name":      func(*store.Embedder) string { return strings.Repeat("n", store.MaxIndexName+1) },
		"no model":         func(e *store.Embedder) string { e.Model = ""; return "x" },
		"a long model":     func(e *store.Embedder) string { e.Model = strings.Repeat("m", store.MaxModel+1); return "x" },
		"no dimensions":    func(e *store.Embedder) string { e.Dims = 0; return "x" },
		"many dimensions":  func(e *store.Embedder) string { e.Dims = store.MaxDims + 1; return "x" },
		"no function":      func(e *store.Embedder) string { e.Embed = nil; return "x" },
		"negative texts":   func(e *store.Embedder) string { e.MaxTexts = -1; return "x" },
		"a name that is 2": func(*store.Embedder) string { return "twice" },
	} {
		e := good
		index := store.NewVectorIndex(change(&e), e, textOf)
		twice := store.NewVectorIndex("twice", good, textOf)
		_, err := store.NewCollection[Fact](memory.NewStore(), store.Namespace{"facts"}, twice, index)
		if !errors.As(err, new(*store.InvalidError)) {
			t.Errorf("%s: got %v, want an *InvalidError", what, err)
		}
	}
}

func TestTextsAreEmbeddedInParts(t *testing.T) {
	var sizes []int
	queries := 0
	index := store.NewVectorIndex("text", store.Embedder{
		Model: "m", Dims: 2, MaxTexts: 3,
		Embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			sizes = append(sizes, len(texts))
			return length(ctx, texts)
		},
		EmbedQuery: func(context.Context, string) ([]float32, error) { queries++; return []float32{3, 1}, nil },
	}, func(f *Fact) []string { return f.Tags })
	facts, err := store.NewCollection[Fact](memory.NewStore(), store.Namespace{"facts"}, index)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := facts.Put(t.Context(), "k", Fact{Tags: []string{"a", "bb", "", "ccc", "a", "dddd"}}); err != nil {
		t.Fatal(err)
	}
	if want := []int{3, 1}; !slices.Equal(sizes, want) {
		t.Errorf("Embed got %d texts in each call, want %d", sizes, want)
	}
	found, err := facts.Search(t.Context(), index, "anything")
	if err != nil || len(found) != 1 || math.Abs(found[0].Score-1) > 1e-6 || queries != 1 || len(sizes) != 2 {
		t.Errorf("search: got %+v, %v, with %d calls of EmbedQuery; want a score of 1, by EmbedQuery", found, err, queries)
	}
}

// conflicts is a backend on which other writers are faster, a few times.
type conflicts struct {
	store.Backend
	left int
}

func (c *conflicts) Do(ctx context.Context, ops []store.Op) ([]store.Result, error) {
	if ops[0].Kind == store.OpPut && c.left > 0 {
		c.left--
		return nil, &store.ConflictError{Namespace: ops[0].Namespace, Key: ops[0].Key}
	}
	return c.Backend.Do(ctx, ops)
}

func TestUpdateEmbedsOnceWhateverOtherWritersDo(t *testing.T) {
	calls := 0
	index := store.NewVectorIndex("text", store.Embedder{
		Model: "m", Dims: 2,
		Embed: func(ctx context.Context, texts []string) ([][]float32, error) { calls++; return length(ctx, texts) },
	}, textOf)
	facts, err := store.NewCollection[Fact](&conflicts{memory.NewStore(), 3}, store.Namespace{"facts"}, index)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := facts.Update(t.Context(), "k", func(f *Fact) error { f.Text = "new"; return nil }); err != nil || calls != 1 {
		t.Errorf("update: %v, %d calls of Embed, want 1", err, calls)
	}
}

func TestReadsReturnWhatCanBeRead(t *testing.T) {
	b := memory.NewStore()
	index := store.NewVectorIndex("text", store.Embedder{Model: "m", Dims: 2, Embed: length}, textOf)
	facts, err := store.NewCollection[Fact](b, store.Namespace{"facts"}, index)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		if _, err := facts.Put(t.Context(), key, Fact{Text: "same"}); err != nil {
			t.Fatal(err)
		}
	}
	damaged := store.Op{Kind: store.OpPut, Namespace: store.Namespace{"facts"}, Key: "b", Value: []byte{0xc1}}
	damaged.Vectors = []store.Vector{{Index: "text", Values: []float32{1, 0}}}
	if _, err := b.Do(t.Context(), []store.Op{damaged}); err != nil {
		t.Fatal(err)
	}
	many, err := facts.GetMany(t.Context(), []string{"a", "b", "c", "d"})
	var bad *store.ValueError
	if !errors.As(err, &bad) || bad.Key != "b" || len(many) != 2 || many["a"].Value.Text != "same" || many["c"].Value.Text != "same" {
		t.Errorf("GetMany: got %+v, %v, want a and c, and a *ValueError of b", many, err)
	}
	found, err := facts.Search(t.Context(), index, "same")
	if !errors.As(err, &bad) || bad.Key != "b" || len(found) != 2 || found[0].Key != "a" || found[1].Key != "c" {
		t.Errorf("got %+v, %v, want a and c, and a *ValueError of b", found, err)
	}
}
