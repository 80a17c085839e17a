package store_test

import (
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestIndexesWithoutAFunctionAreRefused(t *testing.T) {
	good := store.Embedder{Model: "m", Dims: 2, Embed: length}
	for what, option := range map[string]store.CollectionOption[Fact]{
		"NewIndex":         store.NewIndex[Fact, string]("x", nil),
		"NewListIndex":     store.NewListIndex[Fact, string]("x", nil),
		"NewVectorIndex":   store.NewVectorIndex[Fact]("x", good, nil),
		"NewTextIndex":     store.NewTextIndex[Fact]("x", nil),
		"no option":        nil,
		"no Index":         (*store.Index[Fact, int])(nil),
		"no VectorIndex":   (*store.VectorIndex[Fact])(nil),
		"no TextIndex":     (*store.TextIndex[Fact])(nil),
		"a DefaultTTL < 0": store.DefaultTTL[Fact](-1),
	} {
		_, err := store.NewCollection[Fact](memory.NewStore(), store.Namespace{"facts"}, option)
		if !errors.As(err, new(*store.InvalidError)) {
			t.Errorf("%s: got %v, want an *InvalidError", what, err)
		}
	}
}
