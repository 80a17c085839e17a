// Package store is typed memory across threads. Nodes read and write values that live longer than
// a thread: facts about a user, results of earlier runs, documents.
//
// A [Collection] holds values of one type under keys in a [Namespace]. The type is a payload: go
// generate writes its codec.
//
//	//go:generate go tool graphgen
//
//	//graphgen:payload
//	type Fact struct{ Kind, Text string }
//
//	var kind = store.NewIndex("kind", func(f *Fact) string { return f.Kind })
//
//	func open(b store.Backend) (*store.Collection[Fact], error) {
//		return store.NewCollection[Fact](b, store.Namespace{"facts"}, kind)
//	}
//
// Nodes use a part of the collection:
//
//	facts, err := open(memory.NewStore())
//	...
//	ada := facts.In("ada") // the namespace facts, ada
//	version, err := ada.Put(ctx, "city", Fact{Kind: "place", Text: "Ada lives in Rome"})
//	item, err := ada.Get(ctx, "city")
//	for item, err := range ada.Filter(kind.Equal("place")).List(ctx) { ... }
//
// # Namespaces
//
// A namespace is a list of parts, never a joined string. Two different lists are two different
// namespaces, whatever bytes the parts contain. A collection that [Collection.In] returns sees
// only its namespace and those below it. [Scoped] confines all collections to a namespace that
// depends on the context, such as the user of a request or the thread of a node.
//
// # Versions
//
// Every write of an item gives it a larger version. [IfVersion] and [IfAbsent] make a write
// conditional. If the condition does not hold, the call returns a [*ConflictError] and stores
// nothing. [Once] makes a write idempotent: a node that runs again after a crash repeats its
// calls, but not their effects.
//
// # Search by meaning and by words
//
// A [VectorIndex] has the vectors of texts, which an [Embedder] of the program makes. A
// [TextIndex] has their words, for full-text search. [Collection.Search] returns the items that
// match a text best, with filters and namespaces as in lists.
//
// # Lifetime
//
// [TTL] and [ExpireAt] limit the life of an item, on the clock of the server. An expired item is
// never returned, and [Sweep] removes it later.
//
// # Changes of the value type
//
// Fields can be added, renamed (was=) and removed as in states. Reads ignore a stored top-level
// field that the code does not have, and [Collection.Update] keeps it. So programs of two releases
// can share a collection. An unknown nested field and a changed type are a [*ValueError] that
// names the item and the field.
//
// # Backends
//
// A [Backend] stores bytes. Package storetest tests any backend.
package store
