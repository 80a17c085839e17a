package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// alone is a graph of one node, a.
func alone(f func(context.Context, work) (update, error), opts ...graph.NodeOption) *graph.Builder[work, update] {
	b := newWork()
	b.Node("a", f, opts...)
	return line(b, "a")
}

func TestANodesTimeoutNamesItself(t *testing.T) {
	errDriver := errors.New("connection closed")
	for name, test := range map[string]struct {
		fails func(context.Context) error
		want  string
	}{
		"the context's error": {func(ctx context.Context) error { return ctx.Err() },
			`graph: g: step 2: node "a": its Timeout of 30s has passed: context deadline exceeded`},
		"an error of its own": {func(context.Context) error { return errDriver },
			`graph: g: step 2: node "a": its Timeout of 30s has passed (context deadline exceeded): connection closed`},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := compile(t, alone(func(ctx context.Context, _ work) (update, error) {
				<-ctx.Done()
				return update{}, test.fails(ctx)
			}, graph.Timeout(30*time.Second))).Run(t.Context(), input)
			if err == nil || err.Error() != test.want || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v, want %s", name, err, test.want)
			}
		})
	}
}

func TestAnErrorBeforeTheTimeoutIsTheNodesOwn(t *testing.T) {
	_, err := compile(t, alone(func(context.Context, work) (update, error) {
		return update{}, context.DeadlineExceeded // of a call that it made
	}, graph.Timeout(time.Hour))).Run(t.Context(), input)
	if err == nil || strings.Contains(err.Error(), "Timeout") {
		t.Errorf("got %v, want an error that does not blame the node's Timeout", err)
	}
}

func TestAContextThatHadEndedIsNotTheSaversFault(t *testing.T) {
	th, _ := newThread(t, chain("a"), graph.InterruptBefore("a"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	why := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	errs := map[string]error{}
	_, errs["Invoke"] = th.Invoke(ctx, input)
	_, errs["Resume"] = th.Resume(ctx)
	_, errs["State"] = th.State(ctx)
	_, errs["UpdateState"] = th.UpdateState(ctx, input)
	_, errs["Release"] = th.Release(ctx)
	for _, err := range th.Stream(ctx, input) {
		errs["Stream"] = err
	}
	for _, err := range th.History(ctx, checkpoint.Query{}) {
		errs["History"] = err
	}
	for _, err := range th.History(ctx, checkpoint.Query{Headers: true}) {
		errs["History of headers"] = err
	}
	for _, err := range th.HistoryForward(ctx, 1) {
		errs["HistoryForward"] = err
	}
	for name, err := range errs {
		var saver *graph.SaverError
		if !errors.Is(err, context.Canceled) || !errors.Is(err, why) || errors.As(err, &saver) {
			t.Errorf("%s: got %v, want the context's error and its cause, and no *SaverError", name, err)
		}
	}
}

func TestMessagesNameEndAsItIsWritten(t *testing.T) {
	b := newWork()
	b.Node("a", idle)
	b.Node("b", idle)
	b.Edge(graph.Start, "a")
	b.Edge("b", graph.End)
	b.Route("a", toEnd, "b")
	_, err := compile(t, b).Run(t.Context(), input)
	if want := "the choice graph.End is not among the declared targets; declared are [b]"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	th, _ := newThread(t, chain("a"), graph.InterruptBefore("a"))
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	_, err1 := th.UpdateState(t.Context(), input, graph.AsNode(graph.End))
	_, err2 := th.Resume(t.Context(), graph.Rerun(graph.End))
	for _, err := range []error{err1, err2} {
		if err == nil || !strings.Contains(err.Error(), "node graph.End") {
			t.Errorf("got %v, want an error that names graph.End", err)
		}
	}
}

func TestAPanicIsOneLineAndItsStackAField(t *testing.T) {
	for value, want := range map[any]string{
		"oh":         `graph: g: step 2: node "a": panic: oh`,
		"two\nlines": `graph: g: step 2: node "a": panic: "two\nlines"`,
		errBroken:    `graph: g: step 2: node "a": panic: it broke`,
	} {
		_, err := compile(t, alone(func(context.Context, work) (update, error) { panic(value) })).Run(t.Context(), input)
		var p *graph.PanicError
		if err == nil || err.Error() != want || !errors.As(err, &p) || !strings.Contains(string(p.Stack), "messages_test.go") {
			t.Errorf("got %v, want %s, with the stack", err, want)
		}
	}
}

func TestABusyErrorNamesWhatToDo(t *testing.T) {
	g := newGated()
	th := g.graph(t, "one", graph.Saver(memory.New())).Thread("t")
	first := background(func() (result, error) { return th.Invoke(t.Context(), input) })
	<-g.running
	_, err := th.Resume(t.Context())
	close(g.open)
	<-first
	for _, want := range []string{"graph.Wait", "graph.TakeOver"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that names %s", err, want)
		}
	}
}

// TestANodeMustNotCallOnItsOwnThread: it would wait for itself. Subgraphs, runs of other threads
// between, and a saver that is compared by value do not hide it.
func TestANodeMustNotCallOnItsOwnThread(t *testing.T) {
	type nested func(t *testing.T, inner func(context.Context, work) (update, error), s checkpoint.Saver) *app
	direct := func(t *testing.T, inner func(context.Context, work) (update, error), s checkpoint.Saver) *app {
		t.Helper()
		return compile(t, alone(inner), graph.Saver(s))
	}
	for name, build := range map[string]nested{
		"a node": direct,
		"one in a subgraph": func(t *testing.T, inner func(context.Context, work) (update, error), s checkpoint.Saver) *app {
			t.Helper()
			b := newWork()
			b.Subgraph("sub", compile(t, alone(inner), graph.SubgraphOnly()))
			return compile(t, line(b, "sub"), graph.Saver(s))
		},
		"one of several": func(t *testing.T, inner func(context.Context, work) (update, error), s checkpoint.Saver) *app {
			t.Helper()
			b := alone(inner)
			b.Node("b", idle)
			b.Edge(graph.Start, "b")
			b.Edge("b", graph.End)
			return compile(t, b, graph.Saver(s))
		},
		"one of another thread that a node runs": func(t *testing.T, inner func(context.Context, work) (update, error), s checkpoint.Saver) *app {
			t.Helper()
			other := direct(t, inner, s)
			return direct(t, func(ctx context.Context, _ work) (update, error) {
				_, err := other.Thread("other").Invoke(ctx, input)
				return update{}, err
			}, s)
		},
	} {
		for what, s := range map[string]checkpoint.Saver{"": memory.New(), ", saver by value": byValue{memory.New(), nil}} {
			errs := map[string]error{}
			var self *app
			self = build(t, func(ctx context.Context, _ work) (update, error) {
				th := self.Thread("t")
				_, errs["Invoke"] = th.Invoke(ctx, input, graph.Wait())
				_, errs["Invoke, TakeOver"] = th.Invoke(ctx, input, graph.TakeOver())
				_, errs["Resume"] = th.Resume(ctx, graph.Wait())
				_, errs["UpdateState"] = th.UpdateState(ctx, input, graph.Wait())
				_, errs["Release"] = th.Release(ctx, graph.Wait())
				for _, err := range th.Stream(context.WithoutCancel(ctx), input, graph.Wait()) {
					errs["Stream"] = err
				}
				_, err := th.State(ctx) // reads
				return logged("done"), err
			}, s)
			done(t, graph.Done)(self.Thread("t").Invoke(t.Context(), input))
			same(t, "calls", len(errs), 6)
			for call, err := range errs {
				if !errors.Is(err, graph.ErrOwnThread) || !strings.Contains(err.Error(), `node "a"`) {
					t.Errorf("%s%s: %s: got %v, want ErrOwnThread that names the node", name, what, call, err)
				}
			}
		}
	}
}

// byValue is a saver that cannot be compared.
type byValue struct {
	checkpoint.Saver
	_ []int
}

// TestANodeMayCallOnOtherThreads: a node may call on another thread of its graph, and on a thread
// of the same name in another saver. A goroutine that continues after the run may also call on the
// node's own thread.
func TestANodeMayCallOnOtherThreads(t *testing.T) {
	var self *app
	after := make(chan error, 1)
	ended := make(chan struct{})
	elsewhere := compile(t, chain("x"), graph.Saver(memory.New()))
	self = compile(t, alone(func(ctx context.Context, s work) (update, error) {
		if len(s.Log) > 0 {
			return logged("again"), nil
		}
		if graph.CurrentTask(ctx).Thread == "u" {
			return logged("other"), nil
		}
		go func() {
			<-ended
			_, err := self.Thread("t").Invoke(context.WithoutCancel(ctx), logged("later"))
			after <- err
		}()
		_, err1 := self.Thread("u").Invoke(ctx, input)
		_, err2 := elsewhere.Thread("t").Invoke(ctx, input)
		return logged("done"), errors.Join(err1, err2)
	}), graph.Saver(memory.New()))
	done(t, graph.Done)(self.Thread("t").Invoke(t.Context(), input))
	close(ended)
	if err := <-after; err != nil {
		t.Error(fmt.Errorf("after the run: %w", err))
	}
}
