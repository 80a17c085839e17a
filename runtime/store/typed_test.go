package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// past is a time before the clock of the backend.
var past = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// collection returns a collection of facts in a backend.
func collection[T any, P wire.Generated[T]](t *testing.T, b store.Backend, opts ...store.CollectionOption[T]) *store.Collection[T] {
	t.Helper()
	c, err := store.NewCollection[T, P](b, store.Namespace{"facts"}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want an error that is %q", what, err, want)
	}
}

// collect returns the values of a sequence up to its first error.
func collect[V any](t *testing.T, seq iter.Seq2[V, error]) (all []V) {
	t.Helper()
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// wantKeys fails unless a selection lists the items with these keys.
func wantKeys[T any](t *testing.T, what string, s *store.Selection[T], opts []store.ListOption, want ...string) {
	t.Helper()
	var keys []string
	for _, it := range collect(t, s.List(t.Context(), opts...)) {
		keys = append(keys, it.Key)
	}
	if !slices.Equal(keys, want) {
		t.Errorf("%s: got %q, want %q", what, keys, want)
	}
}

func increment(f *Fact) error { f.Count++; return nil }

func TestTypedValues(t *testing.T) {
	facts := collection[Fact](t, memory.NewStore()).In("ada")
	ctx := t.Context()
	values := map[string]Fact{
		"full":  {Kind: "k", Text: "t", Score: 1.5, Count: -3, At: past, Tags: []string{"x", ""}, Data: []byte{0, 1}, From: &fact.Source{Name: "n"}},
		"zero":  {},
		"empty": {Tags: []string{}, Data: []byte{}, From: &fact.Source{}},
	}
	for key, value := range values {
		version, err := facts.Put(ctx, key, value)
		if err != nil {
			t.Fatal(err)
		}
		got, err := facts.Get(ctx, key)
		if err != nil || !reflect.DeepEqual(got.Value, value) || got.Key != key || got.Version != version {
			t.Errorf("%s: got %+v, %v, want version %d of %+v", key, got, err, version, value)
		}
	}
	many, err := facts.GetMany(ctx, []string{"full", "missing", "zero"})
	if err != nil || len(many) != 2 || !reflect.DeepEqual(many["full"].Value, values["full"]) {
		t.Errorf("GetMany: got %+v, %v, want two items", many, err)
	}
	if err := facts.Delete(ctx, "full"); err != nil {
		t.Error(err)
	}
	var missing *store.NotFoundError
	_, err = facts.Get(ctx, "full")
	wantErr(t, "get of a deleted item", err, store.ErrNotFound)
	if !errors.As(err, &missing) || missing.Key != "full" || missing.Namespace.String() != "facts/ada" {
		t.Errorf("got %v, want an error that names the item", err)
	}
}

func TestFiltersByTypedIndexes(t *testing.T) {
	b := memory.NewStore()
	kind := store.NewIndex("kind", func(f *Fact) string { return f.Kind })
	score := store.NewIndex("score", func(f *Fact) float64 { return f.Score })
	count := store.NewIndex("count", func(f *Fact) int { return f.Count })
	at := store.NewIndex("at", func(f *Fact) time.Time { return f.At })
	tags := store.NewListIndex("tags", func(f *Fact) []string { return f.Tags })
	sourced := store.NewIndex("sourced", func(f *Fact) bool { return f.From != nil })
	facts := collection(t, b, kind, score, count, at, tags, sourced)
	for i, f := range []Fact{
		{Kind: "a", Score: math.Inf(-1), Count: math.MinInt, At: past.Add(-time.Hour), Tags: []string{"x", "x", "y"}},
		{Kind: "b", Score: -1.5, Count: -256, At: past},
		{Kind: "ab", Score: 0, Count: 0, At: past.Add(time.Microsecond), Tags: []string{"y"}, From: &fact.Source{}},
		{Kind: "", Score: 2, Count: 255, At: past.Add(time.Hour), Tags: []string{""}},
		{Kind: "a'; --", Score: math.Inf(1), Count: math.MaxInt, At: past.Add(1e6 * time.Hour)},
	} {
		if _, err := facts.Put(t.Context(), fmt.Sprint(i), f); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		got  *store.Selection[Fact]
		want string
	}{
		"kind = a":           {facts.Filter(kind.Equal("a")), "0"},
		"kind = injection":   {facts.Filter(kind.Equal("a'; --")), "4"},
		"kind in":            {facts.Filter(kind.In("a", "b", "zz")), "0,1"},
		"kind in none":       {facts.Filter(kind.In()), ""},
		"kind < ab":          {facts.Filter(kind.Less("ab")), "0,3,4"},
		"kind exists":        {facts.Filter(kind.Exists()), "0,1,2,3,4"},
		"score < 0":          {facts.Filter(score.Less(0)), "0,1"},
		"score <= 0":         {facts.Filter(score.AtMost(0)), "0,1,2"},
		"score > 0":          {facts.Filter(score.Greater(0)), "3,4"},
		"score = -0":         {facts.Filter(score.Equal(math.Copysign(0, -1))), "2"},
		"count >= -256":      {facts.Filter(count.AtLeast(-256)), "1,2,3,4"},
		"count = min":        {facts.Filter(count.Equal(math.MinInt)), "0"},
		"at > past":          {facts.Filter(at.Greater(past)), "2,3,4"},
		"at <= past":         {facts.Filter(at.AtMost(past)), "0,1"},
		"tags = y":           {facts.Filter(tags.Equal("y")), "0,2"},
		"tags exist":         {facts.Filter(tags.Exists()), "0,2,3"},
		"sourced":            {facts.Filter(sourced.Equal(true)), "2"},
		"between, and tags":  {facts.Filter(count.AtLeast(-300), count.Less(256), tags.Exists()), "2,3"},
		"no filter":          {facts.Filter(), "0,1,2,3,4"},
		"filters below a ns": {facts.In("x").Filter(kind.Exists()), ""},
	} {
		var want []string
		if c.want != "" {
			want = strings.Split(c.want, ",")
		}
		wantKeys(t, name, c.got, nil, want...)
	}
	wantKeys(t, "limit 2", facts.Filter(), []store.ListOption{store.Limit(2)}, "0", "1")
	wantKeys(t, "after 1", facts.Filter(score.Exists()), []store.ListOption{store.Limit(2), store.After(facts.Namespace(), "1")}, "2", "3")
	other := store.NewIndex("kind", func(f *Fact) string { return f.Text })
	for _, err := range facts.Filter(other.Equal("a")).List(t.Context()) {
		if !errors.As(err, new(*store.InvalidError)) {
			t.Errorf("a filter of an undeclared index: got %v, want an *InvalidError", err)
		}
	}
}

func TestUpdatesUnderManyWritersLoseNothing(t *testing.T) {
	facts := collection[Fact](t, memory.NewStore()).In("ada")
	var all sync.WaitGroup
	each := 10
	for range 8 {
		all.Go(func() {
			for range each {
				if _, err := facts.Update(t.Context(), "n", func(f *Fact) error { f.Count++; return nil }); err != nil {
					t.Errorf("update: %v", err)
				}
			}
		})
	}
	all.Wait()
	got, err := facts.Get(t.Context(), "n")
	if err != nil || got.Value.Count != 8*each {
		t.Errorf("got %d, %v, want %d", got.Value.Count, err, 8*each)
	}
	stop := errors.New("stop")
	if _, err := facts.Update(t.Context(), "n", func(*Fact) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the change: got %v, want %v", err, stop)
	}
}

func TestATypedBatch(t *testing.T) {
	b := memory.NewStore()
	facts, others := collection[Fact](t, b).In("ada"), collection[wire.String](t, b).In("names")
	ctx := t.Context()
	var batch store.Batch
	put := facts.QueuePut(&batch, "k", Fact{Kind: "a"}, store.IfAbsent())
	others.QueuePut(&batch, "n", "Ada")
	read, missing := facts.QueueGet(&batch, "k"), others.QueueGet(&batch, "missing")
	others.QueueDelete(&batch, "n")
	if _, err := read.Item(); !errors.Is(err, store.ErrNotRun) {
		t.Errorf("a result before Do: got %v, want ErrNotRun", err)
	}
	if err := batch.Do(ctx); err != nil {
		t.Fatal(err)
	}
	version, err := put.Version()
	got, readErr := read.Item()
	if err != nil || readErr != nil || got.Value.Kind != "a" || got.Version != version {
		t.Errorf("got version %d, %v, and %+v, %v", version, err, got, readErr)
	}
	_, err = missing.Item()
	wantErr(t, "a missing item", err, store.ErrNotFound)
	wantErr(t, "a second Do", batch.Do(ctx), store.ErrRan)

	var again store.Batch
	others.QueuePut(&again, "n", "Bob")
	put = facts.QueuePut(&again, "k", Fact{}, store.IfAbsent())
	wantErr(t, "a batch with a conflict", again.Do(ctx), store.ErrConflict)
	_, err = put.Version()
	wantErr(t, "a result of a failed batch", err, store.ErrNotRun)
	_, err = others.Get(ctx, "n")
	wantErr(t, "the other item of a failed batch", err, store.ErrNotFound)
}

func TestAValueOfAnotherRelease(t *testing.T) {
	b := memory.NewStore()
	ctx := t.Context()
	old, newer, other := collection[Fact](t, b), collection[fact.NewerFact](t, b), collection[fact.OtherFact](t, b)
	if _, err := newer.Put(ctx, "k", fact.NewerFact{Kind: "a", Shade: "red", Body: "text", Score: 2}); err != nil {
		t.Fatal(err)
	}
	it, err := old.Get(ctx, "k")
	if err != nil || it.Value.Kind != "a" || it.Value.Score != 2 {
		t.Fatalf("a value with an unknown field: got %+v, %v", it, err)
	}
	if _, err := old.Update(ctx, "k", func(f *Fact) error { f.Score++; return nil }); err != nil {
		t.Fatal(err)
	}
	got, err := newer.Get(ctx, "k")
	if want := (fact.NewerFact{Kind: "a", Shade: "red", Score: 3, Body: "text"}); err != nil || !reflect.DeepEqual(got.Value, want) {
		t.Errorf("after an update by the older release: got %+v, %v, want %+v", got.Value, err, want)
	}
	if _, err := old.Put(ctx, "number", Fact{Count: 3, Text: "renamed"}); err != nil {
		t.Fatal(err)
	}
	if _, err = newer.Get(ctx, "number"); err == nil {
		got, err = newer.Update(ctx, "number", func(*fact.NewerFact) error { return nil })
	}
	if err != nil || got.Value.Body != "renamed" {
		t.Errorf("a renamed field: got %+v, %v", got.Value, err)
	}
	var value *store.ValueError
	_, err = other.Get(ctx, "number")
	var at *wire.Error
	if !errors.As(err, &value) || value.Key != "number" || !errors.As(err, &at) || !strings.Contains(at.Path, "Count") {
		t.Errorf("a field of another type: got %v, want a *ValueError that names Count", err)
	}
	if _, err := newer.Put(ctx, "nested", fact.NewerFact{From: &fact.NewerSource{Page: 7}}); err != nil {
		t.Fatal(err)
	}
	_, err = old.Get(ctx, "nested")
	if !errors.As(err, &value) || !errors.Is(err, wire.ErrUnknownField) {
		t.Errorf("an unknown nested field: got %v, want a *ValueError that is ErrUnknownField", err)
	}
	var read, failed []string
	for it, err := range old.List(ctx) {
		if err != nil {
			failed = append(failed, it.Key)
		} else {
			read = append(read, it.Key)
		}
	}
	if !slices.Equal(read, []string{"k", "number"}) || !slices.Equal(failed, []string{"nested"}) {
		t.Errorf("a list reads %q, and fails at %q; want it to read k and number, and to fail at nested", read, failed)
	}
	kind := store.NewIndex("kind", func(f *fact.NewerFact) string { return f.Kind })
	indexed := collection(t, b, kind)
	wantKeys(t, "by an index before Reindex", indexed.Filter(kind.Equal("a")), nil)
	if n, err := indexed.Reindex(ctx); n < 2 {
		t.Errorf("reindex: got %d items, %v", n, err)
	}
	wantKeys(t, "by an index after Reindex", indexed.Filter(kind.Equal("a")), nil, "k")
}

func TestAnUpdateOnce(t *testing.T) {
	c, ctx := collection[Fact](t, memory.NewStore()).In("ada"), t.Context()
	update := func(what string, change func(*Fact) error, once string, want int) store.Item[Fact] {
		t.Helper()
		it, err := c.Update(ctx, "n", change, store.Once(once))
		if err != nil || it.Value.Count != want || it.Key != "n" || it.Namespace.String() != "facts/ada" {
			t.Errorf("%s: got %+v, %v, want the count %d", what, it, err, want)
		}
		return it
	}
	first := update("an update that creates the item", increment, "task 1", 1)
	if got := update("the same again", increment, "task 1", 1); got.Version != first.Version {
		t.Errorf("a repeated update: got version %d, want %d", got.Version, first.Version)
	}
	second := update("another key", increment, "task 2", 2)
	if second.Version <= first.Version {
		t.Errorf("a second update: got version %d after %d, want a larger one", second.Version, first.Version)
	}
	update("the first key again", increment, "task 1", 2)
	refused := errors.New("refused")
	refuse := func(*Fact) error { return refused }
	update("a change that fails the second time", refuse, "task 1", 2)
	_, err := c.Update(ctx, "n", refuse, store.Once("task 3"))
	wantErr(t, "a change that fails the first time", err, refused)
	update("the key of a change that failed", increment, "task 3", 3)
	if it, err := c.Get(ctx, "n"); err != nil || it.Value.Count != 3 {
		t.Errorf("after three updates: got %+v, %v, want the count 3", it, err)
	}
	if err := c.Delete(ctx, "n"); err != nil {
		t.Fatal(err)
	}
	if got := update("a repeated update of a deleted item", increment, "task 3", 0); got.Version != 0 {
		t.Errorf("a repeated update of a deleted item: got version %d, want 0", got.Version)
	}
	if _, err := c.Get(ctx, "n"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after a repeated update: got %v, want no item", err)
	}
	if _, err = c.Update(ctx, "n", increment, store.Once("")); !errors.As(err, new(*store.InvalidError)) {
		t.Errorf("an empty key: got %v, want an *InvalidError", err)
	}
}

func TestAnUpdateSetsOrKeepsTheLifetime(t *testing.T) {
	b, ctx := memory.NewStore(), t.Context()
	c := collection(t, b, store.DefaultTTL[Fact](time.Hour)).In("ada")
	life := func(what string, opts ...store.UpdateOption) store.Item[Fact] {
		t.Helper()
		if _, err := c.Update(ctx, "n", increment, opts...); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		it, err := c.Get(ctx, "n")
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return it
	}
	want := func(what string, it store.Item[Fact], expires time.Time) {
		t.Helper()
		if !it.Expires.Equal(expires) {
			t.Errorf("%s: it expires at %v, want %v", what, it.Expires, expires)
		}
	}
	it := life("an update that creates the item")
	want("the default", it, it.Updated.Add(time.Hour))
	end := it.Expires
	want("an update keeps the end", life("a second update"), end)
	it = life("with a TTL", store.TTL(2*time.Hour))
	want("a TTL", it, it.Updated.Add(2*time.Hour))
	at := time.Now().Add(5 * time.Hour).Truncate(time.Microsecond)
	want("an end", life("with an end", store.ExpireAt(at)), at)
	want("the end is kept", life("without one"), at)
	want("no end", life("with no end", store.ExpireAt(time.Time{})), time.Time{})
	if _, err := c.Update(ctx, "n", increment, store.TTL(1)); err == nil {
		t.Error("a TTL of a nanosecond: got no error, want an *InvalidError")
	}
}

type userKey struct{}

func TestAScopeConfines(t *testing.T) {
	b := memory.NewStore()
	mine := store.Scoped(b, func(ctx context.Context) (store.Namespace, error) {
		if user, ok := ctx.Value(userKey{}).(string); ok {
			return store.Namespace{"users", user}, nil
		}
		return nil, errors.New("no user")
	})
	kind := store.NewIndex("kind", func(f *Fact) string { return f.Kind })
	facts := collection(t, mine, kind)
	ada, bob := context.WithValue(t.Context(), userKey{}, "ada"), context.WithValue(t.Context(), userKey{}, "bob")
	for _, ctx := range []context.Context{ada, bob} {
		if _, err := facts.Put(ctx, "k", Fact{Kind: ctx.Value(userKey{}).(string)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := facts.In("..", "bob").Put(ada, "k", Fact{Kind: "ada"}); err != nil {
		t.Fatal(err)
	}
	got, err := facts.Get(bob, "k")
	if err != nil || got.Value.Kind != "bob" || got.Namespace.String() != "facts" {
		t.Errorf("bob's item: got %+v, %v", got, err)
	}
	all, err := store.NewCollection[Fact](mine, nil, kind)
	if err != nil {
		t.Fatal(err)
	}
	for it, err := range all.Filter(kind.Exists()).List(ada) {
		if err != nil || it.Value.Kind != "ada" {
			t.Errorf("ada lists %+v, %v", it, err)
		}
	}
	names := collect(t, all.Namespaces(ada, store.NamespaceQuery{Suffix: []store.Part{{Name: "facts"}}}))
	if len(names) != 1 || !slices.Equal(names[0], []string{"facts"}) {
		t.Errorf("ada's namespaces: got %q, want facts", names)
	}
	if got := collect(t, all.Filter(kind.Equal("bob")).List(ada)); len(got) != 0 {
		t.Errorf("ada finds %+v by bob's value, want nothing", got)
	}
	_, err = facts.Get(t.Context(), "k")
	if err == nil {
		t.Error("a call without a user succeeds")
	}
}

// wantCached fails unless a cache has a value for a key, or none if want is nil.
func wantCached(t *testing.T, c store.Cache, key string, want []byte) {
	t.Helper()
	got, ok, err := c.Get(t.Context(), key)
	if err != nil || ok != (want != nil) || !bytes.Equal(got, want) {
		t.Errorf("the cache in %s for the key %.20q: got %.20q, %v, %v; want %.20q", c.Namespace, key, got, ok, err, want)
	}
}

// fillCache puts a value into a cache.
func fillCache(t *testing.T, c store.Cache, key string, value []byte, ttl time.Duration) {
	t.Helper()
	if err := c.Put(t.Context(), key, value, ttl); err != nil {
		t.Errorf("a put of the key %.20q into a cache: %v", key, err)
	}
}

func TestACacheKeepsValuesUntilTheyExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewStore()
		c, other := store.Cache{Backend: b, Namespace: store.Namespace{"cache"}}, store.Cache{Backend: b, Namespace: store.Namespace{"cache", "other"}}
		wantCached(t, c, "k", nil)
		fillCache(t, c, "k", []byte("for ever"), 0)
		fillCache(t, c, "\xff\x00%", []byte("an hour"), time.Hour)
		fillCache(t, c, "empty", []byte{}, 0)
		fillCache(t, other, "k", []byte("of another cache"), 0)
		wantCached(t, c, "k", []byte("for ever"))
		wantCached(t, c, "empty", []byte{})
		wantCached(t, other, "k", []byte("of another cache"))
		wantCached(t, other, "empty", nil)
		time.Sleep(time.Hour - time.Millisecond)
		wantCached(t, c, "\xff\x00%", []byte("an hour"))
		time.Sleep(2 * time.Millisecond)
		wantCached(t, c, "\xff\x00%", nil)
		wantCached(t, c, "k", []byte("for ever"))
		fillCache(t, c, "\xff\x00%", []byte("again"), time.Hour)
		wantCached(t, c, "\xff\x00%", []byte("again"))
	})
}
