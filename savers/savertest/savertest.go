// Package savertest tests savers. It has a test for every promise that package checkpoint makes
// for a [checkpoint.Saver]. A type is a valid saver if Run passes.
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

// Storage describes an empty place for threads, and how to open a saver on it.
type Storage struct {
	// Open opens a saver. The suite closes it. If Shared is true, the suite may call Open while an
	// earlier saver is still open. Otherwise it calls Open once.
	Open func() (checkpoint.Saver, error)

	// Shared reports whether all savers that Open returns use the same threads, including savers
	// that are opened later.
	Shared bool

	// Damage changes the stored data of a thread without the saver, so that its pending writes or
	// the whole thread cannot be read. It is nil if the storage does not allow that.
	Damage func(thread string) error

	// Alter replaces bytes wherever the storage holds them in a record or a pending write, as a
	// faulty disk would. It returns the number of replacements. Both slices have the same length.
	// The suite calls Alter only while no open saver has read the bytes. Alter is nil if only the
	// process of the saver can change the storage.
	Alter func(tb testing.TB, stored, altered []byte) int
}

// Run tests a saver, with one subtest for each promise. Each subtest calls open, which must return
// a new Storage; use tb.Cleanup to remove it. Under -short, Run uses smaller payloads and fewer
// rounds.
//
// Tests wait for leases of a few milliseconds on the saver's own clock, so that clock must run.
// One subtest makes random calls. If it fails, it prints a seed; set SAVERTEST_SEED to that seed
// to repeat the calls.
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

// Cases returns the cases that Run runs. Use it to run a selection of them, or to run them in
// another way.
func Cases() []Case {
	return []Case{
		{"a thread that does not exist", testAbsent},
		{"a record comes back as it was stored", testRecord},
		{"the caller may change its arguments after a call", testCopies},
		{"returned payloads never change", testLasting},
		{"a chain starts with a snapshot", testChain},
		{"every checkpoint loads by its id", testByID},
		{"an append of many records is whole", testMany},
		{"a wrong head is a conflict", testWrongHead},
		{"an id is used once", testSameID},
		{"an append sent again changes nothing", testRepeat},
		{"an append sent again after a prune changes nothing", testRepeatPruned},
		{"an opening sent again changes nothing", testRepeatOpening},
		{"invalid calls return errors", testInvalid},
		{"threads and namespaces are apart", testApart},

		{"history is newest first", testHistoryOrder},
		{"history filters", testHistoryFilters},
		{"history in pages", testHistoryPages},
		{"history without payloads", testHistoryHeaders},
		{"history stops with its loop", testHistoryStops},
		{"history shows no later records", testHistoryFollows},

		{"pending writes of a task", testWrites},
		{"a result is final and the rest is replaced", testReplace},
		{"a discard drops the results of a task", testDiscard},
		{"pending writes go with the commit", testCommit},
		{"an opening returns the pending writes", testOpeningWrites},
		{"an opening reads writes after it took the fence", testTakeOverRace},

		{"an outcome is stored without a fence", testOutcome},
		{"the first outcome of a name stays", testOutcomeFirst},
		{"an outcome changes nothing else", testOutcomeAlone},
		{"an outcome of a committed base has no effect", testOutcomeCommitted},
		{"an outcome for a version that is gone is refused", testOutcomeGone},
		{"an opening returns outcomes", testOutcomeOpening},
		{"outcomes are copied and keep their base", testOutcomeCopied},
		{"invalid outcomes are refused", testOutcomeInvalid},

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
		{"every status is stored", testStatuses},
		{"a thread has a graph, a time of creation, a title and labels", testDescribed},
		{"a refused opening describes nothing", testDescribedRefused},
		{"a description stays until the thread is deleted", testDescribedStays},
		{"descriptions are copied", testDescribedCopied},
		{"descriptions have limits", testDescribedLimits},
		{"threads are listed by graph and label", testThreadsDescribed},
		{"threads are listed by the time of their creation", testThreadsCreated},
		{"threads are listed newest first", testThreadsNewest},
		{"pages of the newest threads have no gaps and no doubles", testThreadsNewestPages},
		{"threads with released versions only are listed if the caller asks", testThreadsReleased},
		{"a list of released threads follows releases and deletions", testReleasedComesAndGoes},
		{"threads are ready when they are due", testReady},
		{"a thread can be due in centuries", testReadyFar},
		{"ready threads have their labels", testReadyLabels},
		{"ready threads come by priority", testPriority},
		{"a post changes the priority of a held thread", testPriorityHeld},
		{"a post gives a thread without a graph its graph", testPostNamesGraph},
		{"low priorities do not starve", testPriorityAges},
		{"a thread is ready when its lease has ended", testReadyLeases},
		{"a wake is set if the fence is that of the newest run", testRewake},
		{"attempts without progress are counted", testAttempts},
		{"an opening returns the time", testOpeningTime},
		{"a ready thread is reserved once", testReadyOnce},
		{"callers hear of due threads that they did not get", testReadyTogether},

		{"messages come back as they were posted", alone(testMail)},
		{"invalid messages are refused", alone(testMailInvalid)},
		{"a message posted again changes nothing", alone(testPostAgain)},
		{"the ids of taken messages are kept", alone(testPostForgets)},
		{"an inbox has limits", alone(testPostLimits)},
		{"a post may ask for an idle thread", alone(testPostIdle)},
		{"a write takes messages", alone(testTake)},
		{"a refused message is kept", alone(testRefuse)},
		{"a message is returned to the inbox", alone(testReturn)},
		{"a listing shows which threads are being cancelled", alone(testCancels)},
		{"a write reports the newest message", alone(testPosted)},
		{"a message makes a thread due", alone(testMailWakes)},
		{"a run that ends with unseen messages is due", alone(testUnseen)},
		{"a wake message starts a failed thread", alone(testWakeMessage)},
		{"a thread has messages before its first version", alone(testNoVersion)},
		{"a release keeps inputs", alone(testMailRelease)},
		{"a copy has the messages", alone(testMailCopies)},
		{"posters at the same time", alone(testPosters)},
		{"a post while a run ends", alone(testPostAtEnd)},
		{"two savers share an inbox", testMailLasts},

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
		{"prune removes ended threads", testPruneEnded},

		{"random calls match the memory saver", testModel},

		{"hostile names", testHostileNames},
		{"large payloads", testLarge},
		{"a cancelled context", testCancelled},
		{"use after close", testClosed},
		{"close waits for calls under way", testCloseWaits},
		{"a new saver finds all of it", testReload},
		{"two savers share one place", testShared},
		{"altered bytes are never returned", testAltered},
	}
}
