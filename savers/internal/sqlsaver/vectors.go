package sqlsaver

import (
	"context"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// VectorSearch is how a server searches a vector index by an index of its own.
type VectorSearch struct {
	// Settings returns statements for the transaction, before a search for a number of rows.
	Settings func(rows int) []string
	// Text finds the keys of the nearest rows. It binds the first key, the end of the keys, the
	// vector and the limit.
	Text string
}

// vectorStore is a lockStore of a server that has indexes of vectors.
type vectorStore struct {
	lockStore
	searches *sync.Map // by name of the vector index: *VectorSearch
}

var _ rows.Searcher = vectorStore{}

// IndexVectors makes the index of the server for a vector index.
func (r vectorStore) IndexVectors(ctx context.Context, spec store.VectorSpec) error {
	var search *VectorSearch
	err := r.s.write(ctx, RolledBack, func(tx Tx) (err error) {
		search, err = r.s.d.IndexVectors(ctx, tx, spec)
		return err
	})
	if err == nil && search != nil {
		r.searches.Store(spec.Name, search)
	}
	return r.s.explain(ctx, err)
}

// Nearest finds rows by the index of the server.
func (r vectorStore) Nearest(ctx context.Context, index string, v []float32, in rows.Range, n int) (keys [][]byte, ok bool, err error) {
	found, ok := r.searches.Load(index)
	if !ok {
		return nil, false, nil
	}
	search := found.(*VectorSearch)
	err = r.s.read(ctx, func(tx Tx) error {
		keys = nil
		for _, setting := range search.Settings(n) {
			if err := tx.Later(ctx, nil, setting); err != nil {
				return err
			}
		}
		found, err := tx.Query(ctx, search.Text, in.Bytes, in.To, v, int64(n))
		if err != nil {
			return err
		}
		return each(found, func(r Rows) error {
			var key []byte
			err := r.Scan(&key)
			keys = append(keys, key)
			return err
		})
	})
	return keys, true, r.s.explain(ctx, err)
}
