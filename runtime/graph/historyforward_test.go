package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// eventful is a thread with steps, stops, edits, forks and resumes, whose state has a map and
// lists.
func eventful(t *testing.T, s checkpoint.Saver, text string) thread {
	t.Helper()
	b := newWork()
	add := func(ctx context.Context, w work) (update, error) {
		u := logged(fmt.Sprint(graph.CurrentTask(ctx).Node, w.Count))
		u.Count.Add(1)
		u.Facts.Put(fmt.Sprint(w.Count%4), text+fmt.Sprint(w.Count))
		return u, nil
	}
	b.Node("a", add)
	b.Node("b", add)
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	th := compile(t, b, graph.Saver(s), graph.InterruptBefore("b")).Thread("t")
	for i := range 6 {
		res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
		for range i {
			if _, err := th.UpdateState(t.Context(), logged("edited")); err != nil {
				t.Fatal(err)
			}
		}
		done(t, graph.Done)(th.Resume(t.Context()))
		if i%2 == 1 {
			if _, err := th.At(res.Checkpoint).UpdateState(t.Context(), logged("forked")); err != nil {
				t.Fatal(err)
			}
			done(t, graph.Paused)(th.Resume(t.Context())) // the stop holds the fork too
			done(t, graph.Done)(th.Resume(t.Context()))
		}
	}
	return th
}

func TestHistoryForwardIsTheHistoryFromOldToNew(t *testing.T) {
	for _, text := range []string{"short ", strings.Repeat("long ", 20_000)} { // what is long is read again on the way
		th := eventful(t, memory.New(), text)
		want := collect(t, th.History(t.Context(), checkpoint.Query{}))
		slices.Reverse(want)
		for _, first := range []int{0, 1, 7, len(want) / 2, len(want) - 1} {
			from := th.At(want[first].Checkpoint)
			if first == 0 {
				from = th
			}
			n := first
			for snap, err := range from.HistoryForward(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if n == len(want) {
					t.Fatalf("from %d: got %s after the newest", first, snap.Checkpoint)
				}
				same(t, fmt.Sprintf("checkpoint %d, from %d", n, first), snap, want[n])
				n++
			}
			same(t, fmt.Sprint("checkpoints from ", first), n-first, len(want)-first)
		}
		for most, ok := range map[int]bool{3: true, 2: false} {
			n, last := 0, error(nil)
			for _, err := range th.At(want[len(want)-3].Checkpoint).HistoryForward(t.Context(), most) {
				n, last = n+1, err
			}
			if ok && (n != 3 || last != nil) || !ok && !errors.Is(last, checkpoint.ErrNotFound) {
				t.Errorf("the third newest of the newest %d: got %d checkpoints and %v", most, n, last)
			}
		}
		unknown, err := checkpoint.NewID()
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range th.At(unknown).HistoryForward(t.Context(), 0) {
			if !errors.Is(err, checkpoint.ErrNotFound) {
				t.Errorf("from an unknown checkpoint: got %v, want ErrNotFound", err)
			}
		}
	}
}

func TestHistoryForwardReadsAReleasedVersion(t *testing.T) {
	th := eventful(t, memory.New(), "x")
	want := collect(t, th.History(t.Context(), checkpoint.Query{}))
	if _, err := th.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	var got []checkpoint.ID
	for snap, err := range th.At(want[4].Checkpoint).HistoryForward(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append([]checkpoint.ID{snap.Checkpoint}, got...)
	}
	var ids []checkpoint.ID
	for _, snap := range want[:5] {
		ids = append(ids, snap.Checkpoint)
	}
	same(t, "checkpoints", got, ids)
}

func TestHistoryForwardAllocatesOneStateAndTheChanges(t *testing.T) {
	doubled(t, "bytes allocated", func(n int) uint64 {
		th := factual(t, memory.New(), n)
		_, bytes := allocations(func() {
			steps := 0
			for snap, err := range th.HistoryForward(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				steps = len(snap.State.Facts)
			}
			same(t, "facts", steps, n)
		})
		return bytes
	}, 1000)
}

// reading counts the records that are read, and those of them that a history yields, and their
// payloads.
type reading struct {
	checkpoint.Saver
	records, histories, loads, listed, payloads int
}

func (r *reading) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := r.Saver.Load(ctx, p)
	r.loads++
	if !c.Empty() {
		r.records += c.Chained + 1
	}
	return c, err
}

func (r *reading) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	r.histories++
	return func(yield func(checkpoint.Record, error) bool) {
		for rec, err := range r.Saver.History(ctx, p, q) {
			r.records++
			r.listed++
			if len(rec.Payload) > 0 {
				r.payloads++
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func TestHistoryForwardReadsEachRecordTwiceAtMost(t *testing.T) {
	for _, text := range []string{"short ", strings.Repeat("long ", 20_000)} {
		s := &reading{Saver: memory.New()}
		th := eventful(t, s, text)
		log := 0
		for _, err := range s.Saver.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{Sources: []checkpoint.Source{1, 2, 3, 4, 5}}) {
			if err != nil {
				t.Fatal(err)
			}
			log++
		}
		s.records = 0
		for _, err := range th.HistoryForward(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if s.records > 2*log {
			t.Errorf("got %d records read of a log of %d, want each twice at most", s.records, log)
		}
	}
}

func TestCheckpointsAreTheHistoryWithoutStates(t *testing.T) {
	th := eventful(t, memory.New(), "x")
	newest := collect(t, th.History(t.Context(), checkpoint.Query{Limit: 9}))
	for name, q := range map[string]checkpoint.Query{
		"all":       {},
		"a page":    {Limit: 7, Before: newest[3].Checkpoint},
		"edits":     {Sources: []checkpoint.Source{checkpoint.Update}},
		"an edit":   {Sources: []checkpoint.Source{checkpoint.Update}, Limit: 1},
		"resumes":   {Sources: []checkpoint.Source{checkpoint.Resume, checkpoint.Fork}},
		"a node":    {Next: "b"},
		"no source": {Sources: []checkpoint.Source{checkpoint.Loop}, HasStep: true, Step: 1 << 20},
	} {
		want := collect(t, th.History(t.Context(), q))
		for i := range want {
			want[i].State = teststate.Work{}
		}
		q.Headers = true
		same(t, name, collect(t, th.History(t.Context(), q)), want)
	}
}

func TestHeadersReadHardlyMoreRecordsThanTheyYield(t *testing.T) {
	s := &reading{Saver: memory.New()}
	th := factual(t, s, 500)
	s.records, s.loads = 0, 0
	same(t, "checkpoints", len(collect(t, th.History(t.Context(), checkpoint.Query{Limit: 50, Headers: true}))), 50)
	if s.records > 51 || s.loads > 0 {
		t.Errorf("got %d records read and %d loads, want 50 and none", s.records, s.loads)
	}
}

func TestTheStatusOfAThreadReadsNoRecord(t *testing.T) {
	s := &reading{Saver: memory.New()}
	g := compile(t, spread(2, askEach, refund), graph.Saver(s))
	th := g.Thread("t")
	res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	s.records = 0
	got, err := th.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != "t" || got.Status != checkpoint.Waiting || got.Head != res.Checkpoint || len(got.Questions) != 2 {
		t.Errorf("got %+v, want t to wait for two answers at %s", got, res.Checkpoint)
	}
	same(t, "records read", s.records, 0)
	if _, err := g.Thread("nobody").Describe(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a thread that does not exist: got %v, want ErrNotFound", err)
	}
}
