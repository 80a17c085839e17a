package graphtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
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

// TestRunTask gives a task node the decoded form of its payload.
func TestRunTask(t *testing.T) {
	sent := teststate.Doc{Name: "a", Pages: []int{1}}
	node := func(_ context.Context, s teststate.Work, in teststate.Doc) (teststate.WorkUpdate, error) {
		in.Pages[0] = 9 //graphvet:ignore graphwrite the test shows that it is a copy
		var u teststate.WorkUpdate
		u.Log.Append(in.Name)
		return u, nil
	}
	_, got, err := graphtest.RunTask(t, teststate.WorkSchema, node, teststate.Work{Log: []string{"before"}}, sent)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"before", "a"}; !slices.Equal(got.Log, want) || sent.Pages[0] != 1 {
		t.Errorf("got %q and the payload %v, want %q and a payload that is not shared", got.Log, sent, want)
	}
}

func TestRunReturnsTheNodesError(t *testing.T) {
	node := func(context.Context, teststate.Work) (teststate.WorkUpdate, error) {
		return teststate.WorkUpdate{}, errNo
	}
	_, got, err := graphtest.Run(t, teststate.WorkSchema, node, teststate.Work{Count: 3})
	if !errors.Is(err, errNo) || got.Count != 3 {
		t.Errorf("got %v, %v; want errNo and the state as it was", got, err)
	}
}

// fails is a testing.TB that records a failure instead of failing.
type fails struct {
	testing.TB
	failed bool
}

func (f *fails) Errorf(string, ...any) { f.failed = true }

func TestRunFailsTheTestOfANodeThatWrites(t *testing.T) {
	node := func(_ context.Context, s teststate.Work) (teststate.WorkUpdate, error) {
		s.Log[0] = "spoilt" //graphvet:ignore graphwrite Run must find this write
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

var size = graph.NewQuestion[wire.String, wire.Int]("size")

func ask(ctx context.Context, _ teststate.Work) (teststate.WorkUpdate, error) {
	var u teststate.WorkUpdate
	for _, what := range []wire.String{"shoe", "hat"} {
		n, err := size.Ask(ctx, what)
		if err != nil {
			return u, err
		}
		u.Log.Append(fmt.Sprint(what, n))
	}
	n, err := size.Ask(ctx, "sock", graph.As("last"))
	u.Log.Append(fmt.Sprint("sock", n))
	return u, err
}

func TestRunAnswersWhatTheNodeAsks(t *testing.T) {
	_, got, err := graphtest.Run(t, teststate.WorkSchema, ask, teststate.Work{},
		size.Answer(graph.OpenQuestion{}, 40), size.Answer(graph.OpenQuestion{}, 7), size.Answer(graph.OpenQuestion{ID: "last"}, 3))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"shoe40", "hat7", "sock3"}; !slices.Equal(got.Log, want) {
		t.Errorf("got %q, want %q", got.Log, want)
	}
	_, _, err = graphtest.Run(t, teststate.WorkSchema, ask, teststate.Work{}, size.Answer(graph.OpenQuestion{}, 40))
	if !errors.Is(err, graph.ErrWaiting) {
		t.Errorf("a question without an answer: got %v, want ErrWaiting", err)
	}
}

var arrived = graph.NewSignal[wire.Int]("arrived")

func receive(ctx context.Context, _ teststate.Work) (teststate.WorkUpdate, error) {
	var u teststate.WorkUpdate
	for _, key := range []string{"", "hat", ""} {
		n, err := arrived.Receive(ctx, graph.For(key))
		if err != nil {
			return u, err
		}
		u.Log.Append(fmt.Sprint(key, n))
	}
	n, err := size.Ask(ctx, "sock")
	u.Log.Append(fmt.Sprint("sock", n))
	return u, err
}

func TestRunGivesTheSignalsThatTheNodeReceives(t *testing.T) {
	given := []graphtest.Given{
		arrived.With(7, graph.For("hat")), arrived.With(1), size.Answer(graph.OpenQuestion{}, 40), arrived.With(2), arrived.With(3),
	}
	_, got, err := graphtest.Run(t, teststate.WorkSchema, receive, teststate.Work{}, given...)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"1", "hat7", "2", "sock40"}; !slices.Equal(got.Log, want) {
		t.Errorf("got %q, want %q", got.Log, want)
	}
	_, _, err = graphtest.Run(t, teststate.WorkSchema, receive, teststate.Work{}, given[:3]...)
	if !errors.Is(err, graph.ErrWaiting) {
		t.Errorf("a receive without a signal: got %v, want ErrWaiting", err)
	}
}
