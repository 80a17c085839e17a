package graphmodel_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// elsewhere are the rules that this package does not implement or check, with the reason and the
// test that proves each.
var elsewhere = map[string]struct{ why, test string }{
	"1.3":   {"a machine runs one task at a time", "TestConcurrencyIsBounded"},
	"2.2":   {"the code of a random graph never changes", "TestAResumedRunKeepsTheStoredOrder"},
	"3.3":   {"one node alone changes such fields in all ways", "TestClearOfOneTaskConflictsWithAWriteOfAnother"},
	"3.7":   {"no sum is that large", "TestASumThatDoesNotFitNamesItsFieldAndNodes"},
	"3.9":   {"the values of the model have one form", "TestARunSeesTheSameBeforeAndAfterAResume"},
	"4.3":   {"untracked fields are not stored, so a model without storage proves nothing", "TestUntrackedFieldsAreNotStored"},
	"8.5":   {"all choices are allowed", "TestWrongSends"},
	"9.3":   {"a rule of Compile", "TestTaskNodesInCompile"},
	"9.5":   {"the code of a random graph never changes", "TestSendsToNodesThatAreGoneReachTheCatchAll"},
	"9.4":   {"the values of the model have one form", "TestATaskSeesTheSameInputBeforeAndAfterAResume"},
	"10.4":  {"all input abandons what is due", "TestInputOnAnUnfinishedThread"},
	"10.6":  {"a machine knows nothing of callers", "TestHistoryShowsTheMetadataOfTheCallThatStoredACheckpoint"},
	"10.12": {"a machine has one version", "TestAReleaseKeepsWhatTheTasksHaveFinished"},
	"10.13": {"the model has no labels", "TestAnInputKeepsTheLabelsOfFinishedTasks"},
	"10.7":  {"a machine has one thread, without an id", "TestAProgramCannotBeginAReservedThread"},
	"11.3":  {"a machine runs one task at a time", "TestAFailureCancelsSiblingsAndWaitsForThem"},
	"11.6":  {"a machine runs one task at a time, and stops at the first failure", "TestSeveralFailuresAreJoinedInTaskOrder"},
	"11.10": {"a failed write ends the model's run", "TestAFallbackDoesNotHideOtherFaults"},
	"11.12": {"a machine runs one task at a time", "TestALimitIsFair"},
	"11.14": {"caches are not modelled", "TestACachedResultReplacesTheCallOfTheNode"},
	"21.26": {"a model without storage has no limit", "TestAPostedInputWithWhichTheThreadDoesNotFitIsRefused"},
	"11.15": {"a model without storage has no limit", "TestAResultThatTheStorageRefusesForItsSizeFailsTheThread"},
	"11.17": {"a machine runs one task at a time", "TestACancelTakesEffectAfterTheSuperstepOfAnUncancellableNode"},
	"11.18": {"the model has no timeouts and no notes", "TestTheNextAttemptGetsTheLastProgress"},
	"11.19": {"the model has no labels", "TestNodesSetLabelsWithTheirCommit"},
	"11.21": {"the model keeps no texts of errors", "TestFailedAttemptsAreKept"},
	"11.22": {"a machine runs one task at a time", "TestAGlobalRateIsExact"},
	"11.23": {"the model has no labels", "TestALimitPerLabelBoundsEachValue"},
	"12.5":  {"questions are identified by their texts, which differ", "TestSeveralQuestionsInOneNode"},
	"12.7":  {"all answers are right", "TestWrongAnswersAreRefusedBeforeAnythingRuns"},
	"12.8":  {"a question that is asked again is answered again", "TestAnAnswerSurvivesEveryCrash"},
	"12.10": {"all questions are declared", "TestQuestionsThatCannotBeAsked"},
	"14.8":  {"a model without storage keeps no checkpoints", "TestALongRunKeepsItsNewestCheckpoints"},
	"26.1":  {"a model has no caller who waits", "TestAResultIsThatOfAnInvokeElsewhere"},
	"26.2":  {"a model has no caller who waits", "TestALaterInputDoesNotChangeAResult"},
	"26.3":  {"a model has no caller who waits", "TestAResultOfAFailedRunHasItsErrors"},
	"26.4":  {"a model has no caller who waits", "TestAResultOfAThreadThatDoesNotExist"},
	"26.5":  {"a model has no caller who waits", "TestAResultUntilWaiting"},
	"27.1":  {"a model has no caller who waits", "TestAskGetsOneReplyWhateverCallACrashHits"},
	"27.3":  {"a model has no caller who waits", "TestAskEndsWithTheThread"},
	"15.6":  {"a model without storage has no workers", "TestProgressStartsTheAttemptsOfAWorkerAgain"},
	"15.7":  {"a model without storage has no workers", "TestAThreadWhoseWorkersDieEndsFailed"},
	"18.10": {"nodes that are run again are not subgraphs", "TestRerunStartsASubgraphAgain"},
	"18.20": {"only a crash would show it", "TestAnEditBeforeAPendingRouteOfACall"},
	"18.21": {"only stopped calls are edited", "TestAForkLeavesTheEditOfACall"},
	"18.22": {"a machine has no leases", "TestAnEditOfACallIsRefused"},
	"18.24": {"events are not modelled", "TestSendsIntoSubgraphsThatSend"},
	"18.26": {"only edits that are allowed are drawn", "TestAnEditOfACallIsRefused"},
	"19.1":  {"observers are not modelled", "TestAnObserverGetsTheEventsOfARun"},
	"19.2":  {"events are not modelled", "TestStreamYieldsUpdatesInTaskOrder"},
	"19.3":  {"events are not modelled", "TestAStreamYieldsAQuestionOnceWhenItIsAsked"},
	"19.5":  {"nodes have no summaries", "TestASummaryNamesTheTasksThatWaitAndFail"},
	"19.6":  {"events are not modelled", "TestAStreamYieldsATaskThatIsStuckAsAnObserverGetsIt"},
	"20.2":  {"durable calls do not fail", "TestOnlyTheResultOfADurableCallIsStored"},
	"20.6":  {"fallbacks make no calls", "TestTheCallsOfAFallbackAreItsOwn"},
	"20.8":  {"only nodes make calls", "TestCallsThatCannotBeDurable"},
	"20.9":  {"a failed write ends the model's run", "TestADurableCallWhoseResultIsNotStored"},
	"21.14": {"only a crash would show it", "TestACrashLosesNoSignalAndGivesNoneTwice"},
	"21.20": {"random graphs list all signals that they are sent", "TestASignalThatCannotBeReceivedIsRefused"},
	"20.10": {"the model keeps all results", "TestADurableCallWithoutAThreadIsKeptForTheAttempts"},
	"22.7":  {"no time passes while a task of the model runs", "TestConcurrentSleepersShareTheWorkersFairly"},
	"22.10": {"random graphs run on threads", "TestASleepWithoutAThreadWaitsInMemory"},
	"23.2":  {"the model executes all tasks itself", "TestTheFirstOutcomeOfATaskCounts"},
	"23.3":  {"the model executes all tasks itself", "TestALateWorkerNeverCounts"},
	"23.6":  {"the model has one version of a graph", "TestARenamedNodeOfAQueueRunsWhereItsRunIs"},
	"23.7":  {"the model executes all tasks itself", "TestAThreadThatWaitsForAQueueHoldsNothing"},
	"23.8":  {"the model executes all tasks itself", "TestATaskOfACancelledThreadDoesNotRun"},
	"23.11": {"the model executes all tasks itself", "TestATaskInPlaceEndsAsInAnotherWorker"},
	"23.9":  {"the model executes all tasks itself", "TestASendToAQueueThatTimesOutFails"},
	"23.10": {"the model executes all tasks itself", "TestATaskThatNoWorkerTakesFails"},
	"24.1":  {"interceptors are not modelled", "TestInterceptorsWrapAllWorkInOrder"},
	"24.2":  {"interceptors are not modelled", "TestAnInterceptorMayRefuse"},
	"24.3":  {"interceptors are not modelled", "TestNextIsCalledOnceWithAChildOfTheContext"},
	"24.4":  {"interceptors are not modelled", "TestAPanicOfAnInterceptorIsAnErrorOfTheWork"},
	"24.5":  {"interceptors are not modelled", "TestARefusalOfATaskIsRetried"},
	"24.6":  {"interceptors are not modelled", "TestAnErrorOfAStepAfterItsCommitFailsTheRun"},
	"24.7":  {"interceptors are not modelled", "TestInterceptorsOfAQueueRunInItsWorker"},
	"24.8":  {"interceptors are not modelled", "TestAWorkerLeavesAThreadThatAnInterceptorRefuses"},
}

var (
	rule     = regexp.MustCompile(`(?m)^- \*\*(\d+\.\d+)\*\* `)
	citation = regexp.MustCompile(`\brules?(?:\s+//)?\s+(\d+\.\d+(?:(?:,|,? and)(?:\s+//)?\s+\d+\.\d+)*)`)
	number   = regexp.MustCompile(`\d+\.\d+`)
)

// TestEveryRuleIsCitedOrProvedElsewhere: each rule of docs/rules.md, once. Package docs checks
// that every number that is cited exists.
func TestEveryRuleIsCitedOrProvedElsewhere(t *testing.T) {
	cited := citedHere(t)
	proved := maps.Clone(elsewhere)
	for _, m := range rule.FindAllSubmatch(read(t, "../../docs/rules.md"), -1) {
		n := string(m[1])
		_, listed := proved[n]
		switch {
		case listed && cited[n]:
			t.Errorf("rule %s is cited in this package: remove it from elsewhere", n)
		case !listed && !cited[n]:
			t.Errorf("rule %s is not cited: cite it where this package implements it, or list in elsewhere why not", n)
		}
		delete(proved, n)
		delete(cited, n)
	}
	for n := range proved {
		t.Errorf("elsewhere has rule %s, which docs/rules.md does not have", n)
	}
	if len(cited) > 0 {
		t.Errorf("cited are %q, which docs/rules.md does not have", slices.Sorted(maps.Keys(cited)))
	}
}

func TestTheTestsThatProveRulesElsewhereExist(t *testing.T) {
	known := make(map[string]bool)
	name := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, root := range []string{"../../runtime", "../../testdata/golden"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, m := range name.FindAllSubmatch(read(t, path), -1) {
				known[string(m[1])] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n, p := range elsewhere {
		if !known[p.test] {
			t.Errorf("rule %s is proved by %s, which does not exist", n, p.test)
		}
	}
}

// citedHere returns the rules that the package cites outside of its tests.
func citedHere(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	cited := make(map[string]bool)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range citation.FindAllSubmatch(read(t, file), -1) {
			for _, n := range number.FindAll(m[1], -1) {
				cited[string(n)] = true
			}
		}
	}
	return cited
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
}
