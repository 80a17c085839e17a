package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// moreFaults has further broken backends for cases that test several promises.
func moreFaults() map[string]*broken {
	searches := func(change func(where []store.Condition) []store.Condition) (search, words *broken) {
		search = &broken{search: func(ctx context.Context, b store.Backend, q store.VectorQuery) ([]store.Hit, error) {
			q.Where = change(slices.Clone(q.Where))
			return b.Search(ctx, q)
		}}
		words = &broken{searchText: func(ctx context.Context, b store.Backend, q store.TextQuery) ([]store.Hit, error) {
			q.Where = change(slices.Clone(q.Where))
			return b.SearchText(ctx, q)
		}}
		return search, words
	}
	all := map[string]*broken{
		"a put replaces and keeps the creation time: each put shifts it": {result: func(_ *store.Op, r *store.Result) {
			r.Record.Created = r.Record.Created.Add(time.Duration(r.Record.Version%7) * time.Microsecond)
		}},
		"a cancelled context: in searches by meaning": {search: func(ctx context.Context, b store.Backend, q store.VectorQuery) ([]store.Hit, error) {
			return b.Search(context.WithoutCancel(ctx), q)
		}},
		"a cancelled context: in searches by words": {searchText: func(ctx context.Context, b store.Backend, q store.TextQuery) ([]store.Hit, error) {
			return b.SearchText(context.WithoutCancel(ctx), q)
		}},
		"a cancelled context: in declarations": {declare: func(ctx context.Context, b store.Backend, spec store.VectorSpec) (store.VectorSpec, error) {
			return b.Declare(context.WithoutCancel(ctx), spec)
		}},
		"a cancelled context: in notifications": {notify: func(context.Context, store.Namespace, func()) (func(), error) {
			return func() {}, nil
		}},
		"use after close: of searches by meaning": {search: func(ctx context.Context, b store.Backend, q store.VectorQuery) ([]store.Hit, error) {
			return nil, ctx.Err()
		}},
	}
	const name = "searches by meaning and by words with every filter"
	for fault, change := range map[string]func(where []store.Condition) []store.Condition{
		"the first condition alone": func(where []store.Condition) []store.Condition { return where[:min(len(where), 1)] },
		"the first range alone": func(where []store.Condition) []store.Condition {
			for i := range where {
				where[i].Ranges = where[i].Ranges[:min(len(where[i].Ranges), 1)]
			}
			return where
		},
		"ranges without an end": func(where []store.Condition) []store.Condition {
			for i := range where {
				where[i].Ranges = slices.Clone(where[i].Ranges)
				for j := range where[i].Ranges {
					where[i].Ranges[j].To = nil
				}
			}
			return where
		},
	} {
		all[name+": "+fault+", by meaning"], all[name+": "+fault+", by words"] = searches(change)
	}
	all[name], _ = searches(func([]store.Condition) []store.Condition { return nil })
	return all
}
