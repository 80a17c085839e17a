// Package savertest (experimental) tests savers. It has a test for every promise that package
// checkpoint makes for a [checkpoint.Saver]. A type is a valid saver if Run passes.
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
	"slices"
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
// A saver runs the whole suite once. A second site for the same saver, such as one with another
// setting or behind a wrapper, can leave out areas: pass [Without].
//
// Tests wait for leases of a few milliseconds on the saver's own clock, so that clock must run.
// One subtest makes random calls. If it fails, it prints a seed; set SAVERTEST_SEED to that seed
// to repeat the calls.
func Run(t *testing.T, open func(tb testing.TB) Storage, opts ...Option) {
	t.Helper()
	var left options
	for _, opt := range opts {
		opt(&left)
	}
	for _, reason := range left.reasons {
		t.Log("areas are left out: " + reason)
	}
	for _, c := range Cases() {
		if !slices.Contains(left.areas, c.Area) {
			t.Run(c.Name, func(t *testing.T) { c.Test(t, open(t)) })
		}
	}
}

// Option is an option of [Run].
type Option func(*options)

// options are the settings that an Option changes.
type options struct {
	areas   []Area
	reasons []string
}

// Without leaves out the cases of areas. The reason names the code that makes these cases the same
// as at a site that runs the whole suite. Run logs it.
func Without(reason string, areas ...Area) Option {
	return func(o *options) {
		o.areas = append(o.areas, areas...)
		o.reasons = append(o.reasons, reason)
	}
}

// Area is a part of the contract. The cases of an area use the same parts of a storage.
type Area int

// The areas.
const (
	Records   Area = iota // appends and loads
	History               // lists of records
	Writes                // pending writes
	Outcomes              // outcomes of tasks that other processes run
	Schemas               // descriptions of schemas
	Leases                // fences and leases
	Versions              // releases and deletions
	Listings              // lists of threads, and descriptions of threads
	Wakes                 // due threads
	Inbox                 // messages
	Transfer              // exports, imports and prunes
	Sequences             // random calls of every method
	Storing               // names, sizes, contexts, closing and damage
)

// Case is one promise with its test.
type Case struct {
	Area Area
	Name string
	Test func(tb testing.TB, place Storage)
}

// Cases returns the cases that Run runs. Use it to run a selection of them, or to run them in
// another way.
func Cases() []Case {
	return []Case{
		{Records, "a thread that does not exist", testAbsent},
		{Records, "a record comes back as it was stored", testRecord},
		{Records, "the caller may change its arguments after a call", testCopies},
		{Records, "returned payloads never change", testLasting},
		{Records, "a chain starts with a snapshot", testChain},
		{Records, "every checkpoint loads by its id", testByID},
		{Records, "an append of many records is whole", testMany},
		{Records, "a wrong head is a conflict", testWrongHead},
		{Records, "ids increase within a log", testIncreasing},
		{Records, "an append sent again changes nothing", testRepeat},
		{Records, "an append sent again after a prune changes nothing", testRepeatPruned},
		{Records, "an opening sent again changes nothing", testRepeatOpening},
		{Records, "invalid calls return errors", testInvalid},
		{Records, "threads and namespaces are apart", testApart},

		{History, "history is newest first", testHistoryOrder},
		{History, "history filters", testHistoryFilters},
		{History, "history in pages", testHistoryPages},
		{History, "history without payloads", testHistoryHeaders},
		{History, "history stops with its loop", testHistoryStops},
		{History, "history shows no later records", testHistoryFollows},

		{Writes, "pending writes of a task", testWrites},
		{Writes, "a result is final and the rest is replaced", testReplace},
		{Writes, "a write can precede its base", testEarly},
		{Writes, "a discard drops the results of a task", testDiscard},
		{Writes, "a discard opens a question again", testDiscardAnswer},
		{Writes, "pending writes go with the commit", testCommit},
		{Writes, "an opening returns the pending writes", testOpeningWrites},
		{Writes, "an opening reads writes after it took the fence", testTakeOverRace},

		{Outcomes, "an outcome is stored without a fence", testOutcome},
		{Outcomes, "the first outcome of a name stays", testOutcomeFirst},
		{Outcomes, "an outcome changes nothing else", testOutcomeAlone},
		{Outcomes, "an outcome of a committed base has no effect", testOutcomeCommitted},
		{Outcomes, "an outcome for a version that is gone is refused", testOutcomeGone},
		{Outcomes, "an opening returns outcomes", testOutcomeOpening},
		{Outcomes, "outcomes are copied and keep their base", testOutcomeCopied},
		{Outcomes, "outcomes make a thread due once", testOutcomeWakes},
		{Outcomes, "invalid outcomes are refused", testOutcomeInvalid},

		{Schemas, "schemas are described once a version", testSchemas},
		{Schemas, "descriptions of schemas are no pending writes", testSchemasApart},
		{Schemas, "descriptions of schemas stay with their version", testSchemasStay},
		{Schemas, "descriptions of schemas are copied", testSchemasCopied},

		{Leases, "a lease keeps others out", testBusy},
		{Leases, "a lease is taken over", testTakeOver},
		{Leases, "a lease expires", testExpiry},
		{Leases, "a lease is renewed by every write", testRenewal},
		{Leases, "a lease ends with its run", testEnd},
		{Leases, "a run that lost its fence is refused everywhere", testZombie},
		{Leases, "one of many starts gets a thread and the others are busy", testStarts},
		{Leases, "one of many writers wins each place", testWriters},
		{Leases, "one of many appends under a fence wins", testSameFence},

		{Versions, "a release starts an empty version", testRelease},
		{Versions, "a release checks the head and the lease", testReleaseRefused},
		{Versions, "the last write of a run releases", testReleaseAtEnd},
		{Versions, "a head of another version is a conflict", testOtherVersion},
		{Versions, "delete removes all versions", testDelete},

		{Listings, "threads are listed by id", testThreads},
		{Listings, "threads are listed by what they wait for", testThreadsWaiting},
		{Listings, "every status is stored", testStatuses},
		{Listings, "a thread has a graph, a time of creation, a title and labels", testDescribed},
		{Listings, "a refused opening describes nothing", testDescribedRefused},
		{Listings, "a commit changes labels", testRelabelled},
		{Listings, "a description stays until the thread is deleted", testDescribedStays},
		{Listings, "descriptions are copied", testDescribedCopied},
		{Listings, "descriptions have limits", testDescribedLimits},
		{Listings, "threads are listed by graph and label", testThreadsDescribed},
		{Listings, "threads are listed by the time of their creation", testThreadsCreated},
		{Listings, "tasks of queues are listed if the caller asks", testThreadsOfTasks},
		{Listings, "threads are listed newest first", testThreadsNewest},
		{Listings, "pages of the newest threads have no gaps and no doubles", testThreadsNewestPages},
		{Listings, "threads with released versions only are listed if the caller asks", testThreadsReleased},
		{Listings, "a list of released threads follows releases and deletions", testReleasedComesAndGoes},
		{Wakes, "threads are ready when they are due", testReady},
		{Wakes, "a thread can be due in centuries", testReadyFar},
		{Wakes, "ready threads have their labels", testReadyLabels},
		{Wakes, "ready threads come by priority", testPriority},
		{Wakes, "a post changes the priority of a held thread", testPriorityHeld},
		{Wakes, "a post gives a thread without a graph its graph", testPostNamesGraph},
		{Wakes, "old threads of a low priority come last", testPriorityBeforeAge},
		{Wakes, "a thread is ready when its lease has ended", testReadyLeases},
		{Wakes, "a wake is set if the fence is that of the newest run", testRewake},
		{Wakes, "attempts without progress are counted", testAttempts},
		{Wakes, "an opening returns the time", testOpeningTime},
		{Wakes, "a ready thread is reserved once", testReadyOnce},
		{Wakes, "callers hear of due threads that they did not get", testReadyTogether},

		{Inbox, "messages come back as they were posted", alone(testMail)},
		{Inbox, "news show the beginnings and the ends of runs", alone(testNewsOfRuns)},
		{Inbox, "invalid messages are refused", alone(testMailInvalid)},
		{Inbox, "a message posted again changes nothing", alone(testPostAgain)},
		{Inbox, "the ids of taken messages are kept", alone(testPostForgets)},
		{Inbox, "an inbox has limits", alone(testPostLimits)},
		{Inbox, "one call posts to many threads", alone(testPostMany)},
		{Inbox, "a post may ask for an idle thread", alone(testPostIdle)},
		{Inbox, "a write takes messages", alone(testTake)},
		{Inbox, "a refused message is kept", alone(testRefuse)},
		{Inbox, "a message is returned to the inbox", alone(testReturn)},
		{Inbox, "a taken message gets a reply", alone(testReply)},
		{Inbox, "a listing shows which threads are being cancelled", alone(testCancels)},
		{Inbox, "a write reports the newest message", alone(testPosted)},
		{Inbox, "a message makes a thread due", alone(testMailWakes)},
		{Inbox, "a thread that is reserved comes with its messages", alone(testReadyMail)},
		{Inbox, "the messages of threads that are reserved are bounded", alone(testReadyMailBytes)},
		{Inbox, "a run that ends with unseen messages is due", alone(testUnseen)},
		{Inbox, "a wake message starts a failed thread", alone(testWakeMessage)},
		{Inbox, "a thread has messages before its first version", alone(testNoVersion)},
		{Inbox, "a release keeps inputs", alone(testMailRelease)},
		{Inbox, "a copy has the messages", alone(testMailCopies)},
		{Inbox, "posters at the same time", alone(testPosters)},
		{Inbox, "a post while a run ends", alone(testPostAtEnd)},
		{Inbox, "an opening takes only untaken messages", alone(testTakeOnce)},
		{Inbox, "a thread that is created again is another thread", alone(testBirth)},
		{Inbox, "each input is taken once", alone(testInputsOnce)},
		{Inbox, "two savers share an inbox", testMailLasts},

		{Listings, "a damaged thread does not end a listing", testThreadsDamaged},
		{Listings, "a load where no records are describes the thread", testThreadAlone},

		{Transfer, "a copy resumes", testCopy},
		{Transfer, "a copy of a released version", testCopyReleased},
		{Transfer, "a copy of replays of one checkpoint", testCopyReplayed},
		{Transfer, "an export is one view", testExportView},
		{Transfer, "an import is whole or not at all", testImportFails},
		{Transfer, "an import must be in order", testImportOrder},
		{Transfer, "prune keeps what loads", testPrune},
		{Transfer, "prune keeps what is needed", testPruneNeeded},
		{Transfer, "prune folds what it cuts", testPruneFolds},
		{Transfer, "prune by the run that holds the thread", testPruneFenced},
		{Transfer, "prune removes released versions", testPruneReleased},
		{Transfer, "prune removes ended threads", testPruneEnded},

		{Sequences, "random calls match the memory saver", testModel},

		{Storing, "hostile names", testHostileNames},
		{Storing, "long names", testLongNames},
		{Storing, "large payloads", testLarge},
		{Storing, "a cancelled context", testCancelled},
		{Storing, "use after close", testClosed},
		{Storing, "close waits for calls under way", testCloseWaits},
		{Storing, "a new saver finds all of it", testReload},
		{Storing, "two savers share one place", testShared},
		{Storing, "altered bytes are never returned", testAltered},
	}
}
