package graphtest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
)

func TestRunReturnsTheUpdateAndTheMergedState(t *testing.T) {
	node := func(ctx context.Context, s teststate.Work) (teststate.WorkUpdate, error) {
		var u teststate.WorkUpdate
		u.Log.Append(graph.CurrentTask(ctx).Node)
		return u, nil
	}
	before := teststate.Work{Log: []string{"before"}}
	u, got, err := graphtest.Run(t, teststate.WorkSchema, node, before)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"before", t.Name()}; !slices.Equal(got.Log, want) {
		t.Errorf("merged: got %q, want %q", got.Log, want)
	}
	if u.Log.IsZero() || len(before.Log) != 1 {
		t.Errorf("got update %v and state before %v", u, before)
	}
}

var errNo = errors.New("no")

func TestRunReturnsTheNodesError(t *testing.T) {
	node := func(context.Context, teststate.Work) (teststate.WorkUpdate, error) {
		return teststate.WorkUpdate{}, errNo
	}
	_, got, err := graphtest.Run(t, teststate.WorkSchema, node, teststate.Work{Count: 3})
	if !errors.Is(err, errNo) || got.Count != 3 {
		t.Errorf("got %v, %v; want errNo and the state as it was", got, err)
	}
}

// fails is a testing.TB that notes a failure instead of failing.
type fails struct {
	testing.TB
	failed bool
}

func (f *fails) Errorf(string, ...any) { f.failed = true }

func TestRunFailsTheTestOfANodeThatWrites(t *testing.T) {
	node := func(_ context.Context, s teststate.Work) (teststate.WorkUpdate, error) {
		s.Log[0] = "spoilt"
		return teststate.WorkUpdate{}, nil
	}
	tb := &fails{TB: t}
	s := teststate.Work{Log: []string{"a"}}
	if _, _, err := graphtest.Run(tb, teststate.WorkSchema, node, s); err != nil {
		t.Fatal(err)
	}
	if !tb.failed {
		t.Error("the test of a node that writes did not fail")
	}
	if s.Log[0] != "a" {
		t.Error("the node wrote through to the state of the test")
	}
}

func TestContext(t *testing.T) {
	ctx := graphtest.Context(t.Context(), graph.Task{Node: "n", Step: 4})
	want := graph.Task{Node: "n", Step: 4, Attempt: 1, Key: "key of n"}
	if got := graph.CurrentTask(ctx); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
