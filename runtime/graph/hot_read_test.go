package graph_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// reads counts the loads of a saver, and those of them that return a record.
type reads struct {
	checkpoint.Saver
	calls, records atomic.Int32
}

func (r *reads) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := r.Saver.Load(ctx, p)
	r.calls.Add(1)
	if !c.Empty() {
		r.records.Add(1)
	}
	return c, err
}

// since returns the counts since it was last called.
func (r *reads) since() string {
	return fmt.Sprintf("%d calls, %d with records", r.calls.Swap(0), r.records.Swap(0))
}

// TestAFinishedThreadInMemoryIsShownWithoutItsRecords counts what State, and Resume of a finished
// thread, read.
func TestAFinishedThreadInMemoryIsShownWithoutItsRecords(t *testing.T) {
	const hot, cold = "1 calls, 0 with records", "1 calls, 1 with records"
	for name, c := range map[string]struct {
		opts []graph.Option
		want string
	}{
		"default":      {nil, hot},
		"shared state": {[]graph.Option{graph.SharedState()}, hot},
		"off":          {[]graph.Option{graph.HotThreads(0)}, cold},
	} {
		t.Run(name, func(t *testing.T) {
			s := &reads{Saver: memory.New()}
			th := compile(t, chain("a", "b"), append(c.opts, graph.Saver(s))...).Thread("t")
			for turn := range 3 {
				res := done(t, graph.Done)(th.Invoke(t.Context(), logged(fmt.Sprint("in", turn))))
				for range 2 {
					s.since()
					snap, err := th.State(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					same(t, "reads of State", s.since(), c.want)
					same(t, "log of State", fmt.Sprint(snap.State.Log), fmt.Sprint(res.State.Log))
					same(t, "checkpoint of State", snap.Checkpoint, res.Checkpoint)
					same(t, "status", snap.Status, checkpoint.Done)
					again := done(t, graph.Done)(th.Resume(t.Context()))
					same(t, "reads of Resume", s.since(), c.want)
					same(t, "log of Resume", fmt.Sprint(again.State.Log), fmt.Sprint(res.State.Log))
					same(t, "checkpoint of Resume", again.Checkpoint, res.Checkpoint)
				}
			}
			same(t, "the last turn", s.since(), "0 calls, 0 with records")
		})
	}
}

// TestAThreadInMemoryThatMovedIsReadFromStorage: another process gives the thread a turn.
func TestAThreadInMemoryThatMovedIsReadFromStorage(t *testing.T) {
	ctx, s := t.Context(), &reads{Saver: memory.New()}
	one, other := compile(t, chain("a"), graph.Saver(s)).Thread("t"), compile(t, chain("a"), graph.Saver(s)).Thread("t")
	logOf := func(th thread) string {
		snap, err := th.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(snap.State.Log)
	}
	done(t, graph.Done)(one.Invoke(ctx, logged("one")))
	done(t, graph.Done)(other.Invoke(ctx, logged("other")))
	s.since()
	same(t, "State", logOf(one), "[one a other a]")
	same(t, "reads: the id of the head, and then the thread", s.since(), "2 calls, 1 with records")
	same(t, "State again", logOf(one), "[one a other a]")
	same(t, "reads, of a thread that is not in memory any more", s.since(), "1 calls, 1 with records")
	done(t, graph.Done)(one.Invoke(ctx, logged("two")))
	done(t, graph.Done)(other.Invoke(ctx, logged("three")))
	res := done(t, graph.Done)(one.Resume(ctx))
	same(t, "Resume", fmt.Sprint(res.State.Log), "[one a other a two a three a]")
	if _, err := other.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if snap, err := other.State(ctx); err == nil {
		t.Errorf("after a release: got %v, want an error", snap.State.Log)
	}
}

// TestStatesAreReadWhileAThreadHasTurns: a State in between is that of one of the turns, and the
// next turn builds on the newest.
func TestStatesAreReadWhileAThreadHasTurns(t *testing.T) {
	const turns = 30
	th := compile(t, chain("a"), graph.Saver(memory.New())).Thread("t")
	done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for before := 0; ; {
				snap, err := th.State(t.Context())
				if err != nil || len(snap.State.Log) < before {
					t.Errorf("a State has %d messages after one of %d: %v", len(snap.State.Log), before, err)
					return
				}
				before = len(snap.State.Log)
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for turn := range turns {
		res := done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
		same(t, "messages", len(res.State.Log), 2*(turn+2))
	}
	close(stop)
	readers.Wait()
}
