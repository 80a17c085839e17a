package graph_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
)

// deaf is a node that ignores its context for a minute. Its first run fails.
func deaf() func(context.Context, work) (update, error) {
	runs := 0
	return func(ctx context.Context, _ work) (update, error) {
		graph.Summary(ctx, "customer 42")
		time.Sleep(time.Minute)
		if runs++; runs == 1 {
			return update{}, errBroken
		}
		return logged("deaf"), nil
	}
}

// deafGraph is a graph of such a node, whose attempts have a Timeout of a second.
func deafGraph() *graph.Builder[work, update] {
	b := newWork()
	b.Node("deaf", deaf(), graph.Timeout(time.Second), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
	b.Chain(graph.Start, "deaf", graph.End)
	return b
}

// ofTask are the lines of events of tasks. It is an Observer.
type ofTask struct {
	mu    sync.Mutex
	lines []string
}

func (l *ofTask) Observe(_ context.Context, e graph.RunEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Node == "" {
		return
	}
	line := fmt.Sprintf("%v%v %d %s %d %q", e.Path, e.Kind, e.Step, e.Node, e.Attempt, e.Summary)
	if e.Kind == graph.EventTaskStuck {
		line += fmt.Sprint(" ", e.Took)
	}
	l.lines = append(l.lines, line)
}

func TestAStreamYieldsATaskThatIsStuckAsAnObserverGetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var observed, streamed ofTask
		th, _ := newThread(t, deafGraph(), graph.Observe(&observed))
		kinds := graph.EventTaskStarted | graph.EventTaskEnded | graph.EventTaskRetry | graph.EventTaskStuck
		for e, err := range th.Stream(t.Context(), input, graph.Events(kinds)) {
			if err != nil {
				t.Fatal(err)
			}
			streamed.Observe(t.Context(), e.RunEvent)
		}
		same(t, "events of the stream", streamed.lines, []string{
			`[]task started 2 deaf 1 ""`,
			`[]task stuck 2 deaf 1 "customer 42" 10s`,
			`[]task ended 2 deaf 1 "customer 42"`,
			`[]task retry 2 deaf 1 "customer 42"`,
			`[]task started 2 deaf 2 "customer 42"`,
			`[]task stuck 2 deaf 2 "customer 42" 10s`,
			`[]task ended 2 deaf 2 "customer 42"`,
		})
		same(t, "events of the observer", observed.lines, streamed.lines)
	})
}

func TestAStreamYieldsOfStuckTasksWhatItChose(t *testing.T) {
	for name, c := range map[string]struct {
		kinds graph.EventKind
		want  int
	}{
		"only stuck tasks":         {graph.EventTaskStuck, 2},
		"also with custom events":  {graph.EventTaskStuck | graph.EventCustom, 2},
		"other events of tasks":    {graph.EventTaskStarted | graph.EventTaskEnded | graph.EventCustom, 0},
		"no event while they run":  {graph.EventUpdate, 0},
		"every event of the graph": {graph.EventAll, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck := 0
				for e, err := range compile(t, deafGraph()).Stream(t.Context(), input, graph.Events(c.kinds)) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Kind == graph.EventTaskStuck {
						stuck++
					}
				}
				same(t, "events of stuck tasks", stuck, c.want)
			})
		})
	}
}

func TestAStreamYieldsAStuckTaskOfASubgraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := graph.New("inner", teststate.PairSchema)
		inner.Node("deaf", func(context.Context, pair) (pairUpdate, error) {
			time.Sleep(time.Minute)
			return pairUpdate{}, nil
		}, graph.Timeout(time.Second))
		inner.Chain(graph.Start, "deaf", graph.End)
		b := newWork()
		graph.MapSubgraph(b, "sub", compilePair(t, inner), toPair, fromPair)
		b.Chain(graph.Start, "sub", graph.End)
		th, _ := newThread(t, b)
		var streamed ofTask
		for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventTaskStuck)) {
			if err != nil {
				t.Fatal(err)
			}
			streamed.Observe(t.Context(), e.RunEvent)
			if child, ok := e.Child.(graph.Event[pair, pairUpdate]); e.Node != "" && (!ok || child.Kind != graph.EventTaskStuck) {
				t.Errorf("child of %v: got %#v, want the event of the subgraph", e.RunEvent, e.Child)
			}
		}
		same(t, "events", streamed.lines, []string{`[sub]task stuck 2 deaf 1 "" 10s`})
	})
}

func TestAStreamCanBeLeftAtAStuckTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th, _ := newThread(t, deafGraph())
		start := time.Now()
		for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventTaskStuck)) {
			if err != nil {
				t.Fatal(err)
			}
			same(t, "event", e.Kind, graph.EventTaskStuck)
			same(t, "time of the event", time.Since(start), 11*time.Second)
			break
		}
		same(t, "time of the run, which waits for its node", time.Since(start), time.Minute)
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "status", snap.Status, graph.Ready)
		done(t, graph.Done)(th.Resume(t.Context()))
	})
}
