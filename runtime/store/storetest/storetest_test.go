package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/storetest"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// recorder is a testing.TB that records failures instead of failing.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Cleanup(f func())  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Helper()           {}

// failuresOf runs one case of the suite and returns its failures.
func failuresOf(t *testing.T, name string, b store.Backend) []string {
	t.Helper()
	i := slices.IndexFunc(storetest.Cases(), func(c storetest.Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the suite has no case %q", name)
	}
	r := &recorder{TB: t}
	var done sync.WaitGroup
	done.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
			for _, f := range slices.Backward(r.cleanups) {
				f()
			}
		}()
		storetest.Cases()[i].Test(r, storetest.Storage{Notifies: true, Open: func() (store.Backend, error) { return b, nil }})
	})
	done.Wait()
	return r.failures
}

// broken is a backend that breaks one rule. Each function that is not nil replaces the method of
// that name, or changes the arguments of each operation.
type broken struct {
	store.Backend
	op         func(op *store.Op)
	result     func(op *store.Op, r *store.Result)
	do         func(ctx context.Context, b store.Backend, ops []store.Op) ([]store.Result, error)
	query      func(q *store.Query)
	find       func(ctx context.Context, b store.Backend, q store.Query) ([]store.Record, error)
	pattern    func(q *store.NamespaceQuery)
	namespaces func(ctx context.Context, b store.Backend, q store.NamespaceQuery) ([]store.Namespace, error)
	declare    func(ctx context.Context, b store.Backend, spec store.VectorSpec) (store.VectorSpec, error)
	search     func(ctx context.Context, b store.Backend, q store.VectorQuery) ([]store.Hit, error)
	searchText func(ctx context.Context, b store.Backend, q store.TextQuery) ([]store.Hit, error)
	sweep      func(ctx context.Context, b store.Backend, limit int) (int, error)
	closes     func() error
	notify     func(ctx context.Context, n store.Namespace, changed func()) (stop func(), err error)
}

func (b *broken) Do(ctx context.Context, ops []store.Op) ([]store.Result, error) {
	if b.do != nil {
		return b.do(ctx, b.Backend, ops)
	}
	given := ops
	if b.op != nil {
		ops = slices.Clone(ops)
		for i := range ops {
			b.op(&ops[i])
		}
	}
	results, err := b.Backend.Do(ctx, ops)
	for i := range results {
		results[i].Record.Namespace, results[i].Record.Key = given[i].Namespace, given[i].Key
		if b.result != nil {
			b.result(&ops[i], &results[i])
		}
	}
	return results, err
}

func (b *broken) Find(ctx context.Context, q store.Query) ([]store.Record, error) {
	if b.query != nil {
		b.query(&q)
	}
	if b.find != nil {
		return b.find(ctx, b.Backend, q)
	}
	return b.Backend.Find(ctx, q)
}

func (b *broken) Namespaces(ctx context.Context, q store.NamespaceQuery) ([]store.Namespace, error) {
	if b.pattern != nil {
		b.pattern(&q)
	}
	if b.namespaces != nil {
		return b.namespaces(ctx, b.Backend, q)
	}
	return b.Backend.Namespaces(ctx, q)
}

func (b *broken) Declare(ctx context.Context, spec store.VectorSpec) (store.VectorSpec, error) {
	if b.declare != nil {
		return b.declare(ctx, b.Backend, spec)
	}
	return b.Backend.Declare(ctx, spec)
}

func (b *broken) Search(ctx context.Context, q store.VectorQuery) ([]store.Hit, error) {
	if b.search != nil {
		return b.search(ctx, b.Backend, q)
	}
	return b.Backend.Search(ctx, q)
}

func (b *broken) SearchText(ctx context.Context, q store.TextQuery) ([]store.Hit, error) {
	if b.searchText != nil {
		return b.searchText(ctx, b.Backend, q)
	}
	return b.Backend.SearchText(ctx, q)
}

func (b *broken) Sweep(ctx context.Context, limit int) (int, error) {
	if b.sweep != nil {
		return b.sweep(ctx, b.Backend, limit)
	}
	return b.Backend.Sweep(ctx, limit)
}

func (b *broken) Notify(ctx context.Context, n store.Namespace, changed func()) (stop func(), err error) {
	if b.notify != nil {
		return b.notify(ctx, n, changed)
	}
	return b.Backend.(store.Notifier).Notify(ctx, n, changed)
}

func (b *broken) Close() error {
	if b.closes != nil {
		return b.closes()
	}
	return b.Backend.Close()
}

// onEach returns a Do that runs each operation by a call of its own.
func onEach(ctx context.Context, b store.Backend, ops []store.Op) (all []store.Result, err error) {
	if err := store.CheckOps(ops); err != nil {
		return nil, err
	}
	for i := range ops {
		results, err := b.Do(ctx, ops[i:i+1])
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	return all, nil
}

// forgets returns a Do that acknowledges every fifth call with puts, but does not store it.
func forgets() func(ctx context.Context, b store.Backend, ops []store.Op) ([]store.Result, error) {
	var calls atomic.Int64
	return func(ctx context.Context, b store.Backend, ops []store.Op) ([]store.Result, error) {
		if len(ops) == 0 || ops[0].Kind != store.OpPut || calls.Add(1)%5 != 0 {
			return b.Do(ctx, ops)
		}
		return make([]store.Result, len(ops)), nil
	}
}

// tears returns a Do that stores only the first put of each call after the first one.
func tears() func(ctx context.Context, b store.Backend, ops []store.Op) ([]store.Result, error) {
	var calls atomic.Int64
	return func(ctx context.Context, b store.Backend, ops []store.Op) ([]store.Result, error) {
		if len(ops) == 0 || ops[0].Kind != store.OpPut || calls.Add(1) == 1 {
			return b.Do(ctx, ops)
		}
		_, err := b.Do(ctx, ops[:1])
		return make([]store.Result, len(ops)), err
	}
}

// faults has a broken backend for each case that one can break from outside. A key is the name of
// a case, or the name, a colon and the fault.
func faults() map[string]*broken {
	joined := func(op *store.Op) {
		if len(op.Namespace) > 0 {
			op.Namespace = store.Namespace{strings.Join(op.Namespace, "/")}
		}
	}
	var mu sync.Mutex
	kept := make(map[string][]byte)
	all := vectorFaults()
	maps.Copy(all, textFaults())
	maps.Copy(all, moreFaults())
	maps.Copy(all, map[string]*broken{
		"a put is read": {result: func(_ *store.Op, r *store.Result) { r.Record.Created = time.Time{} }},
		"an empty value is a value": {result: func(_ *store.Op, r *store.Result) {
			if len(r.Record.Value) == 0 {
				r.Record.Value = nil
			}
		}},
		"a put replaces and keeps the creation time": {result: func(_ *store.Op, r *store.Result) { r.Found = false }},
		"a delete removes": {op: func(op *store.Op) {
			if op.Kind == store.OpDelete {
				op.Kind, op.Value = store.OpPut, nil
			}
		}},
		"versions grow, also after a delete": {result: func(_ *store.Op, r *store.Result) { r.Record.Version = 1 }},
		"versions grow under concurrent creates and deletes": {result: func(op *store.Op, r *store.Result) {
			if op.Kind == store.OpPut {
				r.Record.Version = 1 << 40 / max(r.Record.Version&1023, 1)
			}
		}},
		"a put under a version":    {op: func(op *store.Op) { op.IfVersion = 0 }},
		"a put of an absent item":  {op: func(op *store.Op) { op.IfAbsent = false }},
		"a delete under a version": {op: func(op *store.Op) { op.IfVersion = 0 }},
		"namespaces are apart":     {op: joined},
		"hostile names": {op: func(op *store.Op) {
			op.Key = strings.TrimRight(op.Key, " ")
			if op.Key == "" {
				op.Key = "none"
			}
		}},
		"names beyond the limits are refused": {op: func(op *store.Op) { op.Key = op.Key[:min(len(op.Key), store.MaxKey)] }},
		"large values":                        {op: func(op *store.Op) { op.Value = op.Value[:min(len(op.Value), 65535)] }},
		"a batch runs in order": {do: func(ctx context.Context, b store.Backend, ops []store.Op) ([]store.Result, error) {
			all := make([]store.Result, len(ops))
			for _, reads := range []bool{true, false} {
				for i := range ops {
					if (ops[i].Kind == store.OpGet) == reads {
						results, err := b.Do(ctx, ops[i:i+1])
						if err != nil {
							return nil, err
						}
						all[i] = results[0]
					}
				}
			}
			return all, nil
		}},
		"a batch is whole or not at all":     {do: onEach},
		"a batch is atomic under 50 writers": {do: tears()},
		"a failed batch does not use a key":  {do: onEach},
		"one of many conditional puts wins":  {do: forgets()},
		"a batch has the item as it was for a get": {do: func(ctx context.Context, b store.Backend, ops []store.Op) ([]store.Result, error) {
			results, err := b.Do(ctx, ops)
			slices.Reverse(results)
			return results, err
		}},
		"a write once is a no-op the second time": {op: func(op *store.Op) { op.Once = "" }},
		"a write once belongs to its item": {do: func(ctx context.Context, b store.Backend, ops []store.Op) ([]store.Result, error) {
			results, err := b.Do(ctx, ops)
			seen := make(map[string]bool)
			for i := range results {
				results[i].Repeated = ops[i].Once != "" && seen[ops[i].Once]
				seen[ops[i].Once] = true
			}
			return results, err
		}},
		"a delete once":               {op: func(op *store.Op) { op.Once = "" }},
		"a list is in order":          {find: reversed},
		"a list has pages":            {query: func(q *store.Query) { q.Limit = max(q.Limit-1, 1) }},
		"a list of a namespace alone": {query: func(q *store.Query) { q.Exact = false }},
		"a filter finds by ranges": {query: func(q *store.Query) {
			for _, c := range q.Where {
				for i := range c.Ranges {
					c.Ranges[i].To = nil
				}
			}
		}},
		"a filter finds by several fields":       {query: func(q *store.Query) { q.Where = q.Where[:min(len(q.Where), 1)] }},
		"a filter finds in the namespaces below": {query: func(q *store.Query) { q.Exact = len(q.Namespace) > 0 }},
		"a filter has pages":                     {find: reversed},
		"index entries follow their item": {op: func(op *store.Op) {
			if op.Kind == store.OpPut && len(op.Index) == 0 {
				op.Index = []store.Entry{{Index: "kind", Value: []byte("old")}}
			}
		}},
		"an index is written again": {op: func(op *store.Op) {
			if op.Kind == store.OpIndex {
				op.Kind = store.OpPut
			}
		}},
		"namespaces are listed by prefix, suffix, wildcard and depth": {pattern: func(q *store.NamespaceQuery) {
			q.Prefix = slices.Clone(q.Prefix)
			for i, part := range q.Prefix {
				if part.Name == "*" {
					q.Prefix[i] = store.Part{Any: true}
				}
			}
		}},
		"a list of namespaces has pages":                     {pattern: func(q *store.NamespaceQuery) { q.After = nil; q.Limit++ }},
		"an expired item is never returned":                  {op: func(op *store.Op) { op.ExpireAt = time.Time{} }},
		"searches leave out expired items before they count": {op: func(op *store.Op) { op.ExpireAt = time.Time{} }},
		"an item expires on the clock of the server":         {op: func(op *store.Op) { op.TTL *= 2 }},
		"a read refreshes the time to live": {result: func(op *store.Op, r *store.Result) {
			if op.Refresh {
				r.Record.Version++
			}
		}},
		"a put sets or keeps the lifetime": {op: func(op *store.Op) { op.KeepExpiry = false }},
		"sweep removes expired items only": {sweep: func(ctx context.Context, b store.Backend, _ int) (int, error) { return b.Sweep(ctx, 500) }},
		"a watch sees all changes":         {find: backwards()},
		"a watch is bounded, and ends": {find: func(context.Context, store.Backend, store.Query) ([]store.Record, error) {
			return nil, errors.New("no items")
		}},
		"a watch is notified": {notify: func(context.Context, store.Namespace, func()) (func(), error) {
			return nil, errors.New("no notifications")
		}},
		"a cancelled context": {do: func(ctx context.Context, b store.Backend, ops []store.Op) ([]store.Result, error) {
			return b.Do(context.WithoutCancel(ctx), ops)
		}},
		"use after close": {closes: func() error { return nil }},
		"what was returned does not change": {result: func(op *store.Op, r *store.Result) {
			mu.Lock()
			defer mu.Unlock()
			if op.Kind == store.OpGet && r.Found {
				buffer := kept[op.Key]
				buffer = append(buffer[:0], r.Record.Value...)
				kept[op.Key], r.Record.Value = buffer, buffer
			}
			if op.Kind == store.OpPut && len(kept[op.Key]) > 0 {
				copy(kept[op.Key], "reused")
			}
		}},
	})
	return all
}

// backwards returns a Find whose versions become smaller.
func backwards() func(ctx context.Context, b store.Backend, q store.Query) ([]store.Record, error) {
	var calls atomic.Int64
	return func(ctx context.Context, b store.Backend, q store.Query) ([]store.Record, error) {
		page, err := b.Find(ctx, q)
		for i := range page {
			page[i].Version -= calls.Add(1)
		}
		return page, err
	}
}

// reversed is a Find with the items of each page in the wrong order.
func reversed(ctx context.Context, b store.Backend, q store.Query) ([]store.Record, error) {
	page, err := b.Find(ctx, q)
	slices.Reverse(page)
	return page, err
}

func TestBrokenBackendsFail(t *testing.T) {
	all := faults()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			b := all[name]
			b.Backend = memory.NewStore()
			ofCase, _, _ := strings.Cut(name, ": ")
			if got := failuresOf(t, ofCase, b); len(got) == 0 {
				t.Error("the case passes, want a failure")
			}
		})
	}
}

// TestEveryCaseHasABrokenBackend names the cases that need a place for two backends; the tests of
// backends on files and servers run them.
func TestEveryCaseHasABrokenBackend(t *testing.T) {
	shared := map[string]bool{"a new backend finds all of it": true, "two backends share one place": true}
	all := faults()
	for _, c := range storetest.Cases() {
		if all[c.Name] == nil && !shared[c.Name] {
			t.Errorf("no broken backend fails %q", c.Name)
		}
	}
}

func TestBackendsThatShareNothingFail(t *testing.T) {
	place := storetest.Storage{Shared: true, Open: func() (store.Backend, error) { return memory.NewStore(), nil }}
	for _, c := range storetest.Cases() {
		if c.Name != "a new backend finds all of it" && c.Name != "two backends share one place" {
			continue
		}
		r := &recorder{TB: t}
		var done sync.WaitGroup
		done.Go(func() { c.Test(r, place) })
		done.Wait()
		if len(r.failures) == 0 {
			t.Errorf("%s: the case passes, want a failure", c.Name)
		}
	}
}
