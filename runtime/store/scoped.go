package store

import (
	"context"
	"fmt"
	"slices"
)

// Scoped returns a backend that confines every call to a namespace. The namespace depends on the
// context: for example a label of the node's thread, or the user of a request. All namespaces of
// arguments and results are relative to it. So no namespace, key, filter or pattern reaches the
// items of another scope.
//
//	mine := store.Scoped(backend, func(ctx context.Context) (store.Namespace, error) {
//		user, err := graph.ThreadLabel(ctx, "user") // an error if the thread has no such label
//		return store.Namespace{"users", user}, err
//	})
//
// An error of scope, and a namespace without parts, fail the call. Sweep removes expired items of
// all scopes. Close does nothing: the caller closes the inner backend. The result is a [Notifier]
// if b is one.
func Scoped(b Backend, scope func(ctx context.Context) (Namespace, error)) Backend {
	s := &scoped{b, scope}
	if inner, can := b.(Notifier); can {
		return &scopedNotifier{s, inner}
	}
	return s
}

type scoped struct {
	inner Backend
	scope func(ctx context.Context) (Namespace, error)
}

// at returns the namespace of the scope. refused is the fault of a call's arguments, or nil.
func (s *scoped) at(ctx context.Context, refused error) (Namespace, error) {
	if refused != nil {
		return nil, refused
	}
	n, err := s.scope(ctx)
	if err == nil {
		err = n.check("scope", false)
	}
	if err != nil {
		return nil, fmt.Errorf("store: scope: %w", err)
	}
	return n, nil
}

// Do runs the operations in the scope.
func (s *scoped) Do(ctx context.Context, ops []Op) ([]Result, error) {
	at, err := s.at(ctx, CheckOps(ops))
	if err != nil {
		return nil, err
	}
	ops = slices.Clone(ops)
	for i := range ops {
		ops[i].Namespace = at.Below(ops[i].Namespace...)
	}
	results, err := s.inner.Do(ctx, ops)
	for i := range results {
		results[i].Record.Namespace = within(at, results[i].Record.Namespace)
	}
	return results, unscoped(at, err)
}

// Find returns items of the scope.
func (s *scoped) Find(ctx context.Context, q Query) ([]Record, error) {
	at, err := s.at(ctx, q.Check())
	if err != nil {
		return nil, err
	}
	q.Namespace = at.Below(q.Namespace...)
	if q.After != nil {
		q.After = &Position{at.Below(q.After.Namespace...), q.After.Key}
	}
	records, err := s.inner.Find(ctx, q)
	for i := range records {
		records[i].Namespace = within(at, records[i].Namespace)
	}
	return records, err
}

// Namespaces returns namespaces of the scope.
func (s *scoped) Namespaces(ctx context.Context, q NamespaceQuery) ([]Namespace, error) {
	at, err := s.at(ctx, q.Check())
	if err != nil {
		return nil, err
	}
	prefix := make([]Part, 0, len(at)+max(len(q.Prefix), len(q.Suffix)))
	for _, name := range at {
		prefix = append(prefix, Part{Name: name})
	}
	prefix = append(prefix, q.Prefix...)
	for len(prefix) < len(at)+len(q.Suffix) { // a suffix never matches a part of the scope
		prefix = append(prefix, Part{Any: true})
	}
	q.Prefix = prefix
	if q.Depth > 0 {
		q.Depth += len(at)
	}
	q.After = at.Below(q.After...)
	names, err := s.inner.Namespaces(ctx, q)
	for i := range names {
		names[i] = within(at, names[i])
	}
	return names, err
}

// Declare makes a vector index, which all scopes share.
func (s *scoped) Declare(ctx context.Context, spec VectorSpec) (VectorSpec, error) {
	return s.inner.Declare(ctx, spec)
}

// Search returns items of the scope.
func (s *scoped) Search(ctx context.Context, q VectorQuery) ([]Hit, error) {
	at, err := s.at(ctx, q.Check())
	if err != nil {
		return nil, err
	}
	q.Namespace = at.Below(q.Namespace...)
	hits, err := s.inner.Search(ctx, q)
	return relative(at, hits), err
}

// SearchText returns items of the scope.
func (s *scoped) SearchText(ctx context.Context, q TextQuery) ([]Hit, error) {
	at, err := s.at(ctx, q.Check())
	if err != nil {
		return nil, err
	}
	q.Namespace = at.Below(q.Namespace...)
	hits, err := s.inner.SearchText(ctx, q)
	return relative(at, hits), err
}

// relative makes the namespaces of hits relative to the scope.
func relative(at Namespace, hits []Hit) []Hit {
	for i := range hits {
		hits[i].Namespace = within(at, hits[i].Namespace)
	}
	return hits
}

// Sweep removes expired items of all scopes.
func (s *scoped) Sweep(ctx context.Context, limit int) (int, error) { return s.inner.Sweep(ctx, limit) }

// Close does nothing.
func (s *scoped) Close() error { return nil }

// scopedNotifier is a scope of a backend that is a Notifier.
type scopedNotifier struct {
	*scoped
	inner Notifier
}

// Notify calls changed after writes in the scope.
func (s *scopedNotifier) Notify(ctx context.Context, n Namespace, changed func()) (stop func(), err error) {
	at, err := s.at(ctx, nil)
	if err != nil {
		return nil, err
	}
	return s.inner.Notify(ctx, at.Below(n...), changed)
}

// within returns a namespace relative to the scope.
func within(at, n Namespace) Namespace {
	if !at.Contains(n) {
		return n
	}
	return n[len(at):]
}

// unscoped returns a conflict with its namespace relative to the scope.
func unscoped(at Namespace, err error) error {
	if c, ok := err.(*ConflictError); ok { //nolint:errorlint // a wrapped one keeps its text
		return &ConflictError{within(at, c.Namespace), c.Key, c.Want, c.Found}
	}
	return err
}
