// Package storetest (experimental) tests backends of package store. It has a test for every
// promise that package store makes for a [store.Backend]. A type is a valid backend if Run passes.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(tb testing.TB) storetest.Storage {
//			return storetest.Storage{
//				Open: func() (store.Backend, error) { return memory.NewStore(), nil },
//			}
//		})
//	}
package storetest

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// Storage describes an empty place for items, and how to open a backend on it.
type Storage struct {
	// Open opens a backend. The suite closes it. If Shared is true, the suite may call Open while
	// an earlier backend is still open. Otherwise it calls Open once.
	Open func() (store.Backend, error)

	// Shared reports whether all backends that Open returns use the same items, including backends
	// that are opened later.
	Shared bool

	// Notifies reports whether the backends are a [store.Notifier]. The suite fails if a backend
	// is one and Notifies is false, or the reverse.
	Notifies bool
}

// Run tests a backend, with one subtest for each promise. Each subtest calls open, which must
// return a new Storage; use tb.Cleanup to remove it. Under -short, Run uses fewer rounds.
//
// Tests wait for items that expire after some milliseconds on the clock of the server, so that
// clock must run.
func Run(t *testing.T, open func(tb testing.TB) Storage) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Test(t, open(t)) })
	}
}

// Case is one promise with its test.
type Case struct {
	Name string
	Test func(tb testing.TB, place Storage)
}

// Cases returns the cases of the suite.
func Cases() []Case {
	return []Case{
		{"a put is read", testPutGet},
		{"an empty value is a value", testEmpty},
		{"a put replaces and keeps the creation time", testReplace},
		{"a delete removes", testDelete},
		{"versions grow, also after a delete", testVersions},
		{"versions grow under concurrent creates and deletes", testVersionsOfWriters},
		{"a put under a version", testIfVersion},
		{"a put of an absent item", testIfAbsent},
		{"a delete under a version", testDeleteIfVersion},

		{"namespaces are apart", testApart},
		{"hostile names", testHostile},
		{"names beyond the limits are refused", testLimits},
		{"large values", testLarge},

		{"a batch runs in order", testBatchOrder},
		{"a batch is whole or not at all", testBatchAtomic},
		{"a batch has the item as it was for a get", testBatchReads},
		{"a batch is atomic under 50 writers", testBatchWriters},
		{"one of many conditional puts wins", testCounter},

		{"a write once is a no-op the second time", testOnce},
		{"a write once belongs to its item", testOnceItem},
		{"a failed batch does not use a key", testOnceFailed},
		{"a delete once", testOnceDelete},

		{"a list is in order", testListOrder},
		{"a list has pages", testListPages},
		{"a list of a namespace alone", testListExact},
		{"a filter finds by ranges", testFilter},
		{"a filter finds by several fields", testFilterSeveral},
		{"a filter finds in the namespaces below", testFilterBelow},
		{"a filter has pages", testFilterPages},
		{"index entries follow their item", testIndexFollows},
		{"an index is written again", testReindex},

		{"namespaces are listed by prefix, suffix, wildcard and depth", testNamespaces},
		{"a list of namespaces has pages", testNamespacePages},

		{"an expired item is never returned", testExpired},
		{"an item expires on the clock of the server", testTTL},
		{"a read refreshes the time to live", testRefresh},
		{"a put sets or keeps the lifetime", testKeepExpiry},
		{"sweep removes expired items only", testSweep},

		{"a watch sees all changes", testWatch},
		{"a watch is bounded, and ends", testWatchLimit},
		{"a watch is notified", testNotify},

		{"a search finds the nearest", testSearch},
		{"texts of one value are embedded apart", testSearchTexts},
		{"a search with a filter that selects 1 %", testSearchFilter},
		{"searches by meaning and by words with every filter", testSearchOperators},
		{"a search is of its namespace", testSearchApart},
		{"searches leave out expired items before they count", testSearchExpired},
		{"equal scores are in order", testTies(newLibrary)},
		{"hostile texts and names of vector indexes", testHostileTexts},
		{"an embedder that fails", testEmbedFaults},
		{"an update embeds only what changed", testEmbedsChanges},
		{"vectors follow their item", testVectorsFollow},
		{"old items get vectors", testReindexOf(newLibrary)},
		{"a reindex runs while others write", testReindexWriter},
		{"a vector index is of one model", testModel},
		{"concurrent writers leave the vectors of the last", testVectorWriters},

		{"a search by words ranks the items that have them", testText},
		{"a search by words ranks as BM25 says", testTextModel},
		{"texts are split into words", testWords},
		{"hostile searches by words", testHostileWords},
		{"long texts", testLongTexts},
		{"a search by words with a filter that selects 1 %", testTextFilter},
		{"a search by words is of its namespace and index", testTextApart},
		{"equal scores of words are in order", testTies(newShelf)},
		{"words follow their item", testWordsFollow},
		{"old items get words", testReindexOf(newShelf)},
		{"concurrent writers leave the words of the last", testWordWriters},

		{"a cancelled context", testCancelled},
		{"use after close", testClosed},
		{"what was returned does not change", testOwned},
		{"a new backend finds all of it", testReopen},
		{"two backends share one place", testShared},
	}
}
