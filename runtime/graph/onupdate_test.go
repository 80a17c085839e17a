package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// audit keeps what a function of OnUpdate saw.
type audit struct {
	mu   sync.Mutex
	seen []string
}

func (a *audit) note(ctx context.Context, t graph.TaskInfo, s work, u update) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	line := fmt.Sprintf("%s#%d: %s after %v", t.Node, t.Attempt, u, s.Log)
	if t.Fallback {
		line += ", by the fallback"
	}
	if key := graph.CurrentTask(ctx).Key; t.Thread != "" && key == "" {
		line += ", without a key"
	}
	a.seen = append(a.seen, line)
	return nil
}

func TestOnUpdateSeesStatesAndUpdates(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		b, a := chain("a", "b", "c"), new(audit)
		b.OnUpdate(a.note)
		th, s := newThread(t, b, d, graph.Strict(), graph.InterruptBefore("c"))
		done(t, graph.Paused)(th.Invoke(t.Context(), input))
		want := []string{
			`a#1: ` + logged("a").String() + ` after []`,
			`b#1: ` + logged("b").String() + ` after [a]`,
		}
		same(t, "seen", a.seen, want)
		th = compile(t, b, graph.Saver(s), d).Thread("t") // elsewhere: what is stored is not seen again
		done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "seen after a resume", a.seen, append(want, `c#1: `+logged("c").String()+` after [a b]`))
	})
	b, a := chain("a"), new(audit)
	b.OnUpdate(a.note)
	done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "seen by a run without a thread", len(a.seen), 1)
}

func TestOnUpdateMayRefuseAnUpdate(t *testing.T) {
	b, calls := newWork(), 0
	b.Node("a", func(context.Context, work) (update, error) {
		calls++
		return logged(fmt.Sprint("attempt ", calls)), nil
	}, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}), graph.KeepUpdateOnError())
	b.Fallback("a", func(_ context.Context, _ work, err error) (update, error) { return logged("instead"), nil })
	b.Chain(graph.Start, "a", graph.End)
	a := new(audit)
	b.OnUpdate(a.note)
	b.OnUpdate(func(_ context.Context, t graph.TaskInfo, _ work, u update) error {
		switch {
		case t.Attempt == 1:
			return errBroken
		case !t.Fallback:
			panic("it is wrong")
		}
		return nil
	})
	observed := new(errorsOfAttempts)
	th, _ := newThread(t, b, graph.Sync, graph.Observe(observed))
	res := done(t, graph.Done)(th.Invoke(t.Context(), input))
	same(t, "log", res.State.Log, []string{"instead"})
	same(t, "calls", calls, 2)
	same(t, "seen", len(a.seen), 3)
	if !strings.HasSuffix(a.seen[2], "by the fallback") {
		t.Errorf("got %q, want the fallback last", a.seen)
	}
	var panicked *graph.PanicError
	if len(observed.errs) != 2 || !errors.Is(observed.errs[0], errBroken) || !errors.As(observed.errs[1], &panicked) {
		t.Errorf("got the errors %v, want the refusal and the panic", observed.errs)
	}
}

// errorsOfAttempts keeps the errors of attempts.
type errorsOfAttempts struct{ errs []error }

func (e *errorsOfAttempts) Observe(_ context.Context, o graph.RunEvent) {
	if o.Kind == graph.EventTaskEnded && o.Err != nil {
		e.errs = append(e.errs, o.Err)
	}
}

func TestOnUpdateOfSubgraphs(t *testing.T) {
	inner, outer := new(audit), new(audit)
	same1 := chain("x")
	same1.OnUpdate(inner.note)
	b := newWork()
	b.Subgraph("same", compile(t, same1, graph.SubgraphOnly()))
	graph.MapSubgraph(b, "mapped", compilePair(t, pairs(nil, "p")), toPair, fromPair)
	b.Chain(graph.Start, "same", "mapped", graph.End)
	b.OnUpdate(outer.note)
	th, _ := newThread(t, b, graph.Sync)
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	same(t, "seen inside", len(inner.seen), 1)
	if len(outer.seen) != 1 || !strings.HasPrefix(outer.seen[0], "mapped#1: ") {
		t.Errorf("got %q, want the update of the mapped call alone", outer.seen)
	}
}

func TestStrictFindsAWriteOfOnUpdate(t *testing.T) {
	b := newWork()
	b.Node("a", say("a"))
	b.Node("b", say("b"))
	b.Chain(graph.Start, "a", "b", graph.End)
	b.OnUpdate(func(_ context.Context, _ graph.TaskInfo, s work, _ update) error {
		if len(s.Log) > 0 {
			s.Log[0] = "changed"
		}
		return nil
	})
	_, err := compile(t, b, graph.Strict()).Run(t.Context(), input)
	var mutation *graph.MutationError
	if !errors.As(err, &mutation) || !slices.Equal(mutation.Fields, []string{"Log"}) {
		t.Errorf("got %v, want a *MutationError of Log", err)
	}
}

func TestOnUpdateNeedsAFunction(t *testing.T) {
	b := chain("a")
	b.OnUpdate(nil)
	same(t, "faults", faults(t, b), []string{"OnUpdate: function 1 is nil; pass a function, or leave the call out"})
}

// A worker of a queue calls the functions, once, and the process of the run does not.
func TestOnUpdateOfANodeWithAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, a := newWork(), new(audit)
		b.Node("a", say("a"))
		b.Node("gpu", say("gpu"), graph.Queue("gpu"))
		b.OnUpdate(a.note)
		b.OnUpdate(func(_ context.Context, t graph.TaskInfo, _ work, _ update) error {
			a.seen = append(a.seen, "queue "+t.Queue)
			return nil
		})
		s := memory.New()
		g := compile(t, line(b, "a", "gpu"), graph.Saver(s))
		done(t, graph.Done)(serving(g, s).invoke(t, g.Thread("t")))
		same(t, "seen", a.seen, []string{
			"a#1: " + logged("a").String() + " after []", "queue ",
			"gpu#1: " + logged("gpu").String() + " after [a]", "queue gpu",
		})
	})
}
