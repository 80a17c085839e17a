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
// More sends may need more memory for themselves, but not for their states.
func TestManySendsIntoSubgraphsKeepFewStates(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long")
	}
	const n = 2_500
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		// Garbage of earlier tests can be freed in between, so the least of three counts.
		for try := 1; ; try++ {
			few, many := heapOfCalls(t, d, n), heapOfCalls(t, d, 4*n)
			slope := (many - few) / int64(3*n)
			if slope <= sizeOfCall/8 {
				return
			}
			if try == 3 {
				t.Fatalf("the heap grew by %d bytes with %d sends and by %d with %d: %d bytes a send over %d bytes, want at most %d",
					few, n, many, 4*n, slope, sizeOfCall, sizeOfCall/8)
			}
		}
	})
}

const (
	sizeOfCall  = 16 << 10 // bytes of its state
	callsAtOnce = 64
)

// heapOfCalls returns by how many bytes the heap grows while n calls run.
func heapOfCalls(t *testing.T, d graph.Durability, n int) int64 {
	t.Helper()
	var live, most, heap atomic.Int64
	var measuring sync.RWMutex // what allocates most waits while the heap is measured
	inner := pairs(nil, "a")
	inner.Node("b", func(context.Context, pair) (pairUpdate, error) {
		measuring.RLock()
		defer measuring.RUnlock()
		return pairUpdate{Foo: state.Set(strings.Repeat("x", sizeOfCall))}, nil
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
				heap.Store(max(heap.Load(), heapInUse()))
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
	before := heapInUse()
	s := &forgetting{Saver: memory.New()}
	th := compile(t, b, graph.Saver(s), d, graph.Concurrency(callsAtOnce)).Thread("t")
	res := done(t, graph.Done)(th.Invoke(t.Context(), update{}))
	same(t, "sum of the calls", res.State.Count, 2*n)
	if most.Load() > callsAtOnce {
		t.Errorf("%d calls were in progress at one time, want at most %d", most.Load(), callsAtOnce)
	}
	records, appends := int64(4*n), int64(3*n)
	if d == graph.OnExit {
		records, appends = 0, 0
	}
	same(t, "records of calls", s.records.Load(), records)
	if got := s.appends.Load(); got > appends {
		t.Errorf("%d acts stored the records of %d calls, want at most %d", got, n, appends)
	}
	return heap.Load() - before
}

// heapInUse returns the bytes of the heap that are in use.
func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
