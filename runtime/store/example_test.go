package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/store/internal/fact"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// Fact has a generated codec, by graphgen -type=Fact.
type Fact = fact.Fact

// Facts about users, in one namespace for each user.
func Example() {
	ctx := context.Background()
	kind := store.NewIndex("kind", func(f *Fact) string { return f.Kind })
	facts, err := store.NewCollection[Fact](memory.NewStore(), store.Namespace{"facts"}, kind)
	if err != nil {
		log.Fatal(err)
	}
	ada := facts.In("ada")
	if _, err := ada.Put(ctx, "home", Fact{Kind: "place", Text: "Ada lives in Rome"}); err != nil {
		log.Fatal(err)
	}
	if _, err := ada.Put(ctx, "tea", Fact{Kind: "taste", Text: "Ada drinks tea"}, store.TTL(time.Hour)); err != nil {
		log.Fatal(err)
	}
	home, err := ada.Get(ctx, "home")
	fmt.Println(home.Value.Text, err)
	for item, err := range ada.Filter(kind.Equal("taste")).List(ctx) {
		fmt.Println(item.Key, item.Value.Text, err)
	}
	_, err = facts.In("bob").Get(ctx, "home")
	fmt.Println(err)
	// Output:
	// Ada lives in Rome <nil>
	// tea Ada drinks tea <nil>
	// store: facts/bob: key "home": not found
}

// A conditional write fails if another writer has changed the item since it was read.
func ExampleIfVersion() {
	ctx := context.Background()
	facts, err := store.NewCollection[Fact](memory.NewStore(), store.Namespace{"facts"})
	if err != nil {
		log.Fatal(err)
	}
	read, err := facts.Put(ctx, "n", Fact{Count: 1}, store.IfAbsent())
	if err != nil {
		log.Fatal(err)
	}
	_, err = facts.Put(ctx, "n", Fact{Count: 2}, store.IfVersion(read))
	fmt.Println(err)
	_, err = facts.Put(ctx, "n", Fact{Count: 3}, store.IfVersion(read))
	fmt.Println(errors.Is(err, store.ErrConflict))
	// Update reads, changes and writes until no other writer interferes.
	item, err := facts.Update(ctx, "n", func(f *Fact) error { f.Count++; return nil })
	fmt.Println(item.Value.Count, err)
	// Output:
	// <nil>
	// true
	// 3 <nil>
}

// A node that runs again after a crash repeats its writes under the key of its task.
func ExampleOnce() {
	ctx := context.Background()
	facts, err := store.NewCollection[Fact](memory.NewStore(), store.Namespace{"facts"})
	if err != nil {
		log.Fatal(err)
	}
	const key = "key of the task" // graph.CurrentTask(ctx).Key in a node
	node := func() error {
		_, err := facts.Put(ctx, "home", Fact{Text: "Rome"}, store.Once(key))
		return err
	}
	fmt.Println(node())
	if _, err := facts.Put(ctx, "home", Fact{Text: "Oslo"}); err != nil { // a person corrects it
		log.Fatal(err)
	}
	fmt.Println(node()) // runs again
	home, err := facts.Get(ctx, "home")
	fmt.Println(home.Value.Text, err)
	// Output:
	// <nil>
	// <nil>
	// Oslo <nil>
}

// A batch moves a fact from one namespace to another, as a whole or not at all.
func ExampleBatch() {
	ctx := context.Background()
	facts, err := store.NewCollection[Fact](memory.NewStore(), store.Namespace{"facts"})
	if err != nil {
		log.Fatal(err)
	}
	draft, done := facts.In("draft"), facts.In("done")
	version, err := draft.Put(ctx, "k", Fact{Text: "hello"})
	if err != nil {
		log.Fatal(err)
	}
	var batch store.Batch
	done.QueuePut(&batch, "k", Fact{Text: "hello"}, store.IfAbsent())
	draft.QueueDelete(&batch, "k", store.IfVersion(version))
	moved := done.QueueGet(&batch, "k")
	if err := batch.Do(ctx); err != nil {
		log.Fatal(err)
	}
	item, err := moved.Item()
	fmt.Println(item.Namespace, item.Value.Text, err)
	// Output: facts/done hello <nil>
}

// A search finds the facts whose meaning is nearest to a text. A program takes the vectors from a
// model; here they count a few words.
func ExampleCollection_Search() {
	ctx := context.Background()
	embed := func(_ context.Context, texts []string) ([][]float32, error) {
		vectors := make([][]float32, len(texts))
		for i, text := range texts {
			v := []float32{0.1, 0, 0} // nothing known, places, drinks
			for _, word := range strings.Fields(strings.ToLower(text)) {
				switch word {
				case "rome", "lives", "where":
					v[1]++
				case "tea", "coffee", "drinks":
					v[2]++
				}
			}
			vectors[i] = v
		}
		return vectors, nil
	}
	kind := store.NewIndex("kind", func(f *Fact) string { return f.Kind })
	text := store.NewVectorIndex("text", store.Embedder{Model: "words-1", Dims: 3, Embed: embed},
		func(f *Fact) []string { return []string{f.Text} })
	facts, err := store.NewCollection[Fact](memory.NewStore(), store.Namespace{"facts"}, kind, text)
	if err != nil {
		log.Fatal(err)
	}
	ada := facts.In("ada")
	for key, fact := range map[string]Fact{
		"home": {Kind: "place", Text: "Ada lives in Rome"},
		"tea":  {Kind: "taste", Text: "Ada drinks tea"},
		"cat":  {Kind: "pet", Text: "Ada has a cat"},
	} {
		if _, err := ada.Put(ctx, key, fact); err != nil {
			log.Fatal(err)
		}
	}
	found, err := ada.Search(ctx, text, "where does she live", store.Limit(2))
	for _, match := range found {
		fmt.Printf("%s %.2f\n", match.Key, match.Score)
	}
	fmt.Println(err)
	found, err = ada.Filter(kind.Equal("taste")).Search(ctx, text, "where does she live")
	fmt.Println(len(found), found[0].Key, err)
	// Output:
	// home 1.00
	// cat 0.10
	// <nil>
	// 1 tea <nil>
}

// A full-text search finds the facts that have words of a question.
func ExampleNewTextIndex() {
	ctx := context.Background()
	kind := store.NewIndex("kind", func(f *Fact) string { return f.Kind })
	words := store.NewTextIndex("words", func(f *Fact) []string { return []string{f.Text} })
	facts, err := store.NewCollection[Fact](memory.NewStore(), store.Namespace{"facts"}, kind, words)
	if err != nil {
		log.Fatal(err)
	}
	ada := facts.In("ada")
	for key, fact := range map[string]Fact{
		"home": {Kind: "place", Text: "Ada lives in Rome"},
		"tea":  {Kind: "taste", Text: "Ada drinks green tea"},
		"cat":  {Kind: "pet", Text: "A black cat, named Rome"},
	} {
		if _, err := ada.Put(ctx, key, fact); err != nil {
			log.Fatal(err)
		}
	}
	found, err := ada.Search(ctx, words, "Does ADA live in Rome?")
	for _, match := range found {
		fmt.Printf("%s %.2f\n", match.Key, match.Score)
	}
	fmt.Println(err)
	found, err = ada.Filter(kind.Equal("pet")).Search(ctx, words, "rome", store.Limit(1))
	fmt.Println(len(found), found[0].Key, err)
	// Output:
	// home 1.98
	// tea 0.49
	// cat 0.44
	// <nil>
	// 1 cat <nil>
}

// A scope confines nodes to the items of the user that their context names.
func ExampleScoped() {
	type userKey struct{}
	mine := store.Scoped(memory.NewStore(), func(ctx context.Context) (store.Namespace, error) {
		user, ok := ctx.Value(userKey{}).(string)
		if !ok {
			return nil, errors.New("the context names no user")
		}
		return store.Namespace{"users", user}, nil
	})
	facts, err := store.NewCollection[Fact](mine, store.Namespace{"facts"})
	if err != nil {
		log.Fatal(err)
	}
	ada := context.WithValue(context.Background(), userKey{}, "ada")
	bob := context.WithValue(context.Background(), userKey{}, "bob")
	if _, err := facts.Put(ada, "home", Fact{Text: "Rome"}); err != nil {
		log.Fatal(err)
	}
	_, err = facts.Get(bob, "home")
	fmt.Println(err)
	_, err = facts.Get(context.Background(), "home")
	fmt.Println(err)
	// Output:
	// store: facts: key "home": not found
	// store: scope: the context names no user
}
