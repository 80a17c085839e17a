package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Selection is the items of a collection that match filters.
type Selection[T any] struct {
	c     *Collection[T]
	where []Condition
	err   error
}

// Filter returns the items of c, and of the namespaces below it, for which all filters hold. The
// filters are made by the indexes of c. A filter of another index is an [*InvalidError] of the
// calls on the result.
func (c *Collection[T]) Filter(filters ...Filter[T]) *Selection[T] {
	s := &Selection[T]{c: c}
	for _, f := range filters {
		if !c.core.has(f.index) {
			s.err = &InvalidError{
				"filter", fmt.Sprintf("the index %q, which is not one of the collection", f.where.Index),
				"an index that NewCollection got",
			}
		}
		s.where = append(s.where, f.where)
	}
	return s
}

// has reports whether an index is one of the collection.
func (c *core[T]) has(self any) bool {
	return slices.ContainsFunc(c.indexes, func(i index[T]) bool { return i.self == self })
}

// ListOption is an option of lists: [Limit], [After] and [Exact].
type ListOption interface{ list(l *listing) }

// FindOption is an option of lists and of searches.
type FindOption interface {
	ListOption
	SearchOption
}

type listing struct {
	query Query
	limit int // 0 is all
	err   error
}

type limit int

func (n limit) list(l *listing) {
	if l.limit = int(n); n < 1 {
		l.err = &InvalidError{"limit", fmt.Sprint(int(n)), "at least 1"}
	}
}

// Limit sets the maximum number of items. The default is all for a list, and 10 for a search.
// Less than 1 is an [*InvalidError], and in a search also more than [MaxPage].
func Limit(n int) FindOption { return limit(n) }

type after Position

func (a after) list(l *listing) { l.query.After = &Position{a.Namespace, a.Key} }

// After starts a list behind an item, for paging: pass the namespace and the key of the last item
// of the page before. The item need not exist any more.
func After(n Namespace, key string) ListOption { return after{n.Below(), key} }

type exact struct{}

func (exact) list(l *listing) { l.query.Exact = true }

// Exact leaves out the namespaces below that of the collection.
func Exact() FindOption { return exact{} }

// List yields the items of c and of the namespaces below it, by namespace and then by key. It
// reads lazily, in pages of 100: an item that changes during the loop may be yielded as it was
// before. A *ValueError reports one item that cannot be read, and the sequence continues. Any
// other error ends the sequence.
func (c *Collection[T]) List(ctx context.Context, opts ...ListOption) iter.Seq2[Item[T], error] {
	return c.Filter().List(ctx, opts...)
}

const pageSize = 100

// List yields the items of s, as [Collection.List] does.
func (s *Selection[T]) List(ctx context.Context, opts ...ListOption) iter.Seq2[Item[T], error] {
	return func(yield func(Item[T], error) bool) {
		l := listing{query: Query{Namespace: s.c.ns, Where: s.where}, err: s.err}
		for _, opt := range opts {
			opt.list(&l)
		}
		if l.err != nil {
			yield(Item[T]{}, l.err)
			return
		}
		for record, err := range l.records(ctx, s.c.core.backend) {
			if err != nil {
				yield(Item[T]{}, err)
				return
			}
			it, err := s.c.core.item(&record)
			if err != nil {
				it.Namespace, it.Key = record.Namespace, record.Key
			}
			if !yield(it, err) {
				return
			}
		}
	}
}

// records yields the records of a listing, page by page.
func (l *listing) records(ctx context.Context, b Backend) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		q := l.query
		for left := l.limit; ; {
			q.Limit = pageSize
			if l.limit > 0 {
				q.Limit = min(left, pageSize)
			}
			page, err := b.Find(ctx, q)
			if err != nil {
				yield(Record{}, err)
				return
			}
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
			}
			left -= len(page)
			if len(page) < q.Limit || l.limit > 0 && left <= 0 {
				return
			}
			last := &page[len(page)-1]
			q.After = &Position{last.Namespace, last.Key}
		}
	}
}

// Namespaces yields the namespaces with items in c, and in the namespaces below it. q.Prefix
// begins after the parts of c. The namespaces are whole, with the parts of c, and q.Depth counts
// all parts. q.After is a whole namespace too, as the sequence yields them. Namespaces reads
// lazily, in pages of [MaxPage]. An error ends the sequence.
func (c *Collection[T]) Namespaces(ctx context.Context, q NamespaceQuery) iter.Seq2[Namespace, error] {
	prefix := make([]Part, 0, len(c.ns)+len(q.Prefix))
	for _, name := range c.ns {
		prefix = append(prefix, Part{Name: name})
	}
	q.Prefix = append(prefix, q.Prefix...)
	return func(yield func(Namespace, error) bool) {
		q := q
		for left := q.Limit; ; {
			page := q
			if page.Limit = MaxPage; left > 0 {
				page.Limit = min(left, MaxPage)
			}
			names, err := c.core.backend.Namespaces(ctx, page)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, name := range names {
				if !yield(name, nil) {
					return
				}
			}
			left -= len(names)
			if len(names) < page.Limit || q.Limit > 0 && left <= 0 {
				return
			}
			q.After = names[len(names)-1]
		}
	}
}

// Reindex writes the index entries, vectors and words of all items again: those of c, and of the
// namespaces below it. Call it after an index was added or changed. It embeds texts that have no
// vector yet. It returns the number of items. Versions and times stay. Programs can read and write
// meanwhile. An item that cannot be read keeps its entries; Reindex continues, and returns the
// [*ValueError].
func (c *Collection[T]) Reindex(ctx context.Context) (int, error) {
	var done int
	var faults []error
	var ops []Op
	flush := func() error {
		err := embed(ctx, c.core.backend, ops, nil)
		if err != nil {
			return err
		}
		_, err = c.core.backend.Do(ctx, ops)
		if errors.Is(err, ErrConflict) { // another program has written one of the items
			var bad []error
			bad, err = c.reindexEach(ctx, ops)
			faults = append(faults, bad...)
		}
		done += len(ops)
		ops = ops[:0]
		return err
	}
	for it, err := range c.List(ctx) {
		if errors.As(err, new(*ValueError)) {
			faults = append(faults, err)
			continue
		}
		if err != nil {
			return done, err
		}
		ops = append(ops, c.core.indexing(&it))
		if len(ops) < pageSize {
			continue
		}
		if err := flush(); err != nil {
			return done, err
		}
	}
	if err := flush(); err != nil {
		return done, err
	}
	return done, errors.Join(faults...)
}

// indexing returns the operation that indexes an item again.
func (c *core[T]) indexing(it *Item[T]) Op {
	return Op{
		Kind: OpIndex, Namespace: it.Namespace, Key: it.Key, IfVersion: it.Version,
		Index: c.entries(&it.Value), Vectors: c.pending(&it.Value), Texts: c.spelled(&it.Value),
	}
}

// reindexEach runs operations one by one, with the newest value of items that have changed. It
// returns the faults of items that cannot be read.
func (c *Collection[T]) reindexEach(ctx context.Context, ops []Op) (faults []error, err error) {
	for i := range ops {
		op := &ops[i]
		for {
			_, err := c.do(ctx, op)
			if err == nil {
				break
			}
			if !errors.Is(err, ErrConflict) {
				return faults, err
			}
			it, err := (&Collection[T]{c.core, op.Namespace}).Get(ctx, op.Key)
			if errors.Is(err, ErrNotFound) {
				break
			}
			if errors.As(err, new(*ValueError)) {
				faults = append(faults, err)
				break
			}
			if err != nil {
				return faults, err
			}
			*op = c.core.indexing(&it)
			if err := embed(ctx, c.core.backend, ops[i:i+1], nil); err != nil {
				return faults, err
			}
		}
	}
	return faults, nil
}
