package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// collection returns a collection of facts in a backend.
func collection[T any, P wire.Generated[T]](tb testing.TB, b store.Backend, opts ...store.CollectionOption[T]) *store.Collection[T] {
	tb.Helper()
	c, err := store.NewCollection[T, P](b, store.Namespace{"facts"}, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func testTyped(tb testing.TB, place Storage) {
	tb.Helper()
	facts := collection[fact.Fact](tb, open(tb, place)).In("ada")
	ctx := tb.Context()
	values := map[string]fact.Fact{
		"full":  {Kind: "k", Text: "t", Score: 1.5, Count: -3, At: past, Tags: []string{"x", ""}, Data: []byte{0, 1}, From: &fact.Source{Name: "n"}},
		"zero":  {},
		"empty": {Tags: []string{}, Data: []byte{}, From: &fact.Source{}},
	}
	for key, value := range values {
		version, err := facts.Put(ctx, key, value)
		if err != nil {
			tb.Fatal(err)
		}
		got, err := facts.Get(ctx, key)
		if err != nil || !reflect.DeepEqual(got.Value, value) || got.Key != key || got.Version != version {
			tb.Errorf("%s: got %+v, %v, want version %d of %+v", key, got, err, version, value)
		}
	}
	many, err := facts.GetMany(ctx, []string{"full", "missing", "zero"})
	if err != nil || len(many) != 2 || !reflect.DeepEqual(many["full"].Value, values["full"]) {
		tb.Errorf("GetMany: got %+v, %v, want two items", many, err)
	}
	if err := facts.Delete(ctx, "full"); err != nil {
		tb.Error(err)
	}
	var missing *store.NotFoundError
	_, err = facts.Get(ctx, "full")
	wantErr(tb, "get of a deleted item", err, store.ErrNotFound)
	if !errors.As(err, &missing) || missing.Key != "full" || missing.Namespace.String() != "facts/ada" {
		tb.Errorf("got %v, want an error that names the item", err)
	}
}

// keysOf returns the keys of the items that a selection lists.
func keysOf[T any](tb testing.TB, s *store.Selection[T], opts ...store.ListOption) (keys []string) {
	tb.Helper()
	for _, it := range collect(tb, s.List(tb.Context(), opts...)) {
		keys = append(keys, it.Key)
	}
	return keys
}

func testOperators(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	kind := store.NewIndex("kind", func(f *fact.Fact) string { return f.Kind })
	score := store.NewIndex("score", func(f *fact.Fact) float64 { return f.Score })
	count := store.NewIndex("count", func(f *fact.Fact) int { return f.Count })
	at := store.NewIndex("at", func(f *fact.Fact) time.Time { return f.At })
	tags := store.NewListIndex("tags", func(f *fact.Fact) []string { return f.Tags })
	sourced := store.NewIndex("sourced", func(f *fact.Fact) bool { return f.From != nil })
	facts := collection(tb, b, kind, score, count, at, tags, sourced)
	for i, f := range []fact.Fact{
		{Kind: "a", Score: math.Inf(-1), Count: math.MinInt, At: past.Add(-time.Hour), Tags: []string{"x", "x", "y"}},
		{Kind: "b", Score: -1.5, Count: -256, At: past},
		{Kind: "ab", Score: 0, Count: 0, At: past.Add(time.Microsecond), Tags: []string{"y"}, From: &fact.Source{}},
		{Kind: "", Score: 2, Count: 255, At: past.Add(time.Hour), Tags: []string{""}},
		{Kind: "a'; --", Score: math.Inf(1), Count: math.MaxInt, At: past.Add(1e6 * time.Hour)},
	} {
		if _, err := facts.Put(tb.Context(), fmt.Sprint(i), f); err != nil {
			tb.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		got  *store.Selection[fact.Fact]
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
		if got := strings.Join(keysOf(tb, c.got), ","); got != c.want {
			tb.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	wantNames(tb, "limit 2", keysOf(tb, facts.Filter(), store.Limit(2)), "0", "1")
	wantNames(tb, "after 1", keysOf(tb, facts.Filter(score.Exists()), store.Limit(2), store.After(facts.Namespace(), "1")), "2", "3")
	other := store.NewIndex("kind", func(f *fact.Fact) string { return f.Text })
	for _, err := range facts.Filter(other.Equal("a")).List(tb.Context()) {
		wantInvalid(tb, "a filter of an undeclared index", err)
	}
}

func testTypedBatch(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	facts, others := collection[fact.Fact](tb, b).In("ada"), collection[wire.String](tb, b).In("names")
	ctx := tb.Context()
	var batch store.Batch
	put := facts.QueuePut(&batch, "k", fact.Fact{Kind: "a"}, store.IfAbsent())
	others.QueuePut(&batch, "n", "Ada")
	read, missing := facts.QueueGet(&batch, "k"), others.QueueGet(&batch, "missing")
	others.QueueDelete(&batch, "n")
	if _, err := read.Item(); !errors.Is(err, store.ErrNotRun) {
		tb.Errorf("a result before Do: got %v, want ErrNotRun", err)
	}
	if err := batch.Do(ctx); err != nil {
		tb.Fatal(err)
	}
	version, err := put.Version()
	got, readErr := read.Item()
	if err != nil || readErr != nil || got.Value.Kind != "a" || got.Version != version {
		tb.Errorf("got version %d, %v, and %+v, %v", version, err, got, readErr)
	}
	_, err = missing.Item()
	wantErr(tb, "a missing item", err, store.ErrNotFound)
	wantErr(tb, "a second Do", batch.Do(ctx), store.ErrRan)

	var again store.Batch
	others.QueuePut(&again, "n", "Bob")
	put = facts.QueuePut(&again, "k", fact.Fact{}, store.IfAbsent())
	wantErr(tb, "a batch with a conflict", again.Do(ctx), store.ErrConflict)
	_, err = put.Version()
	wantErr(tb, "a result of a failed batch", err, store.ErrNotRun)
	_, err = others.Get(ctx, "n")
	wantErr(tb, "the other item of a failed batch", err, store.ErrNotFound)
}

func testEvolution(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	ctx := tb.Context()
	old, newer, other := collection[fact.Fact](tb, b), collection[fact.NewerFact](tb, b), collection[fact.OtherFact](tb, b)
	if _, err := newer.Put(ctx, "k", fact.NewerFact{Kind: "a", Shade: "red", Body: "text", Score: 2}); err != nil {
		tb.Fatal(err)
	}
	it, err := old.Get(ctx, "k")
	if err != nil || it.Value.Kind != "a" || it.Value.Score != 2 {
		tb.Fatalf("a value with an unknown field: got %+v, %v", it, err)
	}
	if _, err := old.Update(ctx, "k", func(f *fact.Fact) error { f.Score++; return nil }); err != nil {
		tb.Fatal(err)
	}
	got, err := newer.Get(ctx, "k")
	if want := (fact.NewerFact{Kind: "a", Shade: "red", Score: 3, Body: "text"}); err != nil || !reflect.DeepEqual(got.Value, want) {
		tb.Errorf("after an update by the older release: got %+v, %v, want %+v", got.Value, err, want)
	}
	if _, err := old.Put(ctx, "number", fact.Fact{Count: 3, Text: "renamed"}); err != nil {
		tb.Fatal(err)
	}
	if _, err = newer.Get(ctx, "number"); err == nil {
		got, err = newer.Update(ctx, "number", func(*fact.NewerFact) error { return nil })
	}
	if err != nil || got.Value.Body != "renamed" {
		tb.Errorf("a renamed field: got %+v, %v", got.Value, err)
	}
	var value *store.ValueError
	_, err = other.Get(ctx, "number")
	var at *wire.Error
	if !errors.As(err, &value) || value.Key != "number" || !errors.As(err, &at) || !strings.Contains(at.Path, "Count") {
		tb.Errorf("a field of another type: got %v, want a *ValueError that names Count", err)
	}
	if _, err := newer.Put(ctx, "nested", fact.NewerFact{From: &fact.NewerSource{Page: 7}}); err != nil {
		tb.Fatal(err)
	}
	_, err = old.Get(ctx, "nested")
	if !errors.As(err, &value) || !errors.Is(err, wire.ErrUnknownField) {
		tb.Errorf("an unknown nested field: got %v, want a *ValueError that is ErrUnknownField", err)
	}
	var read, failed []string
	for it, err := range old.List(ctx) {
		if err != nil {
			failed = append(failed, it.Key)
		} else {
			read = append(read, it.Key)
		}
	}
	wantNames(tb, "a list reads", read, "k", "number")
	wantNames(tb, "a list fails at", failed, "nested")
	kind := store.NewIndex("kind", func(f *fact.NewerFact) string { return f.Kind })
	indexed := collection(tb, b, kind)
	wantNames(tb, "by an index before Reindex", keysOf(tb, indexed.Filter(kind.Equal("a"))))
	if n, err := indexed.Reindex(ctx); n < 2 {
		tb.Errorf("reindex: got %d items, %v", n, err)
	}
	wantNames(tb, "by an index after Reindex", keysOf(tb, indexed.Filter(kind.Equal("a"))), "k")
}

func testUpdates(tb testing.TB, place Storage) {
	tb.Helper()
	facts := collection[fact.Fact](tb, open(tb, place)).In("ada")
	var all sync.WaitGroup
	each := rounds(10)
	for range 8 {
		all.Go(func() {
			for range each {
				if _, err := facts.Update(tb.Context(), "n", func(f *fact.Fact) error { f.Count++; return nil }); err != nil {
					tb.Errorf("update: %v", err)
				}
			}
		})
	}
	all.Wait()
	got, err := facts.Get(tb.Context(), "n")
	if err != nil || got.Value.Count != 8*each {
		tb.Errorf("got %d, %v, want %d", got.Value.Count, err, 8*each)
	}
	stop := errors.New("stop")
	if _, err := facts.Update(tb.Context(), "n", func(*fact.Fact) error { return stop }); !errors.Is(err, stop) {
		tb.Errorf("an error of the change: got %v, want %v", err, stop)
	}
}

type userKey struct{}

func testScoped(tb testing.TB, place Storage) {
	tb.Helper()
	b := open(tb, place)
	mine := store.Scoped(b, func(ctx context.Context) (store.Namespace, error) {
		if user, ok := ctx.Value(userKey{}).(string); ok {
			return store.Namespace{"users", user}, nil
		}
		return nil, errors.New("no user")
	})
	kind := store.NewIndex("kind", func(f *fact.Fact) string { return f.Kind })
	facts := collection(tb, mine, kind)
	ada, bob := context.WithValue(tb.Context(), userKey{}, "ada"), context.WithValue(tb.Context(), userKey{}, "bob")
	for _, ctx := range []context.Context{ada, bob} {
		if _, err := facts.Put(ctx, "k", fact.Fact{Kind: ctx.Value(userKey{}).(string)}); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := facts.In("..", "bob").Put(ada, "k", fact.Fact{Kind: "ada"}); err != nil {
		tb.Fatal(err)
	}
	got, err := facts.Get(bob, "k")
	if err != nil || got.Value.Kind != "bob" || got.Namespace.String() != "facts" {
		tb.Errorf("bob's item: got %+v, %v", got, err)
	}
	all, err := store.NewCollection[fact.Fact](mine, nil, kind)
	if err != nil {
		tb.Fatal(err)
	}
	for it, err := range all.Filter(kind.Exists()).List(ada) {
		if err != nil || it.Value.Kind != "ada" {
			tb.Errorf("ada lists %+v, %v", it, err)
		}
	}
	names := collect(tb, all.Namespaces(ada, store.NamespaceQuery{Suffix: []store.Part{{Name: "facts"}}}))
	if len(names) != 1 || !slices.Equal(names[0], []string{"facts"}) {
		tb.Errorf("ada's namespaces: got %q, want facts", names)
	}
	if got := collect(tb, all.Filter(kind.Equal("bob")).List(ada)); len(got) != 0 {
		tb.Errorf("ada finds %+v by bob's value, want nothing", got)
	}
	_, err = facts.Get(tb.Context(), "k")
	if err == nil {
		tb.Error("a call without a user succeeds")
	}
}
