package journal_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// TestOnExitStoresAWithdrawalWithTheRecordThatCausesIt has a call which an earlier run has
// stored, and in it a race that an inner call with a question loses.
func TestOnExitStoresAWithdrawalWithTheRecordThatCausesIt(t *testing.T) {
	s := newSpy()
	sc := begin(t, s, journal.NewSync(config(s)))
	call := sc.call(sc.root, "sub")
	sc.enter(call, 10)
	sc.put(call)
	loser := sc.call(call, "loser")
	sc.enter(loser, 20)
	sc.put(loser, write(loser, checkpoint.Question, "task", "q"))
	sc.wantEnd(checkpoint.Waiting)

	sc = sc.resume(journal.NewOnExit(config(s)))
	call = sc.again(call.Namespace)
	sc.commit(call, 11, nil, write(loser, checkpoint.Answer, "task", "q"))
	s.up()
	s.down(1)
	if err := sc.end(checkpoint.Paused); err == nil {
		t.Fatal("the last write succeeded, want the error of the saver")
	}
	wantValues(sc, sc.stored, map[string]int{call.Namespace: 11})
	if open := sc.stored("").Thread.Questions; len(open) > 0 {
		t.Errorf("after a crash behind the record that withdraws it, the thread asks %v, want nothing", open)
	}
}

// TestOnExitWithdrawsWhatAnUnstoredStepHasPassed has a call with a stored question that the call
// passes without an answer, because another node of an any-of join has won. Then the call ends,
// and its records are not stored.
func TestOnExitWithdrawsWhatAnUnstoredStepHasPassed(t *testing.T) {
	s := newSpy()
	sc := begin(t, s, journal.NewSync(config(s)))
	call := sc.call(sc.root, "sub")
	sc.enter(call, 10)
	sc.put(call, write(call, checkpoint.Question, "task", "q"), write(call, checkpoint.Failure, "sibling", ""))
	sc.wantEnd(checkpoint.Failed)

	sc = sc.resume(journal.NewOnExit(config(s)))
	call = sc.again(call.Namespace)
	sc.commit(call, 11, nil)
	if open := sc.load("").Thread.Questions; len(open) > 0 {
		t.Errorf("Load shows the questions %v of a superstep that is over, want none", open)
	}
	sc.commit(sc.root, 1, nil)
	s.up()
	sc.wantEnd(checkpoint.Done)
	wantCalls(sc, "append ")
	if open := sc.stored("").Thread.Questions; len(open) > 0 {
		t.Errorf("the finished thread asks %v, want nothing", open)
	}
}

// TestOnExitStoresAWithdrawalWithTheRememberedCallThatCausesIt is that of a call which ends and
// is remembered, while the run goes further.
func TestOnExitStoresAWithdrawalWithTheRememberedCallThatCausesIt(t *testing.T) {
	s := newSpy()
	sc := begin(t, s, journal.NewSync(config(s)))
	call := sc.call(sc.root, "sub")
	sc.enter(call, 10)
	sc.put(call)
	loser := sc.call(call, "loser")
	sc.enter(loser, 20)
	sc.put(loser, write(loser, checkpoint.Question, "task", "q"))
	sc.wantEnd(checkpoint.Waiting)

	sc = sc.resume(journal.NewOnExit(config(s)))
	call = sc.again(call.Namespace)
	sc.commit(call, 11, nil, write(loser, checkpoint.Answer, "task", "q"))
	sc.commit(sc.root, 1, map[string]string{"sub": call.Namespace})
	s.up()
	s.down(1)
	if err := sc.end(checkpoint.Done); err == nil {
		t.Fatal("the last write succeeded, want the error of the saver")
	}
	wantValues(sc, sc.stored, map[string]int{"": 0, call.Namespace: 11})
	if open := sc.stored("").Thread.Questions; len(open) > 0 {
		t.Errorf("after a crash behind the record that withdraws it, the thread asks %v, want nothing", open)
	}
}
