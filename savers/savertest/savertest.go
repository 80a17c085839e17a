// Package savertest proves savers: every promise that package checkpoint makes for a [checkpoint.Saver] is a test
// here, and a saver is one when Run passes.
//
//	func TestSaver(t *testing.T) {
//		savertest.Run(t, func(tb testing.TB) savertest.Storage {
//			dir := tb.TempDir()
//			return savertest.Storage{
//				Shared: true,
//				Open:   func() (checkpoint.Saver, error) { return file.Open(dir) },
//			}
//		})
//	}
package savertest

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Storage is a place that holds no thread yet, and how to open a saver on it.
type Storage struct {
	// Open opens a saver on the place. The suite closes it. It is called again while an earlier saver is still
	// open when Shared is set, and never twice when it is not.
	Open func() (checkpoint.Saver, error)

	// Shared says that what one saver stored there every other one finds, also one that is opened later.
	Shared bool

	// Damage changes what is stored of a thread, without the saver, so that its pending writes or all of it cannot be
	// read. It is nil if that cannot be done.
	Damage func(thread string) error

	// Alter replaces bytes wherever the place stores them in a record or pending write, behind the saver's back, as a faulty
	// disk does, and returns in how many places. Both have the same length. No saver is open meanwhile, or none that has read
	// them. Nil for a place that only the saver's process can change.
	Alter func(tb testing.TB, stored, altered []byte) int
}

// Run tests a saver, one subtest for each promise. It calls open for each of them, which returns a place of the
// subtest's own; what has to be undone is for t.Cleanup. Under -short payloads are smaller and rounds fewer.
//
// Leases are awaited on the saver's own clock, a few milliseconds each, so it must run. One subtest makes random calls;
// when it fails it prints a seed, and makes the same calls again with SAVERTEST_SEED set to it.
func Run(t *testing.T, open func(tb testing.TB) Storage) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Test(t, open(t)) })
	}
}

// Case is one promise and its test.
type Case struct {
	Name string
	Test func(tb testing.TB, place Storage)
}

// Cases returns what Run runs, for those who want to run some of it, or in another way.
func Cases() []Case {
	return []Case{
		{"a thread that does not exist", testAbsent},
		{"a record comes back as it was stored", testRecord},
		{"what the caller gave may be changed", testCopies},
		{"what a saver returned never changes", testLasting},
		{"a chain starts with a snapshot", testChain},
		{"every checkpoint loads by its id", testByID},
		{"an append of many records is whole", testMany},
		{"a wrong head is a conflict", testWrongHead},
		{"an id is used once", testSameID},
		{"an append sent again changes nothing", testRepeat},
		{"an append sent again after a prune changes nothing", testRepeatPruned},
		{"an opening sent again changes nothing", testRepeatOpening},
		{"what no saver accepts", testInvalid},
		{"threads and namespaces are apart", testApart},

		{"history is newest first", testHistoryOrder},
		{"history filters", testHistoryFilters},
		{"history in pages", testHistoryPages},
		{"history without payloads", testHistoryHeaders},
		{"history stops with its loop", testHistoryStops},
		{"history does not show what follows", testHistoryFollows},

		{"pending writes of a task", testWrites},
		{"a result is final and the rest is replaced", testReplace},
		{"a discard drops what a task came to", testDiscard},
		{"pending writes go with the commit", testCommit},
		{"an opening returns what stands", testOpeningWrites},
		{"an opening reads writes after it took the fence", testTakeOverRace},

		{"schemas are described once a version", testSchemas},
		{"descriptions of schemas are no pending writes", testSchemasApart},
		{"descriptions of schemas stay with their version", testSchemasStay},
		{"descriptions of schemas are copied", testSchemasCopied},

		{"a lease keeps others out", testBusy},
		{"a lease is taken over", testTakeOver},
		{"a lease expires", testExpiry},
		{"a lease is renewed by every write", testRenewal},
		{"a lease ends with its run", testEnd},
		{"a run that lost its fence is refused everywhere", testZombie},
		{"one of many starts gets a thread and the others are busy", testStarts},
		{"one of many writers wins each place", testWriters},
		{"one of many appends under a fence wins", testSameFence},

		{"a release starts an empty version", testRelease},
		{"a release checks the head and the lease", testReleaseRefused},
		{"the last write of a run releases", testReleaseAtEnd},
		{"a head of another version is a conflict", testOtherVersion},
		{"delete removes all versions", testDelete},

		{"threads are listed by id", testThreads},
		{"threads are listed by what they wait for", testThreadsWaiting},
		{"a damaged thread does not end a listing", testThreadsDamaged},
		{"a load where no records are describes the thread", testThreadAlone},

		{"a copy resumes", testCopy},
		{"a copy of a released version", testCopyReleased},
		{"an export is one view", testExportView},
		{"an import is whole or not at all", testImportFails},
		{"an import must be in order", testImportOrder},
		{"prune keeps what loads", testPrune},
		{"prune keeps what is needed", testPruneNeeded},
		{"prune folds what it cuts", testPruneFolds},
		{"prune removes released versions", testPruneReleased},

		{"random calls do what they do in memory", testModel},

		{"hostile names", testHostileNames},
		{"large payloads", testLarge},
		{"a cancelled context", testCancelled},
		{"use after close", testClosed},
		{"close waits for calls under way", testCloseWaits},
		{"a new saver finds all of it", testReload},
		{"two savers share one place", testShared},
		{"what was altered where it is stored does not come back", testAltered},
	}
}
