package graph_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// forgetting drops what subgraph calls store, so that only the run can keep it in memory. It
// counts the records and the calls of the saver that are for subgraph calls.
type forgetting struct {
	checkpoint.Saver
	appends, records atomic.Int64
}

func (f *forgetting) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Namespace == "" {
		return f.Saver.Append(ctx, a)
	}
	f.appends.Add(1)
	f.records.Add(int64(len(a.Records)))
	return checkpoint.AppendResult{}, nil
}

// TestManySendsIntoSubgraphsKeepFewStates makes calls of three steps over a state of 16 KiB each.
func TestManySendsIntoSubgraphsKeepFewStates(t *testing.T) {
	const size, concurrency = 16 << 10, 64
	n := 10_000
	if testing.Short() {
		n = 5_000
	}
	var live, most, heap atomic.Int64
	var measuring sync.RWMutex // what allocates most waits while the heap is measured
	inner := pairs(nil, "a")
	inner.Node("b", func(context.Context, pair) (pairUpdate, error) {
		measuring.RLock()
		defer measuring.RUnlock()
		return pairUpdate{Foo: state.Set(strings.Repeat("x", size))}, nil
	})
	inner.Node("c", pairNode(nil, "c"))
	inner.Chain("a", "b", "c", graph.End)
	b := newWork()
	read := graph.TaskSubgraph(b, "read", compilePair(t, inner),
		func(context.Context, work, doc) (pairUpdate, error) {
			measuring.RLock()
			defer measuring.RUnlock()
			if now := live.Add(1); now > most.Load() {
				most.Store(now)
			}
			return pairUpdate{}, nil
		},
		func(_ context.Context, _ work, d doc, child pair) (update, error) {
			live.Add(-1)
			if d.Pages[0]%(n/4) == 1 {
				measuring.Lock()
				defer measuring.Unlock()
				var stats runtime.MemStats
				runtime.GC()
				runtime.GC()
				runtime.ReadMemStats(&stats)
				heap.Store(max(heap.Load(), int64(stats.HeapAlloc)))
			}
			return update{Count: state.Add(len(child.Bar))}, nil
		})
	b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
		var next graph.Next
		for i := range n {
			next.Add(read.Send(teststate.Doc{Pages: []int{i}}))
		}
		return next, nil
	}, read.ID)
	b.Edge(read.ID, graph.End)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		live.Store(0)
		most.Store(0)
		heap.Store(0)
		s := &forgetting{Saver: memory.New()}
		th := compile(t, b, graph.Saver(s), d, graph.Concurrency(concurrency)).Thread("t")
		res := done(t, graph.Done)(th.Invoke(t.Context(), update{}))
		same(t, "sum of the calls", res.State.Count, 2*n)
		if most.Load() > concurrency {
			t.Errorf("%d calls were in progress at one time, want at most %d", most.Load(), concurrency)
		}
		grown := heap.Load() - int64(before.HeapAlloc)
		if limit := int64(n*size/4 + 8*concurrency*size); grown > limit {
			t.Errorf("the heap grew by %d bytes with %d sends over %d bytes each, want at most %d", grown, n, size, limit)
		}
		records, appends := int64(4*n), int64(3*n)
		if d == graph.OnExit {
			records, appends = 0, 0
		}
		same(t, "records of calls", s.records.Load(), records)
		if got := s.appends.Load(); got > appends {
			t.Errorf("%d acts stored the records of %d calls, want at most %d", got, n, appends)
		}
	})
}
